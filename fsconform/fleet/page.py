"""The page of shared words through which workers of one host meet (see `fleet.worker.barrier` for its layout)."""

from __future__ import annotations

import fcntl
import mmap
import os
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from fsconform.fleet.worker.barrier import (
    ABORT_WORD,
    HALT_WORD,
    PAGE_WORDS,
    REGION_WORDS,
    REGIONS,
    TOKEN_WORD,
    Place,
)


class Page:
    """A memory file of 64-bit words: word 0 counts halts, word 1 is a token that tells it from any other file, and
    each running job has a region of its own."""

    def __init__(self, memory: str = "") -> None:
        """`memory`: a file to use instead, which guests of a lab share with us. Raises OSError where it cannot be used,
        BlockingIOError where another process uses it."""
        if memory:
            self._descriptor = os.open(memory, os.O_RDWR)
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        else:
            self._descriptor = os.memfd_create("fsconform-page")
        os.ftruncate(self._descriptor, max(8 * PAGE_WORDS, os.fstat(self._descriptor).st_size))
        self._map = mmap.mmap(self._descriptor, 0)
        self._words = memoryview(self._map).cast("q")
        self._map[:] = bytes(len(self._map))
        self.token = self._words[TOKEN_WORD] = secrets.randbits(62)
        self._free = [region * REGION_WORDS for region in range(REGIONS, 0, -1)]
        self._lock = threading.Lock()

    @property
    def path(self) -> str:
        """Where a process of this host and user opens it."""
        return f"/proc/{os.getpid()}/fd/{self._descriptor}"

    @contextmanager
    def region(self) -> Iterator[int]:
        """The first word of a zeroed region, for the time of one job. Raises IndexError beyond 64 jobs at once."""
        with self._lock:
            region = self._free.pop()
            for word in range(region, region + REGION_WORDS):
                self._words[word] = 0
        yield region
        with self._lock:  # after an exception somebody may still be using it: that region is not used again
            self._free.append(region)

    def place(self, region: int, lane: int, lanes: int, patience_s: float) -> Place:
        """Where one worker of a job meets the others. `patience_s`: deadline of each of its waits, seconds."""
        return Place(region, lane, lanes, self._words[HALT_WORD], patience_s, seat=lane)

    def abort(self, region: int) -> None:
        """End the waits of a job whose partner is lost."""
        self._words[region + ABORT_WORD] = 1

    @property
    def halts(self) -> int:
        """How many times all jobs were asked to stop."""
        return self._words[HALT_WORD]

    def halt(self) -> None:
        """Ask every job that runs now to stop soon."""
        self._words[HALT_WORD] += 1

    def close(self) -> None:
        """Give the memory back; workers that still map it keep it."""
        self._words.release()
        self._map.close()
        os.close(self._descriptor)
