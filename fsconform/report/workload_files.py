"""The files of a workload: report.json, report.md, and every event of every replay."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fsconform.report.applications import application_rows
from fsconform.report.machine import application_object, plain
from fsconform.report.numbers import bytes_text
from fsconform.report.workload_text import (
    columns_of,
    counter_rows,
    errno_rows,
    fact_rows,
    findings_of,
    log_lines,
    story_of,
    workload_sentence,
    workload_status_line,
)
from fsconform.report.writing import Render, Tell, write_files
from fsconform.vocabulary.workload_records import WorkloadRecord
from fsconform.vocabulary.workloads import Attribution, EpisodeResult, InstanceReport

SCHEMA = "fsconform-workload/1"
_WORDS = {0: "KEPT", 1: "VIOLATED", 4: "INCONCLUSIVE", 130: "INTERRUPTED"}


def write_workload(record: WorkloadRecord, directory: Path, tell: Tell | None = None) -> tuple[Path, ...]:
    """Write report.json, report.md and events/*.jsonl; as `writing.write_report`."""
    return write_files(_files(record), directory, tell)


def _files(record: WorkloadRecord) -> Iterator[tuple[str, Render]]:
    yield "report.json", lambda: (json.dumps(workload_object(record), indent=1) + "\n").encode()
    yield "report.md", lambda: workload_markdown(record).encode()
    for result in record.results:
        if not result.skipped:
            name = result.episode.setup.label.replace("/", "-")
            yield f"events/{name}.jsonl", lambda result=result: _events(result)  # type: ignore[misc]


def _events(result: EpisodeResult) -> bytes:
    events = result.episode.events()
    start = events[0].invoked if events else 0
    return "".join(json.dumps(event.to_json(start)) + "\n" for event in events).encode()


def workload_object(record: WorkloadRecord) -> dict[str, Any]:
    """Everything as plain objects, but for the events, which have files of their own."""
    return {
        "schema": SCHEMA, "version": record.version, "run_id": record.run_id, "started": record.started,
        "duration_s": round(record.duration_s, 3), "workload": record.name, "store": record.personality,
        "exit_status": record.exit_status, "sentence": workload_sentence(record), "interrupted": record.interrupted,
        "inconclusive": record.inconclusive, "how_to": record.how_to, "profile": record.profile,
        "profile_title": record.profile_title, "model_note": record.model_note, "command": record.command,
        "topologies": dict(record.topologies), "parts": dict(record.parts),
        "sites": [site.to_json() for site in record.sites], "bounds": list(record.bounds),
        "blind_spots": list(record.blind_spots), "incidents": list(record.incidents),
        "left_behind": list(record.left_behind), "controller_peak_bytes": record.peak_bytes,
        "applications": [application_object(verdict) for verdict in record.applications],
        "replays": [_replay(result) for result in record.results],
    }  # fmt: skip


def _replay(result: EpisodeResult) -> dict[str, Any]:
    episode = result.episode
    setup = episode.setup
    return {
        "variant": setup.variant, "reader": setup.reader, "skipped": result.skipped, "store": setup.personality,
        "blocks": setup.blocks, "block_bytes": setup.size, "tokens": setup.tokens, "suffixes": setup.suffixes,
        "tasks": setup.tasks, "io": setup.io, "threads": setup.threads, "label": setup.label,
        "seconds": {k: round(v, 6) for k, v in episode.seconds.items()},
        "facts": plain(episode.facts),
        "expectations": [
            {"name": e.name, "expected": e.expected, "got": e.got, "met": e.met} for e in result.expectations],
        "findings": [_finding(found) for found in result.attributions],
        "instances": [_instance(report) for report in episode.instances], "notes": list(result.notes),
    }  # fmt: skip


def _finding(found: Attribution) -> dict[str, Any]:
    start = found.events[0].invoked if found.events else 0
    return {
        "box": found.box.value, "title": found.title, "why": found.why, "explains": list(found.explains),
        "property": found.property_id, "cure": found.cure, "count": found.count, "urgent": found.urgent,
        "events": [event.to_json(start) for event in found.events],
    }  # fmt: skip


def _instance(report: InstanceReport) -> dict[str, Any]:
    start = report.samples[0][0] if report.samples else 0
    return {
        "letter": report.letter, "site": report.site, "direct": report.direct, "lost": report.lost,
        "peak_bytes": report.peak_bytes,
        "first_name": report.names[0] if report.names else "", "counters": dict(report.numbers),
        "counters_of_first_request": dict(report.request), "log": list(report.log),
        "seconds": {name: [round(value / 1e9, 6) for value in values] for name, values in report.times.items()},
        "gauge_changes": [[(ns - start) / 1e9, p, c] for ns, p, c in report.changes],
        "gauge_samples": len(report.samples), "gauge_above_0": sum(p > 0 for _, p, _ in report.samples),
        "suffixes": dict(report.suffixes),
    }  # fmt: skip


def workload_markdown(record: WorkloadRecord) -> str:
    """The text of report.md."""
    from fsconform.report.markdown import MODEL_LINE, Ready, template

    notes = tuple(dict.fromkeys(note for result in record.results for note in result.notes))
    return template("workload.md.j2").render(
        record=record, word=_WORDS[record.exit_status], sentence=workload_sentence(record),
        sites={site.letter: site for site in record.sites}, story=story_of, findings=findings_of, columns=columns_of,
        counters=counter_rows, errnos=errno_rows, facts=fact_rows, logs=log_lines, notes=notes,
        status=workload_status_line(record), bytes=bytes_text,
        applications=application_rows(record.applications),
        model_line=Ready(MODEL_LINE if record.model_note else ""),
    )  # fmt: skip
