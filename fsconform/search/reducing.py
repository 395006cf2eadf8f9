"""Reducing a program that fails only sometimes, without letting it fail more rarely.

Delta debugging (Zeller & Hildebrandt 2002) over phases, workers, names and moves, where every question "does it still
fail?" is answered by a sample whose size follows from the failure rate of the program at hand, and a smaller program
is taken only if it keeps at least a quarter of that rate, and a tenth of the highest one met.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from fsconform.search.drafts import Act, Draft, Move, Phase

KEEP = 0.25
"""Share of the failure rate that a step of the reduction must keep."""
LEAST = 0.1
"""Share of the highest failure rate met that must be left in the end."""
ENOUGH = 2
"""Failing rounds that let a candidate pass."""
SETTLED = 6
"""Failing rounds that settle a rate."""
FEWEST, MOST_ROUNDS = 4, 1024
"""Rounds of one message at least, and rounds spent on one candidate at most."""
_SIMPLER = (
    (Act.LINK, Act.CLAIM), (Act.EXCL, Act.CLAIM), (Act.LINK, Act.EXCL), (Act.LINK, Act.PUBLISH),
    (Act.WATCH, Act.OPEN), (Act.LIST, Act.STAT), (Act.OPEN, Act.STAT),
)  # fmt: skip
"""Acts and simpler ones that may do in their place."""

Count = Callable[[Draft, int], tuple[int, int]]
"""Performs a draft for about so many rounds; (failing rounds, rounds)."""


@dataclass(frozen=True, slots=True)
class Reduced:
    """The smallest draft found and the share of its rounds that failed while it was judged."""

    draft: Draft
    rate: float


def reduce_draft(draft: Draft, count: Count, over: Callable[[], bool], message: int, bare: bool = False) -> Reduced:
    """The smallest draft that still fails often enough. Ends early, with the best so far, where `over()`.

    `message`: rounds performed at once at most. `bare`: whether an exclusive create may lose its write (only where it
    does not matter what is in the files).
    """
    sampler = _Sampler(count, over, message)
    # A fresh estimate: the message that found the failure was chosen for it and says too much.
    best = Reduced(draft, sampler.rate(draft, 0, 0))
    peak = best.rate
    refused: set[Draft] = set()
    shrinking = True
    while shrinking and not over():
        shrinking = False
        for candidate in smaller_drafts(best.draft, bare):
            if over():
                break
            if candidate in refused:
                continue
            rate = sampler.keeps(candidate, max(best.rate * KEEP, peak * LEAST))
            if rate is None:
                refused.add(candidate)
                continue
            best, peak, shrinking = Reduced(candidate, rate), max(peak, rate), True
            break
    return _amplified(best, sampler)


def _amplified(best: Reduced, sampler: _Sampler) -> Reduced:
    """Opens become watches where that at least doubles the rate: a watch does not miss a short fault."""
    if best.rate >= 0.5:
        return best
    for candidate in _with_a_watch(best.draft):
        if sampler.over():
            break
        rate = sampler.keeps(candidate, best.rate * 2)
        if rate is not None:
            return Reduced(candidate, rate)
    return best


@dataclass(frozen=True, slots=True)
class _Sampler:
    """Failure rates of drafts, from samples no larger than the question needs."""

    count: Count
    over: Callable[[], bool]
    message: int

    def keeps(self, draft: Draft, floor: float) -> float | None:
        """The failure rate of a draft, None where it does not reach `floor`.

        With four times that rate a draft passes in 997 of 1,000 cases, with the rate itself in 6 of 10.
        """
        limit = min(MOST_ROUNDS, math.ceil(ENOUGH / floor))
        needed = max(1, min(ENOUGH, math.floor(floor * limit)))
        failures = rounds = 0
        while rounds < limit and not self.over():
            failed, done = self.count(draft, self._portion(limit / 2))
            failures, rounds = failures + failed, rounds + done
            if failures >= needed and failures >= floor * rounds:
                return self.rate(draft, failures, rounds)
        return None

    def rate(self, draft: Draft, failures: int, rounds: int) -> float:
        """The failure rate of a draft that showed `failures` in `rounds` already, from as many more as settle it."""
        while failures < SETTLED and rounds < MOST_ROUNDS // 2 and not self.over():
            wanted = (SETTLED - failures) * rounds / failures if failures else self.message
            failed, done = self.count(draft, self._portion(wanted))
            failures, rounds = failures + failed, rounds + done
        return max(failures, 0.5) / max(rounds, 1)

    def _portion(self, rounds: float) -> int:
        """Rounds of one message: a fault that shows in every round needs no 32 of them."""
        return max(FEWEST, min(self.message, math.ceil(rounds)))


def smaller_drafts(draft: Draft, bare: bool = False) -> Iterator[Draft]:
    """Candidates, the boldest first, never one without moves.

    The bare race for one name (where `bare`); one phase alone, one name alone; without a phase, a worker, a name, a
    worker's part of a phase, a move; phases joined; a move made simpler wherever it stands (without its write only
    where `bare`).
    """
    if bare:
        yield from _bare_races(draft)
    for phases in _candidates(draft):
        busy = tuple(phase for phase in phases if any(phase))
        if busy and busy != draft.phases:
            yield replace(draft, phases=busy)
    for old, new in _SIMPLER:
        if new is not Act.CLAIM or bare:
            for move in dict.fromkeys(move for move in draft.moves if move.act is old):
                yield _replaced(draft, move, Move(new, move.name))


def _bare_races(draft: Draft) -> Iterator[Draft]:
    """Per name: one claim of each worker that created it exclusively, all at once, and nothing else."""
    for name in draft.names:
        rivals = [
            any(Move(act, name) in phase[worker] for phase in draft.phases for act in (Act.LINK, Act.EXCL, Act.CLAIM))
            for worker in range(len(draft.sites))
        ]
        race = Draft(draft.sites, (tuple((Move(Act.CLAIM, name),) if rival else () for rival in rivals),))
        if sum(rivals) > 1 and race.size < draft.size:
            yield race


def _candidates(draft: Draft) -> Iterator[tuple[Phase, ...]]:
    phases, workers = draft.phases, range(len(draft.sites))
    if len(phases) > 2:
        for phase in phases:
            yield (phase,)
    if len(draft.names) > 2:
        for name in draft.names:
            yield tuple(tuple(tuple(m for m in part if m.name == name) for part in phase) for phase in phases)
    if len(phases) > 1:
        for place in range(len(phases)):
            yield phases[:place] + phases[place + 1 :]
    for worker in workers:
        yield tuple(_with_part(phase, worker, ()) for phase in phases)
    for name in draft.names:
        yield tuple(tuple(tuple(m for m in part if m.name != name) for part in phase) for phase in phases)
    for place in range(len(phases) - 1):
        joined = tuple(a + b for a, b in zip(phases[place], phases[place + 1], strict=True))
        yield (*phases[:place], joined, *phases[place + 2 :])
    for place, phase in enumerate(phases):
        for worker in workers:
            part = phase[worker]
            if len(part) > 1:
                yield (*phases[:place], _with_part(phase, worker, ()), *phases[place + 1 :])
            for number in range(len(part)):
                rest = part[:number] + part[number + 1 :]
                yield (*phases[:place], _with_part(phase, worker, rest), *phases[place + 1 :])


def _with_part(phase: Phase, worker: int, part: tuple[Move, ...]) -> Phase:
    return (*phase[:worker], part, *phase[worker + 1 :])


def _replaced(draft: Draft, old: Move, new: Move) -> Draft:
    return replace(
        draft,
        phases=tuple(tuple(tuple(new if m == old else m for m in part) for part in phase) for phase in draft.phases),
    )


def _with_a_watch(draft: Draft) -> Iterator[Draft]:
    for move in dict.fromkeys(draft.moves):
        if move.act is Act.OPEN:
            yield _replaced(draft, move, Move(Act.WATCH, move.name))
