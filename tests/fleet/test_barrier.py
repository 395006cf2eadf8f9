"""Meeting in shared words: everybody waits for everybody, and no wait is for ever."""

from __future__ import annotations

import os
import threading
import time

import pytest

from fsconform.fleet.page import Page
from fsconform.fleet.worker import barrier


def attached(page: Page) -> barrier.Page:
    words = barrier.Page()
    assert words.attach(page.path, page.token)
    return words


def meetings(page: Page, region: int, lanes: int, patience_s: float = 20.0) -> list[barrier.Meeting]:
    barrier.PAGE.words = attached(page).words
    return [barrier.Meeting(page.place(region, lane, lanes, patience_s)) for lane in range(lanes)]


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> Page:
    monkeypatch.setattr(barrier, "PAGE", barrier.Page())
    return Page()


def test_everybody_waits_for_everybody(page: Page) -> None:
    arrived = [0, 0, 0]
    seen: list[int] = []
    with page.region() as region:

        def lane(number: int, meeting: barrier.Meeting) -> None:
            for turn in range(1, 6):
                arrived[number] = turn
                meeting.meet()
                seen.append(min(arrived) - turn)

        threads = [threading.Thread(target=lane, args=pair) for pair in enumerate(meetings(page, region, 3))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
    assert len(seen) == 15
    assert min(seen) >= 0, "somebody left a meeting before all had come"


def test_waits_end_by_deadline_abort_and_halt(page: Page) -> None:
    with page.region() as region:
        first, _ = meetings(page, region, 2, patience_s=0.05)
        with pytest.raises(barrier.Aborted, match=r"within 0\.05 s"):
            first.meet()
        with pytest.raises(barrier.Aborted, match="within"):
            first.wait(3, 1)
        first, _ = meetings(page, region, 2)
        threading.Timer(0.1, page.abort, (region,)).start()
        with pytest.raises(barrier.Aborted, match="lost"):
            first.meet()
    with page.region() as region:
        first, _ = meetings(page, region, 2)
        threading.Timer(0.1, page.halt).start()
        with pytest.raises(barrier.Aborted, match="halted"):
            first.sleep(3600 * 10**9)
        fresh, _ = meetings(page, region, 2)
        fresh.heed()  # what is sent after a halt is not halted


def test_signals_of_earlier_rounds_do_not_count(page: Page) -> None:
    with page.region() as region:
        (meeting,) = meetings(page, region, 1, patience_s=0.02)
        meeting.begin_round(0)
        meeting.signal(1, 5)
        meeting.wait(1, 5)
        assert meeting.signalled(1) == 5
        meeting.begin_round(1)
        assert meeting.signalled(1) == 0
        with pytest.raises(barrier.Aborted):
            meeting.wait(1, 1)


def test_a_wait_does_other_work_meanwhile(page: Page) -> None:
    with page.region() as region:
        (meeting,) = meetings(page, region, 1)
        turns = []

        def work() -> bool:
            turns.append(time.monotonic_ns())
            if len(turns) == 3:
                meeting.signal(0, 1)
            return True

        meeting.wait(0, 1, work)
        assert len(turns) == 3


def test_only_the_page_itself_is_mapped(page: Page, tmp_path: os.PathLike[str]) -> None:
    other, words = Page(), barrier.Page()
    before = words.words
    assert not words.attach(other.path, page.token)
    assert not words.attach(f"{tmp_path}/missing", page.token)
    assert not words.attach(os.fspath(tmp_path), page.token)
    assert words.words is before


def test_regions_are_zeroed_and_given_back(page: Page) -> None:
    with page.region() as region:
        page.abort(region)
    with page.region() as again:
        (meeting,) = meetings(page, again, 1)
        assert (again, meeting.abandoned()) == (region, False)
    with pytest.raises(RuntimeError), page.region() as region:
        raise RuntimeError
    with page.region() as other:
        assert other != region, "somebody may still be using a region whose job ended badly"
