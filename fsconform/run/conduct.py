"""One run from the options to the record: sites, survey, plan, window, verdicts, clean-up."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

from fsconform import __version__
from fsconform.fleet.fleet import Fleet, SiteLost, Worker
from fsconform.fleet.launch import Launch
from fsconform.judging.applications import judge_applications
from fsconform.judging.judgement import judge
from fsconform.judging.profile_texts import profile_texts
from fsconform.judging.profiles import Profile, choose_profile, load_profile
from fsconform.oracles.examination import examine
from fsconform.oracles.retransmissions import doubt
from fsconform.run import refusals
from fsconform.run.crew import Crew, hire, racers_per_site
from fsconform.run.doctor import bound_lines
from fsconform.run.environments import finish_environments, read_environments
from fsconform.run.interrupts import one_interrupt
from fsconform.run.janitor import Janitor
from fsconform.run.labs import count_mounts, mounted, parse_sites
from fsconform.run.options import Options
from fsconform.run.plan import SEARCH_DIRECTORY, Plan, Promises, make_plan
from fsconform.run.preflight import first_contact
from fsconform.run.progress import Progress
from fsconform.run.selection import applicable, select
from fsconform.run.surveys import Survey
from fsconform.run.table import Budget, Row, parse_budget
from fsconform.run.visits import arrive, leave, model_note, moment_text, one_client
from fsconform.run.window import Hunt, Measured, Window
from fsconform.search.budgets import Budget as SearchBudget
from fsconform.search.encoding import Ground
from fsconform.search.hunting import hunt
from fsconform.search.promises import rule
from fsconform.vocabulary.cells import ALL_SITES, Cell
from fsconform.vocabulary.findings import SearchSummary
from fsconform.vocabulary.histories import RoundHistory
from fsconform.vocabulary.observations import Observation
from fsconform.vocabulary.programs import Program
from fsconform.vocabulary.promises import Promise
from fsconform.vocabulary.records import RunRecord
from fsconform.vocabulary.sites import LETTERS, SiteSpec, Topology
from fsconform.vocabulary.trials import TrialResult
from fsconform.vocabulary.verdicts import CellResult, Verdict

TARGETS = {"smoke": 12, "quick": 100, "standard": 300, "thorough": 3000}
"""Informative rounds an experiment is to gather."""
RACERS_NICENESS = 5
"""Races and clean-up step back, so that looks whose moment matters come in time on a small machine."""


def candidate_rows(options: Options) -> list[Row]:
    """The cells these options may have, by the number of sites alone: nothing is touched."""
    count = count_mounts(parse_sites(options.sites))
    budget = parse_budget(options.budget)
    return select(options, budget.tier, LETTERS[:count])


def conduct(options: Options, progress: Progress) -> RunRecord:
    """Measure and judge. Ctrl-C inside the window gives the record of what was measured by then.

    Raises CannotTestError for whatever cannot be tested; nothing is left behind then.
    """
    budget = parse_budget(options.budget)
    options.refuse_deadline()
    candidate_rows(options)
    if options.profile:
        load_profile(options.profile)
    with one_interrupt(), mounted(parse_sites(options.sites)) as specs:
        return _Run(options, budget, first_contact(specs), progress).perform()


@dataclass(slots=True)
class _Run:
    """The state of one run between survey and record."""

    options: Options
    budget: Budget
    specs: Sequence[SiteSpec]
    progress: Progress

    def perform(self) -> RunRecord:
        started, began = datetime.now(UTC), time.monotonic()
        with Fleet() as fleet:
            scouts = fleet.launch([Launch(spec, letter) for letter, spec in zip(LETTERS, self.specs, strict=False)])
            found = arrive(fleet, scouts, self.specs, self.options.profile, self.progress)
            by_letter = {worker.letter: worker for worker in scouts}
            measured, results, profile = Measured(), (), None  # type: Measured, tuple[CellResult, ...], Profile | None
            try:
                before = read_environments(fleet, by_letter, found.sites)
                profile = choose_profile(self.options.profile, found.sites)
                chosen = self._rows(found)
                promises = {row.cell.id: profile.promise_among(row.cell, found.sites) for row in chosen}
                measured = self._measure(fleet, by_letter, found, profile, chosen, promises)
                results = tuple(self._judged(row.cell, promises, found, measured) for row in chosen)
                environments = finish_environments(
                    fleet, {} if measured.interrupted else by_letter, found.sites, before, measured.trials.values()
                )
            finally:
                removal = leave(fleet, by_letter, found)
            incidents = (*found.warnings, *fleet.incidents, *measured.faults, *fleet.abandoned)
        inconclusive, how_to = one_client(profile, found)
        return RunRecord(
            run_id=found.directory.run_id,
            version=__version__,
            started=moment_text(started),
            duration_s=time.monotonic() - began,
            budget=self.options.budget,
            seed=self.options.seed,
            profile=profile.name,
            profile_title=profile.title,
            model_note=model_note(profile, found),
            sites=found.sites,
            topologies={direction: kind.value for direction, kind in found.topologies.items()},
            capabilities=found.capabilities,
            cells=results,
            search=measured.search,
            command=self.options.command(),
            interrupted=measured.interrupted,
            inconclusive=inconclusive,
            how_to=how_to,
            left_behind=removal.left_behind,
            incidents=tuple(dict.fromkeys(incidents)),
            operations=measured.operations,
            blind_spots=found.blind_spots,
            bounds=bound_lines(profile, found.sites),
            applications=judge_applications(results),
            histories=measured.histories,
            trials=_convicting_trials(results, measured),
            environments=environments,
            profile_texts=profile_texts(profile),
        )  # fmt: skip

    def _rows(self, found: Survey) -> list[Row]:
        letters = "".join(site.letter for site in found.sites)
        able = [site.letter for site in found.sites if not site.read_only]
        return applicable(select(self.options, self.budget.tier, letters, able), found.sites, self.options.cell_ids)

    def _measure(self, fleet: Fleet, scouts: dict[str, Worker], found: Survey, profile: Profile,
                 chosen: Sequence[Row], promises: Promises) -> Measured:  # fmt: skip
        letters = "".join(site.letter for site in found.sites)
        plan = make_plan(chosen, promises, letters, self.budget, found.directory.run_id)
        refusals.refuse_full(found.sites, plan.needed_bytes, plan.needed_files)
        self.progress.phase("starting workers")
        crew = self._crew(fleet, scouts, found, plan)
        janitor = Janitor(fleet, crew.scouts[found.directory.maker], found.directory.run_id)
        window = Window(
            fleet, crew, plan, self.progress, janitor, found.directory.maker,
            self.budget.rounds, TARGETS[self.budget.tier],
            self._hunt(fleet, crew, found, profile, janitor) if self.options.search else None,
            self.budget.seconds, self.options.step_deadline_s,
        )  # fmt: skip
        try:
            return window.perform()
        finally:
            janitor.close()

    def _crew(self, fleet: Fleet, scouts: dict[str, Worker], found: Survey, plan: Plan) -> Crew:
        letters = [site.letter for site in found.sites]
        programs = [experiment.program for experiment in plan.experiments]
        directions = [batch.key for batch in plan.batches]
        crew = hire(fleet, found.sites, scouts, directions, racers_per_site(letters, programs))
        for worker in crew.everybody():
            worker.root = found.directory.paths[worker.letter]
        for worker in crew.impatient():
            fleet.call(worker, "step back", RACERS_NICENESS)
        return crew

    def _hunt(self, fleet: Fleet, crew: Crew, found: Survey, profile: Profile, janitor: Janitor) -> Hunt:
        ground = Ground(
            tuple(site.letter for site in found.sites),
            frozenset(site.letter for site in found.sites if site.read_only),
        )
        numbers = iter(range(1 << 30))

        def perform(program: Program, count: int) -> RoundHistory:
            base = f"{SEARCH_DIRECTORY}/{next(numbers)}"
            history = fleet.run_rounds(program, crew.lanes(program), base, count,
                                       step_deadline_s=self.options.step_deadline_s)  # fmt: skip
            with suppress(SiteLost):  # the search ends then
                crew.mend(fleet, program, history.lost)
            janitor.remove(base)
            return history

        def promise_of(cell: Cell) -> Promise:
            return profile.promise_among(cell, found.sites)

        doubtful = profile.retransmit_ambiguous(found.sites)

        def search(seconds: float, stop: Callable[[], bool]) -> SearchSummary:
            return hunt(
                perform, lambda history: examine(doubt(history, doubtful)),
                lambda anomaly, history: rule(anomaly, history, promise_of), ground, self.options.seed,
                SearchBudget(seconds=seconds), lambda: stop() or bool(fleet.lost_sites),
            )  # fmt: skip

        return search

    def _judged(self, cell: Cell, promises: Mapping[str, Promise], found: Survey, measured: Measured) -> CellResult:
        promise = promises[cell.id]
        reason = "interrupted before it was measured" if measured.interrupted else "not measured"
        seen = measured.observations.get(cell.id) or Observation(0, 0, reason=reason)
        kinds = found.topologies
        topology = kinds.get(cell.direction)
        if cell.direction != ALL_SITES and cell.acting == cell.observing:
            topology = Topology.PROCESS
        word = topology.value if topology else _widest(found)
        return CellResult(cell, word, promise, seen, judge(promise, seen, self.budget.tier))


def _convicting_trials(results: Sequence[CellResult], measured: Measured) -> dict[str, tuple[TrialResult, ...]]:
    """The trials of violated cells about latency."""
    violated = (result.cell.id for result in results if result.verdict is Verdict.VIOLATED)
    return {cell_id: measured.trials[cell_id] for cell_id in violated if measured.trials.get(cell_id)}


def _widest(found: Survey) -> str:
    """The topology of a cell in which all sites take part: the widest among them; one site's own: `process`."""
    present = {kind.value for kind in found.topologies.values()}
    return next(word for word in ("host", "mount", "process") if word in present)
