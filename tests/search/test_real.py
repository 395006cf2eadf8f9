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
from fsconform.vocabulary.findings import SearchSummary
from tests.search.sites import Performer
from tests.search.test_hunting import all_promised


@pytest.fixture
def memory() -> Iterator[str]:
    """A directory on tmpfs where there is one."""
    base = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    path = tempfile.mkdtemp(prefix="fsconform-search-test-", dir=base)
    yield path
    shutil.rmtree(path, ignore_errors=True)


def search(directories: list[str], seed: int, **budget: float) -> SearchSummary:
    with Fleet() as fleet:
        performer = Performer(fleet, directories)
        limits = Budget(**{"rounds": 2_000, "seconds": 90.0, "reducing_s": 10.0} | budget)  # type: ignore[arg-type]
        return hunt(performer.perform, examine, all_promised, Ground(performer.sites), seed, limits)


def test_nothing_is_found_on_a_local_filesystem(memory: str) -> None:
    summary = search([memory], 1)
    assert summary.findings == () and summary.undecided == 0
    assert summary.rounds >= 2_000 and summary.contested >= summary.rounds / 2
    assert {"exclusive.winner", "visibility.create", "content.complete"} <= set(summary.opportunities or {})


def lab(text: str, seed: int, **budget: float) -> SearchSummary:
    with Emulation(parse_lab(text)) as emulation:
        return search([str(mount) for mount in emulation.mounts], seed, **budget)


@pytest.mark.fuse
def test_nothing_is_found_on_the_strict_lab() -> None:
    summary = lab("strict", 1, rounds=640)
    assert summary.findings == () and summary.rounds >= 640


@pytest.mark.fuse
@pytest.mark.parametrize(
    ("mutant", "kinds"),
    [
        ("two-winners-excl", {"two-winners"}),
        ("torn-after-publish", {"torn", "short", "zero"}),
        ("zero-after-publish", {"zero"}),
    ],
)
def test_mutants_are_found(mutant: str, kinds: set[str]) -> None:
    summary = lab(f"strict,mutant={mutant}", 1, rounds=640, reducing_s=6.0)
    assert kinds & {finding.kind for finding in summary.findings}
    for finding in summary.findings:
        assert finding.promised and finding.witness.events
