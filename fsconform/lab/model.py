"""A lab as a whole: the store, the table of operations, what is agreed with each kernel, and periodic work."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

from fsconform.lab.operations.table import Operations, standard_operations
from fsconform.lab.store import Store

FOREVER_S = 1e9
"""A timeout that no run outlives, seconds."""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """How long a client's kernel trusts what it was told, seconds. `symlink` counts for entry and attributes."""

    entry: float = 0.0
    attr: float = 0.0
    negative: float = 0.0
    symlink: float = 0.0


class DataPath(Enum):
    """Where reads are answered from."""

    DIRECT = "direct"
    """Always the server (FOPEN_DIRECT_IO), where the kernel can map such files; else as `cached`."""
    CACHED = "cached"
    """The client's page cache, dropped at open and when fresh attributes differ."""
    UNMAPPABLE = "unmappable"
    """Always the server; a shared mapping is refused with ENODEV."""


class ReadDirPlus(Enum):
    """Whether listings fill the client's entry and attribute caches."""

    NEVER = "never"
    ADAPTIVE = "adaptive"
    ALWAYS = "always"


@dataclass(slots=True)
class Session:
    """What the server asks of a kernel at INIT and at open."""

    record_locks: bool = True
    """POSIX locks are asked from the server; else they are the client's own."""
    flocks: bool = True
    data_path: DataPath = DataPath.DIRECT
    plus: ReadDirPlus = ReadDirPlus.NEVER
    dots: bool = True
    """Listings show `.` and `..`."""


@dataclass(slots=True)
class Lab:
    """Traits and mutants change its fields before the first mount, and nothing afterwards."""

    store: Store
    timeouts: Timeouts
    session: Session = field(default_factory=Session)
    periodic: list[Callable[[float], None]] = field(default_factory=list)
    """Called about four times a second with the monotonic time in seconds."""
    crashes: list[Callable[[], None]] = field(default_factory=list)
    """Called when the server is to lose what it had not stored; all that a truthful one has acknowledged is stored."""
    operations: Operations = field(init=False)

    def __post_init__(self) -> None:
        self.operations = standard_operations(self.store)

    def crash(self) -> None:
        """The server goes down and comes up again, between two requests: whatever is open stays open."""
        with self.store.lock:
            for lose in self.crashes:
                lose()

    def tick(self, now: float) -> None:
        """One round of periodic work."""
        with self.store.lock:
            self.store.collect_orphans()
        for work in self.periodic:
            work(now)
