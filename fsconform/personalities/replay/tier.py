"""The fs tier of one instance: a scheduler that ticks, a lookup thread, a pool, jobs, counters.

After vllm/v1/kv_offload/tiering/manager.py and fs/manager.py: a look-up of unknown keys is answered RETRY, posted as
one batch at the end of the step, and resolved in a later step; a hit takes a primary slot at once, and all hits of a
request become one job at the end of that step; that a job has finished is noticed in a later step.
"""

from __future__ import annotations

import errno
import mmap
import os
import queue
import threading
import time
from importlib import import_module
from typing import Callable, Optional, Sequence

from fsconform.personalities.protocol import Protocol
from fsconform.personalities.replay import contents, names
from fsconform.personalities.replay.counters import PRIMARY, TIER, Counters, Gauges
from fsconform.personalities.replay.files import Files
from fsconform.personalities.replay.jobs import Job, ShortReadError
from fsconform.personalities.replay.pool import LOAD, STORE, Pool
from fsconform.personalities.replay.settings import Settings
from fsconform.personalities.replay.suffixes import Suffixes
from fsconform.personalities.replay.tape import Tape, Trace

_clock = time.monotonic_ns
_UNWRITTEN = 0xA5
"""What fills a buffer before anything is loaded into it: no page of any block, and not zero either."""
_PIECE = 1 << 20


class Tier:
    """One instance. Its methods run on the scheduler's thread; times in ns, lengths in bytes."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.digests = names.block_hashes(settings.seed, settings.blocks, settings.tokens)
        self.paths = [names.block_path(digest) for digest in self.digests]
        self.protocol: Protocol = import_module(settings.protocol).PROTOCOL()
        self.trace = Trace()
        self.scheduler = self.trace.tape("scheduler")
        self.counters = Counters()
        self.gauges = Gauges(settings.gauge_s)
        self.direct = settings.io == "direct"
        seed = settings.suffix_seed if not self.protocol.seeded or settings.suffix_seed is not None else 0
        self.suffixes = Suffixes(seed)
        self.arena = mmap.mmap(-1, max(settings.blocks * settings.size, mmap.PAGESIZE))
        self.loaded: "dict[int, int]" = {}
        """Block -> bytes of it that the last load brought into the arena."""
        self.slots = settings.slots
        self.jobs: "list[tuple[int, str, Job]]" = []
        """(phase, `store` or `load`, job)."""
        self._pool = Pool(self.trace, settings.readers, settings.writers)
        self._batches: "queue.SimpleQueue[Optional[tuple[list[int], dict[int, bool]]]]" = queue.SimpleQueue()
        self._lookup_tape = self.trace.tape("lookup")
        self._lookup_thread = threading.Thread(target=self._look_up_batches, daemon=True)
        self._lookup_thread.start()
        self._next_tick = _clock()
        self.stopping = threading.Event()
        """Set where a scene that goes on by itself is to end."""

    # ---------------------------------------------------------------- what others need

    def files(self, tape: Tape) -> Files:
        """The filesystem as a thread of this instance uses it."""
        return Files(tape, self.settings.root, self.direct, self.settings.faithful)

    def buffer(self, block: int) -> "memoryview[int]":
        """The primary slot of a block: page-aligned where the block size is."""
        size = self.settings.size
        return memoryview(self.arena)[block * size : (block + 1) * size]

    def fill(self) -> None:
        """The contents of all blocks into the arena."""
        size = self.settings.size
        for block, digest in enumerate(self.digests):
            self.arena[block * size : (block + 1) * size] = contents.make(digest, size)

    def clear(self) -> None:
        """Bytes that are no block's into the arena, so that what a load does not write shows."""
        filler = bytes([_UNWRITTEN]) * _PIECE
        for start in range(0, len(self.arena), _PIECE):
            end = min(start + _PIECE, len(self.arena))
            self.arena[start:end] = filler[: end - start]
        self.loaded.clear()

    def close(self) -> None:
        """End all threads."""
        self.trace.gates.clear()
        self._batches.put(None)
        self._lookup_thread.join(5.0)
        self._pool.close()
        self.gauges.close()

    def tick(self) -> None:
        """Sleep until the next step of the engine."""
        period = int(self.settings.tick_s * 1e9)
        self._next_tick = max(self._next_tick + period, _clock())
        time.sleep(max(0, self._next_tick - _clock()) / 1e9)

    # ---------------------------------------------------------------- start

    def start(self) -> None:
        """Base directory, config.json written in place where it is missing, the O_DIRECT probe."""
        files = self.files(self.scheduler)
        files.make_parents(names.CONFIG)
        if not files.exists("stat-config", names.CONFIG):
            descriptor = files.open_plain("open-config", names.CONFIG, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            files.write(names.CONFIG, descriptor, b"{}\n")
            files.close("close-config", names.CONFIG, descriptor)
        if self.settings.io == "auto":
            self.direct = self.settings.size % mmap.PAGESIZE == 0 and self._probe_direct(files)

    def _probe_direct(self, files: Files) -> bool:
        path = "{}/.o_direct_probe_{}.tmp".format(names.BASE, self.suffixes.draw())
        try:
            flags = os.O_CREAT | os.O_WRONLY | os.O_TRUNC | os.O_DIRECT
            descriptor = files.open_plain("open-probe", path, flags)
        except OSError:
            return False
        with mmap.mmap(-1, mmap.PAGESIZE) as page:
            try:
                files.write_once(path, descriptor, memoryview(page))
            except OSError:
                return False
            finally:
                files.close("close-probe", path, descriptor)
                files.unlink_quietly("unlink-probe", path)
        return True

    # ---------------------------------------------------------------- look-up

    def _look_up_batches(self) -> None:
        files = self.files(self._lookup_tape)
        while True:
            batch = self._batches.get()
            if batch is None:
                return
            blocks, answers = batch
            for block in blocks:
                self._lookup_tape.block = block
                answers[block] = self.protocol.lookup(files, self.paths[block])

    def look_up(self) -> "list[int]":
        """One request asks for all blocks once; which of them it takes for hits. A verdict is never asked again."""
        blocks = range(self.settings.blocks)
        first = _clock()
        answers: "dict[int, bool]" = {}
        self.counters.add("chunk_queries:" + PRIMARY, len(blocks))
        self.tick()
        self._batches.put((list(blocks), answers))
        hits, resolved = [], 0
        while resolved < len(blocks):
            self.tick()
            for block in range(resolved, len(blocks)):
                if block not in answers:
                    break
                resolved += 1
                self.counters.add("chunk_queries:" + TIER)
                self.counters.times["lookup_async_delay"].append(_clock() - first)
                if answers[block] and self._take_slot():
                    self.counters.add("chunk_hits:" + TIER)
                    hits.append(block)
        return hits

    def _take_slot(self) -> bool:
        if self.slots <= 0:
            self.counters.add("promotion_allocation_failures")
            return False
        self.slots -= 1
        return True

    # ---------------------------------------------------------------- jobs

    def promote(self, blocks: "Sequence[int]") -> Optional[Job]:
        """Load blocks by one job; None where there is nothing to load."""
        if not blocks:
            return None
        job = Job(len(self.jobs), blocks, self._load)
        self.jobs.append((self.trace.phase, "load", job))
        self.counters.add("promotion_jobs_started")
        self.gauges.change(1, 0)
        self._submit(LOAD, job)
        while not job.done():
            self.tick()
        self.gauges.change(-1, 0)
        kept = job.kept()
        self.counters.times["read_time"].append(_clock() - job.submitted)
        self.counters.add("read_bytes", len(kept) * self.settings.size)
        self.counters.add("external_prefix_cache_hits", self.settings.tokens * _leading(kept))
        if job.failure:
            self.counters.add("promotion_job_failures")
            self._log(job)
        return job

    def store(self, jobs: "Sequence[Sequence[int]]", work: "Optional[Callable[[Tape, int], int]]" = None) -> None:
        """Store blocks, a job per step of the engine, and wait until all have been noticed as finished."""
        running: "list[Job]" = []
        waiting = [list(blocks) for blocks in jobs if blocks]
        while waiting or running:
            if waiting:
                job = Job(len(self.jobs), waiting.pop(0), work or self.store_block)
                self.jobs.append((self.trace.phase, "store", job))
                self.counters.add("cascade_jobs_started")
                self.gauges.change(0, 1)
                self._submit(STORE, job)
                running.append(job)
            self.tick()
            for job in [job for job in running if job.done()]:
                running.remove(job)
                self._account(job)

    def _account(self, job: Job) -> None:
        """vLLM's rule: a job that succeeded counts as written in full, skipped blocks included; a failed one as 0."""
        self.gauges.change(0, -1)
        if job.failure:
            self.counters.add("cascade_job_failures")
            self._log(job)
        else:
            self.counters.add("write_bytes", len(job.blocks) * self.settings.size)
            self.counters.times["write_time"].append(_clock() - job.submitted)
        for outcome in job.outcomes.values():
            if outcome.good and outcome.length:
                self.counters.add("write_bytes_actual", outcome.length)
            elif outcome.good:
                self.counters.add("dedup_skips")
            elif outcome.errno == errno.EIO and outcome.step == "write":
                self.counters.add("short_writes")

    def _submit(self, kind: int, job: Job) -> None:
        reserve = self.suffixes.reserve if kind == STORE else lambda: None
        for task in job.tasks(self.settings.tasks, self.settings.readers, reserve):
            self._pool.submit(kind, task)

    def _log(self, job: Job) -> None:
        """What the engine's log would say: the destination, whichever call failed."""
        assert job.failure is not None
        number, _step, block = job.failure
        told = "Job {} block I/O failed: [Errno {}] {}: '{}/{}'"
        self.counters.log.append(
            told.format(job.number, number, os.strerror(number), self.settings.root, self.paths[block])
        )

    def store_block(self, tape: Tape, block: int) -> int:
        """Store one block; bytes written."""
        suffix = self.suffixes.of(tape.thread, tape.reserved)
        return self.protocol.store(self.files(tape), self.paths[block], self.buffer(block), suffix)

    def store_alone(self, tape: Tape, block: int, work: "Optional[Callable[[Tape, int], int]]" = None) -> bool:
        """Store one block outside all jobs, on the caller's thread; a failure is kept as that of a job of its own."""
        job = Job(len(self.jobs), [block], work or self.store_block)
        for task in job.tasks("job", 1):
            task(tape)
        if job.failure:
            self.jobs.append((self.trace.phase, "store", job))
            self.counters.add("cascade_job_failures")
            self._log(job)
        return not job.failure

    def _load(self, tape: Tape, block: int) -> int:
        size = self.settings.size
        count = self.protocol.load(self.files(tape), self.paths[block], self.buffer(block))
        self.loaded[block] = count
        if count < size:
            self.counters.add("short_reads")
            if self.protocol.deletes:
                self.counters.add("would_unlink")
            raise ShortReadError(count)
        return count

    def job_blocks(self) -> "list[list[int]]":
        """The blocks of each store job."""
        found, start = [], 0
        for length in self.settings.jobs:
            found.append(list(range(start, min(start + length, self.settings.blocks))))
            start += length
        if start < self.settings.blocks:
            found.append(list(range(start, self.settings.blocks)))
        return [blocks for blocks in found if blocks]

    # ---------------------------------------------------------------- afterwards

    def verify(self) -> "list[tuple[int, int, int, int]]":
        """(block, class of content, whose, length) of everything that was loaded."""
        found = []
        for block, length in sorted(self.loaded.items()):
            data = bytes(self.buffer(block)[:length])
            found.append((block, *contents.classify(data, self.digests, block, self.settings.size), length))
        return found


def _leading(kept: "Sequence[int]") -> int:
    """How many blocks from the first one on are there without a gap."""
    length = 0
    for block in kept:
        if block != length:
            break
        length += 1
    return length
