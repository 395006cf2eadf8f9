"""Planted faults are found and made small, correct filesystems are left alone, and nothing is ever called flaky."""

from __future__ import annotations

import time
from functools import partial

import pytest

from fsconform.oracles.anomalies import Anomaly
from fsconform.oracles.examination import examine
from fsconform.search.budgets import Budget
from fsconform.search.drawing import draw_programs
from fsconform.search.encoding import Ground, decode_draft
from fsconform.search.hunting import HuntCut, hunt
from fsconform.search.ledger import Fault, Ledger
from fsconform.search.promises import Ruling, Standing
from fsconform.search.stickiness import StickyVerdicts
from fsconform.search.violations import ViolationError, violation_class
from fsconform.vocabulary.findings import Finding, SearchSummary
from fsconform.vocabulary.histories import RoundHistory
from fsconform.vocabulary.programs import Program
from tests.search.simulation import BROKEN, CORRECT, Faults, SimulatedFilesystem

GROUND = Ground(("a", "b"))
FEW = range(3)
SEEDS = pytest.mark.parametrize("seeds", [FEW, pytest.param(range(3, 20), marks=pytest.mark.slow)], ids=["few", "many"])


def all_promised(anomaly: Anomaly, history: RoundHistory) -> Ruling:
    return Ruling(Standing.BROKEN, anomaly.rounds)


def only(*kinds: str, standing: Standing = Standing.BROKEN):  # type: ignore[no-untyped-def]
    """Everything of another kind is allowed."""

    def rule(anomaly: Anomaly, history: RoundHistory) -> Ruling:
        return Ruling(standing, anomaly.rounds) if anomaly.kind in kinds else Ruling(Standing.ALLOWED)

    return rule


def steps_of(finding: Finding) -> int:
    program = Program.from_json(dict(finding.witness.program))
    return sum(step.kind != "barrier" for lane in program.lanes for step in lane.steps)


def moves_of(finding: Finding) -> int:
    """Steps, a publish with all its steps counted as one."""
    program = Program.from_json(dict(finding.witness.program))
    parts = ("write", "close", "unlink", "barrier")
    temporary = sum(step.kind in ("rename", "link") for lane in program.lanes for step in lane.steps)
    return sum(step.kind not in parts for lane in program.lanes for step in lane.steps) - temporary


def hunt_in(faults: Faults, seed: int, rule=all_promised, **budget) -> SearchSummary:  # type: ignore[no-untyped-def]
    fs = SimulatedFilesystem(seed, faults)
    # Without Hypothesis's own share, which ends by the wall clock, the same seed gives the same finding everywhere.
    limits = {"rounds": 800, "batch": 64, "shrinking_s": 0.0, "reducing_s": 120.0} | budget
    return hunt(fs.perform, examine, rule, GROUND, seed, Budget(**limits))


def expect_small(sizes: list[int], small: int, largest: int) -> None:
    """Every reduction is to reach `small`. A known failure, told as such and not as a pass: a rare one stops in a local
    minimum. Nine in ten must get there and none may stop above `largest`, or it is an ordinary failure."""
    assert sum(size <= small for size in sizes) >= 0.9 * len(sizes) and max(sizes) <= largest, sizes
    if max(sizes) > small:
        pytest.xfail(f"the reducer stopped in a local minimum: sizes {sizes}, expected at most {small}")


@SEEDS
def test_two_winners_are_found_and_made_small(seeds: range) -> None:
    sizes = []
    for seed in seeds:
        (finding,) = hunt_in(BROKEN["two-winners, 0.1"], seed, only("two-winners"), rounds=600).findings
        assert (finding.kind, finding.property_id, finding.promised) == ("two-winners", "exclusive.winner", True)
        assert finding.rounds == 64 and finding.witness.events
        sizes.append(steps_of(finding))
    expect_small(sizes, 3, 6)


@pytest.mark.slow
def test_rare_winners_are_found_and_made_small() -> None:
    sizes = []
    for seed in range(20):
        (finding,) = hunt_in(BROKEN["two-winners, 0.02"], seed, only("two-winners"), rounds=2_000).findings
        assert finding.kind == "two-winners"
        sizes.append(steps_of(finding))
    expect_small(sizes, 4, 8)


@SEEDS
def test_torn_publishes_are_found_and_made_small(seeds: range) -> None:
    sizes, rates = [], []
    for seed in seeds:
        findings = hunt_in(BROKEN["torn"], seed, only("zero"), rounds=600).findings
        assert {finding.kind for finding in findings} == {"zero"}
        sizes.append(min(map(moves_of, findings)))
        rates.append(max(finding.failures for finding in findings))
    expect_small(sizes, 4, 6)
    if min(rates) < 4:
        pytest.xfail(f"a reduced program fails too rarely: {rates} of 64, expected at least 4")


@SEEDS
def test_stale_looks_are_found_and_made_small(seeds: range) -> None:
    sizes = []
    for seed in seeds:
        (finding,) = hunt_in(BROKEN["stale"], seed, only("stale"), rounds=600).findings
        assert finding.property_id == "visibility.create"
        sizes.append(moves_of(finding))
    expect_small(sizes, 5, 7)


def test_nothing_is_found_in_a_correct_filesystem() -> None:
    for seed in FEW:
        summary = hunt_in(CORRECT, seed, rounds=3_000)
        assert not summary.findings and summary.undecided == 0
        assert summary.rounds == 3_008 and summary.programs == 94
        assert summary.contested > summary.rounds / 2
        assert summary.opportunities and all(summary.opportunities.values())


def test_the_same_seed_gives_the_same_hunt() -> None:
    def programs(seed: int) -> list[Program]:
        fs = SimulatedFilesystem(1)
        hunt(fs.perform, examine, all_promised, GROUND, seed, Budget(rounds=320))
        return [program for program, _ in fs.performed]

    assert programs(5) == programs(5) != programs(6)
    fs = SimulatedFilesystem(1)
    hunt(fs.perform, examine, all_promised, GROUND, 5, Budget(rounds=320))
    assert {rounds for _, rounds in fs.performed} == {32}


def test_a_fault_is_reported_once_and_others_are_still_found() -> None:
    summary = hunt_in(Faults(two_winners=0.5, torn=0.3, torn_ns=20_000), 3)
    keys = [(finding.kind, finding.property_id) for finding in summary.findings]
    assert len(keys) == len(set(keys))
    assert {"two-winners", "zero"} <= {kind for kind, _ in keys}


def test_what_is_not_promised_is_observed() -> None:
    (finding,) = hunt_in(BROKEN["stale"], 1, only("stale", standing=Standing.OBSERVED), rounds=600).findings
    assert not finding.promised
    assert not hunt_in(BROKEN["stale"], 1, only(), rounds=600).findings


def test_the_deadline_is_kept_while_a_find_is_reduced() -> None:
    began = time.monotonic()
    summary = hunt_in(BROKEN["two-winners, 0.1"], 2, rounds=None, seconds=1.0)
    assert time.monotonic() - began < 5
    assert summary.findings and all(finding.witness.events for finding in summary.findings)


def test_stop_ends_it_before_the_next_message() -> None:
    fs = SimulatedFilesystem(1)
    summary = hunt(fs.perform, examine, all_promised, GROUND, 1, Budget(rounds=9_000), lambda: len(fs.performed) >= 7)
    assert summary.programs == len(fs.performed) == 7
    assert hunt(fs.perform, examine, all_promised, GROUND, 1, Budget(rounds=1), lambda: True).programs == 0


def test_our_own_failures_pass_through_untouched() -> None:
    calls = [0]

    def perform(program: Program, rounds: int) -> RoundHistory:
        calls[0] += 1
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        hunt(perform, examine, all_promised, GROUND, 1, Budget(rounds=100))
    assert calls[0] == 1


def test_ctrl_c_passes_through() -> None:
    def perform(program: Program, rounds: int) -> RoundHistory:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        hunt(perform, examine, all_promised, GROUND, 1, Budget(rounds=100))


def test_a_budget_must_end() -> None:
    with pytest.raises(ValueError, match="never end"):
        Budget()
    with pytest.raises(ValueError, match="at least 32"):
        Budget(rounds=1, message=8)


@SEEDS
def test_verdicts_are_sticky(seeds: range) -> None:
    """A test over a race raises the violation itself, never FlakyFailure."""
    for seed in seeds:
        fs = SimulatedFilesystem(seed, Faults(two_winners=0.03))
        ledger = Ledger(fs.perform, examine, only("two-winners"), seed, lambda: False, float("inf"))
        attempt = partial(ledger.try_draft, rounds=32)
        verdicts = StickyVerdicts(lambda data: decode_draft(data, GROUND), attempt, patience_s=0.5)
        with pytest.raises(violation_class("two-winners")) as caught:
            draw_programs(verdicts.check, seed)
        assert isinstance(caught.value, ViolationError) and caught.value.kind == "two-winners"
        assert verdicts.best().fault == Fault("two-winners", "exclusive.winner", Standing.BROKEN)


def test_one_class_per_kind() -> None:
    assert violation_class("two-winners") is violation_class("two-winners")
    assert violation_class("two-winners") is not violation_class("stale")
    assert violation_class("win-over-existing").__name__ == "WinOverExistingError"
    assert issubclass(violation_class("stale"), AssertionError)


@pytest.mark.parametrize("messages", [1, 5, 60, 200])
def test_an_interrupt_keeps_what_was_found(messages: int) -> None:
    fs, sent = SimulatedFilesystem(0, BROKEN["two-winners, 0.1"]), 0

    def perform(program: Program, rounds: int) -> RoundHistory:
        nonlocal sent
        sent += 1
        if sent > messages:
            raise KeyboardInterrupt
        return fs.perform(program, rounds)

    with pytest.raises(HuntCut) as cut:
        hunt(perform, examine, only("two-winners"), GROUND, 0, Budget(rounds=100_000, shrinking_s=0.3))
    assert sent == messages + 1, "nothing is sent after it"
    assert cut.value.summary.rounds > 0
    found = [finding.kind for finding in cut.value.summary.findings]
    assert found == (["two-winners"] if messages >= 60 else found)
