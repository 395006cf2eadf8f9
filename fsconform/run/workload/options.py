"""What the user asked a workload to be."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace

from fsconform.personalities.catalogue import PERSONALITIES
from fsconform.vocabulary.errors import CannotTestError, unknown

TIER = "vllm-fs-tier"
"""The workload of the vLLM fs tier; every other one is named as its store."""
ENGINES = {"c": "vllm-c", "py": "vllm-py"}
READERS = ("clean", "poisoned", "poisoned-name")
VARIANTS = ("base", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10")
_CHOICES = {"tasks": ("job", "block", "split"), "io": ("auto", "direct", "buffered"), "suffixes": ("unique", "equal")}
_UNITS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


@dataclass(frozen=True, slots=True)
class WorkloadOptions:
    """The options of one workload; defaults are those of the case it was built for."""

    name: str
    sites: tuple[str, ...]
    variants: tuple[str, ...] = ("base",)
    readers: tuple[str, ...] = ("clean", "poisoned")
    engine: str = "c"
    profile: str | None = None
    blocks: int = 67
    size: int = 8 << 20
    tokens: int = 64
    jobs: tuple[int, ...] = (32, 32, 3)
    read_threads: int = 16
    write_threads: int = 16
    slots: int = 1280
    tick_s: float = 0.01
    gauge_s: float = 0.02
    tasks: str = "job"
    io: str = "auto"
    suffixes: str = "unique"
    seed: str = "123"
    seed_b: str = ""
    """Seed string of B where it differs (what happens then)."""
    faithful: bool = False
    deadline_s: float = 120.0
    rounds: int = 1000
    """Of V8."""
    loop_s: float = 5.0
    """How long V4, V5 read in a loop."""
    hang_s: float = 30.0
    hang_pid: int = 0
    """Process to stop in V10; 0: the server of a `lab=` site."""

    def __post_init__(self) -> None:
        if self.name != TIER and self.name not in PERSONALITIES:
            raise unknown("workload", self.name, (TIER, *PERSONALITIES))
        for key, word, choices in (
            *(("variant", word, VARIANTS) for word in self.variants),
            *(("reader", word, READERS) for word in self.readers),
            ("engine", self.engine, tuple(ENGINES)),
            *((key, getattr(self, key), choices) for key, choices in _CHOICES.items()),
        ):
            if word not in choices:
                raise unknown(key, word, choices)
        for key in ("blocks", "size", "tokens", "read_threads", "write_threads", "slots", "rounds"):
            if getattr(self, key) < 1:
                raise CannotTestError(f"{key} must be at least 1, is {getattr(self, key)}")

    @property
    def personality(self) -> str:
        """The store that is replayed."""
        return ENGINES[self.engine] if self.name == TIER else self.name

    @property
    def bytes_needed(self) -> int:
        """What one episode may hold on the filesystem at once."""
        return 2 * self.blocks * self.size + (64 << 20)

    def command(self) -> str:
        """The line that repeats this workload, for a shell."""
        words = ["fsconform", "workload", self.name, *self.sites]
        plain = WorkloadOptions(self.name, self.sites)
        for key, flag in _FLAGS.items():
            value = getattr(self, key)
            if value != getattr(plain, key):
                words += [flag] if value is True else [flag, _text(value)]
        return shlex.join(words)


_FLAGS = {
    "variants": "--variants", "readers": "--readers", "engine": "--engine", "profile": "--profile",
    "blocks": "--blocks", "size": "--block-size", "tokens": "--tokens", "jobs": "--jobs",
    "read_threads": "--read-threads", "write_threads": "--write-threads", "slots": "--slots", "tick_s": "--tick",
    "gauge_s": "--gauge", "tasks": "--tasks", "io": "--io", "suffixes": "--suffixes", "seed": "--hash-seed",
    "seed_b": "--hash-seed-b", "faithful": "--faithful", "deadline_s": "--deadline", "rounds": "--rounds",
    "loop_s": "--loop", "hang_s": "--hang", "hang_pid": "--hang-pid",
}  # fmt: skip


def _text(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def parse_words(text: str, all_words: tuple[str, ...]) -> tuple[str, ...]:
    """`v1,v2` or `all`, in any case."""
    words = tuple(word.strip().lower() for word in text.split(",") if word.strip())
    return all_words if words == ("all",) else words


def parse_size(text: str) -> int:
    """`8m`, `64k`, `4096`. Raises CannotTestError."""
    digits, unit = (text[:-1], _UNITS[text[-1].lower()]) if text[-1:].lower() in _UNITS else (text, 1)
    if not digits.isdigit() or not int(digits):
        raise CannotTestError(f"block size {text!r}: give bytes, or with k, m, g, as in 8m")
    return int(digits) * unit


def parse_counts(text: str) -> tuple[int, ...]:
    """`32,32,3`. Raises CannotTestError."""
    words = text.split(",")
    if not all(word.strip().isdigit() and int(word) for word in words):
        raise CannotTestError(f"jobs {text!r}: give numbers of blocks, as in 32,32,3")
    return tuple(map(int, words))


def with_jobs(options: WorkloadOptions, *jobs: int) -> WorkloadOptions:
    """The same options with other store jobs."""
    return replace(options, jobs=jobs)
