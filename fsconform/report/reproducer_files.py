"""The files of every witness in a run's directory: `witnesses/NAME/witness.json` and `witnesses/NAME/repro.py`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

from fsconform.report.histories import file_word
from fsconform.report.reproducer import reproducer_text
from fsconform.report.reproducer_witnesses import stored_witness, witness_names
from fsconform.vocabulary.records import RunRecord
from fsconform.vocabulary.stored_witnesses import StoredWitness

WITNESS, REPRODUCER = "witness.json", "repro.py"


def witness_directory(name: str) -> str:
    """Where the files of one witness are, relative to the run's directory."""
    return f"witnesses/{file_word(name)}"


def witness_files(record: RunRecord) -> Iterator[tuple[str, Callable[[], bytes]]]:
    """Paths relative to the run's directory, and what makes their bytes."""
    for name in witness_names(record):
        place = witness_directory(name)
        yield f"{place}/{WITNESS}", lambda name=name: witness_bytes(stored_witness(record, name))  # type: ignore[misc]
        yield f"{place}/{REPRODUCER}", lambda name=name: _reproducer(record, name)  # type: ignore[misc]


def witness_bytes(witness: StoredWitness) -> bytes:
    """witness.json."""
    return (json.dumps(witness.to_json(), indent=1) + "\n").encode("ascii")


def _reproducer(record: RunRecord, name: str) -> bytes:
    return reproducer_text(stored_witness(record, name), environment_lines(record)).encode("utf-8")


def environment_lines(record: RunRecord) -> tuple[str, ...]:
    """Where it was seen, one line per site."""
    return tuple(
        f"{site.letter}: {site.mount.fstype} on Linux {site.kernel}, {site.mount.options}" for site in record.sites
    )
