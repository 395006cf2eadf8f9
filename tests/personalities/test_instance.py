"""One instance inside a worker: on the oldest interpreter that is supported, and what its parts do by themselves."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from fsconform.fleet.fleet import Fleet, Launch
from fsconform.personalities.catalogue import MODULES, PERSONALITIES
from fsconform.personalities.replay.jobs import Job, ShortReadError
from fsconform.personalities.replay.pool import LOAD, STORE, Pool
from fsconform.personalities.replay.settings import Settings
from fsconform.personalities.replay.tape import HUNG, Tape, Trace
from fsconform.personalities.replay.tier import Tier
from fsconform.vocabulary.sites import parse_site
from tests.fleet.conftest import old_python


def test_an_old_interpreter_plays_every_store(tmp_path: Path) -> None:
    interpreter = old_python()
    if interpreter is None:
        pytest.skip("no Python 3.9 on this machine")
    with Fleet() as fleet:
        (worker,) = fleet.launch([Launch(parse_site(str(tmp_path)), "a", str(tmp_path), interpreter, MODULES)])
        assert worker.python.startswith("3.9.")
        for number, store in enumerate(PERSONALITIES.values()):
            settings = {
                "root": f"{tmp_path}/{number}",
                "letter": "A",
                "protocol": store.module,
                "blocks": 3,
                "size": 8192,
            }
            assert len(fleet.call(worker, "replay open", settings, True)) == 3
            for phase, scene, *arguments in ((0, "start"), (2, "store"), (3, "request", 4)):
                fleet.call(worker, "replay perform", phase, scene, *arguments)
            assert [found[1] for found in fleet.call(worker, "replay verify")] == [0, 0, 0], store.name
            fleet.call(worker, "replay close")


def test_idle_threads_take_from_the_other_queue() -> None:
    trace = Trace()
    pool, seen, gate = Pool(trace, 1, 1), [], threading.Barrier(3, timeout=30)

    def task(tape: Tape) -> None:
        seen.append(tape.thread)
        gate.wait()

    for _ in range(2):
        pool.submit(LOAD, task)
    gate.wait()
    pool.close()
    assert sorted(seen) == ["read-0", "write-0"]


def test_each_group_serves_its_own_queue_first() -> None:
    pool, order, done = Pool(Trace(), 0, 1), [], threading.Event()
    first = threading.Event()

    def wait(tape: Tape) -> None:
        first.wait(30)

    pool.submit(STORE, wait)
    for queue, word in ((LOAD, "load"), (STORE, "store")):
        pool.submit(queue, lambda tape, word=word: order.append(word))  # type: ignore[misc]
    pool.submit(LOAD, lambda tape: done.set())
    first.set()
    assert done.wait(30)
    pool.close()
    assert order == ["store", "load"]


@pytest.mark.parametrize(("mode", "tasks"), [("job", 1), ("block", 5), ("split", 3)])
def test_how_jobs_are_cut(mode: str, tasks: int) -> None:
    job, tape = Job(0, range(5), lambda tape, block: 1), Trace().tape("t")
    cut = job.tasks(mode, 3)
    assert len(cut) == tasks
    for task in cut:
        assert not job.done()
        task(tape)
    assert job.done()
    assert job.kept() == [0, 1, 2, 3, 4]


def test_a_job_stops_at_its_first_error_and_keeps_what_came_before() -> None:
    def work(tape: Tape, block: int) -> int:
        if block == 2:
            raise ShortReadError(7)
        return 1

    job, tape = Job(0, range(5), work), Trace().tape("t")
    for task in job.tasks("job", 16):
        task(tape)
    assert job.failure == (0, "read", 2)
    assert job.kept() == [0, 1]
    assert sorted(job.outcomes) == [0, 1, 2]


def test_a_call_that_has_not_returned_is_told() -> None:
    trace = Trace()
    tape, entered, leave = trace.tape("t"), threading.Event(), threading.Event()

    def stuck() -> None:
        entered.set()
        leave.wait(30)

    thread = threading.Thread(target=lambda: tape.call("read", "x", stuck))
    thread.start()
    assert entered.wait(30)
    time.sleep(0.01)
    assert trace.overdue(0.005)
    assert not trace.overdue(60.0)
    name, steps, paths, columns = tape.to_wire()
    assert (name, steps, paths) == ("t", ["read"], ["x"])
    assert int.from_bytes(columns[6], "little", signed=True) == HUNG
    leave.set()
    thread.join()
    assert not trace.overdue(0.0)


def test_errors_carry_their_step() -> None:
    tape = Trace().tape("t")

    def fail() -> None:
        raise FileNotFoundError(2, "no")

    with pytest.raises(FileNotFoundError) as caught:
        tape.call("open", "x", fail)
    assert caught.value.step == "open"  # type: ignore[attr-defined]


def test_blocks_that_no_job_was_given_become_one_more(tmp_path: Path) -> None:
    tier = Tier(Settings(str(tmp_path), "A", blocks=7, size=4096, jobs=(2, 3), readers=1, writers=1))
    try:
        assert tier.job_blocks() == [[0, 1], [2, 3, 4], [5, 6]]
    finally:
        tier.close()
