"""Files that are open or mapped while another mount replaces, removes or cuts them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from tests.lab.bench import publish, told
from tests.lab.evidence.common import BLOCK, Evidence

Read = Callable[[int], object]


def _held(a: Path, b: Path, change: Callable[[], object]) -> tuple[str, bytes]:
    """What a descriptor opened at b before the change is told, and what it reads."""
    publish(a / "f", BLOCK)
    descriptor = os.open(b / "f", os.O_RDONLY)
    try:
        change()
        read: list[bytes] = []
        return told(lambda: read.append(os.pread(descriptor, 2 * len(BLOCK), 0))), b"".join(read)
    finally:
        os.close(descriptor)


def _dead_when_replaced(a: Path, b: Path) -> bool:
    return _held(a, b, lambda: publish(a / "f", b"new"))[0] == "ESTALE"


def _dead_when_unlinked(a: Path, b: Path) -> bool:
    return _held(a, b, (a / "f").unlink)[0] == "ESTALE"


def _empty_when_replaced(a: Path, b: Path) -> bool:
    return _held(a, b, lambda: publish(a / "f", b"new")) == ("ok", b"")


def _empty_when_unlinked(a: Path, b: Path) -> bool:
    return _held(a, b, (a / "f").unlink) == ("ok", b"")


def _cut_ignored(a: Path, b: Path) -> bool:
    (a / "f").write_bytes(BLOCK)
    os.truncate(a / "f", 4096)
    return (a / "f").stat().st_size == len(BLOCK)


def _cut_unseen(a: Path, b: Path) -> bool:
    (a / "f").write_bytes(BLOCK)
    os.truncate(a / "f", 4096)
    assert (a / "f").read_bytes() == BLOCK[:4096]
    return (b / "f").stat().st_size == len(BLOCK) and (b / "f").read_bytes() == BLOCK


EVIDENCE: dict[str, Evidence] = {
    "estale-on-replace": _dead_when_replaced,
    "estale-on-unlink": _dead_when_unlinked,
    "replaced-truncated": _empty_when_replaced,
    "unlinked-truncated": _empty_when_unlinked,
    "cut-ignored": _cut_ignored,
    "cut-unseen": _cut_unseen,
}
