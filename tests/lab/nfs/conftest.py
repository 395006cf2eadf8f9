"""One set of guests for all tests that can share them: booted once, mounted anew for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from fsconform.fleet.fleet import Fleet
from fsconform.lab.nfs.lab import NfsLab
from fsconform.lab.nfs.spec import parse_nfs
from fsconform.vocabulary.sites import SiteSpec

Mounted = Callable[[str], tuple[SiteSpec, ...]]


@pytest.fixture(scope="session")
def hosts() -> Iterator[NfsLab]:
    """A server and two client hosts."""
    with NfsLab(parse_nfs("nfs4.2")) as lab:
        yield lab


@pytest.fixture
def fleet() -> Iterator[Fleet]:
    """A fleet whose workers are gone before the next test mounts."""
    with Fleet() as fleet:
        yield fleet


@pytest.fixture
def mounted(hosts: NfsLab, fleet: Fleet) -> Iterator[Mounted]:
    """Mount as a specification says; the sites of both clients."""
    yield hosts.remount
    fleet.stop()
