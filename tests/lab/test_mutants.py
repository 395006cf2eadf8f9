"""Every mutant is seen to misbehave by plain calls, and the lab without it is not, by the same ones."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from fsconform.lab.mutants import MUTANTS
from tests.lab.bench import exclusive, lab, publish, told
from tests.lab.evidence import EVIDENCE, spaces
from tests.lab.evidence.common import BLOCK

pytestmark = pytest.mark.fuse
KNOBS = {
    **dict.fromkeys(("hang", "locks-hang"), ",window=4"),
    **dict.fromkeys(spaces.EVIDENCE, f",capacity={spaces.ROOM}"),
    **dict.fromkeys(("stale-entry", "stale-replace", "stale-length", "stale-listing", "unlinked-readable"), ",ttl=30"),
}
"""What the evidence needs beside the mutant's defaults."""
RESTARTS = ("restart-loses-data", "restart-undoes-renames")
"""Shown by a crash of the server: tests/lab/test_restarts.py."""


class Truthful:
    """The labs without mutants, each brought up once."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._mounts: dict[str, tuple[Path, ...]] = {}

    def mounts(self, text: str) -> tuple[Path, ...]:
        if text not in self._mounts:
            self._mounts[text] = self._stack.enter_context(lab(text))
        return self._mounts[text]

    def close(self) -> None:
        self._stack.close()


@pytest.fixture(scope="module")
def truthful() -> Iterator[Truthful]:
    labs = Truthful()
    yield labs
    labs.close()


def test_every_mutant_has_its_evidence() -> None:
    assert {*EVIDENCE, *RESTARTS} == set(MUTANTS)


@pytest.mark.parametrize("name", EVIDENCE)
def test_the_mutant_shows(name: str) -> None:
    with lab(MUTANTS[name].lab + KNOBS.get(name, "")) as (a, b):
        (a / "d").mkdir()
        assert EVIDENCE[name](a / "d", b / "d")


@pytest.mark.parametrize("name", EVIDENCE)
def test_the_lab_without_it_does_not_show_it(name: str, truthful: Truthful) -> None:
    room = KNOBS[name] if name in spaces.EVIDENCE else ""
    a, b = truthful.mounts(MUTANTS[name].against[0] + room)
    (a / name).mkdir()
    assert not EVIDENCE[name](a / name, b / name)


def test_p_strikes_now_and_then() -> None:
    with lab("strict,mutant=zero-after-publish,p=0.5,window=5") as (a, b):
        zeros = 0
        for number in range(60):
            publish(a / f"n{number}", BLOCK)
            zeros += (b / f"n{number}").read_bytes() != BLOCK
    assert 5 < zeros < 55


def test_p_decides_for_all_contenders_of_a_name() -> None:
    with lab("strict,mutant=loser-told-eperm,p=0.5") as (a, b):
        struck = EVIDENCE["loser-told-eperm"](a, b)
    assert struck  # were it decided for each caller, most contests would have no second contender


def test_site_confines_a_mutant_to_a_mount() -> None:
    with lab("strict,mutant=eexist-after-unlink,site=b") as (a, b):
        for mount, answer in ((a, "ok"), (b, "EEXIST")):
            exclusive(mount / mount.name)
            (mount / mount.name).unlink()
            assert told(lambda: exclusive(a / mount.name)) == answer  # noqa: B023


def test_what_a_mutant_keeps_ends_with_its_ttl() -> None:
    with lab("strict,mutant=stale-length,ttl=1") as (a, b):
        assert EVIDENCE["stale-length"](a, b)
        time.sleep(1.2)
        assert (b / "f").stat().st_size == 20


def test_two_mutants_at_once() -> None:
    with lab("strict,mutant=no-link,mutant=no-xattr") as (a, b):
        assert EVIDENCE["no-link"](a, b) and EVIDENCE["no-xattr"](a, b)
