"""Jobs of a tier: blocks that are loaded or stored together, as one task or several, and what became of them."""

from __future__ import annotations

import threading
import time
from typing import Callable, Optional, Sequence

from fsconform.personalities.replay.tape import NO_BLOCK, Tape

_clock = time.monotonic_ns
Work = Callable[[Tape, int], int]
"""(tape, block) -> bytes moved; raises OSError, or ShortReadError."""


class ShortReadError(OSError):
    """A read that ended early: what vLLM takes for a damaged block."""

    def __init__(self, length: int) -> None:
        super().__init__(0, "{} bytes read".format(length))
        self.length = length
        self.step = "read"


class Outcome:
    """What became of one block of a job."""

    __slots__ = ("block", "errno", "length", "step")

    def __init__(self, block: int, errno: int, step: str, length: int) -> None:
        self.block = block
        self.errno = errno
        self.step = step
        self.length = length
        """Bytes moved; 0 where a store found the block there already."""

    @property
    def good(self) -> bool:
        """Neither refused nor short."""
        return not self.errno and self.step == ""


class Job:
    """One transfer job. A task stops at its first error; any task that stops fails the job."""

    def __init__(self, number: int, blocks: "Sequence[int]", work: Work) -> None:
        self.number = number
        self.blocks = list(blocks)
        self.submitted = _clock()
        self.finished = 0
        self.failure: "tuple[int, str, int] | None" = None
        """errno, step and block of the first error."""
        self.outcomes: "dict[int, Outcome]" = {}
        self._work = work
        self._left = 0
        self._lock = threading.Lock()

    def tasks(
        self, mode: str, threads: int, reserve: "Callable[[], Optional[int]]" = lambda: None
    ) -> "list[Callable[[Tape], None]]":
        """One task (`job`), one per block (`block`), or the blocks split evenly over the threads (`split`)."""
        count = {"job": 1, "block": len(self.blocks), "split": min(threads, len(self.blocks))}[mode]
        size = -(-len(self.blocks) // max(count, 1))
        parts = [self.blocks[start : start + size] for start in range(0, len(self.blocks), size)]
        self._left = len(parts)
        return [self._task(part, reserve()) for part in parts]

    def _task(self, blocks: "Sequence[int]", reserved: "Optional[int]") -> "Callable[[Tape], None]":
        def perform(tape: Tape) -> None:
            tape.reserved = reserved
            try:
                for block in blocks:
                    tape.block = block
                    outcome = self._attempt(tape, block)
                    self.outcomes[block] = outcome
                    if not outcome.good:
                        self._fail(outcome)
                        break
            finally:
                tape.block = NO_BLOCK
                self._leave()

        return perform

    def _attempt(self, tape: Tape, block: int) -> Outcome:
        try:
            return Outcome(block, 0, "", self._work(tape, block))
        except ShortReadError as error:
            return Outcome(block, 0, "read", error.length)
        except OSError as error:
            return Outcome(block, error.errno or 0, getattr(error, "step", "?"), 0)

    def _fail(self, outcome: Outcome) -> None:
        with self._lock:
            if self.failure is None:
                self.failure = (outcome.errno, outcome.step, outcome.block)

    def _leave(self) -> None:
        with self._lock:
            self._left -= 1
            if not self._left:
                self.finished = _clock()

    def done(self) -> bool:
        """Whether every task has ended."""
        return self.finished != 0

    def kept(self) -> "list[int]":
        """The leading blocks that went well: what an engine keeps of a job that failed."""
        kept = []
        for block in self.blocks:
            outcome = self.outcomes.get(block)
            if outcome is None or not outcome.good:
                break
            kept.append(block)
        return kept
