"""`new-then-old` breaks no property: no look that begins after a publish has returned is stale. The oracle tells it."""

from __future__ import annotations

import pytest

from fsconform.fleet.fleet import Fleet
from fsconform.oracles.examination import examine
from fsconform.probes.visibility import written
from fsconform.vocabulary.blocks import PAGE, block_key
from fsconform.vocabulary.programs import Lane, Program
from fsconform.vocabulary.steps import Step
from tests.lab.bench import lab
from tests.search.sites import Performer

pytestmark = pytest.mark.fuse
KEY = block_key("inversions")
BARRIER = Step("barrier")


def _program() -> Program:
    """One site publishes two versions of a name while the other one reads it."""
    prepared = [step for version in (1, 2) for step in written(f".t{version}", KEY, PAGE, version=version)]
    writer = (*prepared, Step("rename", ".t1", "name"), BARRIER, Step("rename", ".t2", "name"))
    reads = tuple(step for _ in range(30) for step in (Step("open_read", "name", key=KEY), Step("sleep", arg=500_000)))
    return Program((Lane("a", writer), Lane("b", (BARRIER, *reads))), names=("name",))


@pytest.mark.parametrize(("text", "inverted"), [("strict", False), ("strict,mutant=new-then-old,window=0.03", True)])
def test_new_then_old_refutes_atomic_order_and_keeps_regular(text: str, inverted: bool) -> None:
    with lab(text) as mounts, Fleet() as fleet:
        history = Performer(fleet, [str(mount) for mount in mounts]).perform(_program(), 32)
    found = examine(history.widened())
    assert found.anomalies == ()
    assert (found.inversions > 0) == inverted
