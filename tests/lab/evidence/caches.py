"""Caches: entries, attributes, lengths and listings that are kept too long."""

from __future__ import annotations

import os
import time
from pathlib import Path

from tests.lab.bench import exclusive, missing, publish, told, until
from tests.lab.evidence.common import BLOCK, Evidence, rounds


def _negative_forever(a: Path, b: Path) -> bool:
    def attempt(number: int) -> bool:
        assert missing((b / f"n{number}").stat)
        publish(a / f"n{number}", BLOCK)
        return missing((b / f"n{number}").stat) and told(lambda: exclusive(b / f"n{number}")) == "EEXIST"

    return rounds(attempt)


def _stale_entry(a: Path, b: Path) -> bool:
    publish(a / "f", b"old")
    publish(a / "g", b"old")
    assert (b / "f").exists() and (b / "g").exists()
    publish(a / "f", b"newer")
    (a / "g").unlink()
    shown = (b / "g").exists()
    assert shown == ((b / "f").read_bytes() == b"old")
    assert told(lambda: exclusive(b / "g")) == "ok"
    return shown


def _stale_replace(a: Path, b: Path) -> bool:
    publish(a / "f", b"old")
    assert (b / "f").exists()
    publish(a / "f", b"newer")
    shown = (b / "f").read_bytes() == b"old"
    assert (a / "f").read_bytes() == b"newer"
    (a / "f").unlink()
    assert missing((b / "f").stat)
    return shown


def _stale_length(a: Path, b: Path) -> bool:
    (a / "f").write_bytes(b"x" * 10)
    assert (b / "f").stat().st_size == 10
    with (a / "f").open("ab") as writer:
        writer.write(b"x" * 10)
    assert (a / "f").stat().st_size == 20
    return (b / "f").stat().st_size == 10


def _stale_listing(a: Path, b: Path) -> bool:
    exclusive(a / "f")
    assert os.listdir(b) == ["f"]
    exclusive(a / "g")
    assert (b / "g").exists()
    shown = "g" not in os.listdir(b)
    (a / "f").unlink()
    assert "f" not in os.listdir(b)
    return shown


def _negative_after_eexist(a: Path, b: Path) -> bool:
    assert missing((b / "f").stat)
    publish(a / "f", BLOCK)
    assert told(lambda: exclusive(b / "f")) == "EEXIST"
    shown = missing((b / "f").stat)
    exclusive(b / "own")
    assert (b / "own").exists()
    return shown


def _grow(path: Path) -> None:
    with path.open("ab") as writer:
        writer.write(b"x" * 10)


def _attributes_kept(a: Path, b: Path) -> bool:
    (a / "f").write_bytes(b"x" * 10)
    with (b / "f").open("rb") as reader:
        assert os.fstat(reader.fileno()).st_size == 10
        _grow(a / "f")
        shown = os.fstat(reader.fileno()).st_size == 10
    assert (b / "f").stat().st_size == 20
    return shown


def _cached_for_ever(a: Path, b: Path) -> bool:
    (a / "f").write_bytes(b"x" * 10)
    publish(a / "g", b"old")
    assert (b / "f").stat().st_size == 10 and (b / "g").exists()
    _grow(a / "f")
    publish(a / "g", b"new")
    time.sleep(0.1)
    shown = (b / "f").stat().st_size == 10
    assert shown == ((b / "g").read_bytes() == b"old")
    return shown


def _stale_past_bound(a: Path, b: Path) -> bool:
    publish(a / "f", b"old")
    assert (b / "f").exists()
    known = time.monotonic()
    publish(a / "f", b"new")
    time.sleep(max(0.0, known + 0.53 - time.monotonic()))
    shown = (b / "f").stat().st_ino != (a / "f").stat().st_ino
    assert not shown or time.monotonic() < known + 0.7
    until(lambda: (b / "f").stat().st_ino == (a / "f").stat().st_ino, 5)
    return shown


def _unlinked_readable(a: Path, b: Path) -> bool:
    publish(a / "f", BLOCK)
    (a / "f").unlink()
    assert missing((a / "f").stat)
    shown = not missing((b / "f").stat) and (b / "f").read_bytes() == BLOCK
    assert told(lambda: exclusive(b / "f")) == "ok"
    return shown


def _old_file_returns(a: Path, b: Path) -> bool:
    publish(a / "f", b"old")
    publish(a / "g", b"old")
    publish(a / "f", b"new")
    (a / "g").unlink()
    assert (b / "f").read_bytes() == b"new" and missing((b / "g").stat)
    time.sleep(0.25)
    shown = (b / "f").read_bytes() == b"old"
    assert shown == (not missing((b / "g").stat))
    return shown


def _seen_then_unseen(a: Path, b: Path) -> bool:
    (a / "e").write_bytes(BLOCK)
    os.link(a / "e", a / "f")
    assert (b / "f").exists()
    time.sleep(0.35)
    shown = missing((b / "f").stat)
    until((b / "f").exists)
    return shown


def _unlink_late(a: Path, b: Path) -> bool:
    (a / "sub").mkdir()
    publish(a / "sub" / "f", BLOCK)
    (a / "sub" / "f").unlink()
    shown = (b / "sub" / "f").exists()
    until(lambda: missing((b / "sub" / "f").stat))
    publish(a / "sub" / "f", BLOCK)
    (a / "sub" / "f").unlink()
    (a / "sub").rmdir()
    return shown


def _length_at_close(a: Path, b: Path) -> bool:
    with (a / "f").open("wb", buffering=0) as writer:
        writer.write(BLOCK)
        os.fsync(writer.fileno())
        assert (a / "f").stat().st_size == len(BLOCK)
        shown = (b / "f").stat().st_size == 0
    assert (b / "f").stat().st_size == len(BLOCK)
    return shown


def _length_after_close(a: Path, b: Path) -> bool:
    (a / "f").write_bytes(BLOCK)
    assert (b / "f").stat().st_size == len(BLOCK)
    _grow(a / "f")
    shown = (b / "f").stat().st_size == len(BLOCK)
    until(lambda: (b / "f").stat().st_size == len(BLOCK) + 10)
    return shown


def _listing_misses(a: Path, b: Path) -> bool:
    names = {f"n{number}" for number in range(30)}
    for name in names:
        exclusive(a / name)
    assert all((b / name).exists() for name in names)
    return 0 < len(os.listdir(b)) < len(names)


def _old_file_while_held(a: Path, b: Path) -> bool:
    publish(a / "f", b"old")
    with (b / "f").open("rb"):
        publish(a / "f", b"new")
        shown = (b / "f").read_bytes() == b"old"
    until(lambda: (b / "f").read_bytes() == b"new")
    return shown


EVIDENCE: dict[str, Evidence] = {
    "negative-forever": _negative_forever,
    "negative-after-eexist": _negative_after_eexist,
    "stale-entry": _stale_entry,
    "stale-replace": _stale_replace,
    "attributes-kept": _attributes_kept,
    "cached-for-ever": _cached_for_ever,
    "stale-past-bound": _stale_past_bound,
    "old-file-while-held": _old_file_while_held,
    "unlinked-readable": _unlinked_readable,
    "old-file-returns": _old_file_returns,
    "seen-then-unseen": _seen_then_unseen,
    "unlink-late": _unlink_late,
    "stale-length": _stale_length,
    "length-at-close": _length_at_close,
    "length-after-close": _length_after_close,
    "stale-listing": _stale_listing,
    "listing-misses": _listing_misses,
}
