"""The stories that can be played, by variant (the base story is in `story`)."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from fsconform.personalities.catalogue import personality
from fsconform.run.workload import story
from fsconform.run.workload.parties import together
from fsconform.run.workload.servers import emulation_servers
from fsconform.run.workload.stage import SEEDED, NotPlayable, Stage
from fsconform.vocabulary.workloads import Phase

_CRASH_SEED = 4711
_SMALL_BYTES = 1 << 30
"""A filesystem with more room than this is not filled."""
_REPUBLISH_PAUSE_S = 0.002
_REPLACED = 2
"""Blocks that are replaced while they are read: few, so that the two meet."""
_CLEANING_S = 60.0
_BATCH = 25
STORED, PROMOTED = "cascade_job_failures", "promotion_job_failures"


def store_together(stage: Stage, **changes: Any) -> None:
    """A and B store all blocks at once: in step before each block where a job is one task, else as they come."""
    for letter in "AB":
        stage.open(letter, True, **changes)
    stage.start("A", "B")
    story.ask_before(stage)
    first, second = stage.parties["A"], stage.parties["B"]
    with stage.timed("store"):
        if stage.setting.tasks == "job":
            _contest(stage)
        else:
            together(*(lambda p=party: p.perform(Phase.STORE, "store") for party in (first, second)))
    second.fill(False)


def _contest(stage: Stage) -> None:
    sides = [stage.parties[letter] for letter in "AB"]
    with stage.fleet.meeting([party.worker for party in sides]) as places:
        together(*(
            lambda p=party, side=side: p.contest(Phase.STORE, places[side], side) for side, party in enumerate(sides)
        ))  # fmt: skip


def concurrent_stores(stage: Stage) -> None:
    """V1: both store the same blocks with unique suffixes; the last rename wins."""
    store_together(stage)
    story.ask(stage)
    stage.list_files()


def equal_suffixes(stage: Stage) -> None:
    """V2: the same with equal suffixes: the loser of every temporary file gets EEXIST there."""
    stage.facts["provoked"] = (STORED,)
    store_together(stage, suffix_seed=SEEDED)
    stage.parties["B"].perform(Phase.LOOKUP, "request", int(Phase.PROMOTE))
    stage.parties["B"].verify()
    stage.list_files()
    stage.facts["must be 0"] = {"files: blocks of another length": _misshapen(stage)}


def crash(stage: Stage) -> None:
    """V3: A is killed between close and rename, and comes back with the same suffix, then with another one."""
    step = {"rename": "rename", "link": "link"}.get(stage.personality.publish)
    if step is None:
        raise NotPlayable("this store gives a block its name when it opens it: there is no moment between")
    blocks = stage.options.blocks
    block, settings = min(1, blocks - 1), {"suffix_seed": _CRASH_SEED, "jobs": (blocks,), "tasks": "job"}
    first = stage.open("A", True, **settings)
    first.perform(Phase.START, "start")
    first.hold(step, block)
    first.begin(Phase.STORE, "store")
    if not first.await_hold(step, block):
        raise NotPlayable(f"{step} of block {block} was not reached in time")
    first.kill()
    stage.end_life("A", "A1")
    first.revive()
    _store_once(stage, **settings)
    stage.end_life("A", "A2")
    first.close()
    _store_once(stage, **{**settings, "suffix_seed": None})
    stage.list_files()
    files = stage.facts["files"]
    there = sum(path.endswith(".bin") and size == stage.setting.size for path, size in files)
    stage.facts["must be 0"] = {"blocks that a new suffix did not publish": blocks - there}
    stage.facts["told"] = {
        "killed": f"A between close and {step} of block {block}",
        "temporary files left": sum(path.endswith((".tmp", ".incomplete")) or "/tmp_obj_" in path for path, _ in files),
    }


def _store_once(stage: Stage, **settings: Any) -> None:
    party = stage.open("A", True, **settings)
    party.perform(Phase.START, "start")
    party.perform(Phase.STORE, "store")


def eviction(stage: Stage) -> None:
    """V4: C removes blocks between B's look-up and its load, then while B reads."""
    story.prepare(stage)
    first, second, third = stage.parties["A"], stage.parties["B"], stage.open("C", False)
    first.perform(Phase.STORE, "store")
    hits = second.perform(Phase.LOOKUP, "request", None)
    evicted = list(range(min(3, stage.options.blocks - 1), stage.options.blocks, 8))
    third.perform(Phase.OTHER, "unlink_blocks", evicted)
    second.perform(Phase.PROMOTE, "promote", hits)
    second.verify()
    kept = len(second.reads)
    first.perform(Phase.RESTORE, "store")
    blocks = list(range(stage.options.blocks))
    second.begin(Phase.OTHER, "read_again", blocks, stage.options.loop_s)
    third.perform(Phase.OTHER, "unlink_blocks", blocks, stage.options.loop_s / (2 * len(blocks)))
    second.stop()
    _note_reads(stage, second.finish())
    stage.facts["provoked"] = (PROMOTED,)
    stage.facts["told"]["evicted after the look-up"] = f"{len(evicted)} blocks; {kept} were loaded"


def replacement(stage: Stage) -> None:
    """V5: A removes and republishes equal blocks while B reads them."""
    story.prepare(stage)
    first, second = stage.parties["A"], stage.parties["B"]
    first.perform(Phase.STORE, "store")
    blocks = list(range(min(_REPLACED, stage.options.blocks)))
    second.begin(Phase.OTHER, "read_again", blocks, stage.options.loop_s + 60.0)
    count = first.perform(Phase.OTHER, "republish", blocks, stage.options.loop_s, _REPUBLISH_PAUSE_S)
    second.stop()
    _note_reads(stage, second.finish())
    stage.facts["told"]["republished"] = f"{count} times"


def _note_reads(stage: Stage, outcomes: Mapping[str, int]) -> None:
    from fsconform.vocabulary.blocks import Content
    from fsconform.vocabulary.errnos import name_of

    def word(outcome: str) -> str:
        kind, _, number = outcome.partition(" ")
        return Content(int(number)).name.lower() if kind == "content" else name_of(int(number))

    stage.facts["reads"] = dict(outcomes)
    stage.facts["must be 0"] = {
        "B reads in a loop that were not whole": sum(
            count for outcome, count in outcomes.items() if outcome.startswith("content") and outcome != "content 0"
        )
    }
    stage.facts["told"] = {"reads in a loop": ", ".join(f"{word(key)} {count:,}" for key, count in outcomes.items())}


def cleaner(stage: Stage) -> None:
    """V6: C removes empty directories while A stores."""
    stage.facts["provoked"] = (STORED,)
    first, third = stage.open("A", True), stage.open("C", False)
    stage.start("A", "C")
    third.begin(Phase.OTHER, "clean_directories", _CLEANING_S)
    first.perform(Phase.STORE, "store")
    third.stop()
    removed = third.finish()
    stage.list_files()
    stored = sum(path.endswith(".bin") for path, _ in stage.facts["files"])
    stage.facts["told"] = {
        "directories cleaned away": removed,
        "blocks stored": f"{stored} of {stage.options.blocks}",
    }


def early_publish(stage: Stage) -> None:
    """V7: the llm-d connector renames before it closes: what B sees between, and afterwards."""
    blocks = stage.options.blocks
    first = stage.open("A", True, protocol=personality("llmd").module, jobs=(blocks,), tasks="job", io="buffered")
    second = stage.open("B", False, protocol=personality("llmd").module, io="buffered")
    stage.start("A", "B")
    first.hold("close", 0)
    first.begin(Phase.STORE, "store")
    if not first.await_hold("close", 0):
        raise NotPlayable("the store did not come to its close in time")
    before = second.perform(Phase.OTHER, "look_at", 0)
    first.release()
    first.finish()
    after = second.perform(Phase.OTHER, "look_at", 0)
    stage.facts["between rename and close"], stage.facts["after close"] = tuple(before), tuple(after)
    stage.facts["told"] = {"between rename and close": _look_text(before), "after close": _look_text(after)}


def _look_text(look: Any) -> str:
    from fsconform.vocabulary.blocks import Content
    from fsconform.vocabulary.errnos import name_of

    _, number, length, count, content = look
    return name_of(number) if number else f"length {length:,}, {count:,} bytes read, {Content(content).name.lower()}"


def size_race(stage: Stage) -> None:
    """V8: B opens each new block right after its rename returned at A."""
    first, second = stage.open("A", True), stage.open("B", False)
    stage.start("A", "B")
    looks, blocks = [], stage.options.blocks
    for number in range(stage.options.rounds):
        published = first.perform(Phase.OTHER, "publish_fresh", number, number % blocks)
        if published:
            invoked, *rest = second.perform(Phase.OTHER, "look_at_fresh", number, number % blocks)
            looks.append((invoked + second.offset_ns - published - first.offset_ns, *rest))
        if number % _BATCH == _BATCH - 1:
            first.perform(Phase.OTHER, "remove_fresh", list(range(number - _BATCH + 1, number + 1)))
    delays = sorted(look[0] for look in looks)
    wrong = [look for look in looks if look[1] or (look[2], look[3], look[4]) != (stage.setting.size,) * 2 + (0,)]
    stage.facts["looks"] = tuple(looks)
    stage.facts["must be 0"] = {"B looks right after a publish that were not whole": len(wrong)}
    within = sum(delay <= 1_000_000 for delay in delays)
    told = (
        f"{delays[0] / 1e6:.2f} to {delays[-1] / 1e6:.2f} ms, median {delays[len(delays) // 2] / 1e6:.2f} ms, "
        f"{within} of {len(delays)} within 1 ms"
        if delays
        else "no block could be stored"
    )
    stage.facts["told"] = {"opened after the rename returned": told}


def full(stage: Stage) -> None:
    """V9: no room in the middle of it."""
    whole = stage.options.blocks * stage.setting.size
    if stage.free_bytes > min(whole, _SMALL_BYTES):
        raise NotPlayable(
            f"{stage.free_bytes >> 20} MiB are free: it needs a filesystem with less room than the blocks have, such "
            "as lab=strict,capacity=64m or a directory with a quota"
        )
    stage.facts["provoked"] = (STORED, PROMOTED)
    story.prepare(stage)
    first, second = stage.parties["A"], stage.parties["B"]
    first.perform(Phase.STORE, "store")
    second.perform(Phase.LOOKUP, "request", int(Phase.PROMOTE))
    second.verify()
    stage.list_files()
    stage.facts["must be 0"] = {"files: blocks of another length": _misshapen(stage)}
    stage.facts["told"] = {"blocks stored": sum(path.endswith(".bin") for path, _ in stage.facts["files"])}


def hang(stage: Stage) -> None:
    """V10: the server stops in the middle of a read."""
    options = stage.options
    servers = (options.hang_pid,) if options.hang_pid else emulation_servers(stage.mounts)
    if not servers:
        raise NotPlayable("nothing to stop: give the server's process with --hang-pid, or use a lab= site")
    story.prepare(stage)
    stage.parties["A"].perform(Phase.STORE, "store")
    second = stage.parties["B"]
    hits = second.perform(Phase.LOOKUP, "request", None)
    block = hits[len(hits) // 2] if hits else 0
    second.hold("read", block)
    second.begin(Phase.PROMOTE, "promote", hits)
    if not second.await_hold("read", block):
        raise NotPlayable(f"the read of block {block} was not reached in time")
    stopped = time.monotonic_ns()

    given_up = threading.Event()

    def finish() -> None:
        try:
            second.finish()
        finally:
            given_up.set()

    def resume() -> None:
        given_up.wait(options.hang_s)
        _signal(servers, signal.SIGCONT)
        stage.facts["stopped"] = (stopped, time.monotonic_ns())

    try:
        _signal(servers, signal.SIGSTOP)
        second.release()
        together(finish, resume)
    finally:
        _signal(servers, signal.SIGCONT)
    second.verify()


def _signal(servers: tuple[int, ...], number: signal.Signals) -> None:
    for server in servers:
        os.kill(server, number)


def _misshapen(stage: Stage) -> int:
    return sum(path.endswith(".bin") and size != stage.setting.size for path, size in stage.facts["files"])


STORIES: Mapping[str, Callable[[Stage], None]] = {
    "base": story.base, "v1": concurrent_stores, "v2": equal_suffixes, "v3": crash, "v4": eviction, "v5": replacement,
    "v6": cleaner, "v7": early_publish, "v8": size_race, "v9": full, "v10": hang,
}  # fmt: skip
