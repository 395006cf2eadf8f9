"""Removals, and listings while names are removed."""

from __future__ import annotations

import os
import time
from pathlib import Path

from tests.lab.bench import exclusive, missing, publish, told, until
from tests.lab.evidence.common import BLOCK, Evidence, refused


def _silly_rename(a: Path, b: Path) -> bool:
    (a / "sub").mkdir()
    publish(a / "sub" / "f", BLOCK)
    with (a / "sub" / "f").open("rb") as held:
        (a / "sub" / "f").unlink()
        assert missing((b / "sub" / "f").stat)
        left = os.listdir(a / "sub")
        shown = len(left) == 1 and left[0].startswith(".nfs")
        assert held.read() == BLOCK
        if shown:
            assert told((a / "sub" / left[0]).unlink) == "EBUSY"
            assert told((a / "sub").rmdir) == "ENOTEMPTY"
    until(lambda: os.listdir(b / "sub") == [])
    return shown


def _rmdir_full(a: Path, b: Path) -> bool:
    (a / "sub").mkdir()
    publish(a / "sub" / "f", BLOCK)
    return not refused((a / "sub").rmdir, "ENOTEMPTY") and missing((b / "sub" / "f").stat)


def _enotempty_empty(a: Path, b: Path) -> bool:
    (a / "sub").mkdir()
    publish(a / "sub" / "f", BLOCK)
    (a / "sub" / "f").unlink()
    shown = refused((a / "sub").rmdir, "ENOTEMPTY")
    assert os.listdir(a) == (["sub"] if shown else [])
    until(lambda: not (a / "sub").exists() or told((a / "sub").rmdir) == "ok")
    return shown


def _listing_twice(a: Path, b: Path) -> bool:
    names = {f"n{number}" for number in range(30)}
    for name in names:
        exclusive(a / name)
    listed = os.listdir(b)
    assert set(listed) == names
    return len(listed) > len(names)


def _listing_by_index(a: Path, b: Path) -> bool:
    names = {f"{number:03}-{'x' * 200}" for number in range(300)}
    for name in sorted(names):
        exclusive(a / name)
    seen = set()
    with os.scandir(a) as entries:
        for entry in entries:
            seen.add(entry.name)
            os.unlink(entry.path)
    left = set(os.listdir(a))
    assert left == names - seen
    return bool(left)


def _directory_times_frozen(a: Path, b: Path) -> bool:
    before = a.stat().st_mtime_ns
    time.sleep(0.02)
    exclusive(a / "f")
    return b.stat().st_mtime_ns == before


def _directory_times_restless(a: Path, b: Path) -> bool:
    exclusive(a / "f")
    return b.stat().st_mtime_ns != b.stat().st_mtime_ns


EVIDENCE: dict[str, Evidence] = {
    "silly-rename": _silly_rename,
    "rmdir-full": _rmdir_full,
    "enotempty-empty": _enotempty_empty,
    "listing-twice": _listing_twice,
    "listing-by-index": _listing_by_index,
    "directory-times-frozen": _directory_times_frozen,
    "directory-times-restless": _directory_times_restless,
}
