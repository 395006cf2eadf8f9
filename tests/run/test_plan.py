"""Plans: windows, trials, isolation."""

from __future__ import annotations

import pytest

from fsconform.run.plan import Plan, make_plan, rest_seconds, window_seconds
from fsconform.run.table import parse_budget, rows
from fsconform.vocabulary.promises import Bound, BoundOrigin, Evidence, Promise, Strength

GUARANTEED = Promise(Strength.GUARANTEED, Evidence.SOURCE, "test")
NOT_PROMISED = Promise(Strength.NOT_PROMISED, Evidence.SOURCE, "test")


def within(seconds: float) -> Promise:
    return Promise(Strength.WITHIN, Evidence.SOURCE, "test", Bound("entry", seconds, BoundOrigin.ASSUMED))


def plan_for(promise: Promise, tier: str = "quick") -> Plan:
    chosen = rows(tier, "ab")
    return make_plan(chosen, {row.cell.id: promise for row in chosen}, "ab", parse_budget(tier), "salt")


def test_quick_takes_thirty_seconds_and_the_longest_promised_bound() -> None:
    assert window_seconds(parse_budget("quick"), [GUARANTEED]) == 30.0
    assert window_seconds(parse_budget("quick"), [within(5), within(30)]) == 30.0 + 30.0 + 0.02 + 0.3
    assert window_seconds(parse_budget("standard"), [within(60)]) == 120.0 + 60.0 + 0.02 + 0.6


def test_what_is_not_promised_never_extends_the_window() -> None:
    assert plan_for(NOT_PROMISED).window_s == 30.0


def test_every_trial_has_a_parent_directory_of_its_own() -> None:
    plan = plan_for(within(5))
    parents = [trial.look.path.rpartition("/")[0] for batch in plan.batches for trial in batch.trials
               if trial.look.kind == "stat" and trial.cell.axis("state") == "missed"]  # fmt: skip
    assert len(parents) == len(set(parents))


def test_nothing_is_changed_but_the_name_itself_after_the_prime() -> None:
    """On NFS any other change of the directory would refresh the pending name."""
    plan = plan_for(within(5))
    for trial in (trial for batch in plan.batches for trial in batch.trials):
        if trial.cell.property_id == "visibility.create" and trial.cell.axis("publish") in ("rename", "link"):
            expected = ["mkdir"] if trial.cell.axis("state") == "missed-ancestor" else []
            assert [step.kind for step in trial.change] == [*expected, trial.cell.axis("publish")]


def test_names_are_unique_in_a_plan_and_between_runs() -> None:
    first, second = plan_for(GUARANTEED), plan_for(GUARANTEED)
    seeds = [trial.seed for batch in first.batches for trial in batch.trials]
    assert len(seeds) == len(set(seeds))
    assert first == second
    chosen = rows("quick", "ab")
    other = make_plan(chosen, {row.cell.id: GUARANTEED for row in chosen}, "ab", parse_budget("quick"), "other salt")
    assert other.batches[0].trials[0].seed != first.batches[0].trials[0].seed


def test_a_bounded_cell_is_watched_beyond_its_bound_and_slack() -> None:
    for trial in (trial for batch in plan_for(within(5)).batches for trial in batch.trials):
        if trial.single_shot_ns is None:
            assert trial.until_ns > 5.07e9


def test_cures_and_single_shots_only_where_something_may_be_stale() -> None:
    assert {trial.label for batch in plan_for(GUARANTEED).batches for trial in batch.trials} == {"watch"}
    labels = {trial.label for batch in plan_for(within(5)).batches for trial in batch.trials}
    assert {"control", "cure open", "cure fresh-listing", "shot 0.1", "shot 4"} <= labels
    assert "shot 32" not in labels


@pytest.mark.parametrize(("usual_s", "rest_s"), [(None, 10.0), (3.0, 10.0), (30.0, 33.0)])
def test_settled_names_rest_for_longer_than_the_usual_timeout(usual_s: float | None, rest_s: float) -> None:
    bound = Bound("miss", 60.0, BoundOrigin.ASSUMED, usual_s=usual_s)
    promise = Promise(Strength.WITHIN, Evidence.SOURCE, "nfs(5)", bound)
    assert rest_seconds([promise]) == pytest.approx(rest_s)


def test_large_blocks_come_in_small_batches() -> None:
    chosen = [row for row in rows("thorough", "ab") if row.cell.axis("size") in ("8m", "64k", "1m")]
    plan = make_plan(chosen, {row.cell.id: GUARANTEED for row in chosen}, "ab", parse_budget("thorough"), "salt")
    large = {experiment.batch for experiment in plan.experiments if experiment.extra_bytes >= 8 << 20}
    assert large
    assert max(large) <= 32
    assert {experiment.batch for experiment in plan.experiments if experiment.extra_bytes <= 4 << 20} == {55}
    assert plan.needed_bytes <= 1 << 30
