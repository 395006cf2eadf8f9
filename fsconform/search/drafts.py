"""Drafts: programs in the terms of a search (who does which move to which name), before names have keys.

A move is what a store does in one breath (publish a block, look for one); it expands to one or several steps of the
vocabulary. Search and reduction work on drafts, so that a publish is dropped as a whole and never becomes a program
that publishes half a block itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from fsconform.vocabulary.blocks import PAGE, block_key, block_name, fan_out
from fsconform.vocabulary.programs import Lane, Program
from fsconform.vocabulary.steps import Step

WATCH_NS = 12_000_000
"""How long a watch looks: long enough to turn a fault of a few ms from one round in a hundred into every second."""
NAMES_PER_LEAF = 2
_SLOTS = 64


class Act(Enum):
    """The moves, simple ones first."""

    STAT = "stat"
    OPEN = "open"
    """Open, read to the end, verify."""
    LIST = "list"
    """Scan the leaf directory of the name."""
    WATCH = "watch"
    """Open and verify again and again for `WATCH_NS`."""
    CLAIM = "claim"
    """Create exclusively and write nothing; never drawn, only what a reduction leaves of `EXCL`."""
    EXCL = "excl"
    """Create exclusively in place, write one page, close."""
    PUBLISH = "publish"
    """Write a temporary file, close it, rename it to the name."""
    LINK = "link"
    """Write a temporary file, close it, link it to the name, unlink it."""


@dataclass(frozen=True, slots=True, order=True)
class Move:
    """One act on one of the draft's names (numbered from 0)."""

    act: Act
    name: int

    @property
    def creates(self) -> bool:
        """Whether the move tries to bring its name into being."""
        return self.act in _CREATORS


Phase = tuple[tuple[Move, ...], ...]
"""The moves of each worker between two meeting points."""


@dataclass(frozen=True, slots=True)
class Draft:
    """Phases of moves; `sites[w]` is the letter of the site of worker w.

    The workers start every phase together. Raises ValueError where a phase has not one entry per worker.
    """

    sites: tuple[str, ...]
    phases: tuple[Phase, ...]

    def __post_init__(self) -> None:
        if not self.phases or any(len(phase) != len(self.sites) for phase in self.phases):
            raise ValueError("a draft needs at least one phase, and one list of moves per worker in each")

    @property
    def moves(self) -> tuple[Move, ...]:
        """All moves, phase by phase."""
        return tuple(move for phase in self.phases for moves in phase for move in moves)

    @property
    def names(self) -> tuple[int, ...]:
        """The names that moves use, ascending."""
        return tuple(sorted({move.name for move in self.moves}))

    @property
    def size(self) -> tuple[int, int, int]:
        """(moves, phases, names): what a reduction makes smaller."""
        return len(self.moves), len(self.phases), len(self.names)

    def creates(self, worker: int) -> bool:
        """Whether one worker tries to bring any name into being."""
        return any(move.creates for phase in self.phases for move in phase[worker])

    def program(self, seed: int) -> Program:
        """The program: keys derive from the seed and the draft, so equal drafts give equal programs.

        Two names share a leaf of the fan-out. The first lane makes the directories; therefore workers that create
        come first (they can write), and the first lane stays even where it has nothing else to do.
        """
        salt = block_key("search", seed, self)
        keys = {name: _key(salt, name) for name in self.names}
        order = sorted(range(len(self.sites)), key=lambda worker: not self.creates(worker))
        lanes = tuple(
            Lane(self.sites[worker], _steps(self, worker, keys))
            for place, worker in enumerate(order)
            if place == 0 or any(phase[worker] for phase in self.phases)
        )
        return Program(lanes, _directories(keys), tuple(fan_out(key) for key in keys.values()))


def _key(salt: str, name: int) -> str:
    leaf = block_key(salt, "leaf", name // NAMES_PER_LEAF)
    return leaf[:5] + block_key(salt, name)[5:]


def _directories(keys: dict[int, str]) -> tuple[str, ...]:
    outer = dict.fromkeys(key[:3] for key in keys.values())
    leaves = dict.fromkeys(f"{key[:3]}/{key[3:5]}" for key in keys.values())
    return (*outer, *leaves)


def _steps(draft: Draft, worker: int, keys: dict[int, str]) -> tuple[Step, ...]:
    steps: list[Step] = []
    number = 0
    for place, phase in enumerate(draft.phases):
        if place:
            steps.append(Step("barrier"))
        for move in phase[worker]:
            steps += _EXPANSIONS[move.act](_Target.of(keys, move.name, worker, number))
            number += 1
    return tuple(steps)


@dataclass(frozen=True, slots=True)
class _Target:
    """What a move needs to know of its name."""

    path: str
    leaf: str
    key: str
    temp: str
    fd: int
    neighbours: tuple[str, ...]

    @classmethod
    def of(cls, keys: dict[int, str], name: int, worker: int, number: int) -> _Target:
        key = keys[name]
        leaf = f"{key[:3]}/{key[3:5]}"
        neighbours = tuple(block_name(other) for other in keys.values() if other[:5] == key[:5])
        return cls(fan_out(key), leaf, key, f"{leaf}/.t{worker}-{number}", number % _SLOTS, neighbours)


def _stat(target: _Target) -> list[Step]:
    return [Step("stat", target.path)]


def _open(target: _Target) -> list[Step]:
    return [Step("open_read", target.path, key=target.key, size=PAGE)]


def _list(target: _Target) -> list[Step]:
    return [Step("scandir", target.leaf, names=target.neighbours)]


def _watch(target: _Target) -> list[Step]:
    (look,) = _open(target)
    return [Step("watch", target.path, arg=WATCH_NS, then=look)]


def _claim(target: _Target) -> list[Step]:
    return [Step("excl_create", target.path, fd=target.fd)]


def _write_to(target: _Target, path: str) -> list[Step]:
    return [
        Step("excl_create", path, fd=target.fd),
        Step("write", fd=target.fd, key=target.key, size=PAGE),
        Step("close", fd=target.fd),
    ]


def _excl(target: _Target) -> list[Step]:
    return _write_to(target, target.path)


def _publish(target: _Target) -> list[Step]:
    return [*_write_to(target, target.temp), Step("rename", target.temp, target.path)]


def _link(target: _Target) -> list[Step]:
    return [
        *_write_to(target, target.temp),
        Step("link", target.temp, target.path),
        Step("unlink", target.temp),
    ]


_EXPANSIONS: dict[Act, Callable[[_Target], list[Step]]] = {
    Act.STAT: _stat, Act.OPEN: _open, Act.LIST: _list, Act.WATCH: _watch,
    Act.CLAIM: _claim, Act.EXCL: _excl, Act.PUBLISH: _publish, Act.LINK: _link,
}  # fmt: skip
_CREATORS = frozenset({Act.CLAIM, Act.EXCL, Act.PUBLISH, Act.LINK})
