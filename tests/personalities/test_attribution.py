"""Whose fault it was: decision tables from events and promises to boxes."""

from __future__ import annotations

import errno
from dataclasses import replace

import pytest

from fsconform.judging.attribution import judge_episode
from fsconform.judging.faults.evidence import Scene
from fsconform.judging.faults.loads import attribute_loads
from fsconform.judging.faults.lookups import attribute_misses
from fsconform.judging.faults.observing import attribute_gauge, attribute_names
from fsconform.judging.faults.stores import attribute_stores
from fsconform.judging.faults.variants import attribute_variant, hang_facts
from fsconform.vocabulary.blocks import Content
from fsconform.vocabulary.promises import Promise
from fsconform.vocabulary.workloads import Attribution, BlockRead, Box, Event, InstanceReport, Phase
from tests.personalities.scenes import (
    GUARANTEED,
    LEAF,
    MS,
    NAME,
    OTHER_NAME,
    PATH,
    SETUP,
    SIZE,
    TEMP,
    UNPROMISED,
    episode,
    event,
    failed_job,
    promising,
    report,
    stored,
    within,
)

EEXIST, ENOENT, ENOSPC, EIO = errno.EEXIST, errno.ENOENT, errno.ENOSPC, errno.EIO


def stores(promise: Promise, *reports: InstanceReport, **more: object) -> list[Attribution]:
    scene = Scene(episode(*reports, **more), promising(promise))  # type: ignore[arg-type]
    return [finding for one in reports for finding in attribute_stores(scene, one)]


def failed_store(instance: str, number: int, step: str, *events: Event) -> InstanceReport:
    return report(instance, *events, jobs=(failed_job("store", number, step, Phase.STORE),))


# ---------------------------------------------------------------- EEXIST, by the step it came from


@pytest.mark.parametrize("promise", [GUARANTEED, within(5.0), UNPROMISED])
def test_a_temporary_name_in_use_is_the_applications(promise: Promise) -> None:
    winner = report("A", event("A", "open-temp", TEMP, 10))
    loser = failed_store("B", EEXIST, "open-temp", event("B", "open-temp", TEMP, 11, EEXIST))
    (found,) = stores(promise, winner, loser)
    assert (found.box, found.property_id) == (Box.APPLICATION, "")
    assert [e.instance for e in found.events] == ["A", "B"]
    assert "random" in found.why
    assert found.cure


@pytest.mark.parametrize(("promise", "box"), [(GUARANTEED, Box.BROKE), (UNPROMISED, Box.WITHIN)])
def test_a_temporary_name_of_its_own_is_the_filesystems(promise: Promise, box: Box) -> None:
    other = report("A", *stored(temp=f"{PATH}_8.tmp"))
    loser = failed_store("B", EEXIST, "open-temp", event("B", "open-temp", TEMP, 11, EEXIST))
    (found,) = stores(promise, other, loser)
    assert (found.box, found.property_id) == (box, "exclusive.success-told")


def test_a_leftover_of_an_earlier_life_is_the_applications() -> None:
    killed = report("A1", event("A1", "open-temp", TEMP, 10))
    again = failed_store("A2", EEXIST, "open-temp", event("A2", "open-temp", TEMP, 500, EEXIST))
    (found,) = stores(GUARANTEED, killed, again, facts={"killed": ("A1", "A2")})
    assert found.box is Box.APPLICATION
    assert "before it was killed" in found.why


@pytest.mark.parametrize(("promise", "box"), [(GUARANTEED, Box.BROKE), (UNPROMISED, Box.WITHIN)])
def test_mkdir_that_exists_but_is_not_seen(promise: Promise, box: Box) -> None:
    maker = report("A", event("A", "mkdir", LEAF, 5))
    loser = failed_store(
        "B", EEXIST, "mkdir", event("B", "stat-dir", LEAF, 3, ENOENT), event("B", "mkdir", LEAF, 8, EEXIST),
        event("B", "stat-dir", LEAF, 9, ENOENT),
    )  # fmt: skip
    (found,) = stores(promise, maker, loser)
    assert (found.box, found.property_id) == (box, "exclusive.loser-sees")
    assert [e.step for e in found.events] == ["stat-dir", "mkdir", "mkdir", "stat-dir"]


def test_rename_never_answers_eexist_for_files() -> None:
    loser = failed_store("B", EEXIST, "rename", *stored("B")[:3], event("B", "rename", PATH, 20, EEXIST))
    (found,) = stores(within(5.0), report("A", *stored()), loser)
    assert found.box is Box.BROKE


# ---------------------------------------------------------------- other failures of stores


def test_a_temporary_file_that_another_instance_took_away() -> None:
    loser = report("B", event("B", "open-temp", TEMP, 11, EEXIST), event("B", "unlink-temp", TEMP, 13))
    winner = failed_store("A", ENOENT, "rename", *stored("A", 10)[:3], event("A", "rename", PATH, 16, ENOENT))
    found = stores(GUARANTEED, winner, loser)
    assert [finding.box for finding in found] == [Box.APPLICATION]
    assert "unlink-temp" in found[0].why


def test_a_temporary_file_that_nobody_took_away() -> None:
    alone = failed_store("A", ENOENT, "rename", *stored("A", 10)[:3], event("A", "rename", PATH, 16, ENOENT))
    (found,) = stores(GUARANTEED, alone)
    assert found.box is Box.BROKE


@pytest.mark.parametrize(("cleaned", "box"), [(True, Box.APPLICATION), (False, Box.BROKE)])
def test_a_directory_that_is_gone(cleaned: bool, box: Box) -> None:
    cleaner = report("C", *([event("C", "rmdir", LEAF, 9, block=-1)] if cleaned else []))
    store = failed_store(
        "A", ENOENT, "open-temp", event("A", "mkdir", LEAF, 8), event("A", "open-temp", TEMP, 12, ENOENT)
    )
    (found,) = stores(GUARANTEED, store, cleaner)
    assert found.box is box


@pytest.mark.parametrize(("removed_at", "box"), [(9, Box.APPLICATION), (2, Box.BROKE), (40, Box.BROKE)])
def test_a_directory_above_that_is_gone(removed_at: int, box: Box) -> None:
    above = LEAF.rpartition("/")[0]
    cleaner = report("C", event("C", "rmdir", above, removed_at, block=-1))
    made, failed = event("A", "mkdir", above, 5), event("A", "mkdir", LEAF, 12, ENOENT)
    (found,) = stores(GUARANTEED, failed_store("A", ENOENT, "mkdir", made, failed), cleaner)
    assert found.box is box


@pytest.mark.parametrize(("cleaned", "box"), [(True, Box.APPLICATION), (False, Box.BROKE)])
def test_a_directory_that_goes_between_mkdir_and_stat(cleaned: bool, box: Box) -> None:
    cleaner = report("C", *([event("C", "rmdir", LEAF, 9, block=-1)] if cleaned else []))
    loser = failed_store("A", EEXIST, "mkdir", event("A", "mkdir", LEAF, 8, EEXIST),
                         event("A", "stat-dir", LEAF, 11, ENOENT))  # fmt: skip
    (found,) = stores(GUARANTEED, loser, cleaner)
    assert found.box is box


@pytest.mark.parametrize(
    ("number", "step", "box"),
    [
        (ENOSPC, "write", Box.CONFIGURATION), (errno.EDQUOT, "close", Box.CONFIGURATION),
        (errno.EACCES, "open-temp", Box.CONFIGURATION), (errno.EROFS, "mkdir", Box.CONFIGURATION),
        (errno.EINVAL, "write", Box.CONFIGURATION), (EIO, "close", Box.BROKE), (errno.ESTALE, "open-temp", Box.BROKE),
    ],
)  # fmt: skip
def test_other_errnos(number: int, step: str, box: Box) -> None:
    (found,) = stores(GUARANTEED, failed_store("A", number, step, event("A", step, TEMP, 5, number)))
    assert found.box is box


@pytest.mark.parametrize(("full", "box"), [(True, Box.CONFIGURATION), (False, Box.BROKE)])
def test_a_short_write(full: bool, box: Box) -> None:
    short = failed_store("A", EIO, "write", event("A", "write", TEMP, 5, value=10))
    other = report("B", *([event("B", "write", f"{PATH}_8.tmp", 4, ENOSPC)] if full else []))
    assert [finding.box for finding in stores(GUARANTEED, short, other)] == [box]


# ---------------------------------------------------------------- look-ups that missed


def looks(late_ms: float, primed: bool, *later: Event) -> InstanceReport:
    cold = [event("B", "lookup", PATH, 1, ENOENT, phase=int(Phase.COLD))] if primed else []
    look = event("B", "lookup", PATH, 17 + late_ms, ENOENT, phase=int(Phase.LOOKUP))
    return report("B", *cold, look, *later)


@pytest.mark.parametrize(
    ("promise", "late_ms", "box"),
    [
        (GUARANTEED, 1, Box.BROKE), (GUARANTEED, -2, None), (within(5.0), 1, Box.WITHIN),
        (within(5.0), 4999, Box.WITHIN),
        (within(5.0), 5060, Box.WITHIN), (within(5.0), 5200, Box.BROKE), (within(0.0), 1, Box.BROKE),
        (UNPROMISED, 1, Box.WITHIN),
    ],
)  # fmt: skip
@pytest.mark.parametrize("primed", [True, False])
def test_a_miss_after_the_publish(promise: Promise, late_ms: float, box: Box | None, primed: bool) -> None:
    """The publish returned at 17 ms."""
    second = looks(late_ms, primed)
    scene = Scene(episode(report("A", *stored()), second), promising(promise))
    found = list(attribute_misses(scene, second))
    assert [finding.box for finding in found] == ([box] if box else [])


def test_the_state_of_the_reader_decides_which_cell_is_asked() -> None:
    asked: list[str] = []

    def promise_of(cell: object) -> Promise:
        asked.append(str(cell))
        return within(5.0)

    for reader, primed in (("clean", False), ("poisoned", True), ("poisoned-name", True)):
        second = looks(1, primed)
        setup = replace(SETUP, reader=reader)
        list(attribute_misses(Scene(episode(report("A", *stored()), second, setup=setup), promise_of), second))
    assert asked == [
        f"visibility.create/rename/{state}/access/fresh/a-b" for state in ("cold", "missed-ancestor", "missed")
    ]


@pytest.mark.parametrize("path", [PATH, LEAF, "base_r0"])
def test_any_earlier_miss_at_the_same_site_counts(path: str) -> None:
    """Also one of its own store, or of a directory above the block."""
    asked: list[str] = []

    def promise_of(cell: object) -> Promise:
        asked.append(str(cell))
        return within(5.0) if "missed" in str(cell) else GUARANTEED

    own = event("B", "exists", path, 5, ENOENT)
    look = event("B", "lookup", PATH, 18, ENOENT, phase=int(Phase.LOOKUP))
    second = report("B", own, look)
    (found,) = attribute_misses(Scene(episode(report("A", *stored()), second), promise_of), second)
    assert found.box is Box.WITHIN
    assert own in found.events
    elsewhere = report("A", event("A", "exists", path, 5, ENOENT), *stored())
    second = report("B", look)
    (found,) = attribute_misses(Scene(episode(elsewhere, second), promise_of), second)
    assert found.box is Box.BROKE


def test_a_clock_error_makes_a_close_call_concurrent() -> None:
    second = looks(1, True)
    setup = replace(SETUP, error_ns=2 * MS)
    scene = Scene(episode(report("A", *stored()), second, setup=setup), promising(GUARANTEED))
    assert list(attribute_misses(scene, second)) == []


def test_a_miss_that_outlives_its_bound_in_the_watch() -> None:
    later = event("B", "lookup", PATH, 6000, ENOENT, phase=int(Phase.POLL))
    second = looks(1, True, later)
    scene = Scene(episode(report("A", *stored()), second), promising(within(5.0)))
    assert [finding.box for finding in attribute_misses(scene, second)] == [Box.WITHIN, Box.BROKE]


def test_an_evicted_block_is_no_miss() -> None:
    second = looks(100, False)
    evictor = report("C", event("C", "evict", PATH, 30))
    scene = Scene(episode(report("A", *stored()), second, evictor), promising(GUARANTEED))
    assert list(attribute_misses(scene, second)) == []


# ---------------------------------------------------------------- loads


def loads(promise: Promise, first: InstanceReport, second: InstanceReport, *others: InstanceReport,
          **more: object) -> list[Attribution]:  # fmt: skip
    return list(attribute_loads(Scene(episode(first, second, *others, **more), promising(promise)), second))  # type: ignore[arg-type]


def loaded(number: int, step: str, length: int = 0, at_ms: float = 100.0) -> InstanceReport:
    opened = event("B", "open", PATH, at_ms, number if step == "open" else 0, phase=int(Phase.PROMOTE))
    read = event("B", "read", PATH, at_ms + 1, number if step == "read" else 0, phase=int(Phase.PROMOTE), value=length)
    events = (opened,) if step == "open" else (opened, read)
    return report("B", *events, jobs=(failed_job("load", number, step, Phase.PROMOTE, length),))


@pytest.mark.parametrize(
    ("promise", "box"), [(GUARANTEED, Box.BROKE), (within(30.0), Box.WITHIN), (UNPROMISED, Box.WITHIN)]
)
def test_a_short_read_is_urgent(promise: Promise, box: Box) -> None:
    (found,) = loads(promise, report("A", *stored()), loaded(0, "read", 100))
    assert (found.box, found.property_id, found.urgent) == (box, "content.complete", True)
    assert "good block" in found.title


def test_a_short_read_before_the_close_is_the_applications() -> None:
    early = [event("A", "open-temp", TEMP, 10), event("A", "rename", PATH, 12), event("A", "close", TEMP, 300)]
    (found,) = loads(GUARANTEED, report("A", *early), loaded(0, "read", 100))
    assert found.box is Box.APPLICATION


def test_a_rival_writer_of_the_same_file_is_the_applications() -> None:
    rival = report("C", event("C", "open-temp", TEMP, 11))
    (found,) = loads(GUARANTEED, report("A", *stored()), loaded(0, "read", 100), rival)
    assert found.box is Box.APPLICATION


@pytest.mark.parametrize("number", [ENOENT, errno.ESTALE])
@pytest.mark.parametrize(("evicted", "box"), [(True, Box.APPLICATION), (False, Box.BROKE)])
def test_a_block_that_cannot_be_opened(number: int, evicted: bool, box: Box) -> None:
    evictor = report("C", *([event("C", "evict", PATH, 90)] if evicted else []))
    (found,) = loads(GUARANTEED, report("A", *stored()), loaded(number, "open"), evictor)
    assert found.box is box


def test_an_eviction_explains_only_what_came_after_it_and_before_the_next_publish() -> None:
    later = report("C", event("C", "evict", PATH, 400))
    (found,) = loads(GUARANTEED, report("A", *stored()), loaded(ENOENT, "open"), later)
    assert found.box is Box.BROKE
    undone = report("C", event("C", "evict", PATH, 30))
    (found,) = loads(GUARANTEED, report("A", *stored(), *stored(at_ms=50)), loaded(ENOENT, "open"), undone)
    assert found.box is Box.BROKE


@pytest.mark.parametrize("content", [Content.ZERO, Content.FOREIGN, Content.TORN, Content.LONG])
def test_wrong_bytes(content: Content) -> None:
    second = replace(loaded(0, ""), jobs=(), reads=(BlockRead(0, int(content), 3, SIZE),))
    (found,) = loads(GUARANTEED, report("A", *stored()), second)
    assert found.box is Box.BROKE
    assert "read for a block" in found.title


# ---------------------------------------------------------------- what observers are misled by


@pytest.mark.parametrize(
    ("samples", "numbers", "box"),
    [
        ((0, 0), {"read_bytes": SIZE}, Box.GAP), ((0, 1), {"read_bytes": SIZE}, None), ((0, 0), {}, None),
        ((0, 0), {"chunk_hits:1:fs": 1, "promotion_jobs_started": 0}, Box.APPLICATION),
        ((0, 0), {"chunk_hits:1:fs": 1, "promotion_jobs_started": 1}, None),
    ],
)  # fmt: skip
def test_the_gauge(samples: tuple[int, ...], numbers: dict[str, int], box: Box | None) -> None:
    rows = tuple((k * 20 * MS, value, 0) for k, value in enumerate(samples))
    second = report("B", samples=rows, numbers=numbers)
    found = list(attribute_gauge(Scene(episode(second), promising(GUARANTEED)), second))
    assert [finding.box for finding in found] == ([box] if box else [])


def test_names_that_do_not_agree_show_both() -> None:
    first, second = report("A", *stored()), report("B", names=(OTHER_NAME,))
    scene = Scene(episode(first, second, files=((PATH, SIZE),)), promising(GUARANTEED))
    (found,) = attribute_names(scene, first, second)
    assert found.box is Box.CONFIGURATION
    assert NAME in found.why
    assert OTHER_NAME in found.why
    assert "1 blocks are there under the names of A" in found.why


@pytest.mark.parametrize(("opened_ms", "box"), [(300, Box.WITHIN), (9000, Box.BROKE)])
def test_an_early_look_is_kept_no_longer_than_promised(opened_ms: int, box: Box) -> None:
    """Whatever the clock of the looking site says."""
    first = report("A", event("A", "rename", PATH, 10), event("A", "close", TEMP, 100))
    second = report("B", event("B", "open", PATH, 50), event("B", "open", PATH, opened_ms))
    strange = 10**14
    facts = {"between rename and close": (strange, 0, 0, 0, 1), "after close": (strange, 0, 0, 0, 1)}
    early, kept = attribute_variant(Scene(episode(first, second, facts=facts), promising(within(5.0))))
    assert (early.box, kept.box) == (Box.WITHIN, box)


def test_two_winners_of_one_exclusive_create() -> None:
    winners = [report(letter, event(letter, "open-temp", TEMP, at)) for letter, at in (("A", 10), ("B", 12))]
    (found,) = attribute_variant(Scene(episode(*winners), promising(GUARANTEED)))
    assert (found.box, found.urgent) == (Box.BROKE, True)
    one_after_the_other = [report("A", *stored("A", 10)), report("B", *stored("B", 30))]
    assert list(attribute_variant(Scene(episode(*one_after_the_other), promising(GUARANTEED)))) == []


def test_a_hang_is_told_by_thread() -> None:
    blocked = replace(event("B", "read", PATH, 100), returned=2100 * MS)
    told = hang_facts({"stopped": (150 * MS, 2050 * MS)}, (event("A", "write", TEMP, 5), blocked))
    assert told["blocked"] == "B.read-0 2.00 s"
    assert told["errors afterwards"] == "none"


def test_nothing_is_left_without_a_box() -> None:
    first, second = report("A", *stored()), report("B", request={"external_prefix_cache_hits": 0})
    result = judge_episode(episode(first, second), promising(GUARANTEED))
    failed = {entry.name for entry in result.expectations if not entry.met}
    assert failed
    assert failed <= {name for finding in result.attributions for name in finding.explains}
    assert {finding.box for finding in result.attributions} == {Box.GAP}
