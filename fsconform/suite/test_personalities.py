"""What real stores do with files, replayed: one item per store, small blocks, alone and two instances at once.

Other than cells these are no part of the window: every item brings its own instances.
"""

from __future__ import annotations

import pytest

from fsconform.personalities.catalogue import PERSONALITIES
from fsconform.plugin import ViolatedError

BLOCKS, SIZE, JOBS = 5, 64 << 10, (2, 2, 1)


@pytest.mark.parametrize("store", sorted(PERSONALITIES))
def test_personality(store: str, pytestconfig: pytest.Config) -> None:
    """The filesystem breaks none of its promises while a store works on it; what the store assumes is no matter."""
    sites = tuple(pytestconfig.getoption("--fs-site"))
    if not sites:
        pytest.skip("no site given: add --fs-site PATH (twice for two clients)")
    from fsconform.run.progress import Silent
    from fsconform.run.workload.conduct import conduct_workload
    from fsconform.run.workload.options import WorkloadOptions
    from fsconform.vocabulary.workloads import Box

    options = WorkloadOptions(
        store, sites, ("base", "v1"), ("clean",), profile=pytestconfig.getoption("--fs-profile"), blocks=BLOCKS,
        size=SIZE, jobs=JOBS,
    )  # fmt: skip
    record = conduct_workload(options, Silent())
    broken = [f for result in record.results for f in result.attributions if f.box is Box.BROKE]
    if broken:
        raise ViolatedError(f"{store}: {broken[0].title}: {broken[0].why} Again: {record.command}")
    if record.inconclusive:
        pytest.skip(record.inconclusive)
