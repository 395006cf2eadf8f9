"""What caches of a site may hold when it looks: the weaker bound where that is in doubt."""

from __future__ import annotations

import errno

import pytest

from fsconform.oracles.anomalies import Anomaly
from fsconform.oracles.examination import examine
from fsconform.vocabulary.steps import Step
from tests.oracles.rounds import KEY, SIZE
from tests.oracles.test_mortals import NAME, one_round

Row = tuple[Step, int, int, int]
LOOK, LIST = Step("stat", NAME), Step("scandir", "d", names=("n",))
WATCH = Step("watch", NAME, arg=1000, then=Step("open_read", NAME, key=KEY, size=SIZE))
PUBLISH = (Step("rename", "d/t", NAME), 10, 20, 0)


def only_anomaly(*lanes: tuple[str, list[Row]]) -> Anomaly:
    (anomaly,) = examine(one_round(*lanes)).anomalies
    return anomaly


@pytest.mark.parametrize(
    ("before", "state"),
    [
        ([], "cold"),
        ([(LOOK, 1, 2, errno.ENOENT)], "missed"),
        ([(LOOK, 12, 13, 0)], "cold"),
        ([(LIST, 1, 2, 0)], "missed"),
        ([(Step("excl_create", NAME), 12, 13, errno.EEXIST)], "missed"),
        ([(Step("rename", "d/u", NAME), 12, 13, errno.EIO)], "missed"),
    ],
)
def test_a_miss_of_the_same_site_may_be_cached(before: list[Row], state: str) -> None:
    stale = only_anomaly(("a", [PUBLISH]), ("b", [*before, (LOOK, 30, 31, errno.ENOENT)]))
    assert (stale.kind, stale.state, stale.staleness_ns) == ("stale", state, (10,))
    other_worker = only_anomaly(("a", [PUBLISH]), ("b", before), ("b", [(LOOK, 30, 31, errno.ENOENT)]))
    assert other_worker.state == state


def test_a_miss_of_another_site_is_not_ours() -> None:
    lanes = (("a", [(LOOK, 1, 2, errno.ENOENT), PUBLISH]), ("b", [(LOOK, 30, 31, errno.ENOENT)]))
    assert only_anomaly(*lanes).state == "cold"


def test_a_rename_in_flight_at_the_same_site_has_looked_its_target_up() -> None:
    """Not a gap: the lookup before this site's own rename may have cached that nothing is there."""
    own = ("b", [(Step("rename", "d/u", NAME), 5, 50, 0)])
    stale = only_anomaly(("a", [PUBLISH]), own, ("b", [(LOOK, 30, 31, errno.ENOENT)]))
    assert (stale.kind, stale.state) == ("stale", "missed")


def test_a_rename_in_flight_at_another_site_makes_a_gap() -> None:
    replacing = ("a", [PUBLISH, (Step("rename", "d/u", NAME), 25, 50, 0)])
    gap = only_anomaly(replacing, ("b", [(LOOK, 30, 31, errno.ENOENT)]))
    assert (gap.kind, gap.property_id, gap.staleness_ns) == ("gap", "atomic.presence", ())
    missed = only_anomaly(replacing, ("b", [(LOOK, 1, 2, errno.ENOENT), (LOOK, 30, 31, errno.ENOENT)]))
    assert (missed.kind, missed.state) == ("stale", "missed")
    seen = [(LOOK, 1, 2, errno.ENOENT), (LOOK, 21, 22, 0), (LOOK, 30, 31, errno.ENOENT)]
    assert only_anomaly(replacing, ("b", seen)).kind == "gap"


def test_a_watch_may_have_missed_and_known_before_its_last_look() -> None:
    assert only_anomaly(("a", [PUBLISH]), ("b", [(WATCH, 30, 31, errno.ENOENT)])).state == "missed"
    make = [
        (Step("excl_create", NAME), 0, 1, 0), (Step("write", key=KEY, size=SIZE), 2, 3, 0), (Step("close"), 4, 5, 0),
    ]  # fmt: skip
    for look, kind in ((WATCH, "stale-size"), (WATCH.then, "short")):
        assert look is not None
        history = one_round(("a", make), ("b", [(look, 30, 31, 0)]))
        history.lanes[0].value[0, 1], history.lanes[1].value[0, 0] = SIZE, 1
        (anomaly,) = examine(history).anomalies
        assert anomaly.kind == kind


def test_a_size_seen_before_the_close_may_be_cached() -> None:
    make = [
        (Step("excl_create", NAME), 0, 1, 0), (Step("write", key=KEY, size=SIZE), 2, 3, 0), (Step("close"), 4, 10, 0),
    ]  # fmt: skip
    read = Step("open_read", NAME, key=KEY, size=SIZE)
    history = one_round(("a", make), ("b", [(LOOK, 2, 3, 0), (read, 30, 31, 0)]))
    history.lanes[0].value[0, 1], history.lanes[1].value[0, 1] = SIZE, 1
    (anomaly,) = examine(history).anomalies
    assert (anomaly.kind, anomaly.property_id, anomaly.state) == ("stale-size", "size.grow", "known")
    assert anomaly.staleness_ns == (20,)


def test_the_writer_is_one_that_took_effect() -> None:
    make, fill, close = Step("excl_create", NAME), Step("write", key=KEY, size=SIZE), Step("close")
    lost = ("b", [(make, 1, 2, errno.EEXIST), (fill, 2, 3, errno.EBADF), (close, 4, 5, errno.EBADF)])
    made = ("a", [(make, 0, 1, 0), (fill, 2, 3, 0), (close, 4, 10, 0)])
    history = one_round(lost, made, ("b", [(Step("open_read", NAME, key=KEY, size=SIZE), 30, 31, 0)]))
    history.lanes[1].value[0, 1], history.lanes[2].value[0, 0] = SIZE, 1
    (anomaly,) = examine(history).anomalies
    assert (anomaly.kind, anomaly.acting, anomaly.observing) == ("stale-size", "a", "b")
    assert anomaly.steps == ((1, 0), (2, 0))


def test_an_exclusive_create_that_finds_a_name_free_while_it_is_replaced_met_a_gap() -> None:
    make = Step("excl_create", NAME)
    replacing = ("a", [(make, 0, 5, 0), (Step("rename", "d/u", NAME), 25, 50, 0)])
    gap = only_anomaly(replacing, ("b", [(make, 30, 35, 0)]))
    assert (gap.kind, gap.property_id) == ("won-in-gap", "atomic.presence")
    late = only_anomaly(replacing, ("b", [(make, 60, 65, 0)]))
    assert (late.kind, late.property_id) == ("win-over-existing", "exclusive.over-existing")
    early = only_anomaly(replacing, ("b", [(make, 3, 8, 0)]), ("b", [(make, 30, 35, 0)]))
    assert (early.kind, early.property_id) in {("two-winners", "exclusive.winner"),
                                               ("win-over-existing", "exclusive.over-existing")}  # fmt: skip


def test_a_loser_that_misses_the_name_while_it_is_replaced_met_a_gap() -> None:
    make, read = Step("excl_create", NAME), Step("open_read", NAME, key=KEY, size=SIZE)
    loser = ("b", [(make, 6, 7, errno.EEXIST), (read, 30, 35, errno.ENOENT)])
    for replacing, kind, property_id in (
        ((Step("rename", "d/u", NAME), 25, 50, 0), "eexist-then-gap", "atomic.presence"),
        ((Step("rename", "d/u", NAME), 40, 50, 0), "eexist-then-enoent", "exclusive.loser-sees"),
    ):
        found = examine(one_round(("a", [(make, 0, 5, 0), replacing]), loser)).anomalies
        assert (kind, property_id) in {(anomaly.kind, anomaly.property_id) for anomaly in found}


def test_a_name_that_is_removed_later_has_gaps_as_well() -> None:
    make, remove = Step("excl_create", NAME), Step("unlink", NAME)
    for start, kind in ((30, "won-in-gap"), (60, "two-winners")):
        replacing = ("a", [(make, 0, 5, 0), (Step("rename", "d/u", NAME), 25, 50, 0)])
        lanes = (replacing, ("b", [(make, start, start + 5, 0)]), ("a", [(remove, 90, 95, 0)]))
        assert kind in {anomaly.kind for anomaly in examine(one_round(*lanes)).anomalies}
