"""Replayed workloads: what instances of an engine did on a shared tree, what was expected of it, whose fault it was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from typing import Any

from fsconform.vocabulary.errnos import name_of
from fsconform.vocabulary.histories import INF


class Box(Enum):
    """Whose fault a failed expectation is."""

    BROKE = "filesystem broke its promise"
    WITHIN = "filesystem within its promise, application assumes more"
    APPLICATION = "application"
    CONFIGURATION = "configuration"
    GAP = "observation gap"


class Phase(IntEnum):
    """What an instance was doing when an event happened."""

    START = 0
    COLD = 1
    """Looking up before anything was stored."""
    STORE = 2
    LOOKUP = 3
    PROMOTE = 4
    RESTORE = 5
    END = 6
    POLL = 7
    """Looking again until everything is there."""
    RETRY = 8
    """A later request."""
    RETRY_PROMOTE = 9
    OTHER = 10
    """An evictor, a cleaner, reading in a loop."""


@dataclass(frozen=True, slots=True)
class Event:
    """One call of one thread; ns on the common axis, INF where it has not returned. `block` -1: of no block."""

    instance: str
    thread: str
    phase: int
    block: int
    step: str
    path: str
    """Relative to the shared root; of a rename or link, the target."""
    invoked: int
    returned: int
    errno: int
    value: int

    def to_json(self, start: int = 0) -> dict[str, Any]:
        """As events of witnesses, times since `start`."""
        return {
            "site": self.instance, "worker": f".{self.thread}", "step": self.step, "path": self.path,
            "errno": name_of(self.errno), "value": self.value, "invoked_ns": self.invoked - start,
            "returned_ns": None if self.returned >= INF else self.returned - start, "phase": self.phase,
            "block": self.block,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class BlockOutcome:
    """What became of one block of a job. `step` is empty where it went well, `read` with errno 0 a short read."""

    block: int
    errno: int
    step: str
    length: int


@dataclass(frozen=True, slots=True)
class JobRecord:
    """One transfer job. `failure`: (errno, step, block) of its first error."""

    phase: int
    kind: str
    """`store` or `load`."""
    number: int
    blocks: tuple[int, ...]
    failure: tuple[int, str, int] | None
    outcomes: tuple[BlockOutcome, ...]


@dataclass(frozen=True, slots=True)
class BlockRead:
    """What the bytes of a loaded block turned out to be. `content` is a `blocks.Content`."""

    block: int
    content: int
    whose: int
    """The block that foreign pages belong to, -1 else."""
    length: int


@dataclass(frozen=True, slots=True)
class InstanceReport:
    """What one instance recorded."""

    letter: str
    """`A` stores, `B` looks up; `C`: evictor or cleaner."""
    site: str
    """Letter of its site."""
    names: tuple[str, ...]
    """Names of its blocks, 64 hex digits each."""
    numbers: Mapping[str, int]
    """Counters at the end; tiers as `chunk_hits:1:fs`."""
    times: Mapping[str, tuple[int, ...]]
    """lookup_async_delay, read_time, write_time; ns."""
    log: tuple[str, ...]
    """What the engine's log would say."""
    samples: tuple[tuple[int, int, int], ...]
    """(ns, active_promotion_jobs, active_cascade_jobs)."""
    changes: tuple[tuple[int, int, int], ...]
    """Every change of the two gauges."""
    suffixes: Mapping[str, str]
    """Thread -> random number of its temporary names."""
    jobs: tuple[JobRecord, ...]
    events: tuple[Event, ...]
    reads: tuple[BlockRead, ...] = ()
    request: Mapping[str, int] = field(default_factory=dict)
    """Counters right after its first request that could find anything; empty where it made none."""
    direct: bool = False
    lost: str = ""
    """Why its worker is gone, empty else."""
    peak_bytes: int = 0
    """The most memory that its process had, its buffers included; 0 where that is not known."""


@dataclass(frozen=True, slots=True)
class Setup:
    """The settings of an episode that judging needs."""

    personality: str
    variant: str
    reader: str
    """`clean`, `poisoned` (an ancestor directory was missed before) or `poisoned-name` (the names were)."""
    blocks: int
    size: int
    tokens: int
    suffixes: str
    """`unique` or `equal`."""
    tasks: str
    publish: str
    """How the store gives blocks their names, as an axis value."""
    observer: str
    """How it looks them up, as an axis value."""
    gauge_s: float
    io: str = "auto"
    """`auto` (as a probe file said), `direct` or `buffered`."""
    threads: int = 32
    crossed: tuple[str, ...] = ()
    """What tells it from other replays of the same variant and reader."""
    exclusive: bool = True
    """Whether it opens its temporary file with O_EXCL."""
    deletes: bool = True
    """Whether a reader deletes a block that it reads short."""
    error_ns: int = 0
    """Half-width of the clock error between the instances."""

    @property
    def label(self) -> str:
        """`base/poisoned`, `base/clean/64k/direct/1t`."""
        return "/".join((self.variant, self.reader, *self.crossed))


@dataclass(frozen=True, slots=True)
class Episode:
    """One replay on a fresh tree."""

    setup: Setup
    instances: tuple[InstanceReport, ...]
    files: tuple[tuple[str, int], ...] = ()
    """(path, bytes) of everything below the root at the end."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What only some variants measure."""
    seconds: Mapping[str, float] = field(default_factory=dict)
    """How long the timed phases took."""

    def instance(self, letter: str) -> InstanceReport | None:
        """One instance, None where it took no part."""
        return next((report for report in self.instances if report.letter == letter), None)

    def events(self) -> tuple[Event, ...]:
        """Of all instances, in order of invocation."""
        return tuple(sorted((e for report in self.instances for e in report.events), key=lambda event: event.invoked))


@dataclass(frozen=True, slots=True)
class Expectation:
    """One thing that holds on a filesystem that behaves like a local one, and what was found."""

    name: str
    """`B read_bytes`."""
    expected: str
    got: str
    met: bool


@dataclass(frozen=True, slots=True)
class Attribution:
    """One finding in one box, with the events that prove it."""

    box: Box
    title: str
    why: str
    """In one or two sentences: what happened, why it belongs there."""
    explains: tuple[str, ...]
    """Names of the failed expectations that it explains."""
    events: tuple[Event, ...]
    property_id: str = ""
    cure: str = ""
    count: int = 1
    """How many blocks, jobs or calls it is about."""
    urgent: bool = False
    """Whether it destroys good data: told first of all."""
    bound_s: float = 0.0
    """The promised bound within which it is legal, seconds."""


@dataclass(frozen=True, slots=True)
class EpisodeResult:
    """An episode, held against what was expected."""

    episode: Episode
    expectations: tuple[Expectation, ...]
    attributions: tuple[Attribution, ...]
    notes: tuple[str, ...] = ()
    """How to read some of the numbers."""
    skipped: str = ""
    """Why the variant could not be played here, empty else."""
