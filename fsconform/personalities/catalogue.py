"""The stores that can be replayed: names, who they are, and the modules that travel with a worker."""

from __future__ import annotations

from dataclasses import dataclass

from fsconform.vocabulary.errors import unknown

_HOME = "fsconform.personalities"
_REPLAY = tuple(
    f"{_HOME}.replay.{name}"
    for name in ("names", "contents", "tape", "files", "jobs", "pool", "counters", "suffixes", "settings", "memory")
)
_STAGE = tuple(f"{_HOME}.replay.{name}" for name in ("tier", "contest", "scenes", "requests"))


@dataclass(frozen=True, slots=True)
class Personality:
    """One store."""

    name: str
    title: str
    application: str
    """Its entry in profiles/applications.toml."""
    publish: str = "rename"
    """How a block gets its name, as an axis value."""
    observer: str = "stat"
    """How it looks a block up, as an axis value."""
    seeded: bool = False
    """Whether all instances draw equal suffixes by its design."""
    exclusive: bool = True
    """Whether it opens its temporary file with O_EXCL."""
    deletes: bool = False
    """Whether a reader of it deletes a block that it reads short."""

    @property
    def module(self) -> str:
        """The module with its protocol."""
        return f"{_HOME}.{self.name.replace('-', '_')}"


_CATALOGUE = (
    Personality("vllm-c", "vLLM fs tier, C path", "vllm-c", observer="access", deletes=True),
    Personality("vllm-py", "vLLM fs tier, Python path", "vllm-py", deletes=True),
    Personality("llmd", "llm-d fs connector (publishes before it closes)", "llmd", exclusive=False),
    Personality("fixed-tmp", "LMCache fs_native (one fixed temporary name per block)", "fixed-tmp",
                exclusive=False),
    Personality("in-place", "Mooncake file-per-key (no temporary name)", "in-place", publish="create",
                exclusive=False),
    Personality("link-publish", "git loose objects (link and unlink)", "link-publish", publish="link"),
    Personality("colliding-tmp", "vLLM's sequence with equal suffixes everywhere", "colliding-tmp",
                observer="access", seeded=True, deletes=True),
    Personality("lock-then-fill", "Hugging Face hub cache (flock, move, symlink)", "lock-then-fill"),
)  # fmt: skip
PERSONALITIES: dict[str, Personality] = {entry.name: entry for entry in _CATALOGUE}
MODULES = (*_REPLAY, f"{_HOME}.protocol", *(entry.module for entry in _CATALOGUE), *_STAGE)
"""Everything that travels with a worker, in the order of imports."""


def personality(name: str) -> Personality:
    """One store by its name. Raises CannotTestError."""
    if name not in PERSONALITIES:
        raise unknown("store", name, PERSONALITIES)
    return PERSONALITIES[name]
