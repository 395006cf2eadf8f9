"""The rows of a run as all formats for people show them: by family, worst first, both directions in one row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from fsconform.judging.statistics import rate_text
from fsconform.judging.summary import summarise_latency
from fsconform.report.escaping import visible
from fsconform.report.numbers import duration_text, span_text
from fsconform.vocabulary.cells import ALL_SITES
from fsconform.vocabulary.promises import Promise, Strength
from fsconform.vocabulary.records import RunRecord
from fsconform.vocabulary.verdicts import CellResult, Verdict

WORST_FIRST = (
    Verdict.VIOLATED,
    Verdict.INCONCLUSIVE,
    Verdict.KEPT,
    Verdict.OBSERVED,
    Verdict.NOT_APPLICABLE,
)


@dataclass(frozen=True, slots=True)
class Row:
    """One or more cells that differ in direction only and ended alike. All texts are printable, one line."""

    verdict: Verdict
    name: str
    """The cell id without its family, and without direction where the row covers all that the run has."""
    directions: tuple[str, ...]
    promised: str
    seen: str
    since_prime: str
    """Age of the observer's cache entry when the change was seen; empty where nothing was primed."""
    reason: str
    cell_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Family:
    """The rows of one family, worst first."""

    name: str
    rows: tuple[Row, ...]
    counts: Counter[Verdict]
    """Cells per verdict."""

    @property
    def tally(self) -> str:
        """`1 violated, 14 kept`."""
        return ", ".join(f"{self.counts[verdict]:,} {verdict.value}" for verdict in WORST_FIRST if self.counts[verdict])


def families_of(record: RunRecord) -> tuple[Family, ...]:
    """All families with cells: those with the worst verdicts first, else in order of appearance."""
    by_family: dict[str, list[CellResult]] = {}
    for result in record.cells:
        by_family.setdefault(result.cell.family, []).append(result)
    directions = {result.cell.direction for result in record.cells} - {ALL_SITES}
    families = [
        Family(name, _rows(results, len(directions) > 1), Counter(result.verdict for result in results))
        for name, results in by_family.items()
    ]
    return tuple(sorted(families, key=_badness))


def _badness(family: Family) -> int:
    return min(WORST_FIRST.index(verdict) for verdict in family.counts)


def _rows(results: Sequence[CellResult], several: bool) -> tuple[Row, ...]:
    """`several`: whether the run has more than one direction."""

    def alike(result: CellResult) -> tuple[int, str, str, str]:
        rank = WORST_FIRST.index(result.verdict)
        alone = result.cell.direction if result.verdict in WORST_FIRST[:2] else ""
        return rank, _label(result), promised_text(result.promise), alone

    return tuple(_row(tuple(group), several) for _, group in groupby(sorted(results, key=alike), key=alike))


def _row(results: tuple[CellResult, ...], several: bool) -> Row:
    first = results[0]
    alone = several and len(results) == 1 and first.cell.direction != ALL_SITES
    return Row(
        verdict=first.verdict,
        name=f"{_label(first)}/{first.cell.direction}" if alone else _label(first),
        directions=tuple(result.cell.direction for result in results),
        promised=promised_text(first.promise),
        seen=seen_text(results),
        since_prime=_primed(results),
        reason=_reasons(results),
        cell_ids=tuple(result.cell.id for result in results),
    )


def _reasons(results: tuple[CellResult, ...]) -> str:
    reasons = dict.fromkeys(visible(result.judgement.reason) for result in results)
    if len(reasons) == 1:
        return next(iter(reasons))
    return "; ".join(f"{result.cell.direction}: {visible(result.judgement.reason)}" for result in results)


def _label(result: CellResult) -> str:
    return result.cell.id.removeprefix(f"{result.cell.family}.").removesuffix(f"/{result.cell.direction}")


def promised_text(promise: Promise) -> str:
    """`within 5 s`, `guaranteed`, `refused: EINVAL`."""
    if promise.strength is Strength.WITHIN:
        return f"within {promise.bound_s:g} s"
    if promise.strength is Strength.UNSUPPORTED:
        return f"refused: {'|'.join(map(visible, promise.errnos))}"
    return str(promise.strength.value)


def seen_text(results: tuple[CellResult, ...]) -> str:
    """What was seen in cells that differ in direction only, in a few figures."""
    kind = results[0].observation.kind
    if kind == "latency":
        return _latency_seen(results)
    if kind == "support":
        return ", ".join(dict.fromkeys(visible(result.observation.refused) for result in results))
    if results[0].verdict is Verdict.OBSERVED:
        return ", ".join(dict.fromkeys(map(outcomes_text, results)))
    return ", ".join(dict.fromkeys(rate_of(result) for result in results))


def _latency_seen(results: tuple[CellResult, ...]) -> str:
    summaries = [summary for result in results if (summary := summarise_latency(result.observation))]
    if all(summary.since_change.lo.max == 0 and not summary.never for summary in summaries):
        longest = max(summary.since_change.hi.max or 0.0 for summary in summaries)
        return f"at once, max {duration_text(longest)}"
    hits = [summary.since_change.hi for summary in summaries]
    medians = tuple(hit.p50 for hit in hits if hit.p50 is not None)
    words = [span_text(medians)] if medians else []
    never, trials = sum(summary.never for summary in summaries), sum(hit.n for hit in hits)
    if never:
        words.append(f"{never} of {trials} never")
    elif words:
        words.append(f"max {duration_text(max(hit.max or 0.0 for hit in hits))}")
    if flickers := sum(summary.flickers for summary in summaries):
        words.append(f"gone again {flickers} times")
    convicted = sum(result.judgement.violations for result in results if result.verdict is Verdict.VIOLATED)
    if convicted and convicted != never:
        words.append(f"{convicted} of {trials} late")
    return ", ".join(words)


def _primed(results: tuple[CellResult, ...]) -> str:
    summaries = [summary for result in results if (summary := summarise_latency(result.observation))]
    primed = [summary.since_prime.hi.p50 for summary in summaries if summary.since_prime]
    medians = tuple(median for median in primed if median is not None)
    return span_text(medians) if medians else ""


def rate_of(result: CellResult) -> str:
    """`0 of 300 (< 1 % at 95 %)`: trials that convict, of the informative ones (of all, where a refusal convicts)."""
    count, observation = result.judgement.violations, result.observation
    trials = observation.informative if count <= observation.informative else max(count, observation.attempted)
    return rate_text(count, trials)


def outcomes_text(result: CellResult) -> str:
    """`1 winner 300, no overlap 12`: every trial, counted once."""
    return ", ".join(f"{visible(word)} {count:,}" for word, count in result.observation.outcomes.items())
