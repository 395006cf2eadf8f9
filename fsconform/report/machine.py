"""report.json: everything a run found, for programs (docs/report-schema.json)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from fsconform.judging.summary import summarise_latency
from fsconform.report.curves import curve_of
from fsconform.report.digest import rate_of
from fsconform.report.verdict_text import repeat_command, sentence
from fsconform.vocabulary.applications import ApplicationVerdict
from fsconform.vocabulary.observations import Cure, Observation, Witness
from fsconform.vocabulary.promises import Promise
from fsconform.vocabulary.records import RunRecord
from fsconform.vocabulary.verdicts import CellResult

SCHEMA = "fsconform-report/1"
"""Changes when a reader of the old form would misread the new one; fields may be added without."""


def report_text(record: RunRecord) -> str:
    r"""The text of report.json: ASCII, so valid UTF-8 whatever names contain.

    Bytes of names that are not UTF-8 stand as lone surrogates (`\udcff` for 0xff, PEP 383), as os.fsdecode has them.
    """
    return json.dumps(report_object(record), indent=1, allow_nan=False) + "\n"


def report_object(record: RunRecord) -> dict[str, Any]:
    """The same as plain objects."""
    return {
        "schema": SCHEMA, "version": record.version, "run_id": record.run_id, "started": record.started,
        "duration_s": round(record.duration_s, 3), "verdict": record.verdict.value,
        "exit_status": record.exit_status, "sentence": sentence(record),
        "interrupted": record.interrupted, "inconclusive": record.inconclusive, "how_to": record.how_to,
        "profile": record.profile, "profile_title": record.profile_title, "model_note": record.model_note,
        "budget": record.budget, "seed": record.seed, "command": record.command, "operations": record.operations,
        "topologies": dict(record.topologies), "sites": [site.to_json() for site in record.sites],
        "capabilities": _capabilities(record), "bounds": list(record.bounds),
        "blind_spots": list(record.blind_spots), "incidents": list(record.incidents),
        "left_behind": list(record.left_behind),
        "applications": [application_object(verdict) for verdict in record.applications],
        "cells": [_cell(record, result) for result in record.cells], "search": record.search.to_json(),
    }  # fmt: skip


def application_object(verdict: ApplicationVerdict) -> dict[str, Any]:
    """One entry of `applications`."""
    return {
        "name": verdict.name, "title": verdict.title, "safety": verdict.safety.value, "within_s": verdict.within_s,
        "verdict": str(verdict), "deciding": verdict.deciding, "why": verdict.why, "cure": verdict.cure,
        "evidence": verdict.evidence, "untested": list(verdict.untested),
    }  # fmt: skip


def _capabilities(record: RunRecord) -> dict[str, dict[str, str]]:
    """Feature -> site letter -> `works`, an errno name, or `unknown`."""
    features: dict[str, dict[str, str]] = {}
    for capability in record.capabilities:
        features.setdefault(capability.feature, {})[capability.site] = capability.result
    return features


def _cell(record: RunRecord, result: CellResult) -> dict[str, Any]:
    cell, judgement, observation = result.cell, result.judgement, result.observation
    return {
        "id": cell.id, "property": cell.property_id, "axes": dict(cell.axes), "topology": result.topology,
        "direction": cell.direction, "promise": _promise(result.promise), "observation": _observation(result),
        "verdict": judgement.verdict.value, "reason": judgement.reason, "near_misses": judgement.near_misses,
        "unresolved": judgement.unresolved, "cures": [_cure(cure) for cure in observation.cures],
        "witness": _witness(observation.witness), "repeat": repeat_command(record, cell.id),
    }  # fmt: skip


def _promise(promise: Promise) -> dict[str, Any]:
    bound = promise.bound
    return {
        "strength": promise.strength.value, "evidence": promise.evidence.value, "source": promise.source,
        "bound": None if bound is None else {
            "name": bound.name, "seconds": bound.seconds, "origin": bound.origin.value, "note": bound.note},
        "errnos": list(promise.errnos), "slack_s": promise.slack_s, "note": promise.note,
    }  # fmt: skip


def _observation(result: CellResult) -> dict[str, Any]:
    observation = result.observation
    summary, curve = summarise_latency(observation), curve_of(observation.latency)
    return {
        "attempted": observation.attempted, "trials": observation.informative,
        "violations": result.judgement.violations, "rate_95": rate_of(result),
        "outcomes": dict(observation.outcomes),
        "latency_s": summary.to_json() if summary else None,
        "curve": curve.to_json() if curve else None,
        "resolution": summary.resolution if summary else None,
        "never": summary.never if summary else None, "flickers": summary.flickers if summary else None,
        "refused": observation.refused, "single_shot": _single_shot(observation), "reason": observation.reason,
    }  # fmt: skip


def _single_shot(observation: Observation) -> dict[str, dict[str, int]]:
    return {delay: {"hits": hits, "looks": looks} for delay, (hits, looks) in observation.single_shot.items()}


def _cure(cure: Cure) -> dict[str, Any]:
    return {
        "name": cure.name, "cured": cure.cured, "trials": cure.trials, "control_visible": cure.control_visible,
        "control_trials": cure.control_trials, "read_only": cure.read_only,
    }  # fmt: skip


def _witness(witness: Witness | None) -> dict[str, Any] | None:
    if witness is None:
        return None
    return {"story": witness.story, "program": plain(witness.program), "events": [plain(e) for e in witness.events]}


def plain(value: Any) -> Any:
    """The value as JSON can hold it: mappings and sequences copied, NumPy numbers as numbers, the rest as text."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else None
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(entry) for entry in value]
    if hasattr(value, "item"):
        return plain(value.item())
    return str(value)
