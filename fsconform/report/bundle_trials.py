"""Trials of latency cells as JSON and back: every field by its name, steps in their wire form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from fsconform.vocabulary.cells import Cell
from fsconform.vocabulary.steps import Step
from fsconform.vocabulary.trials import Trial, TrialResult, Want


def trial_object(result: TrialResult) -> dict[str, Any]:
    """One trial and what it gave; its cell is not repeated."""
    told = {entry.name: _plain(getattr(result, entry.name)) for entry in fields(result) if entry.name != "trial"}
    trial = {entry.name: _plain(getattr(result.trial, entry.name)) for entry in fields(Trial) if entry.name != "cell"}
    return {"trial": trial, **told}


def trial_from(data: Mapping[str, Any], cell: Cell) -> TrialResult:
    """The inverse of `trial_object`. Raises KeyError, TypeError or ValueError for anything else."""
    trial = Trial(cell=cell, **_fields(Trial, data["trial"], "cell"))
    return TrialResult(trial=trial, **_fields(TrialResult, data, "trial"))


def _plain(value: Any) -> Any:
    if isinstance(value, Step):
        return value.to_wire()
    if isinstance(value, Want):
        return {entry.name: getattr(value, entry.name) for entry in fields(Want)}
    if isinstance(value, tuple):
        return [_plain(entry) for entry in value]
    return value


def _fields(kind: type[Trial] | type[TrialResult], data: Mapping[str, Any], without: str) -> dict[str, Any]:
    """The fields that are told; those of other versions that are not known here are left out."""
    return {entry.name: _typed(str(entry.type), data[entry.name]) for entry in fields(kind)
            if entry.name != without and entry.name in data}  # fmt: skip


def _typed(kind: str, value: Any) -> Any:
    """A value of the type that a field is declared with."""
    if kind == "Step":
        return Step.from_wire(tuple(value))
    if kind == "tuple[Step, ...]":
        return tuple(Step.from_wire(tuple(wire)) for wire in value)
    if kind == "Want":
        return Want(**{name: int(number) for name, number in value.items()})
    if kind == "tuple[tuple[int, int], ...]":
        return tuple((int(first), int(second)) for first, second in value)
    fits = {"int": type(value) is int, "int | None": value is None or type(value) is int, "str": type(value) is str}
    if not fits.get(kind, False):
        raise ValueError(f"{str(value)[:40]!r} is no {kind}")
    return value
