"""The timeouts that an emulated client was given come back from what its mounts showed (`bench.soak` tries it busy)."""

from __future__ import annotations

from statistics import median

import pytest

from fsconform.run.conduct import conduct
from fsconform.run.options import Options
from fsconform.run.progress import Silent
from fsconform.vocabulary.observations import INF_NS
from fsconform.vocabulary.verdicts import CellResult, Verdict

CELLS = {
    "negative": "visibility.create/rename/missed/stat/fresh/a-b",
    "entry": "visibility.unlink/known/stat/fresh/a-b",
    "attr": "size.grow/known/stat/fresh/close/a-b",
}
"""Timeout -> a cell that hangs on it."""


def age_s(result: CellResult) -> float:
    """The median age of the observer's entry at which the change showed, seconds: the middle of each interval."""
    ages = [
        (trial.since_prime_lo + trial.since_prime_hi) / 2
        for trial in result.observation.latency
        if trial.since_prime_lo is not None and trial.since_prime_hi is not None and trial.hi < INF_NS
    ]
    assert len(ages) >= 3, result.observation.outcomes
    return median(ages) / 1e9


@pytest.mark.fuse
@pytest.mark.parametrize(("negative", "entry", "attr"), [(0.5, 1.0, 2.0), (1.0, 0.5, 0.5)])
def test_timeouts_come_back(negative: float, entry: float, attr: float) -> None:
    text = f"lab=fuse-default,negative={negative},entry={entry},attr={attr}"
    record = conduct(Options((text,), None, "smoke", cell_ids=tuple(CELLS.values()), search=False), Silent())
    assert record.profile == "fuse-default"
    assert [result.cell.id for result in record.cells if result.verdict is Verdict.VIOLATED] == []
    found = {result.cell.id: age_s(result) for result in record.cells}
    assert found[CELLS["negative"]] == pytest.approx(negative, rel=0.05)
    assert found[CELLS["entry"]] == pytest.approx(entry, rel=0.05)
    # One LOOKUP refreshes both: a stat shows whichever ends first.
    assert found[CELLS["attr"]] == pytest.approx(min(entry, attr), rel=0.05)
