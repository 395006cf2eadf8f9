"""Witnesses survive as files and show again what they showed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fsconform.oracles.examination import examine
from fsconform.search.budgets import Budget
from fsconform.search.encoding import ENCODING, Ground
from fsconform.search.hunting import hunt
from fsconform.search.replaying import load_witness, replay, save_witness
from fsconform.vocabulary.errors import CannotTestError
from fsconform.vocabulary.findings import Finding
from tests.search.simulation import CORRECT, Faults, SimulatedFilesystem
from tests.search.test_hunting import all_promised, only

BROKEN = Faults(two_winners=0.5)


@pytest.fixture(scope="module")
def finding() -> Finding:
    fs = SimulatedFilesystem(4, BROKEN)
    budget = Budget(rounds=320, batch=64)
    return hunt(fs.perform, examine, only("two-winners"), Ground(("a", "b")), 4, budget).findings[0]


def test_a_witness_is_replayed(finding: Finding, tmp_path: Path) -> None:
    path = tmp_path / "witness.json"
    save_witness(finding, path)
    witness = load_witness(path)
    assert (witness.kind, witness.seed, witness.encoding) == ("two-winners", 4, ENCODING)
    bad = replay(witness, SimulatedFilesystem(9, BROKEN).perform, examine, all_promised, "ab", 100)
    assert bad.rounds == 100 and 0 < bad.failures < 100 and bad.story and bad.events
    assert str(bad) == f"reproduced in {bad.failures} of 100 rounds"
    good = replay(witness, SimulatedFilesystem(9, CORRECT).perform, examine, all_promised, "ab", 100)
    assert (good.failures, good.rounds, good.events) == (0, 100, ())


def test_a_replay_can_be_stopped(finding: Finding, tmp_path: Path) -> None:
    save_witness(finding, tmp_path / "w")
    fs = SimulatedFilesystem(9, BROKEN)
    result = replay(
        load_witness(tmp_path / "w"), fs.perform, examine, all_promised, "ab", 999, lambda: len(fs.performed) == 2
    )
    assert result.rounds == 64


def test_bad_files_are_named(finding: Finding, tmp_path: Path) -> None:
    path = tmp_path / "w.json"
    with pytest.raises(CannotTestError, match=r"w\.json: No such file"):
        load_witness(path)
    path.write_text("{")
    with pytest.raises(CannotTestError, match=r"witness .*w\.json"):
        load_witness(path)
    save_witness(finding, path)
    data = json.loads(path.read_text())
    for change, word in (({"format": 9}, "format 9"), ({"program": {"format": 1}}, "lanes|directories|names")):
        path.write_text(json.dumps(data | change))
        with pytest.raises(CannotTestError, match=word):
            load_witness(path)
    path.write_text("[]")
    with pytest.raises(CannotTestError):
        load_witness(path)


def test_missing_sites_are_named(finding: Finding, tmp_path: Path) -> None:
    save_witness(finding, tmp_path / "w")
    witness = load_witness(tmp_path / "w")
    with pytest.raises(CannotTestError, match="missing"):
        replay(witness, SimulatedFilesystem(1).perform, examine, all_promised, "x", 10)
