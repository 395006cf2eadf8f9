"""What is crossed with what: one setting per replay."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fsconform.run.workload.options import WorkloadOptions

WITH_READERS = ("base", "v1")
"""Variants in which it matters whether B asked before."""


@dataclass(frozen=True, slots=True)
class Threads:
    """Threads of an instance that move blocks: `loads` prefer loads, `stores` prefer stores; idle ones take both."""

    loads: int
    stores: int

    @classmethod
    def in_all(cls, count: int) -> Threads:
        """So many, split evenly."""
        return cls(count - count // 2, count // 2)

    def __str__(self) -> str:
        count = self.loads + self.stores
        return str(count) if self == Threads.in_all(count) else f"{self.loads}+{self.stores}"


@dataclass(frozen=True, slots=True)
class Setting:
    """One replay."""

    variant: str
    reader: str
    """What B asked before."""
    size: int
    """Bytes of a block."""
    io: str
    threads: Threads
    tasks: str
    crossed: tuple[str, ...] = ()
    """What tells this setting from the others of its workload, beside variant and reader."""


def settings(options: WorkloadOptions) -> Iterator[Setting]:
    """All settings of a workload. Readers are crossed only with variants that make something of them."""
    axes = (options.sizes, options.io, options.threads, options.tasks)
    for variant, reader in _stories(options):
        for size, io, threads, tasks in product(*axes):
            words = (size_word(size), io, f"{threads}t", tasks)
            crossed = tuple(word for axis, word in zip(axes, words, strict=True) if len(axis) > 1)
            yield Setting(variant, reader, size, io, threads, tasks, crossed)


def _stories(options: WorkloadOptions) -> Iterator[tuple[str, str]]:
    for variant in options.variants:
        if variant in WITH_READERS:
            yield from ((variant, reader) for reader in options.readers)
        else:
            yield variant, "clean"


def size_word(size: int) -> str:
    """`8m`, `64k`, `5000`: as the options take it."""
    for unit, factor in (("g", 1 << 30), ("m", 1 << 20), ("k", 1 << 10)):
        if size % factor == 0:
            return f"{size // factor}{unit}"
    return str(size)
