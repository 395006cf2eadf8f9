"""The replay of an engine between two hosts over ssh, whose clocks are 100,000 s apart."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest

from tests.hosts.conftest import Stage

pytestmark = [pytest.mark.hosts, pytest.mark.fuse, pytest.mark.slow]
SMALL = ("--blocks", "5", "--block-size", "64k", "--jobs", "2,2,1", "--rounds", "8", "--loop", "0.5")
PLAYED = "base,v1,v2,v3,v4,v5,v6,v7,v8"


def replayed(stage: Stage, *words: str) -> tuple[int, dict[str, Any]]:
    """Exit status and report of a small workload with the hosts as A and B (and the first one as C)."""
    command = stage.rack.fsconform("workload", "vllm-fs-tier", *stage.sites, *SMALL, *words, "--report", "workload")
    done = subprocess.run(command, cwd=stage.home, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.returncode, json.loads((stage.home / "workload" / "report.json").read_text())


def broken(report: dict[str, Any]) -> list[dict[str, Any]]:
    """The findings that accuse the filesystem."""
    found = [finding for replay in report["replays"] for finding in replay["findings"]]
    return [finding for finding in found if finding["box"] == "filesystem broke its promise"]


def test_every_variant_between_hosts(stage: Stage) -> None:
    status, report = replayed(stage, "--variants", f"{PLAYED},v10", "--readers", "clean")
    found = {replay["variant"]: replay for replay in report["replays"]}
    assert broken(report) == [] and status == 0
    assert [variant for variant, replay in found.items() if replay["skipped"]] == ["v10"]
    assert "--hang-pid" in found["v10"]["skipped"]
    assert {site["letter"] for site in report["sites"]} == {"a", "b"}
    first = found["base"]["instances"]
    assert [report["counters"]["write_bytes"] for report in first] == [5 << 16, 5 << 16]
    assert first[1]["counters_of_first_request"]["read_bytes"] == 5 << 16
    boxes = {finding["box"] for finding in found["v2"]["findings"]}
    assert boxes == {"application"}


def test_a_look_before_the_store_is_missed_for_the_negative_bound(stage: Stage) -> None:
    status, report = replayed(stage, "--readers", "poisoned")
    (replay,) = report["replays"]
    assert broken(report) == [] and status == 0
    (found,) = [finding for finding in replay["findings"] if finding["property"] == "visibility.create"]
    assert found["box"] == "filesystem within its promise, application assumes more"
    assert replay["facts"]["hits later"] == 5
    assert [verdict["verdict"] for verdict in report["applications"]] == ["safe within 0.5 s"]
