"""Encoding 1: bytes to programs, one byte per turn, total (every byte string is a program).

A flat byte string is what Hypothesis draws and shrinks best (a planted two-step bug: 0.2 s to shrink, against 18 s
with nested tuples), so smaller bytes are simpler programs, and nothing depends on what an earlier run returned.

Byte 0, the header h:
    workers = 2 + h % 3          names = 2 + h // 3 % 3          h // 9 rotates the sites among the workers
    h >= 224: watches are watches; below, a watch is a single open (a watch costs 12 ms a round: it has its own budget)
Every further byte b, one turn:
    turn    = TURNS[b % 16]      worker = b // 16 % 4 % workers  name = b // 64 % names
A turn is what this worker does to the name, and what all others do to it. The last five turns are races: all workers
meet first and do their parts at once. Turn 6 is a meeting and nothing else. Workers start every round together.
A string shorter than header and one turn is padded with zero bytes: worker 0 stats name 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from fsconform.search.drafts import Act, Draft, Move, Phase
from fsconform.vocabulary.errors import CannotTestError
from fsconform.vocabulary.programs import Program

ENCODING = 1
SHORTEST, LONGEST = 6, 18
"""Length of the strings worth drawing, bytes."""
_WATCHFUL = 224


class Turn(NamedTuple):
    """What one byte stands for."""

    one: tuple[Act, ...]
    """What the worker of the byte does."""
    others: tuple[Act, ...] = ()
    """What all other workers do."""
    meet: bool = False
    """Whether all workers meet first."""


TURNS = (
    Turn((Act.STAT,)), Turn((Act.OPEN,)), Turn((Act.PUBLISH,)), Turn((Act.EXCL,)), Turn((Act.LINK,)), Turn((Act.LIST,)),
    Turn((), meet=True), Turn((Act.WATCH,)), Turn((Act.STAT,)), Turn((Act.OPEN,)), Turn((Act.PUBLISH,)),
    Turn((Act.EXCL,), (Act.EXCL,), meet=True), Turn((Act.LINK,), (Act.LINK,), meet=True),
    Turn((Act.EXCL,), (Act.LINK,), meet=True), Turn((Act.PUBLISH,), (Act.OPEN,) * 4, meet=True),
    Turn((Act.EXCL,), (Act.STAT, Act.OPEN), meet=True),
)  # fmt: skip
"""Turn of `b % 16`. Without meetings calls drift apart after the first few; with nothing else, all would look alike."""


@dataclass(frozen=True, slots=True)
class Ground:
    """The sites a search works on, by letter. Raises CannotTestError where none of them can be written to."""

    sites: tuple[str, ...]
    read_only: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if not set(self.sites) - self.read_only:
            raise CannotTestError("search: none of the sites can be written to; give one that can")

    def crew(self, workers: int, shift: int) -> tuple[str, ...]:
        """The site of each worker, in turn; the first worker's is one that can be written to."""
        turn = shift % len(self.sites)
        sites = self.sites[turn:] + self.sites[:turn]
        first = next(place for place, site in enumerate(sites) if site not in self.read_only)
        sites = (sites[first], *sites[:first], *sites[first + 1 :])
        return tuple(sites[worker % len(sites)] for worker in range(workers))


def decode_draft(data: bytes, ground: Ground) -> Draft:
    """The draft that a byte string stands for. Creating moves at a read-only site become looks."""
    header, *body = data.ljust(2, b"\0")
    workers, names = 2 + header % 3, 2 + header // 3 % 3
    sites, watchful = ground.crew(workers, header // 9), header >= _WATCHFUL
    phases: list[list[list[Move]]] = [[[] for _ in sites]]
    for byte in body:
        turn, actor, name = TURNS[byte % 16], byte // 16 % 4 % workers, byte // 64 % names
        if turn.meet:
            phases.append([[] for _ in sites])
        for worker, site in enumerate(sites):
            acts = turn.one if worker == actor else turn.others
            phases[-1][worker] += [Move(_permitted(act, site in ground.read_only, watchful), name) for act in acts]
    return Draft(sites, _without_idle_phases(phases))


def decode(data: bytes, ground: Ground, seed: int = 0) -> Program:
    """The program that a byte string stands for; keys derive from the seed and the program."""
    return decode_draft(data, ground).program(seed)


def _permitted(act: Act, read_only: bool, watchful: bool) -> Act:
    if act is Act.WATCH and not watchful:
        return Act.OPEN
    return Act.OPEN if read_only and Move(act, 0).creates else act


def _without_idle_phases(phases: list[list[list[Move]]]) -> tuple[Phase, ...]:
    busy = [phase for phase in phases if any(phase)] or [[[Move(Act.STAT, 0)], *phases[0][1:]]]
    return tuple(tuple(tuple(moves) for moves in phase) for phase in busy)
