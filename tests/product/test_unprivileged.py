"""As an ordinary user: everything but mounting needs nothing, and labs are mounted in a namespace of one's own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fsconform.lab.mountpoints import emulated_mounts
from tests.product.commands import ONE_CELL, WITHOUT_PRIVILEGES, fsconform

# Root without any capability may not map itself (user_namespaces(7), since Linux 5.12); users may.
WITHOUT_MOUNTS = ("setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin")
pytestmark = pytest.mark.root  # to step down from


def test_a_run_on_a_directory(here: Path) -> None:
    ended = fsconform("run", "site", *ONE_CELL, cwd=here, prefix=WITHOUT_PRIVILEGES)
    assert ended.status == 0, ended.text
    assert os.listdir(here / "site") == []


@pytest.mark.fuse
@pytest.mark.parametrize("words", [("run", "lab=strict", *ONE_CELL), ("doctor", "lab=strict")])
def test_labs(here: Path, words: tuple[str, ...]) -> None:
    ended = fsconform(*words, cwd=here, prefix=WITHOUT_MOUNTS)
    if ended.status == 2:  # told, where the kernel allows no namespaces
        assert "the emulated lab needs root or a user namespace, and unshare(2) says" in ended.err
    else:
        assert ended.status == 0, ended.text
        assert "lab=strict" in ended.out
    assert [mount for mount in emulated_mounts() if mount[0].is_relative_to(here)] == []


@pytest.mark.fuse
def test_a_lab_without_its_device(here: Path) -> None:
    without = ("unshare", "--mount", "sh", "-c", 'mount --bind /dev/null /dev/fuse && exec "$@"', "sh")
    ended = fsconform("run", "lab=strict", *ONE_CELL, cwd=here, prefix=without)
    assert ended.status == 2 and "Traceback" not in ended.text, ended.text
    assert "lab=strict" in ended.err or "/dev/fuse" in ended.err
