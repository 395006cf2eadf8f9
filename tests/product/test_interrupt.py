"""Ctrl-C, SIGTERM and SIGKILL at several moments: what was measured is told, nothing stays.

On an idle machine workers end within 2 s of the signal, and within 1 s of the controller's death; the deadlines here
leave room for a busy one.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from fsconform.lab.mountpoints import emulated_mounts
from tests.product.commands import Running, alive, await_that, marked_directories

WORKERS_S = 10.0
REPORT_S = 30.0
Moment = Callable[[Path, Running], bool]
"""Whether a run on a site has come so far."""


def begun(site: Path, run: Running) -> bool:
    """Its directory is there: sites meet, workers start."""
    return bool(marked_directories(site))


def priming(site: Path, run: Running) -> bool:
    """Files are made, and primed."""
    return _made(site, "w/0/*/0")


def racing(site: Path, run: Running) -> bool:
    """The experiments are under way."""
    return _made(site, "x/*/[0-9]*/0")


def searching(site: Path, run: Running) -> bool:
    """The search is: a message came back, and is cleared away."""
    return _made(site, "s/[1-9]*")


def _made(site: Path, pattern: str) -> bool:
    return any(any(Path(directory).glob(pattern)) for directory in marked_directories(site))


def stopped_at(moment: Moment, site: Path, run: Running, signals: list[int]) -> None:
    """Signal a run, and see its workers end."""
    await_that(lambda: moment(site, run), 60)
    processes = run.descendants()
    for number in signals:
        run.interrupt(number)
    await_that(lambda: not alive(processes), WORKERS_S)


@pytest.mark.parametrize(
    ("moment", "signals"),
    [
        (begun, [signal.SIGINT]), (priming, [signal.SIGINT]), (racing, [signal.SIGINT]), (searching, [signal.SIGINT]),
        (racing, [signal.SIGINT, signal.SIGINT]), (priming, [signal.SIGTERM]),
    ],
)  # fmt: skip
def test_an_interrupted_run(here: Path, moment: Moment, signals: list[int]) -> None:
    expression = "capability.flock" if moment is searching else "visibility.create or exclusive.winner"
    with Running("run", "site", "-k", expression, cwd=here) as run:
        stopped_at(moment, here / "site", run, signals)
        ended = run.end(REPORT_S)
    assert ended.status == 130, ended.text
    assert "Traceback" not in ended.text
    assert os.listdir(here / "site") == []
    assert (ended.out or ended.err).endswith("exit status 130 (interrupted)\n"), ended.text
    reports = list(here.glob("reports/*/report.json"))
    if moment in (racing, searching):
        (report,) = reports
        told = json.loads(report.read_text())
        assert told["exit_status"] == 130
        assert (report.parent / "report.md").exists() and (report.parent / "junit.xml").exists()
        unmeasured = [cell for cell in told["cells"] if not cell["observation"]["attempted"]]
        assert all(cell["verdict"] in ("inconclusive", "observed") for cell in unmeasured)
    if moment is searching:
        assert told["cells"][0]["observation"]["attempted"] > 0
        assert told["search"]["programs"] > 0


@pytest.mark.fuse
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_takes_its_lab_down(here: Path, number: int) -> None:
    with Running("run", "lab=strict", "-k", "exclusive.winner", cwd=here) as run:
        await_that(lambda: any(_made(point, "x/*/[0-9]*/0") for point in _labs(here)), 60)
        processes = run.descendants()
        run.interrupt(number)
        ended = run.end(REPORT_S)
    assert ended.status == 130, ended.text
    assert alive(processes) == [] and _labs(here) == []
    assert sorted(os.listdir(here)) == ["file", "reports", "site", "stderr", "stdout"]


@pytest.mark.fuse
def test_a_killed_controller(here: Path) -> None:
    with Running("run", "lab=strict", "-k", "exclusive.winner", cwd=here) as run:
        await_that(lambda: any(_made(point, "x/*/[0-9]*/0") for point in _labs(here)), 60)
        processes = run.descendants()
        assert len(processes) > 4
        run.process.kill()
        run.process.wait(10)
    await_that(lambda: not alive(processes), WORKERS_S)
    assert _labs(here) == []


def test_what_a_killed_controller_leaves_is_cleaned(here: Path) -> None:
    with Running("run", "site", "-k", "exclusive.winner", "--no-search", cwd=here) as run:
        await_that(lambda: racing(here / "site", run), 60)
        processes = run.descendants()
        run.process.kill()
        run.process.wait(10)
    await_that(lambda: not alive(processes), WORKERS_S)
    assert len(marked_directories(here / "site")) == 1
    with Running("clean", "site", cwd=here) as cleaning:
        assert cleaning.end().status == 0
    assert os.listdir(here / "site") == []


def _labs(here: Path) -> list[Path]:
    """The mounts of labs that were brought up below this directory."""
    return [point for point, _ in emulated_mounts() if point.is_relative_to(here)]
