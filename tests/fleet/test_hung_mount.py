"""A mount whose server stops answering: told, left behind by name, and nothing of ours waits for it."""

from __future__ import annotations

import os
import signal
import time

import pytest

from fsconform.fleet.fleet import Fleet, Launch, SiteLost
from fsconform.lab.emulation import Emulation
from fsconform.lab.spec import parse_lab
from fsconform.vocabulary.errnos import HUNG
from fsconform.vocabulary.programs import Lane, Program
from fsconform.vocabulary.sites import parse_site
from fsconform.vocabulary.steps import Step
from tests.fleet.conftest import hire


@pytest.mark.fuse
@pytest.mark.root
def test_a_worker_that_cannot_die_is_abandoned_and_named(fleet: Fleet, root: str) -> None:
    with Emulation(parse_lab("strict")) as lab:
        path = str(lab.mounts[0])
        (worker,) = fleet.launch([Launch(parse_site(path), "a", path)])
        (helper,) = hire(fleet, root, "b")
        assert fleet.run_rounds(Program((Lane("a", (Step("mkdir", "d"),)),)), [worker], "base", 2).lost == {}
        os.kill(lab.pid, signal.SIGSTOP)
        try:
            look = Lane("a", (Step("stat", f"{path}/base/0"),))
            start = time.monotonic()
            history = fleet.run_rounds(Program((Lane("b", ()), look)), [helper, worker], "b", 3, step_deadline_s=1.0)
            assert time.monotonic() - start < 9, "the partner of a hung worker is not left waiting"
            hung = history.rounds == 1 and history.lanes[1].errno.tolist() == [[HUNG]]
            assert hung or history.rounds == 0, "or it hung on its way into the round's directory"
            assert "hung in state" in history.lost[1]
            start = time.monotonic()
            with pytest.raises(SiteLost, match="site a lost at"):
                fleet.replace(worker)
            assert time.monotonic() - start < 30, "the new worker was asked whether anything answers there"
            assert "hung in state" in fleet.incidents[-1]
            # In the kernel of this host a request that the server has read already cannot be killed.
            assert all(f"pid {worker.pid}" in line for line in fleet.abandoned)
            assert fleet.lost_sites.keys() == {"a"}
        finally:
            os.kill(lab.pid, signal.SIGCONT)
