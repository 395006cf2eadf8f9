"""What was asked, as the page shows it: families of questions, rows of settings, and all that a row opens to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from fsconform.judging.summary import summarise_latency
from fsconform.report.accusations import Accusation, expected_text, first_titles, roles_text
from fsconform.report.asides import CureRow, cure_rows
from fsconform.report.curves import curve_of
from fsconform.report.digest import WORST_FIRST, Row, families_of, outcomes_text
from fsconform.report.html.charts import Series, latency_chart
from fsconform.report.html.lanes import Picture, picture_of
from fsconform.report.html.words import setting_text
from fsconform.report.numbers import count_text, duration_text
from fsconform.report.verdict_text import TOPOLOGY_WORDS, breaks_where_broken, repeat_command
from fsconform.report.witnesses import Moment, program_lines, timeline
from fsconform.vocabulary.observations import INF_NS, Witness
from fsconform.vocabulary.promises import Promise, Strength
from fsconform.vocabulary.properties import PROPERTIES
from fsconform.vocabulary.records import RunRecord
from fsconform.vocabulary.verdicts import CellResult, Verdict

Draw = Callable[[Row, Sequence[Series]], Markup | None]
"""The chart of a row, or None where the page has no room for it."""
_PROMISED = frozenset({Strength.GUARANTEED, Strength.WITHIN})


@dataclass(frozen=True, slots=True)
class Proof:
    """A witness, told: the picture, the events it is made of, and the smallest program known."""

    accuses: bool
    """Whether it shows that a promise is broken."""
    story: str
    picture: Picture | None
    moments: tuple[Moment, ...]
    program: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """One cell of a row."""

    cell_id: str
    roles: str
    reason: str
    trials: str
    outcomes: str
    figures: str
    cures: tuple[CureRow, ...]
    shots: Mapping[str, str]
    proof: Proof | None
    again: str


@dataclass(frozen=True, slots=True)
class Asked:
    """One row: a question under one setting, in all directions that ended alike."""

    row: Row
    anchor: str
    family: str
    axes: tuple[tuple[str, str], ...]
    setting: str
    """What the axes and the topology mean, a sentence."""
    expected: str
    promise: Promise
    breaks: str
    series: tuple[Series, ...]
    chart: Markup | None
    parts: tuple[Part, ...]
    open: bool


@dataclass(frozen=True, slots=True)
class Question:
    """One property, with its rows, worst first."""

    id: str
    text: str
    rows: tuple[Asked, ...]
    tally: str


def questions_of(record: RunRecord, accusations: tuple[Accusation, ...], draw: Draw) -> tuple[Question, ...]:
    """All questions, those with the worst verdicts first. The first violated row of each is open."""
    results = {result.cell.id: result for result in record.cells}
    heads = first_titles(accusations)
    grouped: dict[str, list[Asked]] = {}
    for family in families_of(record):
        for row in family.rows:
            found = [results[cell_id] for cell_id in row.cell_ids]
            grouped.setdefault(found[0].cell.property_id, []).append(_asked(record, row, found, heads, draw))
    ordered = sorted(grouped.items(), key=lambda item: min(WORST_FIRST.index(asked.row.verdict) for asked in item[1]))
    return tuple(Question(name, _text(name), tuple(rows), _tally(rows)) for name, rows in ordered)


def anchor_of(cell_id: str) -> str:
    """Where on the page a cell stands."""
    return f"cell-{cell_id.replace('/', ',')}"


def _text(property_id: str) -> str:
    return PROPERTIES[property_id].question if property_id in PROPERTIES else ""


def _tally(rows: Sequence[Asked]) -> str:
    counts = [(v, sum(len(asked.parts) for asked in rows if asked.row.verdict is v)) for v in WORST_FIRST]
    return ", ".join(f"{count:,} {verdict.value}" for verdict, count in counts if count)


def _asked(record: RunRecord, row: Row, results: Sequence[CellResult], heads: frozenset[str], draw: Draw) -> Asked:
    first = results[0]
    series = tuple(_series(results))
    return Asked(
        row=row, anchor=anchor_of(first.cell.id), family=first.cell.family, axes=first.cell.axes,
        setting=_sentence(setting_text(first.cell), TOPOLOGY_WORDS.get(first.topology, first.topology)),
        expected=expected_text(first), promise=first.promise, breaks=breaks_where_broken(first), series=series,
        chart=draw(row, series) if any(one.curve.missed for one in series) else None,
        parts=tuple(_part(record, result) for result in results), open=first.cell.id in heads,
    )  # fmt: skip


def _sentence(*clauses: str) -> str:
    told = "; ".join(filter(None, clauses))
    return f"{told[:1].upper()}{told[1:]}."


def _series(results: Sequence[CellResult]) -> Iterator[Series]:
    for result in results:
        if curve := curve_of(result.observation.latency):
            promised = result.promise.bound_s if result.promise.strength in _PROMISED else None
            yield Series(result.cell.direction, curve, promised)


def draw_chart(row: Row, series: Sequence[Series]) -> Markup:
    """The curves of a row."""
    return Markup(latency_chart(series))


def _part(record: RunRecord, result: CellResult) -> Part:
    observation, figures = result.observation, _figures(result)
    trials = f"{count_text(observation.informative, 'informative trial')} of {observation.attempted:,}"
    return Part(
        cell_id=result.cell.id, roles=roles_text(result), reason=result.judgement.reason, trials=trials,
        outcomes=outcomes_text(result), figures=_sentence(figures) if figures else "",
        cures=cure_rows((result,)),
        shots={delay: f"{hits} of {looks}" for delay, (hits, looks) in observation.single_shot.items()},
        proof=_proof(result), again=repeat_command(record, result.cell.id),
    )  # fmt: skip


def _figures(result: CellResult) -> str:
    """The latency of a cell in a sentence."""
    observation, summary = result.observation, summarise_latency(result.observation)
    if summary is None:
        return ""
    lo, hi = summary.since_change.lo, summary.since_change.hi
    if all(trial.lo == 0 and trial.hi < INF_NS for trial in observation.latency):
        return f"no look after the change missed it; first looks began up to {duration_text(hi.max or 0.0)} after it"
    still = f"half of {hi.n:,} trials still missed {duration_text(lo.p50 or 0.0)} after the change"
    seen = "and never saw it while watched" if hi.p50 is None else f"and had seen it by {duration_text(hi.p50)}"
    longest = f"{summary.never:,} never saw it" if summary.never else f"the longest took {duration_text(hi.max or 0.0)}"
    gone = f"; {count_text(summary.flickers, 'look')} missed it again later" if summary.flickers else ""
    return f"{still} {seen}; {longest}{gone}"


def _proof(result: CellResult) -> Proof | None:
    """The witness where there is something to prove: kept cells have none, whatever their latest look saw."""
    witness = result.observation.witness
    if witness is None or result.verdict not in (Verdict.VIOLATED, Verdict.OBSERVED):
        return None
    return proof_of(witness, accuses=result.verdict is Verdict.VIOLATED)


def proof_of(witness: Witness, accuses: bool) -> Proof:
    """A witness, told."""
    return Proof(accuses, witness.story, picture_of(witness), timeline(witness), program_lines(witness))
