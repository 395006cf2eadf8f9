"""What a violated cell or a finding is told with: expected, got, where, how, and how to see it again."""

from __future__ import annotations

from dataclasses import dataclass

from fsconform.report.digest import outcomes_text
from fsconform.report.escaping import shorten_keys, visible
from fsconform.report.verdict_text import TOPOLOGY_WORDS, breaks_where_broken, place_of, repeat_command
from fsconform.report.witnesses import Moment, program_lines, timeline
from fsconform.vocabulary.cells import ALL_SITES
from fsconform.vocabulary.findings import Finding
from fsconform.vocabulary.promises import Strength
from fsconform.vocabulary.properties import PROPERTIES
from fsconform.vocabulary.records import RunRecord
from fsconform.vocabulary.verdicts import CellResult, Verdict


@dataclass(frozen=True, slots=True)
class Accusation:
    """One violation, told. All texts are printable, one line each."""

    title: str
    property_id: str
    question: str
    expected: str
    got: str
    roles: str
    """`a acts, b observes`."""
    where: str
    """The same with paths and topology."""
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


def first_titles(accusations: tuple[Accusation, ...]) -> frozenset[str]:
    """The titles of the first accusation of each property: those that are worth telling in full."""
    return frozenset({accusation.property_id: accusation.title for accusation in reversed(accusations)}.values())


def _of_cell(record: RunRecord, result: CellResult) -> Accusation:
    witness = result.observation.witness
    story = shorten_keys(visible(witness.story)) if witness else ""
    reason = shorten_keys(visible(result.judgement.reason))
    got = [reason, outcomes_text(result) if result.observation.kind == "rounds" else ""]
    return Accusation(
        title=result.cell.id, property_id=result.cell.property_id, question=_question(result.cell.property_id),
        expected=expected_text(result), got="; ".join(filter(None, got)), roles=roles_text(result),
        where=_where(record, result), breaks=breaks_where_broken(result), source=visible(result.promise.source),
        story=story if story not in reason else "", program=program_lines(witness),
        timeline=timeline(witness), again=repeat_command(record, result.cell.id),
    )  # fmt: skip


def _of_finding(record: RunRecord, finding: Finding) -> Accusation:
    rate = f"{finding.rate} of the smallest program"
    sites = ", ".join(f"{site.letter} {place_of(site)}" for site in record.sites)
    return Accusation(
        title=f"search: {visible(finding.kind)}", property_id=finding.property_id,
        question=_question(finding.property_id), expected="that it never happens",
        got=f"{rate}: {shorten_keys(visible(finding.story))}", roles="", where=sites,
        breaks=_breaks(finding.property_id), source=_property_source(finding.property_id), story="",
        program=program_lines(finding.witness), timeline=timeline(finding.witness), again=repeat_command(record),
    )  # fmt: skip


def _question(property_id: str) -> str:
    return PROPERTIES[property_id].question if property_id in PROPERTIES else ""


def _breaks(property_id: str) -> str:
    return PROPERTIES[property_id].breaks if property_id in PROPERTIES else ""


def _property_source(property_id: str) -> str:
    return PROPERTIES[property_id].source if property_id in PROPERTIES else ""


def expected_text(result: CellResult) -> str:
    """What the promise of a cell expects, one line."""
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


def roles_text(result: CellResult) -> str:
    """Who acts and who observes: `a acts, b observes`."""
    cell = result.cell
    if cell.direction == ALL_SITES:
        return "all sites act alike"
    if cell.acting == cell.observing:
        return f"both at {cell.acting}"
    return f"{cell.acting} acts, {cell.observing} observes"


def _where(record: RunRecord, result: CellResult) -> str:
    cell = result.cell
    kind = TOPOLOGY_WORDS.get(result.topology, visible(result.topology))
    places = [f"{site.letter} {place_of(site)}" for site in record.sites
              if cell.direction == ALL_SITES or site.letter in (cell.acting, cell.observing)]  # fmt: skip
    return f"{roles_text(result)}: {', '.join(places)} ({'one client' if len(places) == 1 else kind})"
