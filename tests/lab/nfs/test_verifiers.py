"""Exclusive creates of clients whose verifiers differ, or not: booted apart, booted in step."""

from __future__ import annotations

from pathlib import Path

import pytest

from fsconform.lab.nfs.cluster import APART_NS, IN_STEP_NS, Cluster
from fsconform.lab.nfs.spec import parse_nfs

pytestmark = [pytest.mark.uml, pytest.mark.slow]


@pytest.mark.parametrize(("text", "least", "most"), [("nfs3", APART_NS, 10**10), ("nfs3,collide", 0, IN_STEP_NS)])
def test_clients_boot_apart_or_in_step(text: str, least: int, most: int, tmp_path: Path) -> None:
    guests = Cluster(parse_nfs(text), tmp_path, lambda *frame: None)
    try:
        guests.start()
        first, second = guests.first_ticks_ns()
        assert least <= abs(first - second) <= most + 1_000_000  # what the exchange itself may err
    finally:
        guests.stop()
