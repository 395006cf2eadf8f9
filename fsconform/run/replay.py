"""`fsconform replay`: the program of a witness performed again by the fleet, at whatever sites the user names."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

import numpy as np

from fsconform.fleet.fleet import Fleet, Worker
from fsconform.fleet.launch import Launch
from fsconform.judging.profiles import choose_profile
from fsconform.oracles.contradictions import rounds_showing
from fsconform.oracles.examination import examine
from fsconform.oracles.retransmissions import doubt
from fsconform.run.crew import hire, racers_per_site
from fsconform.run.directory import Removal, new_run_id, remove
from fsconform.run.interrupts import one_interrupt
from fsconform.run.labs import mounted, parse_sites
from fsconform.run.preflight import first_contact, survey
from fsconform.run.progress import Progress
from fsconform.run.replay_refusals import refuse_program
from fsconform.run.surveys import Survey
from fsconform.search.promises import rule
from fsconform.search.replaying import MESSAGE, Replay, replay
from fsconform.vocabulary.errors import CannotTestError
from fsconform.vocabulary.histories import RoundHistory
from fsconform.vocabulary.programs import Program
from fsconform.vocabulary.sites import LETTERS, Site, SiteSpec
from fsconform.vocabulary.stored_witnesses import StoredWitness

DIRECTORY = "r"
"""Below the run's directory: one directory per message."""
SPARE_S = 120.0
"""How long a message may take beside its sleeps."""
MESSAGE_S = 10.0
"""How long the sleeps of one message may take."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """What a replay came to, and what it could not do."""

    replay: Replay
    incidents: tuple[str, ...]
    left_behind: tuple[str, ...]


def perform_replay(
    witness: StoredWitness, site_texts: Sequence[str], profile: str | None, rounds: int, progress: Progress,
    step_deadline_s: float = 30.0,
) -> Replayed:  # fmt: skip
    """Performs the program `rounds` times in a directory of its own, which is removed.

    `profile` is asked only where the witness does not say itself what contradicts what. Ctrl-C ends it with what was
    done. Raises CannotTestError for programs that are not performed, sites that cannot be tested, and too few sites.
    """
    refuse_program(witness.program)
    with one_interrupt(), mounted(parse_sites(site_texts)) as specs, Fleet() as fleet:
        play = _Play(witness, fleet, first_contact(specs), profile, step_deadline_s)
        return play.perform(rounds, progress)


@dataclass(slots=True)
class _Play:
    """A replay between survey and clean-up."""

    witness: StoredWitness
    fleet: Fleet
    specs: Sequence[SiteSpec]
    profile: str | None
    step_deadline_s: float
    messages: int = 0

    def perform(self, rounds: int, progress: Progress) -> Replayed:
        launches = [Launch(spec, letter) for letter, spec in zip(LETTERS, self.specs, strict=False)]
        scouts = {worker.letter: worker for worker in self.fleet.launch(launches)}
        found = survey(self.fleet, list(scouts.values()), self.specs, None, progress, new_run_id())
        try:
            team = self._team(found, scouts)
            progress.phase(f"performing the program {rounds} times")
            result = self._result(team, found.sites, rounds)
        finally:
            removal = self._tidy(scouts, found)
            progress.done()
        return Replayed(result, tuple(self.fleet.incidents), removal.left_behind)

    def _team(self, found: Survey, scouts: dict[str, Worker]) -> list[Worker]:
        """A worker per lane, at work in the run's directory."""
        program = self.witness.program
        needed = {lane.site for lane in program.lanes}
        if missing := sorted(needed - set(scouts)):
            raise CannotTestError(f"the witness needs {len(needed)} sites; missing: {', '.join(missing)}")
        crew = hire(self.fleet, found.sites, scouts, (), racers_per_site(list(scouts), [program]))
        for worker in crew.everybody():
            worker.root = found.directory.paths[worker.letter]
        return crew.lanes(program)

    def _message(self, team: Sequence[Worker], program: Program, count: int) -> RoundHistory:
        longest_s = _longest_s(program)
        self.messages += 1
        history = self.fleet.run_rounds(
            program, team, f"{DIRECTORY}/{self.messages}", count, longest_s * count + SPARE_S,
            self.step_deadline_s + longest_s,
        )  # fmt: skip
        if history.lost:
            raise CannotTestError("; ".join(history.lost.values()))
        return history

    def _result(self, team: Sequence[Worker], sites: Sequence[Site], rounds: int) -> Replay:
        witness, perform = self.witness, partial(self._message, team)
        if not witness.contradictions:
            chosen = choose_profile(self.profile, sites)
            doubtful = chosen.retransmit_ambiguous(sites)
            return replay(
                witness, perform, lambda history: examine(doubt(history, doubtful)),
                lambda anomaly, history: rule(anomaly, history, lambda cell: chosen.promise_among(cell, sites)),
                [site.letter for site in sites], rounds,
            )  # fmt: skip
        result, message = Replay(0, 0), max(1, min(MESSAGE, int(MESSAGE_S / max(_longest_s(witness.program), 0.01))))
        with suppress(KeyboardInterrupt):  # what was done by then is told
            while result.rounds < rounds:
                history = perform(witness.program, min(message, rounds - result.rounds))
                result = _added(result, witness, history)
        return result

    def _tidy(self, scouts: dict[str, Worker], found: Survey) -> Removal:
        """End the workers and remove the directory; sites elsewhere need a live worker for that."""
        if any(site.spec.launcher != "local" for site in found.sites):
            self.fleet.release(scouts.values())
        else:
            self.fleet.stop()
        return remove(self.fleet, scouts, found.sites, found.directory)


def _added(result: Replay, witness: StoredWitness, history: RoundHistory) -> Replay:
    shown = np.flatnonzero(rounds_showing(witness.contradictions, history))
    events = result.events
    if len(shown) and not events:
        events = tuple(history.events(int(shown[0])))
    return Replay(result.failures + len(shown), result.rounds + history.rounds, witness.story, events)


def _longest_s(program: Program) -> float:
    """How long the sleeps and watches of one round take, seconds."""
    spans = (sum(s.arg for s in lane.steps if s.kind in ("sleep", "watch")) for lane in program.lanes)
    return max(spans, default=0) / 1e9
