"""The plan of a run: which trials and experiments its cells need, and how long its window is open."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from fsconform.judging.judgement import slack_s
from fsconform.probes.catalogue import TRIALS, experiments
from fsconform.probes.cures import cure_trials, shot_trials
from fsconform.probes.experiment import Experiment
from fsconform.probes.latency import WATCH
from fsconform.run.table import Budget, Row
from fsconform.vocabulary.cells import Cell
from fsconform.vocabulary.promises import Promise, Strength
from fsconform.vocabulary.trials import Trial

TRIALS_DIRECTORY = "w"
ROUNDS_DIRECTORY = "x"
SEARCH_DIRECTORY = "s"
MARGIN_S = 0.25
"""How much longer than bound and slack a name is watched, so that the deciding look can be begun."""
PATIENCE_S = 12.0
"""How long a name is waited for beyond what was promised: enough to tell a figure to whoever was promised none."""
NAMES_PER_OBSERVER, MOST_PARTS = 120, 4
"""How many names one observer is to wait for, and into how many parts a direction is split at most."""
LEAST_REST_S, REST = 10.0, 1.1
"""How long names of age `settled` rest before they are primed: longer than a timeout is where something changed lately
(timeouts that adapt grow only when it has passed), and no less than some seconds."""
FLICKER_S = 1.0
"""How long a guaranteed name is looked at again after it was seen."""
PAGE_BYTES = 4096
STANDING_BATCHES = 4
"""Messages of one experiment whose files are there at the same time, at most: the janitor is a few behind."""

BatchKey = tuple[str, str, int]
Promises = Mapping[str, Promise]
"""Cell id -> what the profile promises for it."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Latency trials of one direction and age that one pair of workers performs: part `part` of them."""

    direction: str
    age: str
    part: int
    trials: tuple[Trial, ...]

    @property
    def key(self) -> BatchKey:
        """What tells batches apart."""
        return self.direction, self.age, self.part


@dataclass(frozen=True, slots=True)
class Plan:
    """What a window performs."""

    batches: tuple[Batch, ...]
    experiments: tuple[Experiment, ...]
    latency_cells: int
    """Their directories are `w/0/0`, `w/0/1`, ...: round 0 of a program that does nothing makes them."""
    window_s: float
    """From first prime to last look."""
    rest_s: float
    """How long names of age `settled` rest before they are primed."""
    needed_bytes: int
    needed_files: int


def window_seconds(budget: Budget, promises: Sequence[Promise]) -> float:
    """The budget's own length plus the longest promised bound in play and its slack."""
    bounds = [promise for promise in promises if promise.strength is Strength.WITHIN]
    return budget.seconds + max((promise.bound_s + slack_s(promise, 0) for promise in bounds), default=0.0)


def rest_seconds(promises: Sequence[Promise]) -> float:
    """How long the names of settled cells with these promises rest."""
    usual = [promise.bound.usual_s or 0.0 for promise in promises if promise.bound]
    return max(LEAST_REST_S, REST * max(usual, default=0.0))


def make_plan(rows: Sequence[Row], promises: Promises, letters: Sequence[str], budget: Budget, salt: str) -> Plan:
    """Turn cells into trials and experiments. Pure; `salt` makes block names unique to the run."""
    window_s = window_seconds(budget, [promises[row.cell.id] for row in rows])
    groups: dict[tuple[str, str], list[Trial]] = defaultdict(list)
    latency = [row for row in rows if row.cell.property_id in TRIALS]
    for index, row in enumerate(latency):
        cell, base = row.cell, f"{TRIALS_DIRECTORY}/0/{index}"
        trials = _cell_trials(row, promises[cell.id], budget, window_s, base, salt)
        groups[cell.direction, cell.axis("age") or "fresh"] += trials
    batches = tuple(batch for (direction, age), trials in groups.items() for batch in _batches(direction, age, trials))
    rounds = experiments([row.cell for row in rows], letters, salt)
    count = sum(len(batch.trials) for batch in batches)
    standing = [(min(2 * budget.rounds, STANDING_BATCHES * e.batch), e.extra_bytes) for e in rounds]
    return Plan(
        batches,
        tuple(rounds),
        len(latency),
        window_s,
        rest_seconds([promises[row.cell.id] for row in latency if row.cell.axis("age") == "settled"]),
        needed_bytes=4 * PAGE_BYTES * count + max((count * size for count, size in standing), default=0),
        needed_files=4 * count + 8 * max((count for count, _ in standing), default=0),
    )


def _maker(cell: Cell, base: str, salt: str) -> Callable[[int], Trial]:
    """Trials in directories of their own below the cell's."""

    return lambda number: TRIALS[cell.property_id](cell, number, f"{base}/{number}", salt)


def _cell_trials(row: Row, promise: Promise, budget: Budget, window_s: float, base: str, salt: str) -> list[Trial]:
    make = _maker(row.cell, base, salt)
    bounded = promise.strength is Strength.WITHIN
    watched_s = promise.bound_s + slack_s(promise, 0) + MARGIN_S if bounded else FLICKER_S
    until_ns, give_up_ns = int(watched_s * 1e9), int(max(watched_s, min(window_s - 2.0, PATIENCE_S)) * 1e9)
    count = budget.trials_for(promise.strength)
    trials = [replace(make(number), label=WATCH, until_ns=until_ns, give_up_ns=give_up_ns) for number in range(count)]
    if row.cures and promise.strength is not Strength.GUARANTEED:
        trials += cure_trials(make, len(trials))
        trials += shot_trials(make, len(trials), min(promise.bound_s * 1.2 if bounded else 4.0, window_s - 2.0))
    return trials


def _batches(direction: str, age: str, trials: Sequence[Trial]) -> list[Batch]:
    """Few enough names for each observer that those which expire together can all be looked at in time."""
    waiting = sum(trial.until_ns > int(FLICKER_S * 1e9) for trial in trials)
    parts = min(MOST_PARTS, max(1, -(-waiting // NAMES_PER_OBSERVER)))
    ordered = _interleaved(trials)
    return [Batch(direction, age, part, ordered[part::parts]) for part in range(parts)]


def _interleaved(trials: Sequence[Trial]) -> tuple[Trial, ...]:
    """Cells in turn, so that a disturbance of a few milliseconds does not hit one cell alone."""
    return tuple(sorted(trials, key=lambda trial: (trial.number, trial.cell.id)))
