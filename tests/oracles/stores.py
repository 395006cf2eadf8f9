"""Simulated stores that keep what they promise, with clocks that are off: no oracle may accuse them.

True time is integer ticks. A store answers at a moment inside each call; what an oracle gets are stamps of the host's
clock, off by up to `error`, widened by it.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from tests.oracles.twins import Op

Answer = Callable[[random.Random, int, int, int], int]
"""(source, site, start, end) -> the version seen."""
SITES = 3
WRITER = SITES
"""Session of the writer, a worker of its own at site 0; the readers' sessions are their sites."""


class AtomicStore:
    """Every write takes effect at one moment, every read sees the last effect before one moment of its own."""

    bound = 0

    def __init__(self) -> None:
        self.effects: list[tuple[int, int]] = []

    def write(self, source: random.Random, start: int, end: int, version: int) -> None:
        """A publish in [start, end]; calls come in the order of their starts and do not overlap each other."""
        self.effects.append((source.randint(start, end), version))

    def at(self, moment: int) -> int:
        """The version in force at a moment."""
        return max([version for effect, version in self.effects if effect <= moment], default=0)

    def read(self, source: random.Random, site: int, start: int, end: int) -> int:
        """A look in [start, end]."""
        return self.at(source.randint(start, end))


class TimeoutStore(AtomicStore):
    """Each site believes an answer, misses included, for `bound` ticks after it was given by the server."""

    bound = 20

    def __init__(self) -> None:
        super().__init__()
        self.cached: dict[int, tuple[int, int]] = {}

    def read(self, source: random.Random, site: int, start: int, end: int) -> int:
        asked, version = self.cached.get(site, (-(1 << 40), 0))
        if start - asked < self.bound:
            return version
        moment = source.randint(start, end)
        self.cached[site] = moment, self.at(moment)
        return self.cached[site][1]


class InvalidatingStore(AtomicStore):
    """A publish tells every site, each at a moment of its own, before it returns: stale never, inverted often."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[list[tuple[int, int]]] = [[] for _ in range(SITES)]

    def write(self, source: random.Random, start: int, end: int, version: int) -> None:
        for site in range(SITES):
            self.told[site].append((source.randint(start, end), version))

    def read(self, source: random.Random, site: int, start: int, end: int) -> int:
        moment = source.randint(start, end)
        return max([version for effect, version in self.told[site] if effect <= moment], default=0)


STORES: tuple[type[AtomicStore], ...] = (AtomicStore, TimeoutStore, InvalidatingStore)


def perform(store: AtomicStore, source: random.Random) -> list[Op]:
    """4 replacements by the writer and 15 looks from all sites, in true time."""
    ops, now = [], source.randint(5, 15)
    for version in range(1, 5):
        end = now + source.randint(0, 6)
        ops.append(Op("write", now, end, version, WRITER))
        store.write(source, now, end, version)
        now = end + source.randint(1, 25)
    looks: list[tuple[int, int, int]] = []
    for site in range(SITES):
        at = source.randint(0, 10)
        for _ in range(5):
            end = at + source.randint(0, 4)
            looks.append((at, end, site))
            at = end + source.randint(1, 15)
    ops += [Op("read", start, end, store.read(source, site, start, end), site) for start, end, site in sorted(looks)]
    return ops


def stamped(ops: list[Op], source: random.Random, error: int) -> list[Op]:
    """The stamps of hosts whose clocks are off by up to `error`."""
    off = [source.randint(-error, error) for _ in range(SITES)]
    return [op._replace(start=op.start + off[op.session % SITES], end=op.end + off[op.session % SITES]) for op in ops]


def widened(ops: list[Op], error: int) -> list[Op]:
    """Every operation widened by the clock error."""
    return [op._replace(start=op.start - error, end=op.end + error) for op in ops]
