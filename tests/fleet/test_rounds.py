"""Rounds by workers: races, hangs, deaths, halts; what comes home and what it is called."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest

from fsconform.fleet.fleet import Fleet, WorkerError, WorkerLost
from fsconform.fleet.launch import Launch
from fsconform.vocabulary.errnos import HUNG, LOST, NOT_RUN
from fsconform.vocabulary.errors import CannotTestError
from fsconform.vocabulary.histories import INF, RoundHistory
from fsconform.vocabulary.programs import Lane, Program
from fsconform.vocabulary.sites import parse_site
from fsconform.vocabulary.steps import Step
from tests.fleet.conftest import hire

RACE = Lane("a", (Step("excl_create", "sub/x"), Step("close")))
LONG_SLEEP = Step("sleep", arg=3600 * 10**9)


def contested(history: RoundHistory) -> float:
    """Share of rounds in which the first steps of two lanes overlapped."""
    first, second = history.lanes
    overlap = (first.invoked < second.returned) & (second.invoked < first.returned)
    return float(overlap[:, 0].mean())


def test_a_race_has_one_winner_and_is_contested(fleet: Fleet, root: str) -> None:
    workers = hire(fleet, root)
    best = 0.0
    for number in range(10):
        history = fleet.run_rounds(Program((RACE, RACE), ("sub",)), workers, f"race/{number}", 200)
        assert (history.rounds, history.lost, history.error_ns) == (200, {}, (0, 0))
        errors = np.stack([lane.errno[:, 0] for lane in history.lanes])
        assert np.all(np.sort(errors, axis=0).T == [0, 17])
        closes = np.stack([lane.errno[:, 1] for lane in history.lanes])
        assert np.all((closes == NOT_RUN) == (errors == 17))
        best = max(best, contested(history))
        if best > 0.5:
            break
    assert best > 0.1, "the calls of two lanes hardly ever overlap"


def test_stamps_are_on_the_controllers_clock(fleet: Fleet, root: str) -> None:
    before = time.monotonic_ns()
    lane = Lane("a", (Step("mkdir", "d"), Step("stat", "d"), Step("barrier"), Step("rmdir", "d")))
    history = fleet.run_rounds(Program((lane,)), hire(fleet, root, "a"), "base", 3)
    stamps = np.stack([history.lanes[0].invoked, history.lanes[0].returned], axis=2).reshape(-1)
    assert before < stamps[0] and stamps[-1] < time.monotonic_ns()
    assert np.all(np.diff(stamps) >= 0)


def test_barrier_wait_and_signal_order_the_lanes(fleet: Fleet, root: str) -> None:
    first = Lane("a", (Step("mkdir", "d"), Step("signal", offset=0, arg=1), Step("barrier"), Step("rmdir", "d")))
    second = Lane("a", (Step("wait", offset=0, arg=1), Step("stat", "d"), Step("barrier")))
    history = fleet.run_rounds(Program((first, second)), hire(fleet, root), "base", 20)
    assert np.all(history.lanes[1].errno[:, 1] == 0)
    assert np.all(history.lanes[0].returned[:, 0] <= history.lanes[1].invoked[:, 1])


def test_a_hung_step_is_an_event_and_its_worker_is_replaced(fleet: Fleet, root: str) -> None:
    os.mkfifo(f"{root}/fifo")
    workers = hire(fleet, root)
    hanging = Lane("a", (Step("mkdir", "d"), Step("open", f"{root}/fifo", arg=1), Step("stat", "d")))
    other = Lane("b", (Step("mkdir", "e"), Step("stat", "e")))
    history = fleet.run_rounds(Program((hanging, other)), workers, "base", 5, step_deadline_s=0.5)
    assert history.rounds == 1
    assert history.lanes[0].errno.tolist() == [[0, HUNG, NOT_RUN]]
    assert history.lanes[0].returned[0, 1] == INF > history.lanes[0].invoked[0, 1] > 0
    assert history.lanes[1].errno.tolist() == [[0, 0]]
    assert list(history.lost) == [0]
    assert "hung" in history.lost[0] and "open" in history.lost[0] and "of round 0" in history.lost[0]
    assert fleet.incidents == [history.lost[0]]
    successor = fleet.replace(workers[0])
    assert successor.pid != workers[0].pid and fleet.abandoned == []
    assert fleet.run_rounds(Program((RACE, RACE), ("sub",)), [successor, workers[1]], "again", 2).lost == {}
    with pytest.raises(WorkerLost):
        fleet.call(workers[0], "attach", "", 0)


def test_a_waiting_lane_is_not_taken_for_hung(fleet: Fleet, root: str) -> None:
    slow, quick = Lane("a", (Step("sleep", arg=1_500_000_000), Step("mkdir", "d"))), Lane("b", (Step("mkdir", "e"),))
    history = fleet.run_rounds(Program((slow, quick)), hire(fleet, root), "base", 2, step_deadline_s=0.5)
    assert (history.rounds, history.lost) == (2, {})


def test_a_killed_worker_is_lost_and_the_others_come_home(fleet: Fleet, root: str) -> None:
    workers = hire(fleet, root)
    sleeping = Lane("a", (Step("mkdir", "d"), LONG_SLEEP))
    waiting = Lane("b", (Step("mkdir", "e"), Step("stat", "e")))
    threading.Timer(0.5, os.kill, (workers[0].pid, signal.SIGKILL)).start()
    before = time.monotonic_ns()
    history = fleet.run_rounds(Program((sleeping, waiting)), workers, "base", 5)
    assert history.rounds == 1
    assert history.lanes[0].errno.tolist() == [[LOST, LOST]]
    assert np.all(history.lanes[0].returned == INF) and np.all(history.lanes[0].invoked >= before)
    assert np.all(history.lanes[0].invoked <= history.lanes[1].invoked), "it may have acted from the beginning on"
    assert history.lanes[1].errno.tolist() == [[0, 0]]
    assert "signal 9" in history.lost[0]


def test_a_directory_that_cannot_be_made_ends_the_job(fleet: Fleet, root: str) -> None:
    workers = hire(fleet, root)
    with open(f"{root}/file", "w"):
        pass
    history = fleet.run_rounds(Program((RACE, RACE)), workers, "file", 5)
    assert history.rounds == 0 and "File exists" in history.lost[0]
    assert fleet.run_rounds(Program((RACE, RACE), ("sub",)), workers, "good", 5).rounds == 5


def test_halt_brings_home_what_was_done(fleet: Fleet, root: str) -> None:
    lane = Lane("a", (Step("mkdir", "d"), Step("sleep", arg=50_000_000)))
    workers = hire(fleet, root)
    threading.Timer(0.5, fleet.halt).start()
    start = time.monotonic()
    history = fleet.run_rounds(Program((lane, lane)), workers, "base", 10_000)
    assert 0 < history.rounds < 10_000 and history.lost == {}
    assert time.monotonic() - start < 10
    assert fleet.run_rounds(Program((RACE, RACE), ("sub",)), workers, "after", 3).rounds == 3


def test_a_job_past_its_deadline_comes_home_with_what_it_has(fleet: Fleet, root: str) -> None:
    lane = Lane("a", (Step("mkdir", "d"), Step("sleep", arg=50_000_000)))
    history = fleet.run_rounds(Program((lane, lane)), hire(fleet, root), "base", 10_000, deadline_s=0.5)
    assert 0 < history.rounds < 10_000 and history.lost == {}
    assert "deadline" in fleet.incidents[0]


def test_calls_and_their_errors(fleet: Fleet, root: str) -> None:
    (worker,) = hire(fleet, root, "a")
    with pytest.raises(WorkerError, match="KeyError: 'nonsense'"):
        fleet.call(worker, "nonsense")
    with pytest.raises(WorkerError) as caught:
        fleet.call(worker, "rounds", (128, 0, 1, 0, 5.0), f"{root}/x\0y", (), 1, ())
    assert "null byte" in str(caught.value)
    with pytest.raises(ValueError, match="2 lanes, 1 workers"):
        fleet.run_rounds(Program((RACE, RACE)), [worker], "base", 1)


def test_a_site_that_cannot_be_launched_is_named(fleet: Fleet, root: str) -> None:
    with pytest.raises(CannotTestError, match="no worker could be started"):
        hire(fleet, root, "ab", "/nonexistent/python3")
    with pytest.raises(CannotTestError, match="exec=false"):
        fleet.launch([Launch(parse_site("exec=false:/x"), "a")])
    with pytest.raises(CannotTestError, match="no answer within"):
        fleet.launch([Launch(parse_site("exec=sh -c 'sleep 5':/x"), "a")], deadline_s=0.5)


def test_a_command_as_launcher(fleet: Fleet, root: str) -> None:
    workers = fleet.launch([Launch(parse_site(f"exec=env -i python3 -I:{root}"), letter, root) for letter in "ab"])
    assert fleet.run_rounds(Program((RACE, RACE), ("sub",)), workers, "base", 3).lost == {}
    pids = [worker.pid for worker in workers]
    fleet.stop()
    assert not any(os.path.exists(f"/proc/{pid}") for pid in pids)


def test_an_interrupt_frees_all_workers(fleet: Fleet, root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    workers = hire(fleet, root)
    lane = Lane("a", (Step("mkdir", "d"), LONG_SLEEP))

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(workers[0], "poll", interrupt)
        with pytest.raises(KeyboardInterrupt):
            fleet.run_rounds(Program((lane, lane)), workers, "base", 5)
    fleet.halt()
    assert fleet.run_rounds(Program((RACE, RACE), ("sub",)), workers, "after", 3).lost == {}


def test_whichever_lane_is_lost_the_others_are_told_at_once(fleet: Fleet, root: str) -> None:
    workers = hire(fleet, root, "abc")
    waiting = Lane("a", (Step("mkdir", "d"), Step("barrier")))
    threading.Timer(0.5, os.kill, (workers[2].pid, signal.SIGKILL)).start()
    start = time.monotonic()
    sleeping = Lane("c", (LONG_SLEEP, Step("barrier")))
    history = fleet.run_rounds(Program((waiting, Lane("b", (LONG_SLEEP, Step("barrier"))), sleeping)), workers, "x", 2)
    assert time.monotonic() - start < 9
    assert list(history.lost) == [2]
    assert [lane.errno.tolist() for lane in history.lanes[:2]] == [[[0, NOT_RUN]], [[NOT_RUN, NOT_RUN]]]
