"""report.json against its schema."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from fsconform.report.machine import report_object, report_text
from tests.report.examples import HOSTILE, RUNS, hostile_run, kept_run, violated_run

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "report-schema.json").read_text("utf-8"))


def closed(schema: Any) -> Any:
    """The schema with every object closed: a field that it does not describe is an error."""
    if isinstance(schema, list):
        return [closed(entry) for entry in schema]
    if not isinstance(schema, dict):
        return schema
    result = {key: closed(entry) for key, entry in schema.items()}
    if isinstance(schema.get("properties"), dict) and "type" in schema:
        result.setdefault("additionalProperties", False)
    return result


def faults(report: Any, schema: Any = None) -> list[str]:
    return [error.message for error in Draft202012Validator(schema or closed(SCHEMA)).iter_errors(report)]


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("name", RUNS)
def test_every_report_is_described_by_the_schema(name: str) -> None:
    text = report_text(RUNS[name]())
    assert text.isascii()
    assert faults(json.loads(text)) == []


@pytest.mark.parametrize("key", SCHEMA["required"])
def test_the_schema_misses_a_missing_key(key: str) -> None:
    report = report_object(kept_run())
    del report[key]
    assert faults(report, SCHEMA)


def test_figures_are_the_summary_of_the_trials() -> None:
    report = report_object(violated_run())
    cells = {cell["id"]: cell for cell in report["cells"]}
    late = cells["visibility.create/rename/missed/stat/a-b"]
    observation = late["observation"]
    assert (observation["trials"], observation["attempted"], observation["violations"]) == (20, 21, 3)
    assert observation["never"] == 3
    assert observation["latency_s"]["since_change"]["hi"]["max"] is None
    assert observation["latency_s"]["since_change"]["lo"]["max"] == 36.0
    assert observation["latency_s"]["since_prime"]["hi"]["p50"] == pytest.approx(5.0, abs=0.02)
    assert late["witness"]["events"][1]["step"] == "rename"
    race = cells["exclusive.winner/excl/cold/2/all"]
    assert race["observation"]["latency_s"] is None
    assert race["observation"]["rate_95"].startswith("41 of 300 (")
    assert race["witness"]["program"]["lanes"][0]["site"] == "a"
    assert (report["verdict"], report["exit_status"]) == ("violated", 1)
    assert report["capabilities"]["xattr"] == {"a": "ENOTSUP", "b": "ENOTSUP"}


def test_hostile_names_survive() -> None:
    report = json.loads(report_text(hostile_run()))
    assert report["sites"][0]["path"] == HOSTILE
    assert report["incidents"] == [HOSTILE]


@settings(max_examples=50, deadline=None)
@given(st.text(st.characters(), max_size=20))
def test_any_text_survives(text: str) -> None:
    assert json.loads(report_text(replace(kept_run(), cells=(), command=text)))["command"] == text


def test_numbers_of_numpy_and_other_objects_do_not_break_the_report() -> None:
    base = violated_run()
    result = next(result for result in base.cells if result.observation.witness)
    assert result.observation.witness is not None
    witness = replace(
        result.observation.witness,
        events=({"n": np.int64(3), "x": float("nan"), "path": Path("a"), "list": (np.float64(0.5), {1: None})},),
    )
    cells = (replace(result, observation=replace(result.observation, witness=witness)),)
    report = json.loads(report_text(replace(base, cells=cells)))
    expected = {"n": 3, "x": None, "path": "a", "list": [0.5, {"1": None}]}
    assert report["cells"][0]["witness"]["events"] == [expected]
