"""Suffixes of temporary names, drawn once per thread as vLLM draws them (vllm/v1/kv_offload/tiering/fs)."""

from __future__ import annotations

import random
import threading
from typing import Optional

LARGEST = 2**63 - 1


class Suffixes:
    """`seed` None: true random numbers. Otherwise what Python's global random gives after random.seed(seed)."""

    def __init__(self, seed: "Optional[int]") -> None:
        self._random: random.Random = random.SystemRandom() if seed is None else random.Random(seed)
        self._by_thread: "dict[str, int]" = {}
        self._lock = threading.Lock()

    def draw(self) -> int:
        """The next number; randint(0, 2**63 - 1)."""
        with self._lock:
            return self._random.randint(0, LARGEST)

    def reserve(self) -> "Optional[int]":
        """A number for the thread that will take a task, drawn in the order of the tasks; None where they are random.

        So two instances with equal seeds give equal numbers to equal tasks, however their threads are scheduled.
        """
        return None if isinstance(self._random, random.SystemRandom) else self.draw()

    def of(self, thread: str, reserved: "Optional[int]") -> int:
        """The number of a thread: what is reserved for its first task, else drawn then."""
        if thread not in self._by_thread:
            self._by_thread[thread] = self.draw() if reserved is None else reserved
        return self._by_thread[thread]

    def drawn(self) -> "dict[str, int]":
        """Thread -> number."""
        return dict(self._by_thread)
