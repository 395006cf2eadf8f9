"""One shared window in which everything waits.

All latency trials are primed and changed at the start and then swept until their bounds have passed; races and the
search run inside that waiting time, on workers of their own. Nothing is removed before the window closes, except what
a finished experiment made in its own directory, which is no ancestor of a name that is being waited for.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np

from fsconform.fleet.fleet import Fleet, PendingTrials, SiteLost
from fsconform.probes.experiment import Experiment
from fsconform.probes.latency import observe as observe_trials
from fsconform.run.crew import Crew
from fsconform.run.janitor import Janitor
from fsconform.run.plan import ROUNDS_DIRECTORY, SEARCH_DIRECTORY, TRIALS_DIRECTORY, Plan
from fsconform.run.progress import Progress
from fsconform.search.hunting import HuntCut
from fsconform.vocabulary.cells import Cell
from fsconform.vocabulary.errors import CannotTestError, FsconformError
from fsconform.vocabulary.findings import SearchSummary
from fsconform.vocabulary.histories import LaneColumns, RoundHistory
from fsconform.vocabulary.observations import Observation
from fsconform.vocabulary.programs import Lane, Program
from fsconform.vocabulary.steps import Step
from fsconform.vocabulary.trials import TrialResult

PATIENCE = 6
"""How many times the planned rounds an experiment may take to gather its informative ones."""
SETTLE_S = 0.08
"""Pause between making files and priming: more than a server's timestamp tick (10 ms on usual kernels)."""
GRACE_S = 10.0
OVERRUN_S = 60.0
"""A busy machine takes its time to prime; hung steps have deadlines of their own."""

Hunt = Callable[[float, Callable[[], bool]], SearchSummary]
"""(seconds, stop) -> what the search found."""


@dataclass(slots=True)
class Measured:
    """What a window gave."""

    observations: dict[str, Observation] = field(default_factory=dict)
    histories: dict[str, RoundHistory] = field(default_factory=dict)
    """Cell id -> rounds of its experiment, of cells with violations."""
    trials: dict[str, tuple[TrialResult, ...]] = field(default_factory=dict)
    """Cell id -> its trials, of cells about latency."""
    search: SearchSummary = field(default_factory=SearchSummary)
    operations: int = 0
    interrupted: bool = False
    faults: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Window:
    """Performs a plan. `target` is the number of informative rounds an experiment is to gather."""

    fleet: Fleet
    crew: Crew
    plan: Plan
    progress: Progress
    janitor: Janitor
    maker: str
    """Letter of a site that can write."""
    planned_rounds: int
    target: int
    hunt: Hunt | None
    hunt_s: float
    step_deadline_s: float = 30.0
    closes: float = 0.0
    opened: float = 0.0
    measured: Measured = field(default_factory=Measured)

    def perform(self) -> Measured:
        """Run the window to its end, or to Ctrl-C; what was measured by then is returned in either case."""
        pending: list[tuple[PendingTrials, Sequence[Cell]]] = []
        try:
            self._make_room()
            pending = self._start_batches()
            self.opened = time.monotonic()
            self.closes = self.opened + self.plan.window_s
            self._run_experiments()
            self._run_search()
            self._wait(pending)
        except KeyboardInterrupt:
            self.measured.interrupted = True
            self.fleet.halt()
        self._collect(pending)
        self.progress.done()
        return self.measured

    def _make_room(self) -> None:
        """Make all directories now: later it would change an ancestor of names that are waited for."""
        idle = (Lane(self.maker, (Step("stat", "."),)),)
        cells = tuple(map(str, range(self.plan.latency_cells)))
        rooms = {TRIALS_DIRECTORY: cells, f"{ROUNDS_DIRECTORY}/ready": (), f"{SEARCH_DIRECTORY}/ready": ()}
        for base, directories in rooms.items():
            program = Program(idle, directories)
            self.fleet.run_rounds(program, self.crew.lanes(program), base, 1)

    # ------------------------------------------------------------------ latency

    def _start_batches(self) -> list[tuple[PendingTrials, Sequence[Cell]]]:
        if not self.plan.batches:
            return []
        count = sum(len(batch.trials) for batch in self.plan.batches)
        self.progress.phase(f"making {count:,} files and directories, then priming and changing each")
        # Nobody primes before everybody's files are made: a change of a common ancestor would refresh what waits.
        ready = threading.Barrier(len(self.plan.batches))
        pending: list[tuple[PendingTrials, Sequence[Cell]]] = []
        for batch in self.plan.batches:
            actor, observer = self.crew.pairs[batch.key]
            settle_s = self.plan.rest_s if batch.age == "settled" else SETTLE_S
            cells = list(dict.fromkeys(trial.cell for trial in batch.trials))
            trials = self.fleet.start_trials(
                actor, observer, batch.trials, settle_s=settle_s, step_deadline_s=self.step_deadline_s, ready=ready
            )
            pending.append((trials, cells))
        return pending

    def _wait(self, pending: Sequence[tuple[PendingTrials, Sequence[Cell]]]) -> None:
        while any(not trials.done() for trials, _ in pending):
            elapsed = time.monotonic() - self.opened
            if elapsed > 2 * self.plan.window_s + self.plan.rest_s + OVERRUN_S:
                self.measured.faults.append("latency trials did not end with the window")
                self.fleet.halt()
                return
            self._show_waiting(elapsed)
            time.sleep(0.2)

    def _show_waiting(self, elapsed: float) -> None:
        self.progress.waiting("caches to forget what they were told", elapsed, self.plan.window_s)

    def _collect(self, pending: Sequence[tuple[PendingTrials, Sequence[Cell]]]) -> None:
        by_cell: dict[str, list[TrialResult]] = defaultdict(list)
        for trials, cells in pending:
            for result in trials.result(GRACE_S):
                by_cell[result.trial.cell.id].append(result)
                self.measured.operations += result.looks + len(result.trial.change) + len(result.trial.prime)
            for cell in cells:
                by_cell.setdefault(cell.id, [])
        self.fleet.notice_lost_sites()
        for cell_id, results in by_cell.items():
            seen = observe_trials(results)
            cells = [result.trial.cell for result in results if result.lost]
            if lost := self._lost_among(letter for cell in cells for letter in (cell.acting, cell.observing)):
                seen = replace(seen, reason=lost)
            self.measured.observations[cell_id] = seen
            self.measured.trials[cell_id] = tuple(results)

    def _lost_among(self, letters: Iterable[str]) -> str:
        """Which of these sites are lost and since when; empty where none is."""
        lost = sorted(set(letters) & self.fleet.lost_sites.keys())
        return "; ".join(self.fleet.lost_sites[letter] for letter in lost)

    # ------------------------------------------------------------------ rounds

    def _run_experiments(self) -> None:
        for number, experiment in enumerate(self.plan.experiments, start=1):
            self.progress.phase(f"experiment {number} of {len(self.plan.experiments)}: {experiment.name}")
            lost = self._lost_of(experiment.program)
            if lost:
                self._excuse(experiment, lost)
            else:
                self._run_experiment(experiment)

    def _lost_of(self, program: Program) -> str:
        return self._lost_among(lane.site for lane in program.lanes)

    def _run_experiment(self, experiment: Experiment) -> None:
        histories: list[RoundHistory] = []
        done = 0
        while done < self.planned_rounds * PATIENCE:
            rounds = min(experiment.batch, self.planned_rounds)
            base = f"{ROUNDS_DIRECTORY}/{experiment.name}/{len(histories)}"
            try:
                history = self.fleet.run_rounds(
                    experiment.program, self.crew.lanes(experiment.program), base, rounds,
                    step_deadline_s=self.step_deadline_s,
                )  # fmt: skip
            except CannotTestError:
                raise
            except FsconformError as error:
                self._give_up(experiment, str(error))
                break
            self.janitor.remove(base)
            histories.append(history)
            done += rounds
            if history.lost:
                with suppress(SiteLost):  # told where the experiment is judged
                    self.crew.mend(self.fleet, experiment.program, history.lost)
                break
            if done >= self.planned_rounds and self._informed(experiment, histories):
                break
        self._judge_experiment(experiment, histories)

    def _informed(self, experiment: Experiment, histories: Sequence[RoundHistory]) -> bool:
        """Whether every cell has its informative rounds, or will never have any (refused)."""
        joined = join(histories)
        observations = [experiment.observe(cell, joined) for cell in experiment.cells]
        return all(seen.refused or seen.informative >= self.target for seen in observations)

    def _judge_experiment(self, experiment: Experiment, histories: Sequence[RoundHistory]) -> None:
        if not histories:
            return
        joined = join(histories)
        self.measured.operations += sum(int(lane.errno.size) for lane in joined.lanes)
        for cell in experiment.cells:
            seen = experiment.observe(cell, joined)
            if joined.lost:
                lost = self._lost_of(experiment.program) or f"a worker was lost: {'; '.join(joined.lost.values())}"
                seen = replace(seen, reason=lost)
            self.measured.observations[cell.id] = seen
            if seen.violations:
                self.measured.histories[cell.id] = joined

    def _give_up(self, experiment: Experiment, why: str) -> None:
        self.measured.faults.append(f"{experiment.name}: {why}")
        self._excuse(experiment, why)

    def _excuse(self, experiment: Experiment, why: str) -> None:
        for cell in experiment.cells:
            self.measured.observations.setdefault(cell.id, Observation(0, 0, reason=why))

    # ------------------------------------------------------------------ search

    def _run_search(self) -> None:
        if self.hunt is None:
            return
        left = min(self.hunt_s, max(2.0, self.closes - time.monotonic() - 1.0))
        begun = time.monotonic()
        self.progress.phase(f"searching for outcomes that must not happen, {left:.0f} s")

        def stop() -> bool:
            now = time.monotonic()
            self.progress.waiting("the search, and caches to forget", now - self.opened, self.plan.window_s)
            return now - begun > left

        try:
            self.measured.search = self.hunt(left, stop)
        except HuntCut as cut:
            self.measured.search = cut.summary
            raise
        finally:
            self.measured.operations += self.measured.search.operations


def join(histories: Sequence[RoundHistory]) -> RoundHistory:
    """Rounds of one program, one after another."""
    if len(histories) == 1:
        return histories[0]
    lanes = tuple(
        LaneColumns(*(np.concatenate([getattr(column, name) for column in columns])
                      for name in ("invoked", "returned", "errno", "value", "detail")))
        for columns in zip(*(history.lanes for history in histories), strict=True)
    )  # fmt: skip
    errors = tuple(max(errors) for errors in zip(*(history.error_ns for history in histories), strict=True))
    lost = {lane: why for history in histories for lane, why in history.lost.items()}
    faults = dict.fromkeys(history.clock_fault for history in histories if history.clock_fault)
    per_round = tuple(np.concatenate([h.error_of(lane) for h in histories]) for lane in range(len(lanes)))
    return RoundHistory(histories[0].program, lanes, errors, lost, histories[0].clocks, "; ".join(faults), per_round)
