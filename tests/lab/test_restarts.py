"""A server that crashes and comes up again: the truthful one has kept what it acknowledged."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fsconform.lab.emulation import Emulation
from fsconform.lab.spec import parse_lab
from tests.lab.bench import missing
from tests.lab.evidence.common import BLOCK

pytestmark = pytest.mark.fuse


@contextmanager
def _published(text: str, sync: bool) -> Iterator[tuple[Path, Path]]:
    """A file that was written, fsynced and renamed, and its directory fsynced where `sync`; then the crash."""
    with Emulation(parse_lab(text), start_timeout_s=60) as emulation:
        a, b = emulation.mounts
        with (a / "old").open("wb", buffering=0) as file:
            file.write(BLOCK)
            os.fsync(file.fileno())
        (a / "old").rename(a / "new")
        if sync:
            directory = os.open(a, os.O_RDONLY)
            os.fsync(directory)
            os.close(directory)
        emulation.crash()
        yield a, b


@pytest.mark.parametrize("sync", [False, True])
def test_strict_keeps_everything(sync: bool) -> None:
    with _published("strict", sync) as (a, b):
        assert (b / "new").read_bytes() == BLOCK and missing((a / "old").stat)


def test_data_that_were_fsynced_are_gone() -> None:
    with _published("strict,mutant=restart-loses-data", sync=True) as (a, b):
        assert (b / "new").read_bytes() == b""
        (a / "after").write_bytes(BLOCK)
        assert (b / "after").read_bytes() == BLOCK


@pytest.mark.parametrize("sync", [False, True])
def test_renames_are_undone_unless_their_directory_was_fsynced(sync: bool) -> None:
    with _published("strict,mutant=restart-undoes-renames", sync) as (a, b):
        kept, gone = ("new", "old") if sync else ("old", "new")
        assert (b / kept).read_bytes() == BLOCK and missing((a / gone).stat)
