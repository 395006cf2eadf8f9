"""A filesystem that stops answering, dies or fills up, and workers that are killed: the run ends and says so."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.product.commands import Ended, Running, await_that, marked_directories
from tests.product.conftest import Lab, Mounter

END_S = 120.0
CELLS = "exclusive.winner or exclusive.loser-errno or visibility.create/rename/missed/stat"
WORDS = ("--profile", "posix-local", "--budget", "10s", "--no-search", "--step-deadline", "3", "-k", CELLS)
"""Races, and names that are watched for a while; long enough to be struck in the middle."""


@contextmanager
def struck(here: Path, *sites: str | Path) -> Iterator[Running]:
    """A run that is in its window: its races are under way."""
    others = [word for site in sites[1:] for word in ("--site", str(site))]
    with Running("run", sites[0], *others, *WORDS, cwd=here) as run:
        await_that(lambda: any(any(Path(path).glob("x/*/[0-9]*/0")) for path in marked_directories(Path(sites[0]))), 60)
        yield run


def report(here: Path) -> dict[str, Any]:
    (path,) = here.glob("reports/*/report.json")
    told: dict[str, Any] = json.loads(path.read_text())
    return told


def judged_fairly(ended: Ended, told: dict[str, Any]) -> None:
    """Nothing is called violated that was only struck, nothing kept that was not measured."""
    assert "Traceback" not in ended.text and ended.status == told["exit_status"] == 4, ended.text
    verdicts = {cell["id"]: (cell["verdict"], cell["reason"]) for cell in told["cells"]}
    assert {verdict for verdict, _ in verdicts.values()} <= {"inconclusive", "kept"}, verdicts
    assert "inconclusive" in {verdict for verdict, _ in verdicts.values()}


@pytest.mark.fuse
def test_a_filesystem_that_stops_answering(here: Path, lab: Lab) -> None:
    emulation = lab("strict")
    with struck(here, *emulation.mounts) as run:
        os.kill(emulation.pid, signal.SIGSTOP)
        ended = run.end(END_S)
        os.kill(emulation.pid, signal.SIGCONT)
    told = report(here)
    judged_fairly(ended, told)
    incidents = "\n".join(told["incidents"])
    assert "hung" in incidents and "wait_answer" in incidents, incidents
    assert told["left_behind"] and "no answer to" in "\n".join(told["left_behind"])
    with Running("clean", emulation.mounts[0], cwd=here) as cleaning:
        assert cleaning.end().status == 0
    assert marked_directories(*emulation.mounts) == []


@pytest.mark.fuse
def test_a_filesystem_that_dies(here: Path, lab: Lab) -> None:
    emulation = lab("strict")
    with struck(here, *emulation.mounts) as run:
        os.kill(emulation.pid, signal.SIGKILL)
        ended = run.end(END_S)
    told = report(here)
    judged_fairly(ended, told)
    text = json.dumps(told)
    assert "ENOTCONN" in text or "ECONNABORTED" in text
    assert told["left_behind"]


def test_a_worker_that_is_killed(here: Path) -> None:
    with struck(here, here / "site") as run:
        victims = [process for process in run.descendants() if _is_worker(process) and process.nice() > 0]
        for victim in victims:
            victim.kill()
        ended = run.end(END_S)
    told = report(here)
    assert "Traceback" not in ended.text
    assert "inconclusive" in {cell["verdict"] for cell in told["cells"]} and ended.status == 4
    assert not [cell for cell in told["cells"] if cell["verdict"] == "violated"]
    assert any("lost" in line or "ended" in line or "killed" in line for line in told["incidents"]), told["incidents"]
    assert os.listdir(here / "site") == []


def _is_worker(process: psutil.Process) -> bool:
    return "exec(eval(sys.stdin.readline()))" in " ".join(process.cmdline())


@pytest.mark.root
def test_a_filesystem_that_fills_up(here: Path, mounter: Mounter) -> None:
    point = mounter("small", "-t", "tmpfs", "-o", "size=64m", "fsconform-test")
    with struck(here, point) as run:
        with (point / "filler").open("wb", buffering=0) as filler:
            try:
                while True:
                    filler.write(bytes(1 << 16))
            except OSError:
                pass
        ended = run.end(END_S)
    told = report(here)
    judged_fairly(ended, told)
    assert "ENOSPC" in json.dumps(told)
    assert os.listdir(point) == ["filler"]
