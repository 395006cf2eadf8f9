"""Wrong formulations of the oracles that somebody has believed in. The twin tests must kill every one of them.

Each changes the columns before they are judged (what it believes of an event), or the report.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from fsconform.oracles.once import OnceKind, OnceReport, judge_once
from fsconform.vocabulary.histories import INF, Ints

OnceJudge = Callable[[Ints, Ints, Ints, Ints], OnceReport]


def eexist_is_no_sighting(name: Ints, kind: Ints, invoked: Ints, returned: Ints) -> OnceReport:
    """A loser's EEXIST says nothing about the name."""
    return judge_once(name, np.where(kind == OnceKind.LOSE, OnceKind.NONE, kind), invoked, returned)


def success_proves_no_absence(name: Ints, kind: Ints, invoked: Ints, returned: Ints) -> OnceReport:
    """An exclusive success is just another publish."""
    return judge_once(name, np.where(kind == OnceKind.WIN, OnceKind.PUBLISH, kind), invoked, returned)


def open_creator_dropped(name: Ints, kind: Ints, invoked: Ints, returned: Ints) -> OnceReport:
    """A create that failed with EIO did not happen."""
    return judge_once(name, np.where(kind == OnceKind.MAYBE, OnceKind.NONE, kind), invoked, returned)


def open_creator_closed_at_return(name: Ints, kind: Ints, invoked: Ints, returned: Ints) -> OnceReport:
    """A create that failed with EIO took effect, if at all, before it returned."""
    maybe = kind == OnceKind.MAYBE
    return judge_once(name, np.where(maybe, OnceKind.PUBLISH, kind), invoked, np.where(maybe, invoked + 1, returned))


def touching_is_order(name: Ints, kind: Ints, invoked: Ints, returned: Ints) -> OnceReport:
    """An operation that returns when another begins precedes it."""
    shorter = np.where(returned >= INF, INF, np.maximum(2 * invoked, 2 * returned - 1))
    report = judge_once(name, kind, 2 * invoked, shorter)
    return replace(report, delta=np.where(report.delta >= INF, INF, (report.delta + 1) // 2))


def publish_return_is_the_only_evidence(name: Ints, kind: Ints, invoked: Ints, returned: Ints) -> OnceReport:
    """Delta is the staleness since the publish returned."""
    report = judge_once(name, kind, invoked, returned)
    return replace(report, delta=np.where(report.delta >= INF, INF, report.stale))


def any_creator_may_be_the_birth(name: Ints, kind: Ints, invoked: Ints, returned: Ints) -> OnceReport:
    """Where somebody won, an earlier publish may still be the birth."""
    report = judge_once(name, np.where(kind == OnceKind.WIN, OnceKind.PUBLISH, kind), invoked, returned)
    wins = judge_once(name, kind, invoked, returned).wins
    return replace(report, delta=np.where(wins > 1, INF, report.delta))


ONCE: tuple[OnceJudge, ...] = (
    eexist_is_no_sighting, success_proves_no_absence, open_creator_dropped, open_creator_closed_at_return,
    touching_is_order, publish_return_is_the_only_evidence, any_creator_may_be_the_birth,
)  # fmt: skip
