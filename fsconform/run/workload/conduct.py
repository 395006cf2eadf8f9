"""A workload from the options to the record: sites, survey, episodes, clean-up."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from fsconform import __version__
from fsconform.fleet.fleet import Fleet, SiteLost, Worker
from fsconform.fleet.launch import Launch
from fsconform.judging.attribution import judge_episode
from fsconform.judging.faults.evidence import PromiseOf
from fsconform.judging.profiles import Profile, choose_profile, load_profile
from fsconform.judging.replays import judge_replays
from fsconform.personalities.catalogue import MODULES, personality
from fsconform.personalities.replay.memory import forget_peak, peak_bytes
from fsconform.run import refusals
from fsconform.run.doctor import bound_lines
from fsconform.run.interrupts import one_interrupt
from fsconform.run.labs import count_mounts, mounted, parse_sites
from fsconform.run.preflight import first_contact, longest_wait_s
from fsconform.run.progress import Progress
from fsconform.run.surveys import Survey
from fsconform.run.visits import arrive, leave, model_note, moment_text, one_client
from fsconform.run.workload.options import WorkloadOptions
from fsconform.run.workload.parties import Party
from fsconform.run.workload.settings import Setting, settings
from fsconform.run.workload.stage import NotPlayable, Stage
from fsconform.run.workload.variants import STORIES
from fsconform.vocabulary.cells import Cell
from fsconform.vocabulary.errors import CannotTestError
from fsconform.vocabulary.promises import Promise
from fsconform.vocabulary.sites import LETTERS, SiteSpec
from fsconform.vocabulary.workload_records import WorkloadRecord
from fsconform.vocabulary.workloads import Episode, EpisodeResult

MOST_SITES = 3
POLL_LIMIT_S = 120.0


def conduct_workload(options: WorkloadOptions, progress: Progress) -> WorkloadRecord:
    """Replay and judge. Ctrl-C gives the record of the episodes that were finished by then.

    Raises CannotTestError for whatever cannot be tested; nothing is left behind then.
    """
    specs = parse_sites(options.sites)
    if count_mounts(specs) > MOST_SITES:
        raise CannotTestError(f"{count_mounts(specs)} sites; a workload has at most {MOST_SITES}: A, B and C")
    if options.profile:
        load_profile(options.profile)
    with one_interrupt(), mounted(specs) as found:
        return _Replay(options, first_contact(found), progress).perform()


@dataclass(slots=True)
class _Replay:
    """The state of a workload between survey and record."""

    options: WorkloadOptions
    specs: Sequence[SiteSpec]
    progress: Progress
    results: list[EpisodeResult] = field(default_factory=list)
    interrupted: bool = False
    lost: str = ""
    """Why no worker can be had any more at a site; what was played by then counts."""

    def perform(self) -> WorkloadRecord:
        started, began = datetime.now(UTC), time.monotonic()
        forget_peak()
        store = personality(self.options.personality)
        with Fleet() as fleet:
            launches = [Launch(spec, letter) for letter, spec in zip(LETTERS, self.specs, strict=False)]
            scouts = fleet.launch(launches)
            found = arrive(fleet, scouts, self.specs, self.options.profile, self.progress)
            by_letter = {worker.letter: worker for worker in scouts}
            profile: Profile | None = None
            try:
                profile = choose_profile(self.options.profile, found.sites)
                self._play_all(fleet, by_letter, found, profile)
            except KeyboardInterrupt:
                if profile is None:
                    raise
                self.interrupted = True
            except SiteLost as loss:
                if profile is None or not self.results:
                    raise
                self.lost = loss.reason
            finally:
                removal = leave(fleet, by_letter, found)
            incidents = (*found.warnings, *fleet.incidents, *fleet.abandoned)
        inconclusive, how_to = one_client(profile, found)
        return WorkloadRecord(
            name=self.options.name, personality=store.name, title=store.title, run_id=found.directory.run_id,
            version=__version__, started=moment_text(started),
            duration_s=time.monotonic() - began, profile=profile.name, profile_title=profile.title,
            model_note=model_note(profile, found), sites=found.sites,
            topologies={direction: kind.value for direction, kind in found.topologies.items()},
            parts=_parts(found), results=tuple(self.results), command=self.options.command(),
            bounds=bound_lines(profile, found.sites), interrupted=self.interrupted,
            inconclusive=self.lost or inconclusive, how_to=how_to,
            applications=judge_replays(store.application, self.results),
            left_behind=removal.left_behind, incidents=tuple(dict.fromkeys(incidents)), blind_spots=found.blind_spots,
            peak_bytes=peak_bytes(),
        )  # fmt: skip

    def _play_all(self, fleet: Fleet, scouts: Mapping[str, Worker], found: Survey, profile: Profile) -> None:
        if self.options.variants != ("v9",):
            refusals.refuse_full(found.sites, self.options.bytes_needed, 10 * self.options.blocks + 100)
        _refuse_read_only(found)
        parties = self._hire(fleet, found)

        def promise_of(cell: Cell) -> Promise:
            return profile.promise_among(cell, found.sites)

        for number, setting in enumerate(settings(self.options)):
            self.progress.phase(f"replaying {', '.join((setting.variant, setting.reader, *setting.crossed))}")
            directory = f"workload.{number}"
            stage = self._stage(fleet, found, profile, parties, directory, setting)
            self.results.append(self._played(stage, promise_of))
            stage.give_back_room()
            for party in parties.values():
                if party.lost:
                    party.revive()
                else:
                    party.close()
            maker = found.directory.maker
            fleet.call(scouts[maker], "remove_finished", found.directory.paths[maker], found.directory.run_id,
                       directory, 60.0, deadline_s=70.0)  # fmt: skip

    def _played(self, stage: Stage, promise_of: PromiseOf) -> EpisodeResult:
        try:
            episode = stage.play(STORIES[stage.setting.variant])
        except NotPlayable as reason:
            return EpisodeResult(Episode(stage.setup(), ()), (), (), (), str(reason))
        return judge_episode(episode, promise_of)

    def _hire(self, fleet: Fleet, found: Survey) -> dict[str, Party]:
        by_letter = {site.letter: site for site in found.sites}
        parts = _parts(found)
        launches = [Launch(by_letter[letter].spec, letter, found.directory.paths[letter], modules=MODULES)
                    for letter in parts.values()]  # fmt: skip
        workers = fleet.launch(launches)
        phase_s = self.options.deadline_s * 4 + 60.0
        return {part: Party(fleet, worker, part, phase_s) for part, worker in zip(parts, workers, strict=True)}

    def _stage(self, fleet: Fleet, found: Survey, profile: Profile, parties: Mapping[str, Party], directory: str,
               setting: Setting) -> Stage:  # fmt: skip
        roots = {part: f"{found.directory.paths[letter]}/{directory}" for part, letter in _parts(found).items()}
        bound_s = min(longest_wait_s(found.sites, profile) + 1.0, POLL_LIMIT_S)
        return Stage(
            fleet, self.options, personality(self.options.personality), parties, roots, setting,
            bound_s if self.options.watch_s is None else self.options.watch_s,
            tuple(site.path for site in found.sites), min(site.free_bytes for site in found.sites),
        )  # fmt: skip


def _refuse_read_only(found: Survey) -> None:
    """Raises CannotTestError where an instance could not store anything."""
    for part, letter in _parts(found).items():
        site = found.site(letter)
        if site.read_only:
            raise CannotTestError(f"site {site.spec.text!r}: read-only here, but {part} must write there")


def _parts(found: Survey) -> dict[str, str]:
    """A at the first site, B at the second one, C at the third; where there are fewer: B at A's, C at A's."""
    letters = [site.letter for site in found.sites]
    return {"A": letters[0], "B": letters[1 % len(letters)], "C": letters[2] if len(letters) > 2 else letters[0]}
