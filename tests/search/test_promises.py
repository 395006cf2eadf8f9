"""An anomaly is held against the weakest promise of the cells it may belong to."""

from __future__ import annotations

import dataclasses

import numpy as np

from fsconform.oracles.anomalies import Anomaly
from fsconform.search.promises import Ruling, Standing, allowance_ns, cells_of, longest_look_ns, rule
from fsconform.vocabulary.cells import Cell, make_cell
from fsconform.vocabulary.errors import CannotTestError
from fsconform.vocabulary.histories import INF, LaneColumns, RoundHistory
from fsconform.vocabulary.programs import Lane, Program
from fsconform.vocabulary.promises import Bound, BoundOrigin, Evidence, Promise, Strength
from fsconform.vocabulary.steps import Step

S = 1_000_000_000
STALE = Anomaly(
    "stale", "visibility.create", (0, 3), "n", ((0, 0), (1, 0)), "s", (6 * S, 4 * S), "stat", "missed", "rename",
    "a", "b",
)  # fmt: skip
TWO = Anomaly("two-winners", "exclusive.winner", (1,), "n", ((0, 0), (1, 0)), "s", publish="excl_create")


def history(look_ns: int = 1_000, returned: int | None = None) -> RoundHistory:
    program = Program((Lane("a", (Step("rename", "t", "n"),)), Lane("b", (Step("stat", "n"),))), (), ("n",))
    zero = np.zeros((4, 1), np.int64)
    busy = LaneColumns(zero, zero + S, zero, zero, zero)
    look = LaneColumns(zero, zero + (look_ns if returned is None else returned), zero, zero, zero)
    return RoundHistory(program, (busy, look), (0, 0))


def promise(strength: Strength, bound_s: float = 0.0, slack_s: float | None = None) -> Promise:
    bound = Bound("negative", bound_s, BoundOrigin.ASSUMED) if bound_s else None
    return Promise(strength, Evidence.SOURCE, "a test", bound, slack_s=slack_s)


def test_cells() -> None:
    assert cells_of(STALE) == (
        make_cell("visibility.create", "a-b", publish="rename", state="missed", observer="stat", age="fresh"),
    )
    assert cells_of(TWO) == tuple(
        make_cell("exclusive.winner", "all", publish="excl", state=state, contenders="2")
        for state in ("cold", "missed", "known")
    )
    listing = dataclasses.replace(STALE, observer="listing", publish="excl_create", state="cold")
    assert cells_of(listing)[0].id == "visibility.create/excl/cold/scandir/fresh/a-b"


def test_a_guarantee_has_no_slack() -> None:
    ruling = rule(STALE, history(), lambda cell: promise(Strength.GUARANTEED))
    assert ruling == Ruling(Standing.BROKEN, (0, 3))


def test_only_rounds_beyond_the_bound_convict() -> None:
    within = promise(Strength.WITHIN, 5.0)
    assert rule(STALE, history(), lambda cell: within) == Ruling(Standing.BROKEN, (0,))
    fresh = dataclasses.replace(STALE, staleness_ns=(5 * S + 60_000_000, S))
    assert rule(fresh, history(), lambda cell: within).standing is Standing.ALLOWED


def test_a_slow_look_widens_the_slack() -> None:
    within = promise(Strength.WITHIN, 5.0)
    assert rule(STALE, history(look_ns=2 * S), lambda cell: within) == Ruling(Standing.ALLOWED)
    assert allowance_ns(promise(Strength.WITHIN, 5.0, 0.5), 2 * S) == 5_500_000_000
    assert longest_look_ns(history(returned=INF), "b") == 0


def test_no_delay_excuses_two_winners() -> None:
    assert rule(TWO, history(), lambda cell: promise(Strength.WITHIN, 5.0)).standing is Standing.BROKEN


def test_nothing_promised() -> None:
    def no_promise(cell: Cell) -> Promise:
        raise CannotTestError("no promise covers it")

    assert rule(STALE, history(), no_promise) == Ruling(Standing.OBSERVED, (0, 3))
    assert rule(TWO, history(), lambda cell: promise(Strength.NOT_PROMISED)).standing is Standing.OBSERVED
    assert rule(TWO, history(), lambda cell: promise(Strength.UNSUPPORTED)).standing is Standing.OBSERVED


def test_the_weakest_of_the_possible_cells_holds() -> None:
    def by_state(cell: Cell) -> Promise:
        return promise(Strength.NOT_PROMISED if cell.axis("state") == "known" else Strength.GUARANTEED)

    assert rule(TWO, history(), by_state).standing is Standing.OBSERVED
    assert rule(dataclasses.replace(TWO, state="cold"), history(), by_state).standing is Standing.BROKEN
