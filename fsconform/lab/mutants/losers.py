"""Mutants of what the losers of an exclusive creation are told, and of what they then see."""

from __future__ import annotations

import errno
import os
import time
from typing import Any

from fsconform.lab.calls import Call, RefusalError
from fsconform.lab.inodes import Handle, Inode
from fsconform.lab.knobs import Knobs
from fsconform.lab.model import Lab
from fsconform.lab.mutants.contests import LINK, RENAME, Attempt, Contests, Key, referee_exclusives
from fsconform.lab.mutants.registry import mutant


@mutant(
    "loser-told-eio",
    "losers of an exclusive create that meets another one are told EIO",
    "3FS src/common/utils/StatusCode.cc: exhausted transaction conflicts become EIO",
    ("exclusive.loser-errno",),
)
def loser_told_eio(lab: Lab, knobs: Knobs) -> None:
    """Every kind of exclusive creation."""
    contests = Contests(knobs.window)

    def referee(call: Call, key: Key, attempt: Attempt) -> Any:
        if not knobs.strikes(call):
            return attempt()
        contest, first = contests.enter(call, key)
        if first:
            return contests.decide(contest, attempt)
        if contest.won:
            raise RefusalError(errno.EIO)
        return attempt()

    referee_exclusives(lab, referee)


@mutant(
    "eexist-after-unlink",
    "a removed name cannot be created exclusively again: EEXIST",
    "ydb-platform/nbs issue 579; juicefs issue 6302: EEXIST for names that are gone",
    ("exclusive.stale-eexist",),
    also={
        "exclusive.winner": "contenders for a name that was removed before have no winner",
        "exclusive.loser-sees": "what they were told exists is not there",
    },
)
def eexist_after_unlink(lab: Lab, knobs: Knobs) -> None:
    """Removed names of files and directories; a rename or a plain create onto the name works."""
    removed: set[Key] = set()
    unlink, remove_directory = lab.operations.unlink, lab.operations.remove_directory

    def note_unlink(call: Call, parent: int, name: bytes) -> None:
        unlink(call, parent, name)
        if knobs.strikes(call):
            removed.add((parent, name))

    def note_rmdir(call: Call, parent: int, name: bytes) -> None:
        remove_directory(call, parent, name)
        if knobs.strikes(call):
            removed.add((parent, name))

    def referee(call: Call, key: Key, attempt: Attempt) -> Any:
        if key in removed:
            raise RefusalError(errno.EEXIST)
        return attempt()

    lab.operations.unlink, lab.operations.remove_directory = note_unlink, note_rmdir
    referee_exclusives(lab, referee)


@mutant(
    "success-told-eexist",
    "of contenders by link or RENAME_NOREPLACE one takes effect and is told EEXIST, too",
    "RFC 1813 section 4.5; link(2) BUGS: a retransmitted request that had succeeded answers EEXIST",
    ("exclusive.success-told",),
)
def success_told_eexist(lab: Lab, knobs: Knobs) -> None:
    """Only where several contend, so that publishing alone goes on working."""
    contests, store = Contests(knobs.window), lab.store

    def referee(call: Call, key: Key, attempt: Attempt) -> Any:
        if not knobs.strikes(call):
            return attempt()
        contest, first = contests.enter(call, key)
        if not first:
            return attempt()
        result = contests.decide(contest, attempt)
        if contest.contenders == 1:
            return result
        if isinstance(result, Inode):
            with store.lock:
                store.forget(result.number, 1)
        raise RefusalError(errno.EEXIST)

    referee_exclusives(lab, referee, (LINK, RENAME))


@mutant(
    "loser-cannot-open",
    "for 50 ms the loser of an exclusive create does not find what it was told exists",
    "deepseek-ai/DeepEP issue 683; ydb-platform/nbs issue 579: EEXIST, then ENOENT from open",
    ("exclusive.loser-sees",),
    ttl=0.05,
)
def loser_cannot_open(lab: Lab, knobs: Knobs) -> None:
    """Only mounts whose contender lost, and only for `ttl`."""
    contests, lookup, store = Contests(knobs.window), lab.operations.lookup, lab.store
    blind: dict[tuple[int, Key], float] = {}

    def referee(call: Call, key: Key, attempt: Attempt) -> Any:
        if not knobs.strikes(call):
            return attempt()
        contest, first = contests.enter(call, key)
        if first:
            return contests.decide(contest, attempt)
        if contest.won:
            blind[call.client.number, key] = time.monotonic() + knobs.ttl
        return attempt()

    def overlook(call: Call, parent: int, name: bytes) -> Inode:
        inode = lookup(call, parent, name)
        if blind.get((call.client.number, (parent, name)), 0.0) < time.monotonic():
            return inode
        with store.lock:
            store.forget(inode.number, 1)
        raise RefusalError(errno.ENOENT)

    referee_exclusives(lab, referee)
    lab.operations.lookup = overlook


@mutant(
    "loser-reads-half",
    "for 50 ms the loser of a contest by link or RENAME_NOREPLACE reads only the first half of the winner's file",
    "POSIX link(): the name appears with the whole file",
    ("exclusive.loser-sees",),
    ttl=0.05,
)
def loser_reads_half(lab: Lab, knobs: Knobs) -> None:
    """Only mounts whose contender lost, and only for `ttl`."""
    contests, read, store = Contests(knobs.window), lab.operations.read, lab.store
    short: dict[tuple[int, int], float] = {}

    def referee(call: Call, key: Key, attempt: Attempt) -> Any:
        if not knobs.strikes(call):
            return attempt()
        contest, first = contests.enter(call, key)
        if first:
            return contests.decide(contest, attempt)
        number = store.directory(key[0]).get(key[1])
        if contest.won and number is not None:
            short[call.client.number, number] = time.monotonic() + knobs.ttl
        return attempt()

    def read_half(call: Call, handle: Handle, offset: int, size: int, flags: int) -> bytes:
        if short.get((call.client.number, handle.inode.number), 0.0) > time.monotonic():
            size = max(0, min(size, len(handle.inode.data) // 2 - offset))
        return read(call, handle, offset, size, flags)

    referee_exclusives(lab, referee, (LINK, RENAME))
    lab.operations.read = read_half


@mutant(
    "plain-create-eexist",
    "of several plain O_CREAT opens of one free name all but the first are told EEXIST",
    "leil-io/leilfs issue 921: the protocol does not carry O_EXCL",
    ("exclusive.plain-create",),
)
def plain_create_eexist(lab: Lab, knobs: Knobs) -> None:
    """Opens without O_EXCL that race inside the server."""
    contests, create = Contests(knobs.window), lab.operations.create

    def contend(call: Call, parent: int, name: bytes, flags: int, mode: int) -> tuple[Inode, Handle]:
        if flags & os.O_EXCL or not knobs.strikes(call):
            return create(call, parent, name, flags, mode)
        contest, first = contests.enter(call, (parent, name))
        if first:
            made: tuple[Inode, Handle] = contests.decide(contest, lambda: create(call, parent, name, flags, mode))
            return made
        return create(call, parent, name, flags | os.O_EXCL, mode)

    lab.operations.create = contend
