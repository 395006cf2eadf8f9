"""Workers that share no memory: their races and trials meet through the controller, whatever their clocks show."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from fsconform.fleet.clocks import Clock
from fsconform.fleet.fleet import Fleet, Worker
from fsconform.fleet.launch import Launch
from fsconform.fleet.worker.requests import whereabouts
from fsconform.vocabulary.cells import make_cell
from fsconform.vocabulary.errnos import OK
from fsconform.vocabulary.histories import RoundHistory
from fsconform.vocabulary.programs import Lane, Program
from fsconform.vocabulary.sites import parse_site
from fsconform.vocabulary.steps import Step
from fsconform.vocabulary.trials import Trial, TrialResult, Want

pytestmark = pytest.mark.hosts
APART = "unshare --mount --pid --mount-proc --fork --kill-child"
ELSEWHEN = "unshare --time --monotonic=100000 --fork --kill-child"
BARRIER = Step("barrier")
CELL = make_cell("visibility.create", "a-b", publish="excl", state="missed", observer="stat", age="fresh")


@pytest.fixture
def fleet() -> Iterator[Fleet]:
    with Fleet() as fleet:
        yield fleet


def hire(fleet: Fleet, root: Path, *launchers: str) -> list[Worker]:
    """A worker per launcher; the empty one is ours."""
    texts = [f"exec={launcher} {sys.executable}:{root}" if launcher else str(root) for launcher in launchers]
    return fleet.launch(
        [Launch(parse_site(text), letter, str(root)) for text, letter in zip(texts, "abcd", strict=False)]
    )


def race(fleet: Fleet, workers: list[Worker], rounds: int = 30) -> RoundHistory:
    """Everybody creates one name exclusively, then all look at it."""
    steps = (BARRIER, Step("excl_create", "x"), Step("close"), BARRIER, Step("stat", "x"))
    program = Program(tuple(Lane(worker.letter, steps) for worker in workers))
    return fleet.run_rounds(program, workers, "race", rounds)


def trials(fleet: Fleet, actor: Worker, observer: Worker, count: int = 20) -> list[TrialResult]:
    wanted = [
        Trial(CELL, k, Step("stat", f"n{k}"), Want(), (Step("excl_create", f"n{k}"), Step("close")), moment=0,
              prime=(Step("stat", f"n{k}"),), until_ns=100_000_000)
        for k in range(count)
    ]  # fmt: skip
    return fleet.start_trials(actor, observer, wanted).result(60.0)


def check_race(history: RoundHistory, rounds: int = 30) -> None:
    assert (history.rounds, history.lost, history.clock_fault) == (rounds, {}, "")
    created = np.stack([lane.errno[:, 1] for lane in history.lanes], axis=1)
    assert ((created == OK).sum(axis=1) == 1).all(), "one winner per round"
    assert all((lane.errno[:, 4] == OK).all() for lane in history.lanes), (
        "a barrier holds: all see what was made before"
    )
    made = np.max([lane.invoked[:, 1] for lane in history.lanes], axis=0)
    for number, lane in enumerate(history.lanes):
        error = np.max([history.error_between(number, other) for other in range(len(history.lanes))], axis=0)
        assert (lane.returned[:, 3] + error >= made).all(), "nobody leaves a barrier before all have come"


def test_races_without_shared_memory(fleet: Fleet, tmp_path: Path) -> None:
    workers = hire(fleet, tmp_path, APART, "", APART)
    assert [worker.shares_page for worker in workers] == [False, True, False]
    assert all(worker.clock.exact for worker in workers), "one kernel and one time namespace: one clock"
    history = race(fleet, workers)
    check_race(history)
    assert history.error_ns == (0, 0, 0) and set(history.clocks) == {0}
    assert fleet.incidents == []


def test_trials_without_shared_memory(fleet: Fleet, tmp_path: Path) -> None:
    workers = hire(fleet, tmp_path, APART, APART)
    for result in trials(fleet, workers[0], workers[1]):
        assert result.lost == "" and result.change_invoked is not None and result.first_hit is not None
        assert result.prime_returned is not None and result.prime_returned < result.change_invoked
        assert result.first_hit > result.change_invoked
        assert (result.error_ns, result.looks > 1, result.flickers) == (0, True, 0)


def test_a_time_namespace_is_noticed(fleet: Fleet, tmp_path: Path) -> None:
    """It shares the page, even its boot_id, but its clock is 100,000 s ahead."""
    workers = hire(fleet, tmp_path, ELSEWHEN, "")
    away, here = workers
    assert away.shares_page and not away.clock.exact and here.clock.exact
    offset = away.clock.latest()
    assert abs(offset.offset + 100_000 * 10**9) <= offset.error < 10**9
    history = race(fleet, workers)
    check_race(history)
    assert history.clocks == (0, 1) and history.error_ns[0] == 0 < history.error_ns[1]
    for result in trials(fleet, away, here):
        assert result.error_ns > 0 and result.clock_fault == ""
        assert result.first_hit is not None and result.change_invoked is not None
        assert result.first_hit + result.error_ns > result.change_invoked


def test_strangers_with_clocks_of_their_own(fleet: Fleet, tmp_path: Path) -> None:
    workers = hire(fleet, tmp_path, f"{ELSEWHEN} {APART}", f"{ELSEWHEN} {APART}", "")
    assert workers[0].clock is not workers[1].clock
    history = race(fleet, workers)
    check_race(history)
    assert history.clocks == (0, 1, 2)


def test_one_boot_id_with_two_clocks_is_not_taken_for_one(fleet: Fleet, tmp_path: Path) -> None:
    """Clones of a virtual machine; played by a time namespace that claims to be ours."""
    (scout,) = hire(fleet, tmp_path, f"{ELSEWHEN} {APART}")
    fleet._clocks.clear()
    fleet._clocks[whereabouts()[0], fleet.call(scout, "site_facts", "/")["time_namespace"]] = Clock("us", exact=True)
    inside = f"exec=nsenter --time --pid --mount -t {_child(scout)} {sys.executable}:/"
    (clone,) = fleet.launch([Launch(parse_site(inside), "b")])
    assert not clone.clock.exact and abs(clone.clock.latest().offset) > 99_000 * 10**9


def _child(worker: Worker) -> str:
    """The first process inside the namespaces of a worker's launcher."""
    pid, inner = str(worker.gateway._io.popen.pid), ""
    while children := Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        pid = inner = children[0]
    return inner


def test_a_lost_partner_ends_the_waits_of_the_others(fleet: Fleet, tmp_path: Path) -> None:
    first, second = hire(fleet, tmp_path, APART, APART)
    late = Program((Lane("a", (BARRIER,)), Lane("b", (Step("sleep", arg=60 * 10**9), BARRIER))))
    threading.Timer(1.0, second.kill).start()
    history = fleet.run_rounds(late, [first, second], "lost", 1)
    assert set(history.lost) == {1} and not first.lost
    check_race(race(fleet, [first, fleet.replace(second)]))


def test_halt_reaches_strangers(fleet: Fleet, tmp_path: Path) -> None:
    workers = hire(fleet, tmp_path, APART, "")
    endless = Program(tuple(Lane(worker.letter, (Step("sleep", arg=3600 * 10**9),)) for worker in workers))
    threading.Timer(1.0, fleet.halt).start()
    history = fleet.run_rounds(endless, workers, "endless", 1)
    assert history.lost == {}
    check_race(race(fleet, workers))
