"""What the user asked a workload to be."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from fsconform.personalities.catalogue import PERSONALITIES
from fsconform.run.workload.settings import Threads, size_word
from fsconform.vocabulary.errors import CannotTestError, unknown

TIER = "vllm-fs-tier"
"""The workload of the vLLM fs tier; every other one is named as its store."""
ENGINES = {"c": "vllm-c", "py": "vllm-py"}
READERS = ("clean", "poisoned", "poisoned-name")
VARIANTS = ("base", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10")
TASKS, IO, SUFFIXES = ("job", "block", "split"), ("auto", "direct", "buffered"), ("unique", "equal")
_UNITS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


@dataclass(frozen=True, slots=True)
class WorkloadOptions:
    """The options of one workload; defaults are those of the case it was built for. Whatever may have several values
    is crossed: one replay per combination (`settings.settings`)."""

    name: str
    sites: tuple[str, ...]
    variants: tuple[str, ...] = ("base",)
    readers: tuple[str, ...] = ("clean", "poisoned")
    engine: str = "c"
    profile: str | None = None
    blocks: int = 67
    sizes: tuple[int, ...] = (8 << 20,)
    """Bytes of a block."""
    tokens: int = 64
    jobs: tuple[int, ...] = (32, 32, 3)
    threads: tuple[Threads, ...] = (Threads(16, 16),)
    slots: int = 1280
    tick_s: float = 0.01
    gauge_s: float = 0.02
    tasks: tuple[str, ...] = ("job",)
    io: tuple[str, ...] = ("auto",)
    suffixes: str = "unique"
    seed: str = "123"
    seed_b: str = ""
    """Seed string of B where it differs (what happens then)."""
    faithful: bool = False
    deadline_s: float = 120.0
    watch_s: float | None = None
    """How long to look for what a request missed; None: the longest bound that is promised."""
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
            *(("tasks", word, TASKS) for word in self.tasks),
            *(("io", word, IO) for word in self.io),
            ("engine", self.engine, tuple(ENGINES)),
            ("suffixes", self.suffixes, SUFFIXES),
        ):
            if word not in choices:
                raise unknown(key, word, choices)
        for key in ("variants", "readers", "sizes", "threads", "tasks", "io"):
            if not getattr(self, key):
                raise CannotTestError(f"{key}: nothing is named")
        for key in ("blocks", "tokens", "slots", "rounds"):
            if getattr(self, key) < 1:
                raise CannotTestError(f"{key} must be at least 1, is {getattr(self, key)}")

    @property
    def personality(self) -> str:
        """The store that is replayed."""
        return ENGINES[self.engine] if self.name == TIER else self.name

    @property
    def bytes_needed(self) -> int:
        """What one episode may hold on the filesystem at once."""
        return 2 * self.blocks * max(self.sizes) + (64 << 20)

    def command(self) -> str:
        """The line that repeats this workload, for a shell."""
        words = ["fsconform", "workload", self.name, *self.sites]
        plain = WorkloadOptions(self.name, self.sites)
        for key, flag in _FLAGS.items():
            value = getattr(self, key)
            if value != getattr(plain, key):
                words += [flag] if value is True else [flag, _text(key, value)]
        return shlex.join(words)


_FLAGS = {
    "variants": "--variants", "readers": "--readers", "engine": "--engine", "profile": "--profile",
    "blocks": "--blocks", "sizes": "--block-size", "tokens": "--tokens", "jobs": "--jobs", "threads": "--threads",
    "slots": "--slots", "tick_s": "--tick", "gauge_s": "--gauge", "tasks": "--tasks", "io": "--io",
    "suffixes": "--suffixes", "seed": "--hash-seed", "seed_b": "--hash-seed-b", "faithful": "--faithful",
    "deadline_s": "--deadline", "watch_s": "--watch", "rounds": "--rounds", "loop_s": "--loop", "hang_s": "--hang",
    "hang_pid": "--hang-pid",
}  # fmt: skip


def _text(key: str, value: object) -> str:
    if not isinstance(value, tuple):
        return str(value)
    return ",".join(map(size_word if key == "sizes" else str, value))


def parse_words(text: str, all_words: tuple[str, ...]) -> tuple[str, ...]:
    """`v1,v2` or `all`, in any case."""
    words = tuple(word.strip().lower() for word in text.split(",") if word.strip())
    return all_words if words == ("all",) else words


def parse_sizes(text: str) -> tuple[int, ...]:
    """`64k,8m`. Raises CannotTestError."""
    return tuple(_size(word.strip()) for word in text.split(","))


def _size(text: str) -> int:
    digits, unit = (text[:-1], _UNITS[text[-1].lower()]) if text[-1:].lower() in _UNITS else (text, 1)
    if not digits.isdigit() or not int(digits):
        raise CannotTestError(f"block size {text!r}: give bytes, or with k, m, g, as in 8m or 64k,8m")
    return int(digits) * unit


def parse_threads(text: str) -> tuple[Threads, ...]:
    """`1,32` or `16+16`: in all, or those that prefer loads and those that prefer stores. Raises CannotTestError."""
    found = []
    for word in text.split(","):
        numbers = [int(part) for part in word.split("+") if part.strip().isdigit()]
        if len(numbers) != word.count("+") + 1 or len(numbers) > 2 or not sum(numbers):
            raise CannotTestError(f"threads {text!r}: give numbers in all, as in 1,32, or loads+stores, as in 16+16")
        found.append(Threads(*numbers) if len(numbers) == 2 else Threads.in_all(*numbers))
    return tuple(found)


def parse_counts(text: str) -> tuple[int, ...]:
    """`32,32,3`. Raises CannotTestError."""
    words = text.split(",")
    if not all(word.strip().isdigit() and int(word) for word in words):
        raise CannotTestError(f"jobs {text!r}: give numbers of blocks, as in 32,32,3")
    return tuple(map(int, words))
