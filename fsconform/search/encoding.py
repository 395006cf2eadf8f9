"""Encoding 1: bytes to programs, one byte per move, total (every byte string is a program).

A flat byte string is what Hypothesis draws and shrinks best (a planted two-step bug: 0.2 s to shrink, against 18 s
with nested tuples), so smaller bytes are simpler programs, and nothing depends on what an earlier run returned.

Byte 0, the header h:
    workers = 2 + h % 3          names = 2 + h // 3 % 3          h // 9 rotates the sites among the workers
    h >= 224: watches are watches; below, a watch is a single open (a watch costs 12 ms a round: it has its own budget)
Every further byte b, one move:
    act     = ACTS[b % 16]       worker = b // 16 % 4 % workers  name = b // 64 % names
Acts 11-15 are done by all workers, whatever b says of one: they meet on one name, which is where races are.
`meet` ends the phase of all workers: they start the next one together. Workers start every round together.
A string shorter than header and one move is padded with zero bytes: worker 0 stats name 0.
"""

from __future__ import annotations

from dataclasses import dataclass

from fsconform.search.drafts import Act, Draft, Move, Phase
from fsconform.vocabulary.errors import CannotTestError
from fsconform.vocabulary.programs import Program

ENCODING = 1
SHORTEST, LONGEST = 6, 18
"""Length of the strings worth drawing, bytes."""
_WATCHFUL = 224
_MEET = None
ACTS: tuple[Act | None, ...] = (
    Act.STAT, Act.OPEN, Act.PUBLISH, Act.EXCL, Act.LINK, Act.LIST, _MEET, Act.WATCH, Act.OPEN, Act.PUBLISH, Act.EXCL,
    Act.STAT, Act.OPEN, Act.PUBLISH, Act.EXCL, Act.LINK,
)  # fmt: skip
"""Act of `b % 16`; None is `meet`."""
_TOGETHER = 11
"""From here on an act is done by all workers."""


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
    sites = ground.crew(workers, header // 9)
    phases: list[list[list[Move]]] = [[[] for _ in sites]]
    for byte in body:
        act = ACTS[byte % 16]
        if act is _MEET:
            phases.append([[] for _ in sites])
            continue
        one = byte // 16 % 4 % workers
        for worker in range(workers) if byte % 16 >= _TOGETHER else (one,):
            permitted = _permitted(act, sites[worker] in ground.read_only, header >= _WATCHFUL)
            phases[-1][worker].append(Move(permitted, byte // 64 % names))
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
