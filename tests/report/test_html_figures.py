"""Curves say what the trials say; timelines keep the order of every beginning and end."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree as Xml

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fsconform.report.curves import MOST as MOST_STEPS
from fsconform.report.curves import NEVER, curve_of
from fsconform.report.html.charts import Series, latency_chart
from fsconform.report.html.lanes import LANE, MOST, picture_of
from fsconform.vocabulary.observations import INF_NS, LatencyTrial, Witness
from tests.report.examples import latency


def trial(lo: int, hi: int) -> LatencyTrial:
    return LatencyTrial(lo, hi, 10 * 10**9)


TRIALS = st.lists(
    st.tuples(st.integers(0, 10**10), st.integers(0, 10**10), st.booleans()).map(
        lambda ends: trial(ends[0], INF_NS if ends[2] else ends[0] + ends[1])
    ),
    min_size=1,
    max_size=MOST_STEPS,
)


@given(TRIALS, st.integers(0, 2 * 10**10))
def test_a_curve_is_the_share_of_trials_that_had_not_seen_it(trials: list[LatencyTrial], at: int) -> None:
    curve = curve_of(trials)
    assert curve is not None
    surely = sum(one.lo > at for one in trials) / len(trials)
    possibly = sum(one.hi > at for one in trials) / len(trials)
    assert curve.unseen(at / 1e9) == pytest.approx((surely, possibly))


def test_a_long_curve_keeps_its_ends_and_its_shape() -> None:
    trials = [trial(1_000_000 * k, 1_000_000 * (k + 1)) for k in range(1000)]
    curve = curve_of(trials)
    assert curve is not None and len(curve.lo) == MOST_STEPS
    assert (curve.lo[0], curve.lo[-1], curve.hi[-1]) == (0.0, 0.999, 1.0)
    assert curve.unseen(0.5)[0] == pytest.approx(0.5, abs=0.02)


def test_no_trials_make_no_curve() -> None:
    assert curve_of(()) is None


@pytest.mark.parametrize("never", [0, 3, 20])
@pytest.mark.parametrize("median", [0.0, 2e-6, 5.0, 3e6])
def test_any_latency_can_be_drawn(median: float, never: int) -> None:
    curve = curve_of(latency(median, 20, never=never))
    assert curve is not None and (curve.hi[-1] == NEVER) == (never > 0)
    for promised in (None, 0.0, 5.0, 1e5):
        svg = Xml.fromstring(latency_chart([Series("a-b", curve, promised), Series("b-a", curve, promised)]))
        words = [node.text for node in svg.iter() if node.text]
        assert any(word.startswith("promised: ") for word in words) == (promised is not None)
        assert "NaN" not in Xml.tostring(svg, "unicode")


# ---------------------------------------------------------------- timelines


def event(worker: int, invoked: int | None, returned: int | None, **more: Any) -> dict[str, Any]:
    return {"worker": worker, "site": "ab"[worker % 2], "step": "stat", "path": "x/f.bin", "errno": "ENOENT",
            "invoked_ns": invoked, "returned_ns": returned, **more}  # fmt: skip


@st.composite
def histories(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Workers whose operations follow one another, sometimes in the same nanosecond."""
    events = []
    for worker in range(draw(st.integers(1, 3))):
        now = draw(st.integers(0, 50))
        error = draw(st.sampled_from([0, 0, 20]))
        for _ in range(draw(st.integers(0, MOST // 3))):
            end = now + draw(st.integers(0, 100))
            events.append(event(worker, now, end, error_ns=error))
            now = end + draw(st.sampled_from([0, 1, 30, 10_000_000]))
    return events


@settings(deadline=None)
@given(histories())
def test_a_timeline_keeps_the_order_of_all_beginnings_and_ends(events: list[dict[str, Any]]) -> None:
    picture = picture_of(Witness({}, tuple(events), ""))
    if picture is None:
        assert not events
        return
    ordered = sorted(events, key=lambda one: one["invoked_ns"])
    placed = list(zip(ordered, picture.boxes, strict=True))
    touching = {one["returned_ns"] for worker in range(3)
                for one, other in pairwise([each for each in ordered if each["worker"] == worker])
                if one["returned_ns"] == other["invoked_ns"]}  # fmt: skip
    for one, box in placed:
        assert box.early <= box.left < box.right <= box.late <= picture.width
        assert (box.early < box.left) == (one["error_ns"] > 0)
        for other, rival in placed:
            if one["returned_ns"] < other["invoked_ns"]:
                assert box.right < rival.left
            elif box.lane == rival.lane and box is not rival and box.left < rival.left:
                assert box.right < rival.left, "a worker does one thing at a time"
            if one["returned_ns"] + one["error_ns"] < other["invoked_ns"] - other["error_ns"]:
                assert box.late < rival.early
            if box.lane != rival.lane and one["invoked_ns"] <= other["returned_ns"] and box.right < rival.left:
                # What touches overlaps, except where operations of one lane touch in that nanosecond, too: they are
                # drawn one after another, so that something of another lane must come before or after them.
                forced = one["returned_ns"] == other["invoked_ns"] and one["returned_ns"] in touching
                assert one["returned_ns"] < other["invoked_ns"] or forced


def test_what_never_returned_stays_open_to_the_end() -> None:
    hung = event(0, 0, None, errno="HUNG")
    picture = picture_of(Witness({}, (hung, event(1, 10, 20), event(1, 5_000_000_000, 5_000_000_100)), ""))
    assert picture is not None
    assert picture.boxes[0].open and picture.boxes[0].right > max(box.right for box in picture.boxes[1:])
    assert [gap.text for gap in picture.breaks] == ["5.00 s"]


def test_two_that_contradict_one_another_over_a_long_time_are_linked() -> None:
    events = (
        event(1, 0, 100), event(0, 200, 300, errno="ok", guilty=True), event(1, 5_000_000_300, None, guilty=True),
        event(1, 5_100_000_000, None, errno="the first hit"),
    )  # fmt: skip
    picture = picture_of(Witness({}, events, ""))
    assert picture is not None and picture.link is not None
    assert picture.link[2] == "5.00 s later"
    assert [box.state for box in picture.boxes] == ["told", "guilty", "guilty", "told"]
    assert picture.error == "one clock, no error between workers"
    assert picture.height > 2 * LANE and picture.lanes == ("worker 0 at a", "worker 1 at b")


def test_of_many_operations_those_around_the_contradiction_are_drawn() -> None:
    events = [event(0, 10 * k, 10 * k + 5, path=f"{k % 7}.bin") for k in range(200)]
    events[100]["guilty"] = True
    picture = picture_of(Witness({}, tuple(events), ""))
    assert picture is not None
    assert (len(picture.boxes), picture.omitted) == (MOST, 200 - MOST)
    assert {box.name for box in picture.boxes} == {"2.bin"}, "the same name as that of the contradiction"
    assert sum(box.state == "guilty" for box in picture.boxes) == 1


@pytest.mark.parametrize(
    "events", [(), ({"story": "x"},), (event(0, None, None),), (event(0, 0, 1, step="barrier"),)]
)  # fmt: skip
def test_what_has_no_times_has_no_picture(events: tuple[dict[str, Any], ...]) -> None:
    assert picture_of(Witness({}, events, "")) is None
    assert picture_of(None) is None


def test_clocks_that_cannot_be_compared_are_told() -> None:
    picture = picture_of(Witness({}, (event(0, 0, 5, error_ns=1 << 60), event(1, 1, 2, error_ns=400_000)), ""))
    assert picture is not None and picture.error == "the clocks could not be compared"
    known = picture_of(Witness({}, (event(0, 0, 5), event(1, 1, 2, error_ns=400_000)), ""))
    assert known is not None and known.error == "clocks known to ±400 µs"
    assert replace(known, omitted=0).description.count("stat(f.bin)") == 2
