"""The settings of one instance, as they travel."""

from __future__ import annotations

from typing import Any, NamedTuple, Optional, Sequence


class Settings(NamedTuple):
    """Defaults: two instances of a Llama-3.1-8B that share one tier, 67 blocks of 64 tokens."""

    root: str
    letter: str
    protocol: str = "fsconform.personalities.vllm_c"
    """The module that has the store's PROTOCOL."""
    blocks: int = 67
    size: int = 8 << 20
    tokens: int = 64
    seed: str = "123"
    """$PYTHONHASHSEED as text: the root of all names."""
    jobs: "Sequence[int]" = (32, 32, 3)
    readers: int = 16
    writers: int = 16
    tick_s: float = 0.01
    gauge_s: float = 0.02
    tasks: str = "job"
    """`job`, `block` or `split`."""
    io: str = "auto"
    """`auto` (asks by a probe file), `direct` or `buffered`."""
    slots: int = 1280
    suffix_seed: "Optional[int]" = None
    """None: unique suffixes; else all instances with the same number draw the same."""
    faithful: bool = False
    """Whether short reads unlink the block, as vLLM does; otherwise that is only counted."""
    deadline_s: float = 120.0
    """Of every single operation."""

    @classmethod
    def from_wire(cls, values: "dict[str, Any]") -> "Settings":
        """From builtins."""
        return cls(**values)
