"""Histories as gzipped lines of JSON: a header with the program, then one line per event, or per trial."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from fsconform.report.bundle_trials import trial_object
from fsconform.vocabulary.findings import finding_names
from fsconform.vocabulary.histories import RoundHistory
from fsconform.vocabulary.records import RunRecord

FORMAT = "fsconform-history/1"
ROUNDS, TRIALS = "rounds", "trials"
"""Kinds of histories."""


def file_word(name: str) -> str:
    """A cell id, or the name of a finding, as a word for a file name. A comma stands for the slash: no cell id has
    one, so names stay distinct."""
    return re.sub(r"[^A-Za-z0-9._+,-]+", "-", name.replace("/", ",")).strip("-")


def history_name(name: str) -> str:
    """The file name of the history of a cell or a finding."""
    return f"{file_word(name)}.jsonl.gz"


def history_names(record: RunRecord) -> tuple[str, ...]:
    """Of what the run has a history: cell ids, then names of findings."""
    found = zip(finding_names(record.search.findings), record.search.findings, strict=True)
    return (*record.histories, *record.trials, *(name for name, finding in found if finding.history is not None))


def history_bytes(record: RunRecord, name: str) -> bytes:
    """The gzipped file; equal histories give equal bytes. KeyError where there is none of that name."""
    return compressed(history_lines(record, name))


def compressed(lines: Iterable[str]) -> bytes:
    """Lines as a gzipped file."""
    return gzip.compress("".join(f"{line}\n" for line in lines).encode("ascii"), mtime=0)


def history_lines(record: RunRecord, name: str) -> Iterator[str]:
    """The header, then every event with its round (times are ns since the first event of the round), or every trial
    (times are ns on one axis)."""
    if name in record.trials:
        trials = record.trials[name]
        yield json.dumps({**_head(record, name, TRIALS), "trials": len(trials)})
        yield from (json.dumps(trial_object(trial)) for trial in trials)
        return
    history = record.histories.get(name) or _of_finding(record, name)
    yield json.dumps({**_head(record, name, ROUNDS), **_header(history)})
    for number in range(history.rounds):
        for event in history.events(number):
            yield json.dumps({"round": number, **event})


def _of_finding(record: RunRecord, name: str) -> RoundHistory:
    found = dict(zip(finding_names(record.search.findings), record.search.findings, strict=True))
    history = found[name].history
    if history is None:
        raise KeyError(name)
    return history


def _head(record: RunRecord, name: str, kind: str) -> dict[str, Any]:
    return {
        "format": FORMAT, "kind": kind, "run_id": record.run_id, "version": record.version, "seed": record.seed,
        "cell": name,
    }  # fmt: skip


def _header(history: RoundHistory) -> dict[str, Any]:
    return {
        "rounds": history.rounds, "error_ns": list(history.error_ns),
        "errors": [list(map(int, error)) for error in history.errors], "clocks": list(history.clocks),
        "clock_fault": history.clock_fault, "lost": {str(lane): why for lane, why in history.lost.items()},
        "program": history.program.to_json(),
    }  # fmt: skip
