"""Trials on a filesystem without caches: what is seen at once must be told so, what never comes as never."""

from __future__ import annotations

import errno
import os
import signal
import threading
import time

import pytest

from fsconform.fleet.fleet import Fleet, Worker
from fsconform.vocabulary.cells import make_cell
from fsconform.vocabulary.errnos import NOT_RUN
from fsconform.vocabulary.steps import Step
from fsconform.vocabulary.trials import Trial, TrialResult, Want
from tests.fleet.conftest import hire

CELL = make_cell("visibility.create", "a-b", publish="rename")
KEY = "d" * 64
FULL = (1 << 62) - 1


def creating(number: int, **changes: object) -> Trial:
    """Publish t<n>/x by rename; the observer has just missed it."""
    top = f"t{number}"
    fields: dict[str, object] = {
        "cell": CELL, "number": number, "look": Step("stat", f"{top}/x"), "want": Want(),
        "seed": (Step("mkdir", top), Step("excl_create", f"{top}/.t"), Step("close")),
        "prime": (Step("stat", f"{top}/x"),), "change": (Step("rename", f"{top}/.t", f"{top}/x"),),
    }  # fmt: skip
    return Trial(**(fields | changes))  # type: ignore[arg-type]


def pair(fleet: Fleet, root: str) -> tuple[Worker, Worker]:
    """An acting and an observing worker."""
    actor, observer = hire(fleet, root)
    return actor, observer


def run(fleet: Fleet, root: str, trials: list[Trial]) -> list[TrialResult]:
    results = fleet.start_trials(*pair(fleet, root), trials).result(60)
    assert [result.trial for result in results] == trials
    return results


def seen_at_once(result: TrialResult) -> None:
    """Nothing was missed after the change, and the stamps are in the order in which things happened."""
    assert (result.change_errno, result.last_miss, result.lost, result.flickers) == (0, None, "", 0)
    assert result.change_invoked is not None and result.change_returned is not None
    assert result.first_hit is not None and result.last_look is not None
    assert result.change_invoked <= result.change_returned <= result.first_hit <= result.last_look


def test_create(fleet: Fleet, root: str) -> None:
    for result in run(fleet, root, [creating(number) for number in range(60)]):
        seen_at_once(result)
        assert result.prime_errno == errno.ENOENT
        assert result.prime_invoked is not None and result.prime_returned is not None
        assert result.prime_invoked <= result.prime_returned <= (result.change_invoked or 0)
        assert (result.looks, result.error_ns) == (1, 0)
        assert result.longest_fill_ns > 0


def test_unlink_replace_and_grow(fleet: Fleet, root: str) -> None:
    make = (Step("excl_create", "{}"), Step("write", size=4096, key=KEY), Step("close"))

    def at(top: str, *steps: Step) -> tuple[Step, ...]:
        return tuple(Step(step.kind, f"{top}/x", size=step.size, key=step.key, fd=step.fd) for step in steps)

    unlink = [
        creating(k, seed=(Step("mkdir", f"t{k}"), *at(f"t{k}", *make)), change=(Step("unlink", f"t{k}/x"),),
                 want=Want(errno.ENOENT)) for k in range(20)
    ]  # fmt: skip
    replace = [
        creating(
            k,
            seed=(
                Step("mkdir", f"t{k}"),
                Step("excl_create", f"t{k}/x"), Step("write", size=4096, key=KEY, version=1), Step("close"),
                Step("excl_create", f"t{k}/.n"), Step("write", size=8192, key=KEY, version=2), Step("close"),
            ),
            look=Step("open_read", f"t{k}/x", key=KEY), want=Want(0, FULL, 2 << 8), prime=(Step("stat", f"t{k}/x"),),
            change=(Step("rename", f"t{k}/.n", f"t{k}/x"),),
        )
        for k in range(20, 40)
    ]  # fmt: skip
    grow = [
        creating(
            k,
            seed=(Step("mkdir", f"t{k}"), Step("create", f"t{k}/x"), Step("write", size=4096, key=KEY)),
            acquaint=(Step("open", f"t{k}/x", arg=1),), look=Step("fstat_held"), want=Want(0, FULL, 8192),
            prime=(Step("fstat_held"),), after=(Step("close"),),
            change=(Step("write", size=4096, offset=4096, key=KEY), Step("fsync"), Step("close")), moment=1,
        )
        for k in range(40, 60)
    ]  # fmt: skip
    results = run(fleet, root, unlink + replace + grow)
    for result in results:
        seen_at_once(result)
    assert {result.prime_value for result in results[40:]} == {4096}
    assert {(result.value, result.detail) for result in results[20:40]} == {(2 << 8, 8192)}


def test_the_moment_of_a_change_is_the_return_of_its_step(fleet: Fleet, root: str) -> None:
    """The observer looks as soon as the moment has come, not when the whole change is done."""
    slow = (Step("rename", "t0/.t", "t0/x"), Step("sleep", arg=300_000_000), Step("mkdir", "t0/late"))
    (result,) = run(fleet, root, [creating(0, change=slow, moment=0)])
    seen_at_once(result)
    assert (result.first_hit or 0) - (result.change_returned or 0) < 200_000_000
    assert os.path.isdir(f"{root}/t0/late")


def test_what_never_comes_is_missed_to_the_end(fleet: Fleet, root: str) -> None:
    never = creating(0, look=Step("stat", "t0/nothing"), until_ns=10_000_000, give_up_ns=400_000_000)
    soon = creating(1, until_ns=300_000_000)
    absent, present = run(fleet, root, [never, soon])
    assert absent.first_hit is None and absent.last_miss == absent.last_look and absent.looks > 5
    assert (absent.last_look or 0) - (absent.change_returned or 0) >= 400_000_000
    assert absent.lost == ""
    seen_at_once(present)
    assert (present.last_look or 0) - (present.change_returned or 0) >= 300_000_000
    assert present.looks < 10


def test_a_refused_change_is_not_looked_at(fleet: Fleet, root: str) -> None:
    refused = creating(0, change=(Step("rename", "t0/missing", "t0/x"),), until_ns=3600 * 10**9)
    (result,) = run(fleet, root, [refused])
    assert (result.change_errno, result.looks, result.lost) == (errno.ENOENT, 0, "")


def test_a_refused_seed_is_told(fleet: Fleet, root: str) -> None:
    bad, good = run(fleet, root, [creating(0, seed=(Step("mkdir", "no/where"),), until_ns=3600 * 10**9), creating(1)])
    assert (bad.change_returned, bad.looks, bad.lost) == (None, 0, "seed step 0: ENOENT")
    seen_at_once(good)


def test_looks_that_are_neither_hit_nor_miss(fleet: Fleet, root: str) -> None:
    odd = creating(0, look=Step("stat", "t0/x/y"), until_ns=30_000_000)
    unopened = creating(1, look=Step("fstat_held"), acquaint=(Step("open", "t1/none"),), until_ns=30_000_000)
    first, second = run(fleet, root, [odd, unopened])
    assert first.others[0][0] == errno.ENOTDIR and second.others[0][0] == NOT_RUN
    for result in (first, second):
        assert (result.first_hit, result.last_miss) in {(None, None), (None, first.last_miss)}
        assert result.others[-1][1] >= 1


def test_single_shots_and_cures(fleet: Fleet, root: str) -> None:
    shots = [
        creating(
            k, single_shot_ns=k * 20_000_000, label=f"shot {k}",
            before_look=(Step("mkdir", f"t{k}/cured"),) if k % 2 else (),
        )
        for k in range(6)
    ]  # fmt: skip
    for k, result in enumerate(run(fleet, root, shots)):
        seen_at_once(result)
        assert result.looks == 1
        assert (result.first_hit or 0) - (result.change_returned or 0) >= k * 20_000_000
        assert os.path.isdir(f"{root}/t{k}/cured") == bool(k % 2)


def test_a_flicker_moves_the_last_miss(fleet: Fleet, root: str) -> None:
    pending = fleet.start_trials(*pair(fleet, root), [creating(0, until_ns=2_500_000_000)])
    deadline = time.monotonic() + 20
    while not os.path.exists(f"{root}/t0/x") and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.2)
    os.rename(f"{root}/t0/x", f"{root}/t0/gone")
    time.sleep(0.8)
    os.rename(f"{root}/t0/gone", f"{root}/t0/x")
    (result,) = pending.result(30)
    assert result.flickers == 1
    assert result.last_miss is not None and result.first_hit is not None
    assert (result.change_returned or 0) < result.last_miss < result.first_hit


def test_two_directions_at_once_beside_rounds(fleet: Fleet, root: str) -> None:
    workers = hire(fleet, root, "abab")
    ready = threading.Barrier(2)
    there = fleet.start_trials(workers[0], workers[1], [creating(k) for k in range(20)], ready=ready)
    back = fleet.start_trials(workers[2], workers[3], [creating(k) for k in range(20, 40)], ready=ready)
    assert not (there.done() and back.done())
    for result in there.result(60) + back.result(60):
        seen_at_once(result)
    assert there.phase == "done"


def test_halt_brings_home_what_was_seen(fleet: Fleet, root: str) -> None:
    trials = [creating(k, look=Step("stat", f"t{k}/nothing"), until_ns=3600 * 10**9) for k in range(5)]
    pending = fleet.start_trials(*pair(fleet, root), trials)
    time.sleep(1.0)
    with pytest.raises(TimeoutError, match="observing"):
        pending.result(0.0)
    fleet.halt()
    results = pending.result(10)
    assert {result.lost for result in results} == {"halted"}
    assert all(result.looks and result.last_miss for result in results)


def test_a_hung_look_is_told_and_spoils_nothing_else(fleet: Fleet, root: str) -> None:
    os.mkfifo(f"{root}/fifo")
    hanging = creating(3, look=Step("open_read", "fifo", key=KEY, size=1))
    trials = [creating(0), creating(1), hanging, creating(4)]
    pending = fleet.start_trials(*pair(fleet, root), trials, step_deadline_s=0.5)
    results = pending.result(30)
    seen_at_once(results[0])
    seen_at_once(results[1])
    assert "hung" in results[2].lost and "trial 2" in results[2].lost
    assert "hung" in results[3].lost and results[3].change_returned is None


@pytest.mark.parametrize("victim", [0, 1])
def test_a_killed_partner_ends_the_trials(fleet: Fleet, root: str, victim: int) -> None:
    workers = pair(fleet, root)
    slow = (Step("sleep", arg=500_000_000), Step("rename", "t0/.t", "t0/x"))
    pending = fleet.start_trials(*workers, [creating(0, change=slow), creating(1)])
    while pending.phase != "observing":
        time.sleep(0.01)
    time.sleep(0.1)
    os.kill(workers[victim].pid, signal.SIGKILL)
    results = pending.result(30)
    assert all("signal 9" in result.lost for result in results if result.first_hit is None)
    assert any(result.lost for result in results)
    assert workers[1 - victim].call("forget acts", -1) is None, "the other one is free again"


def test_a_window_whose_other_batch_is_lost_does_not_wait(fleet: Fleet, root: str) -> None:
    workers = hire(fleet, root, "abab")
    os.kill(workers[2].pid, signal.SIGKILL)
    ready = threading.Barrier(2)
    good = fleet.start_trials(workers[0], workers[1], [creating(0)], ready=ready)
    lost = fleet.start_trials(workers[2], workers[3], [creating(1)], ready=ready)
    assert "went away" in lost.result(30)[0].lost
    assert good.result(30)[0].lost == "another batch of this window was lost"
    for worker in workers[:2]:
        assert os.readlink(f"/proc/{worker.pid}/cwd") == "/", "nobody stays in a directory that is to be removed"
