"""Mutants of exclusive creation."""

from __future__ import annotations

import errno
import os
import time
from typing import Any

from fsconform.lab.calls import Call, RefusalError
from fsconform.lab.inodes import Handle, Inode
from fsconform.lab.intents import opens_exclusively
from fsconform.lab.knobs import Knobs
from fsconform.lab.model import Lab
from fsconform.lab.mutants.contests import CREATE, LINK, RENAME, Attempt, Contests, Key, referee_exclusives
from fsconform.lab.mutants.registry import mutant
from fsconform.lab.operations.renames import NOREPLACE

_CURSE_S = 0.2


@mutant(
    "two-winners-excl",
    "contenders for one O_EXCL create on different mounts all win, and share the file",
    "NFSv3 clients whose create verifiers collide (RFC 1813 section 3.3.8); seaweedfs issue 11079",
    ("exclusive.winner",),
)
def two_winners_excl(lab: Lab, knobs: Knobs) -> None:
    """The losers' creates are taken for plain ones."""
    contests, create = Contests(knobs.window), lab.operations.create

    def contend(call: Call, parent: int, name: bytes, flags: int, mode: int) -> tuple[Inode, Handle]:
        if not flags & os.O_EXCL or not knobs.strikes(call):
            return create(call, parent, name, flags, mode)
        contest, first = contests.enter(call, (parent, name))
        if first:
            made: tuple[Inode, Handle] = contests.decide(contest, lambda: create(call, parent, name, flags, mode))
            return made
        return create(call, parent, name, flags & ~os.O_EXCL if contest.won else flags, mode)

    lab.operations.create = contend


@mutant(
    "two-winners-mkdir",
    "contenders for one mkdir on different mounts all win",
    "seaweedfs issues 11079, 11108, 11109: concurrent mkdir through two filers both succeed",
    ("exclusive.winner",),
)
def two_winners_mkdir(lab: Lab, knobs: Knobs) -> None:
    """The losers are given the winner's directory."""
    contests, mkdir, lookup = Contests(knobs.window), lab.operations.make_directory, lab.operations.lookup

    def contend(call: Call, parent: int, name: bytes, mode: int) -> Inode:
        if not knobs.strikes(call):
            return mkdir(call, parent, name, mode)
        contest, first = contests.enter(call, (parent, name))
        if first:
            made: Inode = contests.decide(contest, lambda: mkdir(call, parent, name, mode))
            return made
        return lookup(call, parent, name) if contest.won else mkdir(call, parent, name, mode)

    lab.operations.make_directory = contend


@mutant(
    "no-winner-excl",
    "contenders for one O_EXCL create are all told EEXIST, and the name stays free",
    "POSIX open() O_EXCL: of several creators one succeeds",
    ("exclusive.winner",),
    also={"exclusive.loser-sees": "what the losers were told exists is not there"},
)
def no_winner_excl(lab: Lab, knobs: Knobs) -> None:
    """A contested create is not performed, and the name is refused for a moment more."""
    contests = Contests(knobs.window)
    cursed: dict[Key, float] = {}

    def referee(call: Call, key: Key, attempt: Attempt) -> Any:
        if cursed.get(key, 0.0) > time.monotonic():
            raise RefusalError(errno.EEXIST)
        if not knobs.strikes(call):
            return attempt()
        contest, first = contests.enter(call, key)
        if contest.contenders > 1:
            cursed[key] = time.monotonic() + _CURSE_S
            contest.decided.set()
            raise RefusalError(errno.EEXIST)
        return contests.decide(contest, attempt) if first else attempt()

    referee_exclusives(lab, referee, (CREATE,))


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
    "win-over-existing",
    "an O_EXCL create of a published name succeeds and opens the published file",
    "POSIX open() O_EXCL; the client's exclusive look-up is answered ENOENT (proc_pid_syscall(5) tells it apart)",
    ("exclusive.over-existing",),
    window=0.1,
)
def win_over_existing(lab: Lab, knobs: Knobs) -> None:
    """`window` is how long a name that was itself made by O_EXCL is spared, so that contests keep one winner."""
    lookup, create, store = lab.operations.lookup, lab.operations.create, lab.store
    lied: set[tuple[int, Key]] = set()
    spared: dict[Key, float] = {}

    def hide(call: Call, parent: int, name: bytes) -> Inode:
        inode = lookup(call, parent, name)
        contested = spared.get((parent, name), 0.0) > time.monotonic()
        if contested or inode.is_directory or not opens_exclusively(call.pid) or not knobs.strikes(call):
            return inode
        with store.lock:
            store.forget(inode.number, 1)
        lied.add((call.pid, (parent, name)))
        raise RefusalError(errno.ENOENT)

    def win(call: Call, parent: int, name: bytes, flags: int, mode: int) -> tuple[Inode, Handle]:
        key = (parent, name)
        if (call.pid, key) in lied:
            lied.discard((call.pid, key))
            return create(call, parent, name, flags & ~os.O_EXCL, mode)
        if flags & os.O_EXCL:
            with store.lock:
                made = create(call, parent, name, flags, mode)
                spared[key] = time.monotonic() + knobs.window
                return made
        return create(call, parent, name, flags, mode)

    def forget_expired(now: float) -> None:
        with store.lock:
            for key in [key for key, until in spared.items() if until < now]:
                del spared[key]

    lab.periodic.append(forget_expired)
    lab.operations.lookup, lab.operations.create = hide, win


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


@mutant(
    "noreplace-ignored",
    "RENAME_NOREPLACE is executed as a plain rename: of contenders all win, the last one's file stays",
    "SaunaFS and LizardFS src/mount/fuse/sfs_fuse.cc ignore the flags of rename",
    ("exclusive.winner",),
)
def noreplace_ignored(lab: Lab, knobs: Knobs) -> None:
    """A target that the client's kernel can see is refused by the kernel itself, so only contests show it."""
    contests, rename = Contests(knobs.window), lab.operations.rename

    def replace(call: Call, parent: int, name: bytes, new_parent: int, new_name: bytes, flags: int) -> None:
        def attempt() -> None:
            rename(call, parent, name, new_parent, new_name, flags & ~NOREPLACE)

        if not flags & NOREPLACE or not knobs.strikes(call):
            rename(call, parent, name, new_parent, new_name, flags)
            return
        contest, first = contests.enter(call, (new_parent, new_name))
        if first:
            contests.decide(contest, attempt)
        else:
            attempt()

    lab.operations.rename = replace
