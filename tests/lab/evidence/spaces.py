"""Full filesystems: every lab here has room for 4 MiB."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

from tests.lab.bench import missing, told
from tests.lab.evidence.common import BLOCK, Evidence

ROOM = 4 << 20


def _told_at(path: Path, calls: dict[str, Callable[[int], object]]) -> dict[str, str]:
    """What each call is told on a descriptor of a file that cannot be stored, in this order, and then close."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT)
    answers = {}
    try:
        for name, call in calls.items():
            answers[name] = told(lambda call=call: call(descriptor))  # type: ignore[misc]
    finally:
        answers["close"] = told(lambda: os.close(descriptor))
    return answers


def _overflow(a: Path) -> dict[str, str]:
    """Write more than there is room for."""
    piece = bytes(1 << 20)

    def write(descriptor: int) -> None:
        for _ in range(ROOM // len(piece) + 1):
            if os.write(descriptor, piece) != len(piece):
                raise OSError(errno.ENOSPC, "short")

    answers = _told_at(a / "f", {"write": write})
    short = (a / "f").stat().st_size < ROOM + len(piece)
    (a / "f").unlink()
    assert short
    return answers


def _at_close(a: Path, b: Path) -> bool:
    return _overflow(a) == {"write": "ok", "close": "ENOSPC"}


def _never(a: Path, b: Path) -> bool:
    return _overflow(a) == {"write": "ok", "close": "ok"}


def _quota_at_close(a: Path, b: Path) -> bool:
    return _overflow(a) == {"write": "ok", "close": "EDQUOT"}


def _full_rename(a: Path, b: Path) -> bool:
    (a / "old").write_bytes(BLOCK)
    (a / "new").write_bytes(BLOCK[::-1])
    with (a / "ballast").open("wb", buffering=0) as file:
        while told(lambda: file.write(bytes(1 << 15))) == "ok":
            pass
    answer = told(lambda: (a / "new").rename(a / "old"))
    shown = answer == "ENOSPC" and missing((b / "old").stat)
    assert answer == "ok" or shown
    (a / "ballast").unlink()
    return shown


EVIDENCE: dict[str, Evidence] = {
    "enospc-at-close": _at_close,
    "enospc-never-told": _never,
    "edquot-at-close": _quota_at_close,
    "full-rename-loses-target": _full_rename,
}
