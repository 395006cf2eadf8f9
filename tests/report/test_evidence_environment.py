"""What stands around a site: the kernel's counters, read and compared."""

from __future__ import annotations

import pytest

from fsconform.fleet.worker.environment import mount_statistics, site_environment
from fsconform.oracles.contradictions import rounds_showing
from fsconform.vocabulary.contradictions import Contradiction, Order, Result
from fsconform.vocabulary.environments import SiteEnvironment, calls_in, counters_in, increase
from tests.report.examples import race_history

BLOCK = """filer:/export mounted on /mnt with fstype nfs statvers=1.1
\topts:\trw,vers=3
\tevents:\t10 200 3 4 5 6 7 8 9
\tbytes:\t1 2 3
\tper-op statistics
\t        NULL: 1 1 0 44 24 0 0 0 0
\t      LOOKUP: 120 120 0 1 2 3 4 5 0
\t     GETATTR: 30 30 0 1 2 3 4 5 0
\t       WRITE: 500 500 0 1 2 3 4 5 0
"""


def test_calls_and_counters_are_read() -> None:
    assert calls_in(BLOCK) == {"NULL": 1, "LOOKUP": 120, "GETATTR": 30, "WRITE": 500}
    assert counters_in(BLOCK)["dentry_revalidations"] == 200
    assert calls_in("/dev/vda mounted on / with fstype ext4") is None and calls_in("") is None
    assert increase({"LOOKUP": 100}, calls_in(BLOCK)) == {"NULL": 1, "LOOKUP": 20, "GETATTR": 30, "WRITE": 500}
    assert increase(None, {"LOOKUP": 1}) is None


@pytest.mark.parametrize(
    ("calls", "cached"), [({"LOOKUP": 120, "WRITE": 999}, 380), ({"LOOKUP": 600}, 0), ({}, 500), (None, None)]
)
def test_looks_beyond_the_calls_were_answered_from_the_cache(calls: dict[str, int] | None, cached: int | None) -> None:
    assert SiteEnvironment("a", calls=calls, looks=500).from_cache == cached


def test_the_environment_of_a_local_directory() -> None:
    found = site_environment("/")
    assert found["mountinfo"].split(" ")[4] == "/" and found["kernel_version"].startswith("Linux version")
    assert mount_statistics("/") == "" == found["statistics"]


def test_contradictions_are_found_by_results_and_order() -> None:
    """Worker 0 begins 40 ns before worker 1 and every call takes 90 ns; clocks differ by 25 us."""
    history = race_history(3)
    both = (Result((0, 1), "ok"), Result((1, 1), "ok"))
    assert rounds_showing((Contradiction(both),), history).all()
    assert not rounds_showing((Contradiction((Result((0, 1), "EEXIST"), both[1])),), history).any()
    assert not rounds_showing((Contradiction(both, (Order((0, 1), (1, 1)),)),), history).any()
    exact = type(history)(history.program, history.lanes, (0, 0))
    assert rounds_showing((Contradiction(both, (Order((0, 1), (1, 2)),)),), exact).all()
    assert not rounds_showing((Contradiction(both, (Order((0, 1), (1, 2)),)),), history).any()
    assert not rounds_showing((Contradiction(both, (Order((0, 1), (1, 2), least_ns=50),)),), exact).any()
    size = Result((0, 1), "ok", -1, 4096, differs=True)
    assert rounds_showing((Contradiction((size,)),), history).all()
