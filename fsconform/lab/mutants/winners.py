"""Mutants of who wins an exclusive creation."""

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
from fsconform.lab.mutants.contests import CREATE, Attempt, Contests, Key, referee_exclusives
from fsconform.lab.mutants.registry import mutant
from fsconform.lab.operations.renames import NOREPLACE

_CURSE_S = 0.2
"""How long a name that nobody won is refused."""


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
