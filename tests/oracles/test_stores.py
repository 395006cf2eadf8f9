"""Simulated correct stores with clock skew, timeouts and invalidation: nothing to find."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest

from fsconform.oracles.causal import causal_regressions
from fsconform.oracles.frontier import sweep
from fsconform.oracles.lifetimes import LifeKind, judge_lifetimes
from fsconform.oracles.objects import LIFE_LOOKS, life
from fsconform.oracles.once import OnceKind, OnceReport, judge_once
from fsconform.oracles.operations import Op
from fsconform.oracles.replaceable import judge_versions
from fsconform.oracles.sessions import coherent, session_regressions
from tests.oracles import twins
from tests.oracles.columns import register_columns
from tests.oracles.histories import BULK
from tests.oracles.stores import (
    STORES,
    AtomicStore,
    InvalidatingStore,
    TimeoutStore,
    perform,
    stamped,
    widened,
)

HISTORIES = max(400, BULK // 12)
"""10,000 per store in the full comparison."""
ERROR = 3


def histories(store: type[AtomicStore], error: int = ERROR, forgotten: bool = False) -> list[list[twins.Op]]:
    source = random.Random(1)
    skewed = (stamped(perform(store(), source), source, error) for _ in range(HISTORIES))
    return [ops if forgotten else widened(ops, error) for ops in skewed]


def presence(found: Sequence[Sequence[twins.Op]]) -> OnceReport:
    """The same histories as those of a name that is published again and again."""
    name, version, write, invoked, returned = register_columns(found)
    kind = np.where(write, OnceKind.PUBLISH, np.where(version > 0, OnceKind.PRESENT, OnceKind.ABSENT))
    return judge_once(name, kind.astype(np.int64), invoked, returned)


@pytest.mark.parametrize("store", STORES)
def test_no_look_is_staler_than_its_store_promises(store: type[AtomicStore]) -> None:
    found = histories(store)
    versions, once = judge_versions(*register_columns(found)), presence(found)
    assert versions.staleness.max() <= store.bound
    assert once.stale.max() <= store.bound
    assert not versions.future.any() and not once.phantom.any()
    assert versions.opportunities > HISTORIES and once.opportunities > HISTORIES


def test_an_atomic_store_has_no_delta_and_no_regressions() -> None:
    found = histories(AtomicStore)
    assert judge_versions(*register_columns(found)).delta.max() == 0
    assert presence(found).delta.max() == 0
    for ops in found:
        own = [Op(*op) for op in sorted(ops, key=lambda op: (op.session, op.start))]
        assert not session_regressions(own) and coherent(own) and not causal_regressions(own)


def test_an_invalidating_store_is_never_stale_but_has_inversions() -> None:
    """Delta must not be held against a bound on staleness."""
    report = judge_versions(*register_columns(histories(InvalidatingStore, error=0)))
    assert report.staleness.max() == 0 and np.count_nonzero(report.delta) > HISTORIES / 100


def test_timeouts_are_recovered_from_below() -> None:
    report = judge_versions(*register_columns(histories(TimeoutStore)))
    assert TimeoutStore.bound / 2 < report.staleness.max() + 2 * ERROR <= TimeoutStore.bound + 2 * ERROR


def test_raw_skewed_stamps_would_accuse() -> None:
    """Mutant: the clock error is forgotten."""
    assert judge_versions(*register_columns(histories(AtomicStore, forgotten=True))).delta.max() > 0


def life_of(source: random.Random, error: int) -> list[twins.Op]:
    """A correct name that three sites create, remove and look at."""
    moments: list[tuple[int, int, int, int]] = []
    for site in range(3):
        now = source.randint(0, 5)
        for _ in range(5):
            end = now + source.randint(0, 6)
            moments.append((source.randint(now, end), now, end, site))
            now = end + source.randint(1, 4)
    ops, state, off = [], 0, [source.randint(-error, error) for _ in range(3)]
    for number, (_, start, end, site) in enumerate(sorted(moments)):
        kind = source.choice(("create", "unlink", "read"))
        if kind == "create":
            state, kind = (state, "present") if state else (number + 1, "create")
        elif kind == "unlink":
            state, kind = 0, "unlink" if state else "absent"
        elif not state:
            kind = "absent"
        ops.append(twins.Op(kind, start + off[site] - error, end + off[site] + error, state, site))
    return ops


def test_a_correct_name_that_dies_is_never_accused() -> None:
    source = random.Random(4)
    found = [life_of(source, ERROR) for _ in range(HISTORIES)]
    assert not any(sweep([Op(*op) for op in ops], life, 0, LIFE_LOOKS).violation for ops in found)
    rows = [(name, int(LifeKind[op.kind.upper()]), op.value, op.start, op.end)
            for name, ops in enumerate(found) for op in ops]  # fmt: skip
    report = judge_lifetimes(*np.array(rows, np.int64).T)
    assert report.staleness.max() == 0 and report.opportunities > HISTORIES
