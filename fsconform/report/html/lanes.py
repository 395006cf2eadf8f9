"""Witnesses as pictures: a lane per worker, its operations in their exact order, what cannot be together marked.

Real lengths would hide everything: operations take microseconds and what lies between them takes seconds. So
only the order of all beginnings and ends is to scale, with their clock errors; times stand below.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import merge
from posixpath import basename
from typing import Any

from fsconform.report.escaping import shorten_keys, visible
from fsconform.report.numbers import duration_text
from fsconform.report.witnesses import CONTROL, result_of
from fsconform.vocabulary.histories import UNKNOWN_ERROR
from fsconform.vocabulary.observations import Witness

MOST = 10
"""Operations that one picture can hold; of more those that tell the contradiction are drawn."""
LANE, BOX, HEAD, LEFT = 84, 62, 20, 96
"""Heights of a lane, of a box in it, and of what stands above; width of the lanes' names. All in pixels."""
_LETTER, _PADDING, _NARROWEST, _WIDEST = 6.8, 20, 72, 200
_STEP, _BREAK, _TICK = 9, 110, 76
"""Pixels between two moments, where a long time lies between them, and that a time needs to be read."""
_NEVER_RETURNED = ("HUNG", "LOST")


@dataclass(frozen=True, slots=True)
class Box:
    """One operation. All texts are printable, one line each; pixels."""

    lane: int
    left: float
    right: float
    kind: str
    name: str
    result: str
    told: str
    """All of it in one line."""
    state: str
    """`done`, `told` (an errno), `open` (never returned) or `guilty`."""
    early: float
    """Left end of the clock error bar; equals `left` where there is none."""
    late: float

    @property
    def open(self) -> bool:
        """Whether it never returned."""
        return self.state == "open"


@dataclass(frozen=True, slots=True)
class Mark:
    """A text on the axis of time."""

    at: float
    text: str


@dataclass(frozen=True, slots=True)
class Picture:
    """A timeline, laid out."""

    width: float
    lanes: tuple[str, ...]
    boxes: tuple[Box, ...]
    ticks: tuple[Mark, ...]
    breaks: tuple[Mark, ...]
    """Where a long time is cut out, and how long it was."""
    link: tuple[Box, Box, str] | None
    """The two that contradict one another over a time, and the time."""
    omitted: int
    error: str
    """The clock error of the events, in words."""

    @property
    def height(self) -> int:
        """Pixels, the axis included."""
        return HEAD + LANE * len(self.lanes) + 40

    def top(self, lane: int) -> int:
        """Upper edge of the boxes of a lane."""
        return HEAD + LANE * lane + (LANE - BOX) // 2

    @property
    def description(self) -> str:
        """The picture in words, for who cannot see it."""
        return "; ".join(box.told for box in self.boxes)


@dataclass(slots=True)
class _Drawn:
    """An event while it is laid out; times in ns."""

    event: Mapping[str, Any]
    lane: int
    invoked: int
    returned: int | None
    error: int
    width: float
    left: float = 0.0
    right: float = 0.0
    early: float = 0.0
    late: float = 0.0

    @property
    def hung(self) -> bool:
        return self.event.get("errno") in _NEVER_RETURNED

    @property
    def guilty(self) -> bool:
        return bool(self.event.get("guilty"))


def picture_of(witness: Witness | None) -> Picture | None:
    """The timeline of a witness; None where it has no events with times."""
    events = [event for event in witness.events if _drawable(event)] if witness else []
    if not events:
        return None
    chosen = _chosen(events)
    workers = sorted({(event.get("worker", 0), str(event.get("site", "?"))) for event in chosen}, key=str)
    lanes = {worker: number for number, worker in enumerate(workers)}
    drawn = [_begin(event, lanes[event.get("worker", 0), str(event.get("site", "?"))]) for event in chosen]
    width, breaks = _lay_out(drawn)
    start = drawn[0].invoked
    boxes = tuple(_box(one, start, width) for one in drawn)
    return Picture(
        width + 16, tuple(f"worker {visible(str(worker))} at {visible(site)}" for worker, site in workers), boxes,
        tuple(_ticks(drawn)), breaks, _link(drawn, boxes, breaks), len(events) - len(chosen), _error_text(drawn),
    )  # fmt: skip


def _drawable(event: Mapping[str, Any]) -> bool:
    never = event.get("step") in CONTROL or event.get("errno") == "NOT_RUN"
    return not never and type(event.get("invoked_ns")) is int


def _chosen(events: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """In order of invocation; of too many those that are about the same names as the guilty ones, the nearest first."""
    ordered = sorted(events, key=lambda event: int(event["invoked_ns"]))
    guilty = [number for number, event in enumerate(ordered) if event.get("guilty")] or [0]
    names = set[object]().union(*(_paths(ordered[number]) for number in guilty))

    def distance(number: int) -> tuple[bool, int]:
        related = number in guilty or bool(names & _paths(ordered[number]))
        return not related, min(abs(number - one) for one in guilty)

    return [ordered[number] for number in sorted(sorted(range(len(ordered)), key=distance)[:MOST])]


def _paths(event: Mapping[str, Any]) -> set[object]:
    return {str(event[key]) for key in ("path", "other") if event.get(key)}


def _begin(event: Mapping[str, Any], lane: int) -> _Drawn:
    returned = event.get("returned_ns")
    error = event.get("error_ns", 0)
    texts = (str(event.get("step", "?")), _name(event), result_of(event))
    width = max(map(len, texts)) * _LETTER + _PADDING
    return _Drawn(
        event, lane, int(event["invoked_ns"]), returned if type(returned) is int else None,
        error if type(error) is int and error < UNKNOWN_ERROR else 0, min(_WIDEST, max(_NARROWEST, width)),
    )  # fmt: skip


def _name(event: Mapping[str, Any]) -> str:
    names = [shorten_keys(visible(basename(str(event[key])))) for key in ("path", "other") if event.get(key)]
    return " → ".join(names)


def _lay_out(drawn: Sequence[_Drawn]) -> tuple[float, tuple[Mark, ...]]:
    """Give every moment its place, left to right; returns the right end and what is cut out."""
    moments = list(_moments(drawn))
    span = moments[-1][0] - moments[0][0]
    at, before, breaks = float(LEFT), moments[0][0], []
    for time, rank, one in moments:
        if span and (time - before) * 4 >= span and rank <= _BEGIN:
            breaks.append(Mark(at + _BREAK / 2, duration_text((time - before) / 1e9)))
            at += _BREAK
        at, before = _place(one, rank, at + _STEP), time
    return max(at, *(one.left + one.width for one in drawn)) + _STEP, tuple(breaks)


_Moment = tuple[int, int, _Drawn]
_EARLY, _BEGIN, _END, _LATE = range(4)
"""Moments of an operation: its earliest beginning, its beginning, its end, its latest end. In this order at one time:
operations that touch are concurrent."""


def _moments(drawn: Sequence[_Drawn]) -> Iterator[_Moment]:
    """(ns, which moment, operation) in order. A worker's own operations never overlap: their order is exact."""
    lanes = [list(_of_lane(one for one in drawn if one.lane == lane)) for lane in sorted({one.lane for one in drawn})]
    errors = [(one.invoked - one.error, _EARLY, one) for one in drawn if one.error]
    errors += [(_end_of(one) + one.error, _LATE, one) for one in drawn if one.error and not one.hung]
    return merge(*lanes, sorted(errors, key=_order), key=_order)


def _order(moment: _Moment) -> tuple[int, int]:
    return moment[:2]


def _of_lane(drawn: Iterable[_Drawn]) -> Iterator[_Moment]:
    now = -UNKNOWN_ERROR
    for one in drawn:
        now = max(now, one.invoked)
        yield now, _BEGIN, one
        if not one.hung:
            now = max(now, _end_of(one))
            yield now, _END, one


def _end_of(one: _Drawn) -> int:
    return one.invoked if one.returned is None else max(one.invoked, one.returned)


def _place(one: _Drawn, rank: int, at: float) -> float:
    """Put one moment of an operation at `at`, or further right where its box needs the room; returns its place."""
    if rank == _EARLY:
        one.early = at
    elif rank == _LATE:
        one.late = at
    elif rank == _BEGIN:
        one.left = at
    else:
        at = one.right = max(at, one.left + one.width)
    return at


def _box(one: _Drawn, start: int, width: float) -> Box:
    event, told = one.event, result_of(one.event)
    kind, name = visible(str(event.get("step", "?"))), _name(event)
    if one.hung:
        one.right = width
    state = "guilty" if one.guilty else "open" if one.hung else "done" if event.get("errno") == "ok" else "told"
    letters = int((one.width - _PADDING) / _LETTER) + 1
    where = f"worker {visible(str(event.get('worker', '')))} at {visible(str(event.get('site', '?')))}"
    return Box(
        one.lane, one.left, one.right, _cut(kind, letters), _cut(name, letters), _cut(told, letters),
        f"{_when(one.invoked - start)} {where}: {kind}({name}) {told}", state, one.early if one.error else one.left,
        max(one.right, one.late),
    )  # fmt: skip


def _cut(text: str, letters: int) -> str:
    return text if len(text) <= letters else f"{text[: letters - 1]}…"


def _when(ns: int) -> str:
    return f"+{duration_text(ns / 1e9)}" if ns else "0"


def _ticks(drawn: Sequence[_Drawn]) -> Iterator[Mark]:
    """When operations began; of those that stand too close the guilty ones are told first."""
    taken: list[float] = []
    for one in sorted(drawn, key=lambda one: not one.guilty):
        if all(abs(one.left - other) >= _TICK for other in taken):
            taken.append(one.left)
            yield Mark(one.left, _when(one.invoked - drawn[0].invoked))


def _link(drawn: Sequence[_Drawn], boxes: Sequence[Box], breaks: Sequence[Mark]) -> tuple[Box, Box, str] | None:
    """Of two guilty operations with a long time between them."""
    guilty = [(one, box) for one, box in zip(drawn, boxes, strict=True) if one.guilty]
    if len(guilty) < 2:
        return None
    (first, start), (last, end) = guilty[0], guilty[-1]
    if first.returned is None or not any(start.right < gap.at < end.left for gap in breaks):
        return None
    return start, end, f"{duration_text((last.invoked - first.returned) / 1e9)} later"


def _error_text(drawn: Sequence[_Drawn]) -> str:
    if any(one.event.get("error_ns", 0) == UNKNOWN_ERROR for one in drawn):
        return "the clocks could not be compared"
    worst = max(one.error for one in drawn)
    return f"clocks known to ±{duration_text(worst / 1e9)}" if worst else "one clock, no error between workers"
