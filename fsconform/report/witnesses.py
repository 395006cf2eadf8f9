"""Witnesses as people read them: the program, one line per worker, and the events, one line each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fsconform.report.escaping import shorten_keys, visible
from fsconform.report.numbers import duration_text
from fsconform.vocabulary.blocks import content_of, version_of
from fsconform.vocabulary.observations import Witness
from fsconform.vocabulary.programs import Lane, Program
from fsconform.vocabulary.steps import CONTENT_LOOKS, KINDS

CONTROL = frozenset(name for name, kind in KINDS.items() if kind.family == "control")
"""Steps that say nothing about the filesystem."""
_MEETING = "(at each | all workers wait for one another)"


@dataclass(frozen=True, slots=True)
class Moment:
    """One event of a witness: when (since the first event), where, what, with which result."""

    when: str
    where: str
    what: str
    result: str


def program_lines(witness: Witness | None) -> tuple[str, ...]:
    """One line per worker; a description that is no program comes back as its entries."""
    if witness is None:
        return ()
    try:
        program = Program.from_json(dict(witness.program))
    except (KeyError, TypeError, ValueError):
        return tuple(shorten_keys(visible(f"{key}: {value}")) for key, value in witness.program.items())
    lines = [_lane_line(number, lane) for number, lane in enumerate(program.lanes)]
    meets = any(step.kind == "barrier" for lane in program.lanes for step in lane.steps)
    return (*lines, _MEETING) if meets else tuple(lines)


def _lane_line(number: int, lane: Lane) -> str:
    words = ["|" if step.kind == "barrier" else str(step) for step in lane.steps]
    return shorten_keys(visible(f"{lane.site}{number}: {' '.join(words)}"))


def timeline(witness: Witness | None) -> tuple[Moment, ...]:
    """The events in their order, without those that only wait."""
    if witness is None:
        return ()
    events = [event for event in witness.events if event.get("step") not in CONTROL]
    start = min((event["invoked_ns"] for event in events if type(event.get("invoked_ns")) is int), default=0)
    return tuple(_moment(event, start) for event in events)


def timeline_line(moments: tuple[Moment, ...], most: int = 6) -> str:
    """The last events in one line: `b1 stat(…) ENOENT; a0 rename(…) ok, +896 µs`."""
    shown = [" ".join(filter(None, (m.where, m.what, m.result, m.when and f"at {m.when}"))) for m in moments[-most:]]
    return "; ".join(["…"] * (len(moments) > most) + shown)


def _moment(event: Mapping[str, Any], start: int) -> Moment:
    paths = [shorten_keys(visible(str(event[key]))) for key in ("path", "other") if event.get(key)]
    where = f"{visible(str(event.get('site', '?')))}{visible(str(event.get('worker', '')))}"
    what = f"{visible(str(event.get('step', '?')))}({' -> '.join(paths)})"
    return Moment(_when(event.get("invoked_ns"), start), where, what, result_of(event))


def result_of(event: Mapping[str, Any]) -> str:
    """What an operation was told: `ENOENT`, `ok`, `ok, torn`, `ok, 4096`. Printable, one line."""
    result, value = visible(str(event.get("errno", ""))), event.get("value")
    if result != "ok":
        return result
    if event.get("step") in CONTENT_LOOKS and isinstance(value, int):
        return f"ok, {_content(value)}"
    return f"ok, {visible(str(value))}" if value else "ok"


def _content(value: int) -> str:
    try:
        kind = content_of(value).name.lower()
    except ValueError:
        return str(value)
    version = version_of(value)
    return f"{kind} version {version}" if version else kind


def _when(invoked_ns: object, start: int) -> str:
    if type(invoked_ns) is not int:
        return ""
    return f"+{duration_text((invoked_ns - start) / 1e9)}" if invoked_ns > start else "0"
