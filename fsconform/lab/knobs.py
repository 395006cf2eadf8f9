"""What a lab's text can set beside its preset: the knobs that traits and mutants read."""

from __future__ import annotations

import random
import zlib
from dataclasses import dataclass, field

from fsconform.lab.calls import Call

GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class Knobs:
    """All durations in seconds."""

    p: float = 1.0
    """How often a mutant strikes where it could."""
    window: float = 0.005
    """How long a wrong state lasts, or an answer is held back so that others come in between."""
    ttl: float = 1.0
    """How long a mutant's cache keeps what is no longer so."""
    capacity: int = 4 * GIB
    """Size of the filesystem, bytes."""
    collect: float = 300.0
    """How long the data of an unlinked file stay readable (only where a preset collects them)."""
    sync: float = 30.0
    """Interval of the periodic publishing of lengths, before its random factor (only where a preset has one)."""
    op: str = "read"
    """The operation that a hang strikes."""
    match: str = ""
    """A hang strikes only names that contain this."""
    site: str = ""
    """Letters of the mounts whose requests a mutant strikes; empty: all."""
    chance: random.Random = field(default_factory=random.Random, compare=False, repr=False)
    salt: int = field(default_factory=lambda: random.getrandbits(64), compare=False, repr=False)

    def strikes(self, call: Call, *about: object) -> bool:
        """Whether a mutant is to strike this call.

        `about`: what is decided once and for all callers (a name that several contend for); nothing: anew each time.
        """
        if self.site and chr(ord("a") + call.client.number) not in self.site:
            return False
        if self.p >= 1:
            return True
        if about:
            return zlib.crc32(repr((self.salt, about)).encode()) < self.p * (1 << 32)
        return self.chance.random() < self.p
