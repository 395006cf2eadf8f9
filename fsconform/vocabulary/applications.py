"""Verdicts per application: whether a store can be trusted on a filesystem, and what decides it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Safety(Enum):
    """From best to worst; `UNDECIDED` where something it leans on was not measured or is inconclusive."""

    SAFE = "safe"
    SAFE_WITHIN = "safe within"
    WASTES_WORK = "wastes work"
    UNSAFE = "unsafe: loses or corrupts data"
    CANNOT_RUN = "cannot run"
    UNDECIDED = "undecided"


SEVERITY = (Safety.SAFE, Safety.SAFE_WITHIN, Safety.WASTES_WORK, Safety.UNSAFE, Safety.CANNOT_RUN)
INFERRED, REPLAYED, DESIGN = "inferred from properties", "replayed", "its own design"


@dataclass(frozen=True, slots=True)
class ApplicationVerdict:
    """What one store can expect of the filesystem."""

    name: str
    title: str
    safety: Safety
    within_s: float
    """N of `safe within N s`: the longest promised bound that decides it, 0 else."""
    deciding: str
    """The cell, property or finding that decides; empty where nothing is wrong."""
    why: str
    cure: str
    evidence: str
    """`inferred from properties`, `replayed`, or `its own design`."""
    untested: tuple[str, ...] = ()
    """Properties that it leans on and that were not measured, or could not be decided."""

    def __str__(self) -> str:
        """`safe within 5 s`, `unsafe: loses or corrupts data`."""
        return f"safe within {self.within_s:g} s" if self.safety is Safety.SAFE_WITHIN else str(self.safety.value)
