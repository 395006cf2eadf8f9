"""Renames."""

from __future__ import annotations

from pathlib import Path

from tests.lab.bench import missing, publish, told, until
from tests.lab.evidence.common import BLOCK, Evidence, rounds, watch


def _rename_gap(a: Path, b: Path) -> bool:
    publish(a / "f", BLOCK)
    return rounds(lambda n: watch(b / "f", lambda path: missing(path.stat), lambda: publish(a / "f", BLOCK)))


def _rename_neither(a: Path, b: Path) -> bool:
    def neither(path: Path) -> bool:
        return missing(path.with_suffix(".old").stat) and missing(path.stat)

    def attempt(number: int) -> bool:
        old = a / f"n{number}.old"
        old.write_bytes(BLOCK)
        return watch(b / f"n{number}.new", neither, lambda: old.rename(a / f"n{number}.new"))

    return rounds(attempt)


def _rename_async(a: Path, b: Path) -> bool:
    publish(a / "f", BLOCK)
    shown = missing((a / "f").stat) and missing((b / "f").stat)
    until(lambda: (b / "f").exists() and (b / "f").read_bytes() == BLOCK)
    return shown


def _rename_lost(a: Path, b: Path) -> bool:
    (a / "old").write_bytes(BLOCK)
    (a / "old").rename(a / "new")
    assert missing((b / "old").stat)
    return missing((b / "new").stat) and missing((a / "new").stat)


def _rename_over_refused(a: Path, b: Path) -> bool:
    (a / "f").write_bytes(BLOCK)
    (a / "g").write_bytes(BLOCK)
    assert told(lambda: (b / "g").rename(b / "f2")) == "ok"
    (a / "g").write_bytes(BLOCK)
    return told(lambda: (a / "g").rename(a / "f")) == "EEXIST"


def _replaced_as_enoent(a: Path, b: Path) -> bool:
    publish(a / "f", BLOCK)

    def absent(path: Path) -> bool:
        return missing(path.read_bytes)

    def replace_often() -> None:
        for _ in range(10):
            publish(a / "f", BLOCK)

    return rounds(lambda n: watch(b / "f", absent, replace_often))


def _manifest_before_data(a: Path, b: Path) -> bool:
    for name in ("data", "manifest"):
        (a / f".{name}").write_bytes(BLOCK)
    (a / ".data").rename(a / "data")
    (a / ".manifest").rename(a / "manifest")
    assert (b / "manifest").exists() and (a / "data").exists()
    shown = missing((b / "data").stat)
    until((b / "data").exists)
    return shown


def _new_then_old(a: Path, b: Path) -> bool:
    def attempt(number: int) -> bool:
        publish(a / f"n{number}", b"old")
        seen: list[bytes] = []

        def look(path: Path) -> bool:
            seen.append(path.read_bytes())
            return False

        watch(b / f"n{number}", look, lambda: publish(a / f"n{number}", b"new"))
        assert (b / f"n{number}").read_bytes() == b"new"
        return b"new" in seen and b"old" in seen[seen.index(b"new") :]

    return rounds(attempt)


def _estale_cross_directory(a: Path, b: Path) -> bool:
    (a / "staging").mkdir()
    publish(a / "f", b"old")
    (a / "staging" / "f").write_bytes(b"new")
    (a / "staging" / "f").rename(a / "f")
    shown = told((b / "f").read_bytes) == "ESTALE"
    until(lambda: told((b / "f").read_bytes) == "ok")
    return shown


EVIDENCE: dict[str, Evidence] = {
    "rename-gap": _rename_gap,
    "rename-neither": _rename_neither,
    "rename-async": _rename_async,
    "rename-lost": _rename_lost,
    "rename-over-refused": _rename_over_refused,
    "replaced-as-enoent": _replaced_as_enoent,
    "estale-cross-directory": _estale_cross_directory,
    "manifest-before-data": _manifest_before_data,
    "new-then-old": _new_then_old,
}
