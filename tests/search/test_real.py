"""The search on real directories and on the emulated lab, correct and lying."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator

import pytest

from fsconform.fleet.fleet import Fleet
from fsconform.lab.emulation import Emulation
from fsconform.lab.spec import parse_lab
from fsconform.oracles.examination import examine
from fsconform.search.budgets import Budget
from fsconform.search.encoding import Ground
from fsconform.search.hunting import hunt
from fsconform.search.ledger import Rule
from fsconform.vocabulary.findings import SearchSummary
from tests.search.sites import Performer
from tests.search.test_hunting import all_promised, moves_of, only


@pytest.fixture
def memory() -> Iterator[str]:
    """A directory on tmpfs where there is one."""
    base = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    path = tempfile.mkdtemp(prefix="fsconform-search-test-", dir=base)
    yield path
    shutil.rmtree(path, ignore_errors=True)


def search(directories: list[str], budget: Budget, rule: Rule = all_promised, seed: int = 1) -> SearchSummary:
    with Fleet() as fleet:
        performer = Performer(fleet, directories)
        return hunt(performer.perform, examine, rule, Ground(performer.sites), seed, budget)


def test_nothing_is_found_on_a_local_filesystem(memory: str) -> None:
    summary = search([memory], Budget(rounds=2_000, seconds=120))
    assert summary.findings == () and summary.undecided == 0
    assert summary.rounds >= 2_000 and summary.contested >= summary.rounds / 2
    assert {"exclusive.winner", "visibility.create", "content.complete"} <= set(summary.opportunities or {})


@pytest.mark.fuse
def test_nothing_is_found_on_the_strict_lab() -> None:
    with Emulation(parse_lab("strict")) as emulation:
        summary = search([str(mount) for mount in emulation.mounts], Budget(rounds=320, seconds=120))
    assert summary.findings == () and summary.rounds >= 320


@pytest.mark.fuse
@pytest.mark.slow
@pytest.mark.parametrize(
    ("mutant", "kind"),
    [("two-winners-excl", "two-winners"), ("torn-after-publish", "torn"), ("zero-after-publish", "zero")],
)
def test_mutants_are_found(mutant: str, kind: str) -> None:
    budget = Budget(rounds=128, seconds=300, shrinking_s=0.5, reducing_s=60, batch=32)
    with Emulation(parse_lab(f"strict,mutant={mutant}")) as emulation:
        mounts = [str(mount) for mount in emulation.mounts]
        # On a busy machine contenders miss each other: more programs, until they meet.
        hunts = (search(mounts, budget, only(kind), seed).findings for seed in range(1, 12))
        findings = next(filter(None, hunts), ())
    assert findings and {finding.kind for finding in findings} == {kind}
    assert all(finding.promised and finding.witness.events for finding in findings)
    smallest = min(map(moves_of, findings))
    assert smallest <= 10
    if smallest > 4:  # a known failure, told as such: the reduction ends by the wall clock, seen at 5 and 6 moves
        pytest.xfail(f"the reduction ended at {smallest} moves, expected at most 4")
