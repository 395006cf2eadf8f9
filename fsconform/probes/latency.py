"""From the looks of latency trials to an observation: lo convicts, hi acquits.

lo = invocation of the last look that missed, minus return of the change; hi = invocation of the first hit after it,
minus return of the change; the clock error on the safe side of both. Since the prime: the entry was filled somewhere
in [prime invoked, prime returned], so its age at the last miss is at least `last miss - prime returned` and at the
first hit at most `first hit - prime invoked`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from fsconform.vocabulary.errnos import OK, name_of
from fsconform.vocabulary.observations import INF_NS, Cure, LatencyTrial, Observation, Witness
from fsconform.vocabulary.programs import Lane, Program
from fsconform.vocabulary.steps import LOOKS, Step
from fsconform.vocabulary.trials import Trial, TrialResult

WATCH = "watch"
READ_ONLY_CURES = LOOKS | {"open", "close"}
"""A cure made of these has no side effect on the filesystem (every `open` of a cure is O_RDONLY)."""


def measure(result: TrialResult) -> LatencyTrial | None:
    """The interval of one trial; None where no look began after the change had returned."""
    changed, error = result.change_returned, result.error_ns
    if changed is None or result.last_look is None or result.last_look <= changed + error:
        return None
    lo = 0 if result.last_miss is None else max(0, result.last_miss - changed - error)
    hi = INF_NS if result.first_hit is None else max(0, result.first_hit - changed + error)
    since_lo = since_hi = None
    if result.prime_invoked is not None and result.prime_returned is not None:
        since_lo = 0 if result.last_miss is None else max(0, result.last_miss - result.prime_returned)
        since_hi = INF_NS if result.first_hit is None else max(0, result.first_hit - result.prime_invoked)
    return LatencyTrial(lo, hi, result.last_look - changed, since_lo, since_hi, result.flickers)


def _disturbance(result: TrialResult) -> str:
    """Why a trial says nothing about its cell; empty where it does."""
    if result.lost:
        return f"lost: {result.lost}"
    if result.change_errno != OK:
        return f"change refused: {name_of(result.change_errno)}"
    if result.change_returned is None or result.change_invoked is None:
        return "not performed"
    if result.clock_fault:
        return result.clock_fault
    if result.trial.prime:
        # The acting site waits for the prime: only an order that the clocks prove can be against it.
        if result.prime_returned is None or result.prime_returned - result.error_ns >= result.change_invoked:
            return "prime too late"
        if result.trial.want.hit(result.prime_errno, result.prime_value):
            return "prime already saw the change"
    return ""


def _outcome(result: TrialResult, interval: LatencyTrial) -> str:
    if interval.flickers:
        return "seen, then unseen again"
    if interval.hi >= INF_NS:
        return "never seen" if result.others == () else f"never seen, {_names(result)}"
    if result.others:
        return f"seen, {_names(result)} before"
    return "seen at the first look" if interval.lo == 0 else "seen late"


def _names(result: TrialResult) -> str:
    return " and ".join("wrong content" if number == OK else name_of(number) for number, _ in result.others)


def observe(results: Sequence[TrialResult]) -> Observation:
    """All trials of one cell, watches, single shots and cures together, as one observation."""
    watched = [result for result in results if result.trial.label == WATCH]
    outcomes: Counter[str] = Counter()
    missing: Counter[str] = Counter()
    intervals: list[LatencyTrial] = []
    guilty: tuple[LatencyTrial, TrialResult] | None = None
    refused: Counter[str] = Counter()
    for result in watched:
        why = _disturbance(result)
        interval = None if why else measure(result)
        if interval is None:
            missing[why or "no look after the change"] += 1
            if why.startswith("change refused: "):
                refused[why.removeprefix("change refused: ")] += 1
            continue
        outcomes[_outcome(result, interval)] += 1
        intervals.append(interval)
        if interval.lo > 0 and (guilty is None or interval.lo > guilty[0].lo):
            guilty = (interval, result)
    outcomes += missing
    return Observation(
        attempted=len(watched),
        informative=len(intervals),
        violations=sum(interval.lo > 0 for interval in intervals),
        outcomes=dict(outcomes.most_common()),
        latency=tuple(intervals),
        longest_fill_ns=max((result.longest_fill_ns for result in watched), default=0),
        refused=refused.most_common(1)[0][0] if refused and not intervals else "",
        cures=_cures(results),
        single_shot=_single_shots(results),
        witness=_with_first_violation(_witness(*guilty), watched) if guilty else None,
        reason=", ".join(f"{count} x {what}" for what, count in missing.most_common(3)),
    )


def _with_first_violation(witness: Witness, watched: Sequence[TrialResult]) -> Witness:
    """The witness with how soon a look surely missed a change, counted from the first change on."""
    intervals = [(result, measure(result)) for result in watched if not _disturbance(result)]
    seen = min(result.last_miss or 0 for result, interval in intervals if interval and interval.lo > 0)
    changes = [result.change_invoked for result, _ in intervals if result.change_invoked is not None]
    return replace(witness, trials=sum(change <= seen for change in changes), after_ns=seen - min(changes))


def worst_of(results: Sequence[TrialResult]) -> TrialResult:
    """The watched trial in which a look missed the longest after the change. Raises ValueError where none did."""
    late = []
    for result in results:
        interval = measure(result) if result.trial.label == WATCH and not _disturbance(result) else None
        if interval and interval.lo > 0:
            late.append((interval.lo, result))
    return max(late, key=lambda entry: entry[0])[1]


def _seen(result: TrialResult) -> bool | None:
    """What a single-shot look saw: the change, its absence, or nothing that counts."""
    if _disturbance(result) or result.last_look is None:
        return None
    if result.first_hit is not None:
        return True
    return False if result.last_miss is not None else None


def _tally(results: Sequence[TrialResult], prefix: str) -> dict[str, tuple[int, int]]:
    counts: dict[str, list[bool]] = defaultdict(list)
    for result in results:
        if result.trial.label.startswith(prefix) and (seen := _seen(result)) is not None:
            counts[result.trial.label.removeprefix(prefix)].append(seen)
    return {key: (sum(seen), len(seen)) for key, seen in counts.items()}


def _single_shots(results: Sequence[TrialResult]) -> dict[str, tuple[int, int]]:
    return dict(sorted(_tally(results, "shot ").items(), key=lambda item: float(item[0])))


def _cures(results: Sequence[TrialResult]) -> tuple[Cure, ...]:
    controls = _tally(results, "control")
    visible, trials = controls.get("", (0, 0))
    harmless = {
        result.trial.label.removeprefix("cure "): all(step.kind in READ_ONLY_CURES for step in result.trial.before_look)
        for result in results
        if result.trial.label.startswith("cure ")
    }
    return tuple(
        Cure(name, cured, tried, visible, trials, harmless[name])
        for name, (cured, tried) in sorted(_tally(results, "cure ").items())
    )


def _witness(interval: LatencyTrial, result: TrialResult) -> Witness:
    trial = result.trial
    start = result.prime_invoked if result.prime_invoked is not None else result.change_invoked or 0
    observer = trial.cell.observing

    def row(
        site: str, step: Step, invoked: int | None, returned: int | None, got: str, guilty: bool = False
    ) -> dict[str, Any]:
        return {
            "worker": 0 if site == trial.cell.acting else 1, "site": site, "step": step.kind, "path": step.path,
            "other": step.other, "invoked_ns": None if invoked is None else invoked - start,
            "returned_ns": None if returned is None else returned - start, "errno": got, "guilty": guilty,
            "error_ns": result.error_ns if site != observer else 0,
        }  # fmt: skip

    events = []
    if trial.prime:
        got = name_of(result.prime_errno)
        events.append(row(observer, trial.prime[-1], result.prime_invoked, result.prime_returned, got))
    events.append(
        row(trial.cell.acting, trial.change[trial.moment], result.change_invoked, result.change_returned, "ok",
            guilty=True)
    )  # fmt: skip
    events.append(row(observer, trial.look, result.last_miss, None, "the last miss", guilty=True))
    if result.first_hit is not None:
        events.append(row(observer, trial.look, result.first_hit, None, "the first hit"))
    seen = "never seen while watched" if interval.hi >= INF_NS else f"first seen {interval.hi / 1e9:.3f} s after it"
    story = (
        f"{trial.change[trial.moment].kind} returned at site {trial.cell.acting}; {trial.look.kind} at site {observer} "
        f"invoked {interval.lo / 1e9:.6f} s later still missed it; {seen}"
    )
    return Witness(as_program(trial).to_json(), tuple(events), story)


def as_program(trial: Trial) -> Program:
    """The same trial as a replayable program: seed | prime | change | look, with barriers between."""
    barrier = Step("barrier")
    acting = (*trial.seed, barrier, barrier, *trial.change, barrier)
    observing = (barrier, *trial.acquaint, *trial.prime, barrier, barrier, *trial.before_look, trial.look)
    return Program((Lane(trial.cell.acting, acting), Lane(trial.cell.observing, observing)))
