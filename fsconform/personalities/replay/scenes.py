"""Scenes: what an instance, or somebody else on the same tree, is told to do in one phase."""

from __future__ import annotations

import os
import stat
import time
from contextlib import suppress
from itertools import cycle, islice
from typing import Any, Callable, Optional, Sequence

from fsconform.personalities.replay import contents, names
from fsconform.personalities.replay.tape import NO_BLOCK, Tape
from fsconform.personalities.replay.tier import Tier

_clock = time.monotonic_ns
_REST_S = 0.001
_RELATIVE_PAUSE = 0.01


def start(tier: Tier) -> None:
    """Phase 0: base directory, config.json, O_DIRECT probe."""
    tier.start()


def make_directories(tier: Tier) -> None:
    """All directories of all blocks, so that a look-up misses the names and not their ancestors."""
    files = tier.files(tier.scheduler)
    for path in tier.paths:
        files.make_parents(path)


def request(tier: Tier, promotion: "Optional[int]") -> "list[int]":
    """One request: a single-shot look-up and the promotion of its hits, which is phase `promotion` (None: without).

    Returns the hits.
    """
    hits = tier.look_up()
    if promotion is not None:
        tier.trace.phase = promotion
        tier.promote(hits)
    return hits


def promote(tier: Tier, blocks: "Sequence[int]") -> None:
    """Load these blocks by one job."""
    tier.promote(blocks)


def store(tier: Tier) -> None:
    """All store jobs, one tick apart."""
    tier.store(tier.job_blocks())


def poll(tier: Tier, blocks: "Sequence[int]", seconds: float) -> "list[int]":
    """Look for these blocks until all are there or time is up; what is still missing.

    Every tick at first, later with pauses of 1 % of the time that has passed: times are known to 1 %.
    """
    files, missing = tier.files(tier.scheduler), list(blocks)
    start = time.monotonic()
    while missing and time.monotonic() < start + seconds and not tier.stopping.is_set():
        left = []
        for block in missing:
            tier.scheduler.block = block
            if not tier.protocol.lookup(files, tier.paths[block]):
                left.append(block)
        missing = left
        tier.scheduler.block = NO_BLOCK
        if missing:
            tier.tick()
            time.sleep(max(0.0, _RELATIVE_PAUSE * (time.monotonic() - start) - tier.settings.tick_s))
    return missing


def unlink_blocks(tier: Tier, blocks: "Sequence[int]", pause_s: float = 0.0) -> None:
    """An evictor: removes blocks, whoever may be reading them."""
    files = tier.files(tier.scheduler)
    for block in blocks:
        tier.scheduler.block = block
        files.unlink_quietly("evict", tier.paths[block])
        time.sleep(pause_s)
    tier.scheduler.block = NO_BLOCK


def read_again(tier: Tier, blocks: "Sequence[int]", seconds: float) -> "dict[str, int]":
    """Load block after block until told to stop; how often each outcome came: `content N`, `errno N`."""
    files, tape = tier.files(tier.scheduler), tier.scheduler
    found: "dict[str, int]" = {}
    end = time.monotonic() + seconds
    for block in cycle(blocks):
        if time.monotonic() > end or tier.stopping.is_set():
            break
        tape.block = block
        word = _read_one(tier, files, block)
        found[word] = found.get(word, 0) + 1
    tape.block = NO_BLOCK
    return found


def _read_one(tier: Tier, files: Any, block: int) -> str:
    try:
        length = tier.protocol.load(files, tier.paths[block], tier.buffer(block))
    except OSError as error:
        return "errno {}".format(error.errno)
    data = bytes(tier.buffer(block)[:length])
    return "content {}".format(contents.classify(data, tier.digests, block, tier.settings.size)[0])


def republish(tier: Tier, blocks: "Sequence[int]", seconds: float, pause_s: float) -> int:
    """Remove and store these blocks again and again; how often that went well.

    Not beyond half of the room: there are filesystems that keep the data of removed files for a while.
    """
    files, tape = tier.files(tier.scheduler), tier.scheduler
    room = os.statvfs(tier.settings.root)
    most = room.f_bavail * room.f_frsize // 2 // tier.settings.size
    end, count = time.monotonic() + seconds, 0
    for block in islice(cycle(blocks), most):
        if time.monotonic() > end:
            break
        tape.block = block
        files.unlink_quietly("evict", tier.paths[block])
        count += tier.store_alone(tape, block)
        time.sleep(pause_s)
    tape.block = NO_BLOCK
    return count


def clean_directories(tier: Tier, seconds: float) -> int:
    """A cleaner: removes empty directories below the blocks until it is told to stop; how many it removed."""
    files, removed = tier.files(tier.scheduler), 0
    end = time.monotonic() + seconds
    while time.monotonic() < end and not tier.stopping.is_set():
        for first in _names(files, names.BLOCKS):
            above = names.BLOCKS + "/" + first
            for second in _names(files, above):
                removed += _removed(files, above + "/" + second)
            removed += _removed(files, above)
        time.sleep(_REST_S)
    return removed


def _names(files: Any, path: str) -> "list[str]":
    try:
        return files.listing(path)  # type: ignore[no-any-return]
    except OSError:
        return []


def _removed(files: Any, path: str) -> bool:
    try:
        files.rmdir(path)
    except OSError:
        return False
    return True


def publish_fresh(tier: Tier, number: int, block: int) -> int:
    """One more block under a name of its own; when its rename returned, 0 where it could not be stored."""
    files, path = tier.files(tier.scheduler), _fresh(number)

    def store_fresh(_tape: Tape, _block: int) -> int:
        return tier.protocol.store(files, path, tier.buffer(block), number)

    return _clock() if tier.store_alone(tier.scheduler, block, store_fresh) else 0


def look_at_fresh(tier: Tier, number: int, block: int) -> "tuple[int, int, int, int, int]":
    """`look_at` one of the names of `publish_fresh`."""
    return _look(tier, _fresh(number), block)


def look_at(tier: Tier, block: int) -> "tuple[int, int, int, int, int]":
    """Open, fstat, read, close: (invoked, errno, length by fstat, bytes read, class of content)."""
    return _look(tier, tier.paths[block], block)


def _look(tier: Tier, path: str, block: int) -> "tuple[int, int, int, int, int]":
    tape = tier.scheduler
    tape.block = block
    files = tier.files(tape)
    invoked = _clock()
    try:
        descriptor = files.open("open", path, os.O_RDONLY)
        try:
            length = files.size_of(path, descriptor)
            count = files.read(path, descriptor, tier.buffer(block))
        finally:
            files.close("close-read", path, descriptor)
    except OSError as error:
        return invoked, error.errno or 0, 0, 0, contents.TORN
    data = bytes(tier.buffer(block)[:count])
    return invoked, 0, length, count, contents.classify(data, tier.digests, block, tier.settings.size)[0]


def remove_fresh(tier: Tier, numbers: "Sequence[int]") -> None:
    """The names of `publish_fresh` go again, their data first: some filesystems keep what was removed for a while."""
    files = tier.files(tier.scheduler)
    for number in numbers:
        with suppress(OSError):
            os.truncate(tier.settings.root + "/" + _fresh(number), 0)
        files.unlink_quietly("evict", _fresh(number))


def empty(tier: Tier) -> None:
    """Cut all files to nothing, so that their room is there at once wherever removed files are kept for a while."""
    for path, size in listing(tier):
        if size:
            with suppress(OSError):
                os.truncate(tier.settings.root + "/" + path, 0)


def _fresh(number: int) -> str:
    return "fresh/{:03d}/{:06d}.bin".format(number % 997, number)


def listing(tier: Tier) -> "list[tuple[str, int]]":
    """(path, size) of every file below the root."""
    found = []
    for directory, _directories, files in os.walk(tier.settings.root):
        for name in files:
            path = os.path.join(directory, name)
            try:
                status = os.lstat(path)
            except OSError:
                continue
            if stat.S_ISREG(status.st_mode):
                found.append((os.path.relpath(path, tier.settings.root), status.st_size))
    return sorted(found)


SCENES: "dict[str, Callable[..., Any]]" = {
    scene.__name__: scene
    for scene in (
        start, make_directories, request, promote, store, poll, unlink_blocks, read_again, republish,
        clean_directories, publish_fresh, look_at, look_at_fresh, remove_fresh, listing, empty,
    )
}  # fmt: skip
