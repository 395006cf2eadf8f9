"""The record of a mutant, and the catalogue."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from fsconform.lab.traits import Trait
from fsconform.vocabulary.properties import PROPERTIES

STRICT = ("strict", "posix-local")
BY_CALLS = "plain calls (tests/lab/evidence): no property asks for it yet"


@dataclass(frozen=True, slots=True)
class Mutant:
    """One switchable defect."""

    name: str
    summary: str
    report: str
    """Where this was seen, or what in the specification it contradicts."""
    properties: frozenset[str]
    """The ids of the properties that it must break."""
    install: Trait
    also: Mapping[str, str] = field(default_factory=dict)
    """Further properties that break with it by necessity, with why."""
    window: float = 0.005
    """Default of the knob `window`, seconds."""
    ttl: float = 0.4
    """Default of the knob `ttl`, seconds."""
    racy: bool = False
    """Whether it shows only where calls meet or by chance: such a one must be caught at p = 0.05, too."""
    against: tuple[str, str] = STRICT
    """The lab that it is installed in, and the profile that it is held against."""
    where: str = ""
    """An expression over ids of cells (as `-k` takes it): which cells of its properties can show it, of whatever
    budget; empty: those of the smallest budget."""
    shown_by: str = ""
    """What shows a mutant that breaks no property of the catalogue."""

    @property
    def lab(self) -> str:
        """The lab with this mutant, as `lab=` takes it."""
        return f"{self.against[0]},mutant={self.name}"


MUTANTS: dict[str, Mutant] = {}


def mutant(
    name: str,
    summary: str,
    report: str,
    breaks: tuple[str, ...],
    also: Mapping[str, str] | None = None,
    window: float = 0.005,
    ttl: float = 0.4,
    racy: bool = False,
    against: tuple[str, str] = STRICT,
    where: str = "",
    shown_by: str = "",
) -> Callable[[Trait], Trait]:
    """Enter a trait into the catalogue.

    Raises ValueError for a name twice, an unknown property, or one that neither breaks a property nor says what
    shows it.
    """

    def register(install: Trait) -> Trait:
        wrong = {*breaks, *(also or {})} - set(PROPERTIES)
        if wrong or name in MUTANTS:
            raise ValueError(f"mutant {name!r}: {f'unknown properties {sorted(wrong)}' if wrong else 'twice'}")
        if bool(breaks) == bool(shown_by):
            raise ValueError(f"mutant {name!r}: needs properties that it breaks, or what else shows it")
        MUTANTS[name] = Mutant(
            name, summary, report, frozenset(breaks), install, also or {}, window, ttl, racy, against, where, shown_by
        )
        return install

    return register
