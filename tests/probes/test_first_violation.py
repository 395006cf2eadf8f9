"""Witnesses say how soon the first violation showed: after how many trials, and how long after the first one began."""

from __future__ import annotations

import errno

from fsconform.probes.exclusive import contest
from fsconform.probes.latency import observe
from fsconform.vocabulary.cells import make_cell
from fsconform.vocabulary.trials import TrialResult
from tests.probes.builders import history, steps_of
from tests.probes.test_latency import MS, result


def test_of_rounds_it_is_the_first_guilty_round() -> None:
    cell = make_cell("exclusive.winner", "all", publish="excl", state="cold", contenders="2")
    experiment = contest([cell], "ab", "salt")
    race = steps_of(experiment.program, 0, "excl_create")[-1]
    lost = {(0, race): 0, (1, race): errno.EEXIST}
    won = {(0, race): 0, (1, race): 0}
    seen = history(experiment.program, [lost, lost, won, won])
    witness = experiment.observe(cell, seen).witness
    assert witness is not None and witness.trials == 3
    began = min(int(lane.invoked[0].min()) for lane in seen.lanes)
    assert witness.after_ns == max(int(lane.returned[2].max()) for lane in seen.lanes) - began


def changed_at(start: int, missed_at: int | None, seen_at: int) -> TrialResult:
    """Primed long before; all times in ms."""
    return result(
        prime_invoked=0, prime_returned=1, change_invoked=start * MS, change_returned=(start + 1) * MS,
        last_miss=None if missed_at is None else missed_at * MS, first_hit=seen_at * MS, last_look=200 * MS,
    )  # fmt: skip


def test_of_latency_trials_it_is_the_first_sure_miss_and_not_the_worst_one() -> None:
    witness = observe([changed_at(1, None, 3), changed_at(11, 15, 16), changed_at(21, 99, 100)]).witness
    assert witness is not None
    assert (witness.trials, witness.after_ns) == (2, 14 * MS)
    assert "0.077000 s later" in witness.story
