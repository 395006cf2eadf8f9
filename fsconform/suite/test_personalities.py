"""What real stores do with files, replayed: one item per store and setting, small blocks, alone and two instances at
once.

The settings cross block size, direct and buffered I/O, 1 and 32 threads, and what the reader asked before: in `quick`
(and `smoke`) every value once, from `standard` on every combination. Other than cells these are no part of the window:
every item brings its own instances.
"""

from __future__ import annotations

from itertools import product

import pytest

from fsconform.personalities.catalogue import PERSONALITIES
from fsconform.plugin import ViolatedError

BLOCKS, JOBS = 5, (2, 2, 1)
SIZES, IO, THREADS, READERS = ("64k", "1m"), ("direct", "buffered"), ("1", "32"), ("clean", "poisoned")
EACH_ONCE = (("64k", "direct", "1", "clean"), ("1m", "buffered", "32", "poisoned"))
SHORT = ("smoke", "quick")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """The settings of the budget."""
    if "setting" in metafunc.fixturenames:
        short = metafunc.config.getoption("--fs-budget") in SHORT
        chosen = EACH_ONCE if short else tuple(product(SIZES, IO, THREADS, READERS))
        metafunc.parametrize("setting", chosen, ids=map("-".join, chosen))


@pytest.mark.parametrize("store", sorted(PERSONALITIES))
def test_personality(store: str, setting: tuple[str, ...], pytestconfig: pytest.Config) -> None:
    """The filesystem breaks none of its promises while a store works on it; what the store assumes is no matter."""
    sites = tuple(pytestconfig.getoption("--fs-site"))
    if not sites:
        pytest.skip("no site given: add --fs-site PATH (twice for two clients)")
    from fsconform.run.progress import Silent
    from fsconform.run.workload.conduct import conduct_workload
    from fsconform.run.workload.options import WorkloadOptions, parse_sizes, parse_threads
    from fsconform.vocabulary.workloads import Box

    size, io, threads, reader = setting
    options = WorkloadOptions(
        store, sites, ("base", "v1"), (reader,), profile=pytestconfig.getoption("--fs-profile"), blocks=BLOCKS,
        sizes=parse_sizes(size), jobs=JOBS, threads=parse_threads(threads), tasks=("block",), io=(io,),
        watch_s=0.0 if pytestconfig.getoption("--fs-budget") in SHORT else None,
    )  # fmt: skip
    record = conduct_workload(options, Silent())
    broken = [f for result in record.results for f in result.attributions if f.box is Box.BROKE]
    if broken:
        raise ViolatedError(f"{store}: {broken[0].title}: {broken[0].why} Again: {record.command}")
    if record.inconclusive:
        pytest.skip(record.inconclusive)
