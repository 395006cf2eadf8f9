"""Workers on this machine, and a directory in memory for them to work in."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from fsconform.fleet.fleet import Fleet
from fsconform.fleet.launch import Launch
from fsconform.fleet.worker_handle import Worker
from fsconform.vocabulary.sites import parse_site


@pytest.fixture
def root() -> Iterator[str]:
    """A fresh directory, on tmpfs where there is one."""
    base = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    path = tempfile.mkdtemp(prefix="fsconform-fleet-test-", dir=base)
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def inside(root: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The same directory, and we are in it."""
    monkeypatch.chdir(root)
    return root


@pytest.fixture
def fleet() -> Iterator[Fleet]:
    """An empty fleet, stopped afterwards."""
    with Fleet() as fleet:
        yield fleet


def hire(fleet: Fleet, root: str, letters: str = "ab", python: str = "") -> list[Worker]:
    """One worker per letter, all below `root`."""
    return fleet.launch([Launch(parse_site(root), letter, root, python) for letter in letters])


def old_python() -> str | None:
    """A Python 3.9 that answers, from pyenv's usual place or from the search path."""
    candidates = [*map(str, sorted(Path.home().glob(".pyenv/versions/3.9*/bin/python3.9"))), shutil.which("python3.9")]
    for candidate in filter(None, candidates):
        answer = subprocess.run([candidate, "-c", "import sys; print(sys.version_info[:2] >= (3, 9))"],
                                capture_output=True, text=True, timeout=60, check=False)  # fmt: skip
        if answer.stdout.strip() == "True":
            return candidate
    return None
