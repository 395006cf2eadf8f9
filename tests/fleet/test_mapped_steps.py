"""Steps of mappings, links, appends and copies: what they do, and what they say when they are refused."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fsconform.fleet.worker import barrier, blocks, loop
from fsconform.fleet.worker.descriptors import Slots
from fsconform.vocabulary import errnos
from fsconform.vocabulary.blocks import PAGE, Content
from fsconform.vocabulary.steps import Step

KEY = "d" * 64
Outcome = tuple[int, int, int]
Do = Callable[..., Outcome]
EXACT, SHORT = int(Content.EXACT), int(Content.SHORT)


@pytest.fixture
def do(inside: str) -> Iterator[Do]:
    """Perform one step: (errno, value, detail)."""
    slots = Slots()

    def perform(kind: str, **fields: Any) -> Outcome:
        meeting = barrier.Meeting(barrier.Place(barrier.REGION_WORDS, 0, 1, 0, 5.0))
        score = loop.Score([Step(kind, **fields).to_wire()], slots, meeting)
        score.perform()
        return score.events()[0][2:]

    yield perform
    slots.close_all()


def make(name: str, size: int = 2 * PAGE, version: int = 1) -> None:
    Path(name).write_bytes(blocks.make(KEY, version, size))


def test_a_mapping_outlives_its_descriptor_and_its_name(do: Do) -> None:
    make("x")
    assert do("open", path="x", arg=1) == (0, 0, 0)
    assert do("map_held", size=2 * PAGE) == (0, 0, 0)
    do("close")
    Path("x").unlink()
    assert do("read_mapping", key=KEY, version=1, size=2 * PAGE) == (0, EXACT | 1 << 8, 2 * PAGE)


def test_a_mapping_of_a_cut_file_shows_what_is_left(do: Do) -> None:
    make("x")
    do("open", path="x")
    do("map_held", size=2 * PAGE)
    assert do("truncate", size=PAGE) == (0, 0, 0)
    assert do("read_mapping", key=KEY, version=1, size=2 * PAGE) == (0, SHORT | 1 << 8, PAGE)
    do("truncate", size=0)
    assert do("read_mapping", key=KEY, version=1, size=2 * PAGE)[0] == errno.EFAULT


def test_what_was_never_mapped_is_not_read(do: Do) -> None:
    assert do("read_mapping", key=KEY, size=PAGE)[0] == errnos.NOT_RUN
    make("x", PAGE)
    do("open", path="x", arg=1)
    assert do("map_held", size=2 * PAGE)[0] == errno.EINVAL
    assert do("read_mapping", key=KEY, size=PAGE)[0] == errnos.NOT_RUN


def test_links_are_counted(do: Do) -> None:
    make("x")
    count = do("stat_links", path="x")
    do("link", path="x", other="y")
    assert do("stat_links", path="y") == (0, 2, count[2])
    assert do("stat_links", path="missing")[0] == errno.ENOENT


def test_appends_go_to_the_end_whatever_their_offset(do: Do) -> None:
    Path("log").touch()
    assert do("open_append", path="log") == (0, 0, 0)
    for version in (0, 1, 2):
        assert do("write", key=KEY, version=version, size=1000) == (0, 1000, 0)
    assert do("read_records", path="log", key=KEY, size=1000, arg=3) == (0, 0b111, 3000)
    assert do("read_records", path="log", key=KEY, size=1000, arg=5) == (0, 0b111, 3000)
    assert do("open_append", path="missing", fd=1)[0] == errno.ENOENT


def test_records_that_are_torn_or_there_twice_are_not_there(do: Do) -> None:
    zero, one = blocks.make(KEY, 0, 1000), blocks.make(KEY, 1, 1000)
    Path("log").write_bytes(zero + one + zero + one[:500])
    assert do("read_records", path="log", key=KEY, size=1000, arg=2) == (0, 0b10, 3500)


def test_a_range_is_copied_to_a_new_file(do: Do) -> None:
    make("x", 10_000)
    assert do("copy_range", path="x", other="y", size=10_000) == (0, 10_000, 0)
    assert do("open_read", path="y", key=KEY, version=1, size=10_000) == (0, EXACT | 1 << 8, 10_000)
    assert do("copy_range", path="x", other="y", size=1)[0] == errno.EEXIST
    assert do("copy_range", path="missing", other="z", size=1)[0] == errno.ENOENT
    assert do("copy_range", path="x", other="longer", size=20_000) == (0, 10_000, 0)
