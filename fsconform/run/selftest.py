"""The self-test: the lab lies in every way it knows, and every lie must be caught by the properties that it breaks.

A surviving mutant, an accusation of an innocent property, or a property that no mutant breaks is a fault of fsconform.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context

from fsconform.lab.mutants import MUTANTS
from fsconform.lab.mutants.registry import Mutant
from fsconform.run.conduct import conduct
from fsconform.run.options import Options
from fsconform.run.progress import Silent
from fsconform.run.selection import matches
from fsconform.run.table import BUDGETS, Row, rows
from fsconform.vocabulary.errors import unknown
from fsconform.vocabulary.properties import FAMILIES, PROPERTIES
from fsconform.vocabulary.records import RunRecord
from fsconform.vocabulary.sites import LETTERS
from fsconform.vocabulary.verdicts import EXIT_FAULT, EXIT_KEPT, CellResult, Verdict

BUDGET = "smoke"
JOBS = 2
"""Labs that are tried at the same time: much of the time of each is waiting."""
CANARIES = tuple(next(word for word in PROPERTIES if word.startswith(f"{family}.")) for family in FAMILIES)
"""The first property of every family: its first cell is tried with every mutant."""
_SITES = LETTERS[:2]


@dataclass(frozen=True, slots=True)
class Kill:
    """One property that a mutant broke, over all its cells."""

    property_id: str
    violations: int
    trials: int
    witness_trials: int | None
    """How many trials the quickest cell needed until the first violation; None where a refusal is the violation."""
    witness_s: float | None
    """How long that took, from that cell's first trial on."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """What one lab, with a mutant or without any, came to."""

    lab: str
    """As `lab=` takes it."""
    mutant: str
    """Empty for a lab that does not lie."""
    named: frozenset[str]
    """The properties that the mutant is to break."""
    kills: tuple[Kill, ...]
    survived: tuple[str, ...]
    """Properties that it names and that did not break."""
    accused: tuple[str, ...]
    """Properties that broke and that it neither names nor explains."""
    incidents: tuple[str, ...]
    """What went wrong beside the verdicts."""
    seconds: float

    @property
    def right(self) -> bool:
        """Caught by what it names, and by nothing else; the run itself went well."""
        return not (self.survived or self.accused or self.incidents)


@dataclass(frozen=True, slots=True)
class Selftest:
    """All attempts, the labs without mutants first."""

    attempts: tuple[Attempt, ...]
    without_mutant: tuple[str, ...]
    """Properties that no mutant breaks, though these labs could show them."""
    elsewhere: tuple[str, ...]
    """Properties that only other sites than these labs can show."""

    @property
    def exit_status(self) -> int:
        """0, or 3: whatever is wrong here is our fault."""
        right = all(attempt.right for attempt in self.attempts) and not self.without_mutant
        return EXIT_KEPT if right else EXIT_FAULT


def selftest(
    mutants: Sequence[str] = (),
    properties: Sequence[str] = (),
    full: bool = False,
    jobs: int = JOBS,
    tell: Callable[[Attempt], None] = lambda _: None,
) -> Selftest:
    """Try every mutant (or these, or those that break these properties), and the labs without them.

    Each mutant is tried by the cells of the properties it names and by the canaries, or with `full` by all cells; the
    labs without mutants by all of these. `jobs` of them are tried at the same time. Raises CannotTestError for an
    unknown mutant or property, and where a lab cannot be mounted here.
    """
    for word in mutants:
        if word not in MUTANTS:
            raise unknown("mutant", word, MUTANTS)
    for word in properties:
        if word not in PROPERTIES:
            raise unknown("property", word, PROPERTIES)
    chosen = list(_chosen(mutants, properties))
    plan: list[_Trial] = [
        (mutant.name, mutant.against, every_cell() if full else cells_for(mutant)) for mutant in chosen
    ]
    attempts: list[Attempt] = []
    for attempt in _perform([*_truthful(plan), *plan], jobs):
        attempts.append(attempt)
        tell(attempt)
    broken = frozenset[str]().union(*(mutant.properties for mutant in MUTANTS.values()))
    shown = frozenset(_cells())
    return Selftest(tuple(attempts), tuple(sorted(shown - broken)), tuple(sorted(set(PROPERTIES) - shown)))


_Trial = tuple[str, tuple[str, str], tuple[str, ...]]
"""A mutant, or nothing; the lab and the profile; the cells."""


def _perform(plan: Sequence[_Trial], jobs: int) -> Iterator[Attempt]:
    """In order. In processes of their own, because a run handles signals of its process."""
    if jobs == 1:
        yield from itertools.starmap(attempt_at, plan)
        return
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        yield from pool.map(attempt_at, *zip(*plan, strict=True))


def _truthful(plan: Sequence[_Trial]) -> Iterator[_Trial]:
    """Each lab without its mutants, by all cells that any of them is tried by."""
    for place in dict.fromkeys(place for _, place, _ in plan):
        yield "", place, tuple(dict.fromkeys(cell for _, used, cells in plan if used == place for cell in cells))


def _chosen(mutants: Sequence[str], properties: Sequence[str]) -> Iterator[Mutant]:
    for name, mutant in MUTANTS.items():
        wanted = name in mutants or bool(mutant.properties & set(properties))
        if mutant.properties and (wanted or not (mutants or properties)):
            yield mutant


def cells_for(mutant: Mutant) -> tuple[str, ...]:
    """The cells of the properties that a mutant names and that can show it, and the canaries."""
    canaries = [cells[0] for word, cells in _cells().items() if word in CANARIES]
    return tuple(dict.fromkeys([*named_cells(mutant), *canaries]))


def named_cells(mutant: Mutant) -> list[str]:
    """The cells that can show a mutant."""
    if mutant.where:
        everything = [row.cell for row in rows(BUDGETS[-1], _SITES) if row.cell.property_id in mutant.properties]
        return [cell.id for cell in everything if matches(mutant.where, cell.id)]
    return [cell for word, cells in _cells().items() if word in mutant.properties for cell in cells]


def every_cell() -> tuple[str, ...]:
    """All cells that a mutant may be tried by."""
    return tuple(cell for cells in _cells().values() for cell in cells)


@cache
def _cells() -> dict[str, tuple[str, ...]]:
    """Property -> its cells of the smallest budget that has any; those that need other sites left out."""
    found: dict[str, tuple[str, ...]] = {}
    for tier in BUDGETS:
        here: dict[str, list[Row]] = {}
        for row in rows(tier, _SITES):
            if not row.only:
                here.setdefault(row.cell.property_id, []).append(row)
        for word, entries in here.items():
            found.setdefault(word, tuple(row.cell.id for row in entries))
    return found


def attempt_at(name: str, place: tuple[str, str], cells: tuple[str, ...]) -> Attempt:
    """Try one lab, with a mutant or (nothing) without, held against a profile, by these cells."""
    begun = time.monotonic()
    mutant = MUTANTS.get(name)
    lab = mutant.lab if mutant else place[0]
    record = conduct(Options((f"lab={lab}",), place[1], BUDGET, seed=1, cell_ids=cells, search=False), Silent())
    broken = _broken(record)
    named = mutant.properties if mutant else frozenset[str]()
    excused = named | set(mutant.also if mutant else ())
    return Attempt(
        lab,
        name,
        named,
        tuple(_kill(property_id, results) for property_id, results in sorted(broken.items())),
        tuple(sorted(named - set(broken))),
        tuple(sorted(set(broken) - excused)),
        record.incidents,
        time.monotonic() - begun,
    )


def _broken(record: RunRecord) -> dict[str, list[CellResult]]:
    found: dict[str, list[CellResult]] = {}
    for result in record.cells:
        if result.verdict is Verdict.VIOLATED:
            found.setdefault(result.cell.property_id, []).append(result)
    return found


def _kill(property_id: str, results: Sequence[CellResult]) -> Kill:
    violations = sum(max(1, result.judgement.violations) for result in results)
    trials = sum(result.observation.attempted for result in results)
    witnesses = [result.observation.witness for result in results if result.observation.witness]
    quickest = min(witnesses, key=lambda witness: witness.after_ns, default=None)
    if quickest is None:
        return Kill(property_id, violations, trials, None, None)
    return Kill(property_id, violations, trials, quickest.trials, quickest.after_ns / 1e9)
