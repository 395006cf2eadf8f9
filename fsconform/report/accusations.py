"""What a violated cell or a finding is told with: expected, got, where, how, and how to see it again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fsconform.report.digest import outcomes_text
from fsconform.report.escaping import shorten_keys, visible
from fsconform.report.numbers import duration_text
from fsconform.report.verdict_text import TOPOLOGY_WORDS, place_of, repeat_command
from fsconform.vocabulary.cells import ALL_SITES
from fsconform.vocabulary.findings import Finding
from fsconform.vocabulary.observations import Witness
from fsconform.vocabulary.programs import Program
from fsconform.vocabulary.promises import Strength
from fsconform.vocabulary.properties import PROPERTIES
from fsconform.vocabulary.records import RunRecord
from fsconform.vocabulary.steps import KINDS, Step
from fsconform.vocabulary.verdicts import CellResult, Verdict

_CONTROL = frozenset(name for name, kind in KINDS.items() if kind.family == "control")
"""Steps that say nothing about the filesystem."""
_WIRE_FIELDS = 11
"""Length of `Step.to_wire()`."""


@dataclass(frozen=True, slots=True)
class Moment:
    """One event of a witness: when (since the first event), where, what, with which result."""

    when: str
    where: str
    what: str
    result: str


@dataclass(frozen=True, slots=True)
class Accusation:
    """One violation, told. All texts are printable, one line each."""

    title: str
    property_id: str
    question: str
    expected: str
    got: str
    where: str
    breaks: str
    source: str
    story: str
    program: tuple[str, ...]
    timeline: tuple[Moment, ...]
    again: str


def accusations_of(record: RunRecord) -> tuple[Accusation, ...]:
    """One per violated cell, then one per promised finding of the search."""
    cells = [_of_cell(record, result) for result in record.cells if result.verdict is Verdict.VIOLATED]
    return (*cells, *(_of_finding(record, finding) for finding in record.search.findings if finding.promised))


def _of_cell(record: RunRecord, result: CellResult) -> Accusation:
    witness = result.observation.witness
    story = visible(witness.story) if witness else ""
    reason, outcomes = visible(result.judgement.reason), outcomes_text(result)
    got = [reason, "" if outcomes in reason else outcomes]
    return Accusation(
        title=result.cell.id, property_id=result.cell.property_id, question=_question(result.cell.property_id),
        expected=_expected(result), got="; ".join(filter(None, got)), where=_where(record, result),
        breaks=_breaks(result.cell.property_id), source=visible(result.promise.source),
        story=story if story not in reason else "", program=_program_lines(witness),
        timeline=_timeline(witness), again=repeat_command(record, result.cell.id),
    )  # fmt: skip


def _of_finding(record: RunRecord, finding: Finding) -> Accusation:
    sites = ", ".join(f"{site.letter} {place_of(site)}" for site in record.sites)
    return Accusation(
        title=f"search: {visible(finding.kind)}", property_id=finding.property_id,
        question=_question(finding.property_id), expected="that it never happens",
        got=f"{finding.failures} of {finding.rounds} rounds of the smallest program", where=sites,
        breaks=_breaks(finding.property_id), source=_property_source(finding.property_id), story=visible(finding.story),
        program=_program_lines(finding.witness), timeline=_timeline(finding.witness), again=repeat_command(record),
    )  # fmt: skip


def _question(property_id: str) -> str:
    return PROPERTIES[property_id].question if property_id in PROPERTIES else ""


def _breaks(property_id: str) -> str:
    return PROPERTIES[property_id].breaks if property_id in PROPERTIES else ""


def _property_source(property_id: str) -> str:
    return PROPERTIES[property_id].source if property_id in PROPERTIES else ""


def _expected(result: CellResult) -> str:
    promise = result.promise
    if promise.strength is Strength.WITHIN and promise.bound:
        bound = promise.bound
        note = f": {visible(bound.note)}" if bound.note else ""
        return f"seen within {bound.seconds:g} s ({visible(bound.name)}, {bound.origin.value}{note})"
    if promise.strength is Strength.UNSUPPORTED:
        return f"refused with {' or '.join(map(visible, promise.errnos))}"
    if result.observation.kind == "latency":
        return f"{promise.strength.value}: every look after the change sees it"
    return str(promise.strength.value)


def _where(record: RunRecord, result: CellResult) -> str:
    cell, paths = result.cell, {site.letter: place_of(site) for site in record.sites}
    kind = TOPOLOGY_WORDS.get(result.topology, visible(result.topology))
    if cell.direction == ALL_SITES:
        return f"all sites ({', '.join(f'{letter} {path}' for letter, path in paths.items())}); {kind}"
    acting, observing = cell.acting, cell.observing
    return (
        f"{acting} ({paths.get(acting, '?')}) acts, {observing} ({paths.get(observing, '?')}) observes; {kind}"
        if acting != observing
        else f"both at {acting} ({paths.get(acting, '?')}); {kind}"
    )


def _program_lines(witness: Witness | None) -> tuple[str, ...]:
    if witness is None:
        return ()
    try:
        text = str(Program.from_json(dict(witness.program)))
    except (KeyError, TypeError, ValueError):
        return tuple(f"{visible(key)}: {_described(value)}" for key, value in witness.program.items())
    return tuple(shorten_keys(visible(line)) for line in text.split("\n"))


def _described(value: Any) -> str:
    """A value of a trial's description; steps in their wire form are read back."""
    if isinstance(value, list | tuple):
        if len(value) == _WIRE_FIELDS and isinstance(value[0], str):
            try:
                return shorten_keys(visible(str(Step.from_wire(tuple(value)))))
            except (TypeError, ValueError):
                pass
        return "; ".join(map(_described, value))
    return shorten_keys(visible(str(value)))


def _timeline(witness: Witness | None) -> tuple[Moment, ...]:
    if witness is None:
        return ()
    return tuple(_moment(event) for event in witness.events if event.get("step") not in _CONTROL)


def _moment(event: Mapping[str, Any]) -> Moment:
    paths = [shorten_keys(visible(str(event[key]))) for key in ("path", "other") if event.get(key)]
    result = visible(str(event.get("errno", "")))
    if result == "ok" and event.get("value"):
        result = f"ok, {event['value']}"
    where = f"{visible(str(event.get('site', '?')))}{visible(str(event.get('worker', '')))}"
    return Moment(
        _when(event.get("invoked_ns")), where, f"{visible(str(event.get('step', '?')))}({' -> '.join(paths)})", result
    )


def _when(invoked_ns: object) -> str:
    if not isinstance(invoked_ns, int):
        return ""
    sign = "-" if invoked_ns < 0 else "+"
    return f"{sign}{duration_text(abs(invoked_ns) / 1e9)}" if invoked_ns else "0"
