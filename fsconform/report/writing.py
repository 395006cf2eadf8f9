"""The files of a run: every format on its own, so that a fault in one never costs the others."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from fsconform.report.escaping import visible
from fsconform.vocabulary.records import RunRecord

Tell = Callable[[str], None]
Render = Callable[[], bytes]


def write_report(record: RunRecord, directory: Path, tell: Tell | None = None) -> tuple[Path, ...]:
    """Write report.json, report.md, junit.xml, witnesses with their reproducers and histories into `directory`.

    The directory is made if missing. Each file appears whole or not at all (temporary file, then rename). What could
    not be written is told, one line each, to `tell` (standard error where None); nothing is raised. Returns the paths
    that were written.
    """
    return write_files(_files(record), directory, tell)


def write_files(files: Iterable[tuple[str, Render]], directory: Path, tell: Tell | None = None) -> tuple[Path, ...]:
    """Write files by name, each whole or not at all, as `write_report` does. Returns the paths that were written."""
    told = tell or _tell_on_stderr
    written = []
    for name, render in files:
        path = directory / name
        try:
            _replace_file(path, render())
        except Exception as fault:  # one format must never cost the others
            told(f"{visible(str(path))} was not written: {type(fault).__name__}: {visible(str(fault))}")
        else:
            written.append(path)
    return tuple(written)


def report_directory(record: RunRecord, parent: Path) -> Path:
    """Make `<parent>/<UTC time>-<fstype>`, with `-2`, `-3`, … where that name is taken.

    Never raises: where it cannot be made, `write_report` will say so, and the verdict is not lost.
    """
    return _fresh_directory(run_directory_name(record), parent)


def directory_named(started: str, word: str, parent: Path) -> Path:
    """The same as `<parent>/<UTC time>-<word>`."""
    return _fresh_directory(f"{_compact_time(started)}-{word}", parent)


def _fresh_directory(name: str, parent: Path) -> Path:
    for number in range(1, 1000):
        path = parent / (name if number == 1 else f"{name}-{number}")
        try:
            path.mkdir(parents=True)
        except FileExistsError:
            continue
        except OSError:
            break
        return path
    return parent / name


def run_directory_name(record: RunRecord) -> str:
    """`20261129T190242Z-fuse.hf3fs`: of [A-Za-z0-9._-] only, whatever the filesystem calls itself."""
    fstype = record.sites[0].mount.fstype if record.sites else "none"
    safe = re.sub(r"[^A-Za-z0-9._-]+", "_", fstype).strip("._-")[:40] or "unknown"
    return f"{_compact_time(record.started)}-{safe}"


def _compact_time(started: str) -> str:
    try:
        moment = datetime.fromisoformat(started)
    except ValueError:
        moment = datetime.now(UTC)
    zoned = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return zoned.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")


def _files(record: RunRecord) -> Iterator[tuple[str, Render]]:
    from fsconform.report.evidence_environment import environment_bytes
    from fsconform.report.histories import history_bytes, history_name, history_names
    from fsconform.report.reproducer_files import witness_files

    yield "report.json", lambda: _json(record)
    yield "report.md", lambda: _markdown(record)
    yield "report.html", lambda: _html(record)
    yield "junit.xml", lambda: _junit(record)
    for name in history_names(record):
        yield f"histories/{history_name(name)}", lambda name=name: history_bytes(record, name)  # type: ignore[misc]
    yield from witness_files(record)
    yield "environment.json", lambda: environment_bytes(record)
    for name, text in record.profile_texts.items():
        yield f"profile/{name}", lambda text=text: text.encode("utf-8")  # type: ignore[misc]


def _json(record: RunRecord) -> bytes:
    from fsconform.report.machine import report_text

    return report_text(record).encode("utf-8")


def _markdown(record: RunRecord) -> bytes:
    from fsconform.report.markdown import markdown_report

    return markdown_report(record).encode("utf-8")


def _html(record: RunRecord) -> bytes:
    from fsconform.report.html.page import report_html

    return report_html(record).encode("utf-8")


def _junit(record: RunRecord) -> bytes:
    from fsconform.report.junit import junit_text

    return junit_text(record).encode("utf-8")


def _replace_file(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_bytes(content)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _tell_on_stderr(line: str) -> None:
    print(line, file=sys.stderr)
