"""Contents right after a rename, and writes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.lab.bench import publish
from tests.lab.evidence.common import BLOCK, Evidence, rounds


def _read_after_publish(a: Path, b: Path, wrong: Callable[[bytes], bool]) -> bool:
    def attempt(number: int) -> bool:
        content = bytes([number]) * 4096 + bytes([100 + number]) * 4096
        publish(a / f"fresh{number}", content)
        fresh = (b / f"fresh{number}").read_bytes()
        publish(a / "replaced", content)
        replaced = (b / "replaced").read_bytes()
        assert len(fresh) == len(replaced) == len(content)
        assert (fresh == content) == (replaced == content)
        return fresh != content and wrong(fresh)

    return rounds(attempt)


def _zero(a: Path, b: Path) -> bool:
    return _read_after_publish(a, b, lambda data: not any(data))


def _torn(a: Path, b: Path) -> bool:
    return _read_after_publish(a, b, lambda data: data[0] + 100 != data[-1])


def _foreign(a: Path, b: Path) -> bool:
    return _read_after_publish(a, b, lambda data: len(set(data[:4096])) == 1 and data[0] + 100 != data[-1])


def _short(a: Path, b: Path) -> bool:
    def attempt(number: int) -> bool:
        publish(a / f"n{number}", BLOCK)
        assert (b / f"n{number}").stat().st_size == len(BLOCK)
        return (b / f"n{number}").read_bytes() == BLOCK[: len(BLOCK) // 2]

    return rounds(attempt)


def _zero_page(a: Path, b: Path) -> bool:
    publish(a / "f", BLOCK)
    return (b / "f").read_bytes() == BLOCK[:4096] + bytes(4096)


def _stale_page(a: Path, b: Path) -> bool:
    old, new = b"o" * 8192, b"n" * 8192
    publish(a / "f", old)
    assert (b / "f").read_bytes() == old
    publish(a / "f", new)
    return (b / "f").read_bytes() == new[:4096] + old[:4096]


EVIDENCE: dict[str, Evidence] = {
    "zero-after-publish": _zero,
    "short-after-publish": _short,
    "torn-after-publish": _torn,
    "zero-page": _zero_page,
    "stale-page": _stale_page,
    "foreign-page": _foreign,
}
