"""Workers do not outlive their controller, and are deaf to the terminal."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from fsconform.fleet.fleet import Fleet
from fsconform.vocabulary.programs import Lane, Program
from fsconform.vocabulary.steps import Step
from tests.fleet.conftest import hire

CONTROLLER = """
import os, sys, threading, time
from fsconform.fleet.fleet import Fleet, Launch
from fsconform.vocabulary.programs import Lane, Program
from fsconform.vocabulary.sites import parse_site
from fsconform.vocabulary.steps import Step
root = sys.argv[1]
fleet = Fleet()
workers = fleet.launch([Launch(parse_site(root), "a", root) for _ in range(3)])
lane = Lane("a", (Step("sleep", arg=3600 * 10**9),))
threading.Thread(target=fleet.run_rounds, args=(Program((lane, lane)), workers[:2], "base", 1), daemon=True).start()
time.sleep(0.3)
if sys.argv[2] == "fork" and not os.fork():
    time.sleep(30)  # holds the workers' pipes open
print(*[worker.pid for worker in workers], flush=True)
time.sleep(60)
"""


def gone(pid: int) -> bool:
    """Whether a process has ended (a zombie has)."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def all_gone(pids: list[int], deadline_s: float) -> bool:
    end = time.monotonic() + deadline_s
    while not all(map(gone, pids)):
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


@pytest.mark.parametrize("how", ["plain", "fork"])
def test_a_killed_controller_takes_busy_and_idle_workers_with_it(root: str, how: str) -> None:
    controller = subprocess.Popen(
        [sys.executable, "-c", CONTROLLER, root, how], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        assert controller.stdout is not None
        pids = [int(word) for word in controller.stdout.readline().split()]
        assert len(pids) == 3 and not any(map(gone, pids))
        os.kill(controller.pid, signal.SIGKILL)
        start = time.monotonic()
        assert all_gone(pids, 5.0)
        took = time.monotonic() - start
        assert took < 2.0, f"workers outlived their controller by {took:.1f} s"  # 0.1-0.2 s where nothing else runs
    finally:
        os.killpg(controller.pid, signal.SIGKILL)
        controller.wait(10)
        controller.stdout.close()  # type: ignore[union-attr]


def test_interrupts_do_not_reach_workers(fleet: Fleet, root: str) -> None:
    workers = hire(fleet, root)
    for worker in workers:
        assert os.getsid(worker.pid) == worker.pid
        os.kill(worker.pid, signal.SIGINT)
    lane = Lane("a", (Step("mkdir", "d"),))
    assert fleet.run_rounds(Program((lane,)), workers[:1], "base", 3).lost == {}


def test_stop_ends_idle_and_busy_workers(root: str) -> None:
    with Fleet() as fleet:
        workers = hire(fleet, root, "aab")
        pids = [worker.pid for worker in workers]
        workers[2].begin("rounds", ((128, 0, 1, 0, 9.0), root, (), 0, ()), 30.0)
    assert all_gone(pids, 0.0)
    assert fleet.abandoned == [] and fleet.workers == []
    fleet.stop()


def test_a_stopped_process_is_ended_all_the_same(root: str) -> None:
    with Fleet() as fleet:
        (worker,) = hire(fleet, root, "a")
        os.kill(worker.pid, signal.SIGSTOP)
    assert all_gone([worker.pid], 0.0)


def test_nothing_is_left_for_the_interpreters_exit(root: str) -> None:
    """execnet waits at exit for gateways that it still knows; ours are closed by then, whatever became of them."""
    script = CONTROLLER.split("lane =")[0] + "import signal; os.kill(workers[0].pid, signal.SIGKILL); fleet.stop()\n"
    start = time.monotonic()
    answer = subprocess.run(
        [sys.executable, "-c", script, root], capture_output=True, text=True, timeout=60, check=False
    )
    assert (answer.returncode, answer.stdout, answer.stderr) == (0, "", "")
    assert time.monotonic() - start < 30
