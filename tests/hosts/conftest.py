"""A rack of two hosts with an emulated 3FS mounted into both."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from fsconform.lab.emulation import Emulation
from fsconform.lab.spec import parse_lab
from tests.hosts.rack import Rack, obstacle

SPEC = "3fs-fuse,negative=0.5,entry=0.5,attr=0.5"
"""Short bounds, which the mounts tell of themselves."""
FRAIL_SPEC = "3fs-fuse,negative=15,entry=15,attr=15"
"""Names wait long enough for a link to go down meanwhile."""


class Stage:
    """A rack, the mounts of a lab in its hosts, and the two sites."""

    def __init__(self, home: Path, lab: Emulation, rack: Rack) -> None:
        self.home, self.rack, self.mounts = home, rack, lab.mounts
        self.sites = [rack.site(number, path) for number, path in enumerate(lab.mounts, start=1)]


def _stage(spec: str) -> Iterator[Stage]:
    if reason := obstacle():
        pytest.skip(reason)
    home = Path(tempfile.mkdtemp(prefix="fsconform-rack-"))
    rack = Rack(home)
    try:
        with Emulation(parse_lab(spec), home / "lab", inside=rack.hosts) as lab:
            yield Stage(home, lab, rack)
    finally:
        rack.close()
        shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    """Two hosts that nobody breaks."""
    yield from _stage(SPEC)


@pytest.fixture
def frail_stage() -> Iterator[Stage]:
    """Two hosts of one's own."""
    yield from _stage(FRAIL_SPEC)
