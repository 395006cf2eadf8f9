"""What the profile says of an anomaly: which cells it speaks about, and which of its rounds break their promise.

Lower bounds convict: a stale look counts with the time for which it was surely stale, against the bound of that cell
and its slack. Where the anomaly leaves an axis open, every value it may have is asked for and the weakest promise
holds: a false alarm is worse than a miss.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from itertools import product

from fsconform.oracles.anomalies import Anomaly
from fsconform.vocabulary.axes import PROPERTY_AXES
from fsconform.vocabulary.cells import ALL_SITES, Cell, make_cell
from fsconform.vocabulary.errors import CannotTestError
from fsconform.vocabulary.histories import INF, RoundHistory
from fsconform.vocabulary.promises import Promise, Strength
from fsconform.vocabulary.steps import LOOKS

SLACK_NS = 20_000_000
"""Two ticks of 10 ms: kernel timeouts are rounded up to ticks."""
PUBLISHES = {
    "rename": "rename", "excl_create": "excl", "link": "link", "mkdir": "mkdir", "rename_noreplace": "noreplace",
    "create": "create",
}  # fmt: skip
"""Step kind -> value of the axis `publish`."""
OBSERVERS = {"stat": "stat", "statx": "stat", "access": "access", "open": "open_read", "listing": "scandir"}
"""Register of the oracles -> value of the axis `observer`."""
STATES = ("cold", "missed", "known")
_OF_PUBLISHES = ("rename", "excl", "link")
_OF_OBSERVERS = ("stat", "open_read", "scandir")

PromiseOf = Callable[[Cell], Promise]
"""The promise in force for a cell. Raises CannotTestError where the profile has none."""


class Standing(IntEnum):
    """How an anomaly stands to what is promised; the weaker, the smaller."""

    ALLOWED = 0
    """Within the bound: no finding."""
    OBSERVED = 1
    """Nothing is promised: a finding that is neither good nor bad."""
    BROKEN = 2
    """A promise is broken."""


@dataclass(frozen=True, slots=True)
class Ruling:
    """The standing of an anomaly, and the rounds that have it; none where it is allowed."""

    standing: Standing
    rounds: tuple[int, ...] = ()


def rule(anomaly: Anomaly, history: RoundHistory, promise_of: PromiseOf) -> Ruling:
    """Holds an anomaly of a widened history against the promises of the cells it may belong to: the weakest holds."""
    rulings = [_rule_cell(cell, anomaly, history, promise_of) for cell in cells_of(anomaly)]
    return min(rulings, key=lambda ruling: (ruling.standing, len(ruling.rounds)))


def cells_of(anomaly: Anomaly) -> tuple[Cell, ...]:
    """The cells that an anomaly may belong to, one for each setting of the axes that it leaves open."""
    axes = PROPERTY_AXES.get(anomaly.property_id, ())
    known = {
        "publish": _one(PUBLISHES.get(anomaly.publish), _OF_PUBLISHES),
        "state": _one(anomaly.state, STATES),
        "observer": _one(OBSERVERS.get(anomaly.observer), _OF_OBSERVERS),
        "age": ("fresh",),
        "contenders": ("2" if len({lane for lane, _ in anomaly.steps}) <= 2 else "4",),
    }
    asked = [axis for axis in known if axis in axes]
    direction = f"{anomaly.acting}-{anomaly.observing}" if anomaly.acting and anomaly.observing else ALL_SITES
    return tuple(
        make_cell(anomaly.property_id, direction, **dict(zip(asked, values, strict=True)))
        for values in product(*(known[axis] for axis in asked))
    )


def _one(value: str | None, otherwise: tuple[str, ...]) -> tuple[str, ...]:
    return (value,) if value else otherwise


def _rule_cell(cell: Cell, anomaly: Anomaly, history: RoundHistory, promise_of: PromiseOf) -> Ruling:
    try:
        promise = promise_of(cell)
    except CannotTestError:  # the profile says nothing about this cell
        return Ruling(Standing.OBSERVED, anomaly.rounds)
    if promise.strength in (Strength.NOT_PROMISED, Strength.UNSUPPORTED):
        return Ruling(Standing.OBSERVED, anomaly.rounds)
    if promise.strength is not Strength.WITHIN or not anomaly.staleness_ns:
        return Ruling(Standing.BROKEN, anomaly.rounds)
    limit = allowance_ns(promise, longest_look_ns(history, anomaly.observing))
    late = tuple(
        number for number, stale in zip(anomaly.rounds, anomaly.staleness_ns, strict=True) if stale > limit
    )  # fmt: skip
    return Ruling(Standing.BROKEN, late) if late else Ruling(Standing.ALLOWED)


def allowance_ns(promise: Promise, longest_look: int) -> int:
    """N and its slack, ns: what the profile says, else 20 ms + the longest cache-filling look + 1 % of N."""
    bound = round(promise.bound_s * 1e9)
    if promise.slack_s is not None:
        return bound + round(promise.slack_s * 1e9)
    return bound + SLACK_NS + longest_look + bound // 100


def longest_look_ns(history: RoundHistory, site: str) -> int:
    """The longest single look at one site (all sites where it is empty) that came back, ns."""
    longest = 0
    for lane, columns in zip(history.program.lanes, history.lanes, strict=True):
        if site and lane.site != site:
            continue
        for number, step in enumerate(lane.steps):
            if step.kind in LOOKS and step.kind != "watch":
                took = (columns.returned - columns.invoked)[:, number]
                longest = max(longest, int(took[columns.returned[:, number] < INF].max(initial=0)))
    return longest
