"""The self-test: the lab lies in every way it knows, and every lie must be caught by the properties that it breaks.

A surviving mutant, an accusation of an innocent property, or a property that no mutant breaks is a fault of fsconform.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from fsconform.lab.mutants import MUTANTS
from fsconform.lab.mutants.registry import Mutant
from fsconform.run.conduct import candidate_rows, conduct
from fsconform.run.options import Options
from fsconform.run.progress import Silent
from fsconform.vocabulary.errors import unknown
from fsconform.vocabulary.properties import PROPERTIES
from fsconform.vocabulary.records import RunRecord
from fsconform.vocabulary.verdicts import EXIT_FAULT, EXIT_KEPT, CellResult, Verdict

PROFILE, BUDGET = "posix-local", "smoke"
TRUTHFUL = ""
"""Stands for the lab without any mutant."""


@dataclass(frozen=True, slots=True)
class Kill:
    """One property that a mutant broke: `violations` of `trials` in `seconds` of that mutant's run."""

    property_id: str
    violations: int
    trials: int


@dataclass(frozen=True, slots=True)
class Attempt:
    """What one mutant came to."""

    mutant: str
    kills: tuple[Kill, ...]
    survived: tuple[str, ...]
    """Properties that it names and that did not break."""
    accused: tuple[str, ...]
    """Properties that broke and that it neither names nor explains."""
    seconds: float

    @property
    def right(self) -> bool:
        """Caught by what it names, and by nothing else."""
        return not self.survived and not self.accused


@dataclass(frozen=True, slots=True)
class Selftest:
    """All attempts, the truthful lab first."""

    attempts: tuple[Attempt, ...]
    without_mutant: tuple[str, ...]
    """Properties that no mutant breaks."""

    @property
    def exit_status(self) -> int:
        """0, or 3: whatever is wrong here is our fault."""
        right = all(attempt.right for attempt in self.attempts) and not self.without_mutant
        return EXIT_KEPT if right else EXIT_FAULT


def selftest(
    mutants: Sequence[str] = (), properties: Sequence[str] = (), tell: Callable[[Attempt], None] = lambda _: None
) -> Selftest:
    """Try the truthful lab and every mutant (or these, or those that break these properties).

    Each is tried by the cells of the properties it names and one canary of every other property. Raises
    CannotTestError for an unknown mutant or property, and where the lab cannot be mounted here.
    """
    for word in mutants:
        if word not in MUTANTS:
            raise unknown("mutant", word, MUTANTS)
    for word in properties:
        if word not in PROPERTIES:
            raise unknown("property", word, PROPERTIES)
    attempts = []
    for name in (TRUTHFUL, *_chosen(mutants, properties)):
        attempts.append(_attempt(name))
        tell(attempts[-1])
    broken = frozenset[str]().union(*(mutant.properties for mutant in MUTANTS.values()))
    return Selftest(tuple(attempts), tuple(sorted(set(PROPERTIES) - broken)))


def _chosen(mutants: Sequence[str], properties: Sequence[str]) -> Iterator[str]:
    for name, mutant in MUTANTS.items():
        wanted = name in mutants or bool(mutant.properties & set(properties))
        if mutant.properties and (wanted or not (mutants or properties)):
            yield name


def _attempt(name: str) -> Attempt:
    mutant = MUTANTS.get(name)
    begun = time.monotonic()
    record = conduct(_options(name, mutant), Silent())
    broken = _broken(record)
    named = mutant.properties if mutant else frozenset()
    excused = named | set(mutant.also if mutant else ())
    return Attempt(
        name,
        tuple(_kill(property_id, results) for property_id, results in sorted(broken.items())),
        tuple(sorted(named - set(broken))),
        tuple(sorted(set(broken) - excused)),
        time.monotonic() - begun,
    )


def _options(name: str, mutant: Mutant | None) -> Options:
    lab = f"lab=strict,mutant={name}" if name else "lab=strict"
    return Options((lab,), PROFILE, BUDGET, seed=1, cell_ids=_cells(mutant), search=False)


def _cells(mutant: Mutant | None) -> tuple[str, ...]:
    """All cells of what the mutant names, and the first cell of every other property as a canary."""
    chosen: list[str] = []
    seen: set[str] = set()
    for row in candidate_rows(Options(("lab=strict",), PROFILE, BUDGET)):
        property_id = row.cell.property_id
        if property_id not in seen or (mutant and property_id in mutant.properties):
            chosen.append(row.cell.id)
        seen.add(property_id)
    return tuple(chosen)


def _broken(record: RunRecord) -> dict[str, list[CellResult]]:
    found: dict[str, list[CellResult]] = {}
    for result in record.cells:
        if result.verdict is Verdict.VIOLATED:
            found.setdefault(result.cell.property_id, []).append(result)
    return found


def _kill(property_id: str, results: Sequence[CellResult]) -> Kill:
    violations = sum(max(1, result.judgement.violations) for result in results)
    return Kill(property_id, violations, sum(result.observation.attempted for result in results))
