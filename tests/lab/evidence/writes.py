"""Writes: bytes that are not stored, put in the wrong place, or seen too early or too late; links and copies."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.lab.bench import missing, race
from tests.lab.evidence.common import BLOCK, Evidence, rounds, watch


@contextmanager
def _opened(path: Path, flags: int) -> Iterator[int]:
    descriptor = os.open(path, flags, 0o600)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _write_loses_tail(a: Path, b: Path) -> bool:
    (a / "small").write_bytes(BLOCK)
    assert (b / "small").read_bytes() == BLOCK
    with (a / "large").open("wb", buffering=0) as file:
        assert file.write(BLOCK * 8) == 8 * len(BLOCK)
    return (b / "large").read_bytes() == (BLOCK * 8)[:-4096]


def _partial_page_lost(a: Path, b: Path) -> bool:
    (a / "f").write_bytes(BLOCK)
    with _opened(a / "f", os.O_RDWR) as file:
        os.pwrite(file, b"x" * 100, 1000)
    return (b / "f").read_bytes() == bytes(1000) + b"x" * 100 + BLOCK[1100:]


def _page_written_back(a: Path, b: Path) -> bool:
    (a / "f").write_bytes(BLOCK)
    with _opened(a / "f", os.O_RDWR) as one, _opened(b / "f", os.O_RDWR) as two:
        os.pwrite(one, b"1" * 10, 0)
        os.pwrite(two, b"2" * 10, 100)
        os.pwrite(one, b"1" * 10, 200)
    lost = BLOCK[100:110]
    assert (b / "f").read_bytes()[:10] == b"1" * 10
    return (b / "f").read_bytes()[100:110] == lost


def _rewrite_unseen(a: Path, b: Path) -> bool:
    (a / "f").write_bytes(BLOCK)
    with _opened(a / "f", os.O_RDWR) as file:
        os.pwrite(file, BLOCK[::-1], 0)
    assert (a / "f").read_bytes() == BLOCK[::-1]
    return (b / "f").read_bytes() == BLOCK


def _nul_tail(a: Path, b: Path) -> bool:
    (a / "f").touch()

    def grow() -> None:
        with _opened(a / "f", os.O_WRONLY) as file:
            for number in range(10):
                os.pwrite(file, b"x" * 1000, 1000 * number)

    return rounds(lambda n: watch(b / "f", lambda path: b"\0" in path.read_bytes(), grow))


def _append_overlaps(a: Path, b: Path) -> bool:
    def append(path: Path) -> None:
        with _opened(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT) as file:
            for _ in range(5):
                os.write(file, b"record\n")

    def attempt(number: int) -> bool:
        (a / f"n{number}").touch()
        assert race(lambda: append(a / f"n{number}"), lambda: append(b / f"n{number}")) == ["ok", "ok"]
        return (a / f"n{number}").stat().st_size < 10 * len(b"record\n")

    return rounds(attempt)


def _copy_short(a: Path, b: Path) -> bool:
    (a / "f").write_bytes(BLOCK)
    with _opened(a / "f", os.O_RDONLY) as source, _opened(a / "g", os.O_WRONLY | os.O_CREAT) as target:
        assert os.copy_file_range(source, target, len(BLOCK)) == len(BLOCK)
    return (b / "g").read_bytes() == BLOCK[:4096] + bytes(4096)


def _length_rounded(a: Path, b: Path) -> bool:
    (a / "f").write_bytes(b"x" * 10)
    assert (a / "f").stat().st_size == 10 and (b / "f").read_bytes() == b"x" * 10
    return (b / "f").stat().st_size == 4096


def _link_copies(a: Path, b: Path) -> bool:
    (a / "f").write_bytes(BLOCK)
    os.link(a / "f", a / "g")
    assert (b / "g").read_bytes() == BLOCK
    return (b / "f").stat().st_ino != (b / "g").stat().st_ino


def _link_count_one(a: Path, b: Path) -> bool:
    (a / "f").write_bytes(BLOCK)
    os.link(a / "f", a / "g")
    assert (b / "f").stat().st_ino == (b / "g").stat().st_ino
    return (b / "f").stat().st_nlink == 1


def _rename_keeps_source(a: Path, b: Path) -> bool:
    (a / "f").write_bytes(BLOCK)
    (a / "f").rename(a / "g")
    assert (b / "g").read_bytes() == BLOCK
    return not missing((b / "f").stat)


EVIDENCE: dict[str, Evidence] = {
    "write-loses-tail": _write_loses_tail,
    "partial-page-lost": _partial_page_lost,
    "page-written-back": _page_written_back,
    "rewrite-unseen": _rewrite_unseen,
    "nul-tail": _nul_tail,
    "append-overlaps": _append_overlaps,
    "copy-short": _copy_short,
    "length-rounded": _length_rounded,
    "link-copies": _link_copies,
    "link-count-one": _link_count_one,
    "rename-keeps-source": _rename_keeps_source,
}
