"""Histories of violated cells as gzipped lines of JSON: a header with the program, then one line per event."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator

from fsconform.vocabulary.histories import RoundHistory
from fsconform.vocabulary.records import RunRecord

FORMAT = "fsconform-history/1"


def history_name(cell_id: str) -> str:
    """The file name of a cell's history. A comma stands for the slash: no cell id has one, so names stay distinct."""
    return f"{cell_id.replace('/', ',')}.jsonl.gz"


def history_bytes(record: RunRecord, cell_id: str) -> bytes:
    """The gzipped file; equal histories give equal bytes."""
    lines = "".join(f"{line}\n" for line in history_lines(record, cell_id))
    return gzip.compress(lines.encode("ascii"), mtime=0)


def history_lines(record: RunRecord, cell_id: str) -> Iterator[str]:
    """The header, then every event with its round; times are ns since the first event of the round."""
    history = record.histories[cell_id]
    yield json.dumps(_header(record, cell_id, history))
    for number in range(history.rounds):
        for event in history.events(number):
            yield json.dumps({"round": number, **event})


def _header(record: RunRecord, cell_id: str, history: RoundHistory) -> dict[str, object]:
    return {
        "format": FORMAT, "run_id": record.run_id, "version": record.version, "seed": record.seed, "cell": cell_id,
        "rounds": history.rounds, "error_ns": list(history.error_ns),
        "lost": {str(lane): why for lane, why in history.lost.items()}, "program": history.program.to_json(),
    }  # fmt: skip
