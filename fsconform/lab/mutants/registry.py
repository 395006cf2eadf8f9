"""The record of a mutant, and the catalogue."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from fsconform.lab.traits import Trait
from fsconform.vocabulary.properties import PROPERTIES


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
    ttl: float = 1.0
    """Default of the knob `ttl`, seconds."""


MUTANTS: dict[str, Mutant] = {}


def mutant(
    name: str,
    summary: str,
    report: str,
    breaks: tuple[str, ...],
    also: Mapping[str, str] | None = None,
    window: float = 0.005,
    ttl: float = 1.0,
) -> Callable[[Trait], Trait]:
    """Enter a trait into the catalogue. Raises ValueError for a name twice or an unknown property."""

    def register(install: Trait) -> Trait:
        wrong = {*breaks, *(also or {})} - set(PROPERTIES)
        if wrong or name in MUTANTS:
            raise ValueError(f"mutant {name!r}: {f'unknown properties {sorted(wrong)}' if wrong else 'twice'}")
        MUTANTS[name] = Mutant(name, summary, report, frozenset(breaks), install, also or {}, window, ttl)
        return install

    return register
