"""Promise x observation -> verdict (docs/design.md, Promises, verdicts).

Only what is proved decides: a lower bound convicts, an upper bound acquits, anything else is neither.
"""

from __future__ import annotations

import errno
from collections.abc import Sequence
from dataclasses import dataclass

from fsconform.judging.durations import format_duration
from fsconform.judging.statistics import rate_text
from fsconform.vocabulary.errnos import OPEN_ERRNOS, PSEUDO_NAMES, number_of
from fsconform.vocabulary.observations import INF_NS, LatencyTrial, Observation
from fsconform.vocabulary.promises import Promise, Strength
from fsconform.vocabulary.verdicts import Judgement, Verdict

NEEDED_GUARANTEED = {"smoke": 60, "quick": 60, "standard": 300, "thorough": 3000}
NEEDED_WITHIN = {"smoke": 20, "quick": 20, "standard": 100, "thorough": 1000}
"""Informative trials that `kept` needs, per budget (`smoke` convicts, and has too few to acquit)."""
TICKS_NS = 20_000_000
"""Two ticks of 10 ms: the kernel rounds its timeouts up to ticks."""
RELATIVE_SLACK = 0.01
WORKS = "works"
_ENVIRONMENT = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EMFILE, errno.ENFILE})
"""Refusals that say nothing about support: no space, no permission, no descriptors."""


def trials_needed(promise: Promise, budget: str) -> int:
    """Informative trials without which a cell is not `kept`; 0 where nothing is judged.

    `budget` is `quick`, `standard`, `thorough`, or a duration (which needs what `standard` does).
    """
    if promise.strength in (Strength.NOT_PROMISED, Strength.UNSUPPORTED):
        return 0
    needed = NEEDED_WITHIN if promise.strength is Strength.WITHIN else NEEDED_GUARANTEED
    return needed.get(budget, needed["standard"])


def slack_s(promise: Promise, longest_fill_ns: int) -> float:
    """What a look may come after the bound, seconds: what the profile says, else 20 ms + longest fill + 1 % of N.

    The longest look that filled a cache counts, because an answer computed before the change may arrive, and be
    cached, that much later. A guarantee, and a bound of 0 s, have none.
    """
    if promise.strength is not Strength.WITHIN or promise.bound_s == 0:
        return 0.0
    if promise.slack_s is not None:
        return promise.slack_s
    return (TICKS_NS + longest_fill_ns) / 1e9 + RELATIVE_SLACK * promise.bound_s


def judge(promise: Promise, observation: Observation, budget: str) -> Judgement:
    """The verdict on one cell, with its reason in one line (for `inconclusive`: what would settle it).

    `within 0 s` is judged as a guarantee: nothing may be answered from a cache then, so nothing needs slack.
    """
    if observation.refused not in ("", WORKS):
        return _judge_refusal(promise, observation)
    if promise.strength is Strength.NOT_PROMISED:
        return Judgement(Verdict.OBSERVED, f"nothing promised; {_told(observation)}", _count(observation))
    if promise.strength is Strength.UNSUPPORTED:
        return _judge_surprise(promise, observation)
    needed = trials_needed(promise, budget)
    if promise.strength is Strength.WITHIN and promise.bound_s > 0:
        return _judge_within(promise, observation, needed)
    return _judge_guaranteed(promise, observation, needed)


def _judge_refusal(promise: Promise, observation: Observation) -> Judgement:
    refused = observation.refused
    if promise.strength is Strength.UNSUPPORTED and _number(refused) in map(number_of, promise.errnos):
        return Judgement(Verdict.KEPT, f"refused with {refused}, as the profile says")
    if promise.strength is Strength.NOT_PROMISED:
        return Judgement(Verdict.OBSERVED, f"nothing promised; refused with {refused}")
    if promise.strength is Strength.OPTIONAL:
        return Judgement(Verdict.NOT_APPLICABLE, f"refused with {refused}")
    no_answer = _no_answer(refused)
    if no_answer:
        return Judgement(Verdict.INCONCLUSIVE, no_answer)
    if promise.strength is Strength.WITHIN:
        return Judgement(Verdict.NOT_APPLICABLE, f"refused with {refused}")
    violations = max(1, observation.attempted)
    if promise.strength is Strength.UNSUPPORTED:
        expected = " or ".join(promise.errnos)
        return Judgement(Verdict.VIOLATED, f"refused with {refused}; {expected} expected", violations)
    return Judgement(Verdict.VIOLATED, f"unsupported: refused with {refused}, but guaranteed", violations)


def _no_answer(refused: str) -> str:
    """Why a refusal does not answer whether the call is supported, and what would; empty where it does."""
    if refused in PSEUDO_NAMES.values():
        return f"the call was not answered ({refused}); run again with another interpreter or a mount that responds"
    if _number(refused) in OPEN_ERRNOS:
        return f"the call failed with {refused}, which says nothing of support; run again when the mount is healthy"
    if _number(refused) in _ENVIRONMENT:
        return f"the call failed with {refused}, which says nothing of support; give it room and permission"
    return ""


def _judge_surprise(promise: Promise, observation: Observation) -> Judgement:
    """Said to be unsupported, but not refused."""
    if not observation.informative and observation.refused != WORKS:
        return _too_few(observation, 0, 1)
    count = _count(observation)
    if observation.refused == WORKS and count:
        expected = " or ".join(promise.errnos)
        return Judgement(Verdict.VIOLATED, f"success without effect, {expected} expected: {_told(observation)}", count)
    return Judgement(Verdict.OBSERVED, f"not refused, though the profile says {promise}: {_told(observation)}", count)


def _judge_guaranteed(promise: Promise, observation: Observation, needed: int) -> Judgement:
    if observation.latency:
        return _judge_immediate(observation, needed)
    count, trials = observation.violations, observation.informative
    if count:
        return Judgement(Verdict.VIOLATED, _told(observation), count)
    if observation.refused == WORKS:
        return Judgement(Verdict.KEPT, "works" if trials < 2 else f"works, {trials:,} of {trials:,}")
    if trials < needed:
        return _too_few(observation, trials, needed)
    return Judgement(Verdict.KEPT, rate_text(0, trials))


def _judge_immediate(observation: Observation, needed: int) -> Judgement:
    """Guaranteed visibility: no look invoked after the change returned may miss. No slack."""
    decided = [trial for trial in observation.latency if _looked_after(trial)]
    late = [trial for trial in decided if trial.lo > 0]
    if late:
        worst = max(trial.lo for trial in late)
        told = f"{rate_text(len(late), len(decided))}: a look begun {_ms(worst)} after the change returned missed it"
        return Judgement(Verdict.VIOLATED, told + _never(late), len(late))
    if len(decided) < needed:
        return _too_few(observation, len(decided), needed)
    first = max(trial.hi for trial in decided)
    return Judgement(Verdict.KEPT, f"{rate_text(0, len(decided))}; first looks up to {_ms(first)} after the change")


@dataclass(frozen=True, slots=True)
class _Sorted:
    """Trials of a latency cell against one limit."""

    late: tuple[LatencyTrial, ...]
    in_time: tuple[LatencyTrial, ...]
    near: tuple[LatencyTrial, ...]
    unresolved: tuple[LatencyTrial, ...]


def _sort(trials: Sequence[LatencyTrial], bound_ns: float, limit_ns: float) -> _Sorted:
    return _Sorted(
        late=tuple(trial for trial in trials if trial.lo > limit_ns),
        in_time=tuple(trial for trial in trials if trial.lo <= limit_ns and trial.hi <= limit_ns),
        near=tuple(trial for trial in trials if bound_ns < trial.lo <= limit_ns),
        unresolved=tuple(trial for trial in trials if trial.lo <= limit_ns < trial.hi),
    )


def _judge_within(promise: Promise, observation: Observation, needed: int) -> Judgement:
    if not observation.latency:
        return _judge_untimed(observation, needed)
    slack = slack_s(promise, observation.longest_fill_ns)
    bound_ns, limit_ns = promise.bound_s * 1e9, (promise.bound_s + slack) * 1e9
    found = _sort(observation.latency, bound_ns, limit_ns)
    limit = f"{format_duration(promise.bound_s)} + {slack * 1e3:.0f} ms slack"
    counts = (len(found.near), len(found.unresolved))
    if found.late:
        decided = len(found.late) + len(found.in_time)
        worst = max(trial.lo for trial in found.late)
        told = f"{rate_text(len(found.late), decided)}: a look begun {_ms(worst)} after the change still missed it"
        return Judgement(Verdict.VIOLATED, f"{told}; limit {limit}{_never(found.late)}", len(found.late), *counts)
    if len(found.in_time) < needed:
        return _too_few(observation, len(found.in_time), needed, *counts)
    longest = max(trial.hi for trial in found.in_time)
    told = f"{rate_text(0, len(found.in_time))}; seen after at most {_ms(longest)}, limit {limit}"
    told += f"; {counts[0]} near miss{'es' * (counts[0] > 1)}" if counts[0] else ""
    told += f"; {counts[1]} unresolved" if counts[1] else ""
    return Judgement(Verdict.KEPT, told, 0, *counts)


def _judge_untimed(observation: Observation, needed: int) -> Judgement:
    """Within N s, but the trials measured no time: nothing wrong at all is in time, anything wrong proves nothing."""
    if observation.violations:
        told = f"{_told(observation)}; these trials do not measure for how long: a latency cell would settle it"
        return Judgement(Verdict.INCONCLUSIVE, told)
    if observation.informative < needed:
        return _too_few(observation, observation.informative, needed)
    return Judgement(Verdict.KEPT, rate_text(0, observation.informative))


def _too_few(observation: Observation, found: int, needed: int, near: int = 0, unresolved: int = 0) -> Judgement:
    told = f"{found:,} informative trials of {observation.attempted:,}, {needed:,} needed"
    if unresolved:
        told = f"unresolved: {told}; in {unresolved:,} our own deciding look began late: a less busy machine"
        settles = " or a longer budget would settle it"
    elif observation.reason:
        settles = "; a run without that, or with a longer budget, would settle it"
    else:
        again = "another run with all sites" if " lost at " in observation.reason else "a longer budget"
        settles = f"; {again} would settle it"
    reason = f" ({observation.reason})" if observation.reason else ""
    return Judgement(Verdict.INCONCLUSIVE, told + reason + settles, 0, near, unresolved)


def _looked_after(trial: LatencyTrial) -> bool:
    """Whether a look that began after the change had returned says whether it was seen."""
    return trial.lo > 0 or 0 < trial.hi < INF_NS or (trial.hi == 0 and trial.last > 0)


def _count(observation: Observation) -> int:
    """Trials in which the property did not hold."""
    if observation.latency:
        return sum(trial.lo > 0 for trial in observation.latency)
    return observation.violations


def _told(observation: Observation) -> str:
    """What was seen, in words: k of n, and how."""
    if observation.latency:
        late = [trial for trial in observation.latency if trial.lo > 0]
        told = f"seen late in {rate_text(len(late), len(observation.latency))}"
        return f"{told}, missed for up to {_ms(max(trial.lo for trial in late))}{_never(late)}" if late else told
    if observation.refused == WORKS and not observation.violations:
        return "works"
    if not observation.informative:
        return f"no informative trial of {observation.attempted:,}" + (
            f" ({observation.reason})" if observation.reason else ""
        )
    told = rate_text(observation.violations, observation.informative)
    if not observation.violations:
        return told
    if observation.witness:
        return f"{told}: {observation.witness.story}"
    common = sorted(observation.outcomes.items(), key=lambda item: -item[1])
    return f"{told}: " + ", ".join(f"{word} {count:,}" for word, count in common[:4]) if common else told


def _never(late: Sequence[LatencyTrial]) -> str:
    never = sum(trial.hi >= INF_NS for trial in late)
    return f"; never seen in {never:,}" if never else ""


def _ms(nanoseconds: int) -> str:
    return f"{nanoseconds / 1e9:.3f} s" if nanoseconds >= 1_000_000_000 else f"{nanoseconds / 1e6:.3g} ms"


def _number(name: str) -> int:
    """The number of an errno name; 0 for a pseudo name or `errno 1234`."""
    try:
        return number_of(name)
    except KeyError:
        return 0
