"""Sites over ssh, on hosts made of namespaces whose clocks are 100,000 s apart."""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from typing import Any

import pytest

from fsconform.fleet.launchers import PYTHON_VARIABLE
from tests.fleet.conftest import old_python
from tests.hosts.conftest import Stage

pytestmark = [pytest.mark.hosts, pytest.mark.fuse]
CELLS = "visibility.create/rename/missed/stat or exclusive.winner/excl/cold/2 or exclusive.over-existing/excl"


def run(stage: Stage, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """fsconform at the controller's host."""
    return subprocess.run(stage.rack.fsconform(*words), cwd=stage.home, capture_output=True, text=True, timeout=240,
                          env={**os.environ, **environment}, check=False)  # fmt: skip


def listed(stage: Stage, directory: str = "") -> list[str]:
    """A listing of a directory of the filesystem, as the first host sees it."""
    place = f"{stage.mounts[0]}/{directory}"
    inside = ["nsenter", "--target", str(stage.rack.hosts[0]), "--mount", "ls", "-A", place]
    return subprocess.run(inside, capture_output=True, text=True, check=False, timeout=30).stdout.split()


def left(stage: Stage) -> list[str]:
    """What is in the filesystem."""
    return [name for name in listed(stage) if name != "3fs-virt"]


def measuring(stage: Stage) -> bool:
    """Whether a run has made room for its trials: priming follows at once."""
    return any("w" in listed(stage, name) for name in left(stage))


def test_the_doctor_knows_the_hosts(stage: Stage) -> None:
    done = run(stage, "doctor", *stage.sites)
    assert done.returncode == 0, done.stderr
    assert "host h1" in done.stdout and "host h2" in done.stdout
    assert "one host in different time namespaces" in done.stdout and "a-b: mount" in done.stdout
    assert left(stage) == []


def test_a_bare_python_of_another_version_is_enough(stage: Stage) -> None:
    python = old_python()
    if python is None:
        pytest.skip("needs a Python 3.9")
    done = run(stage, "doctor", stage.sites[0], **{PYTHON_VARIABLE: python})
    assert done.returncode == 0 and "python 3.9" in done.stdout, done.stderr


@pytest.mark.slow
def test_a_run_between_hosts(stage: Stage) -> None:
    sites = [word for site in stage.sites for word in ("--site", site)]
    done = run(stage, "run", *sites, "-k", CELLS, "--report", "report")
    report = json.loads((stage.home / "report" / "report.json").read_text())
    cells = {cell["id"]: cell for cell in report["cells"]}
    assert report["topologies"] == {"a-b": "mount", "b-a": "mount"} and report["search"]["findings"] == []
    late = cells["visibility.create/rename/missed/stat/fresh/a-b"]
    assert late["verdict"] == "kept" and 0.4 < late["observation"]["latency_s"]["since_change"]["hi"]["p50"] < 0.7
    assert cells["exclusive.over-existing/excl/missed/a-b"]["verdict"] == "kept"
    # On a busy machine the clocks may be known too badly to prove that calls of 100 us overlapped.
    assert {cell["verdict"] for cell in cells.values()} <= {"kept", "inconclusive"} and done.returncode in (0, 4)
    assert report["search"]["rounds"] > 0 and left(stage) == []


@pytest.mark.slow
@pytest.mark.parametrize("fate", ["cut", "kill"])
def test_a_link_that_goes_down_and_a_host_that_dies(frail_stage: Stage, fate: str) -> None:
    """A partial report says since when; what the lost site made is removed by the other one."""
    stage = frail_stage
    sites = [word for site in stage.sites for word in ("--site", site)]
    words = stage.rack.fsconform("run", *sites, "-k", CELLS, "--report", "report")
    process = subprocess.Popen(words, cwd=stage.home, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    began = time.monotonic()
    while not measuring(stage):
        assert process.poll() is None and time.monotonic() - began < 60
        time.sleep(0.1)
    threading.Timer(4.0, {"cut": stage.rack.cut, "kill": stage.rack.kill}[fate], (2,)).start()
    began = time.monotonic()
    output, _ = process.communicate(timeout=200)
    assert process.returncode == 4, output
    assert time.monotonic() - began < 120, "a link that is down holds nobody up"
    report: dict[str, Any] = json.loads((stage.home / "report" / "report.json").read_text())
    reasons = {cell["id"]: cell["reason"] for cell in report["cells"] if cell["verdict"] == "inconclusive"}
    assert "site b lost at " in reasons["visibility.create/rename/missed/stat/fresh/a-b"]
    reports = [text for text in report["incidents"] if "site b lost at " in text or "timed out" in text]
    why = {"cut": ("not responding", "timed out"), "kill": ("No route to host", "timed out")}[fate]
    assert any(word in text for text in reports for word in why), report["incidents"]
    assert report["left_behind"] == [] and left(stage) == []
    assert not any(cell["verdict"] == "violated" for cell in report["cells"])


def test_what_cannot_be_reached_is_told_in_one_message(stage: Stage) -> None:
    rack, path = stage.rack, stage.mounts[0]
    config = (rack.home / "ssh_config").read_text()
    (rack.home / "no_key").write_text(config.replace("user_key", "host_key"))
    (rack.home / "no_host").write_text(config.replace("known_hosts", "none"))
    site = stage.sites[0]
    cases: list[tuple[str, dict[str, str], str]] = [
        (f"ssh=-F {rack.home}/no_key h1:{path}", {}, "Permission denied"),
        (f"ssh=-F {rack.home}/no_host h1:{path}", {}, "connect once by hand"),
        (f"ssh=-F {rack.home}/ssh_config -p 23 h1:{path}", {}, "Connection refused"),
        (f"ssh=-F {rack.home}/ssh_config -o ConnectTimeout=2 10.213.77.99:{path}", {}, "reachable"),
        (site, {PYTHON_VARIABLE: "python-of-nobody"}, PYTHON_VARIABLE),
        (f"{site}/nothing", {}, "does not exist"),
        (f"exec=launcher-of-nobody -i:{path}", {}, "launcher-of-nobody: command not found here"),
        (f"exec=sh -c 'echo no such pod >&2; exit 3':{path}", {}, "no such pod (exit status 3)"),
        (f"exec=yes --:{path}", {}, "no Python interpreter"),
        (f"exec=true:{path}", {}, "ended at once"),
    ]
    for text, environment, expected in cases:
        done = run(stage, "doctor", text, **environment)
        assert done.returncode == 2 and expected in done.stderr and "Traceback" not in done.stderr, (text, done.stderr)
        assert repr(text) in done.stderr or f'"{text}"' in done.stderr
    assert left(stage) == []
