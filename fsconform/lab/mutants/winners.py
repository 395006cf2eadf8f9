"""Mutants of who wins an exclusive creation."""

from __future__ import annotations

import errno
import os
from typing import Any

from fsconform.lab.calls import Call, RefusalError
from fsconform.lab.inodes import Handle, Inode
from fsconform.lab.intents import opens_exclusively
from fsconform.lab.knobs import Knobs
from fsconform.lab.model import Lab
from fsconform.lab.mutants.contests import (
    CREATE,
    LINK,
    MKDIR,
    NODE,
    RENAME,
    SYMLINK,
    Attempt,
    Contest,
    Contests,
    let_first_win,
    set_referee,
)
from fsconform.lab.mutants.memory import Key, Memory, give_back
from fsconform.lab.mutants.registry import mutant
from fsconform.lab.operations.renames import NOREPLACE

_CURSE_S = 0.2
"""How long a name that nobody won is refused."""


def _share(call: Call, key: Key, contest: Contest, attempt: Attempt) -> Any:
    return attempt.share() if contest.won else attempt.perform()


@mutant(
    "two-winners-excl",
    "contenders for one O_EXCL create on different mounts all win, and share the file",
    "NFSv3 clients whose create verifiers collide (RFC 1813 section 3.3.8); oss-tsukuba/gfarm issue 739",
    ("exclusive.winner",),
    racy=True,
)
def two_winners_excl(lab: Lab, knobs: Knobs) -> None:
    """The losers' creates are taken for plain ones."""
    let_first_win(lab, knobs, _share, (CREATE,))


@mutant(
    "two-winners-mkdir",
    "contenders for one mkdir on different mounts all win",
    "seaweedfs issues 11079, 11108, 11109: concurrent mkdir through two filers both succeed",
    ("exclusive.winner",),
    racy=True,
)
def two_winners_mkdir(lab: Lab, knobs: Knobs) -> None:
    """The losers are given the winner's directory."""
    let_first_win(lab, knobs, _share, (MKDIR,))


@mutant(
    "two-winners-link",
    "contenders for one name by link on different mounts all win",
    "ccache issue 124: a counter guarded by a lock file loses updates on two machines; POSIX link() EEXIST",
    ("exclusive.winner",),
    racy=True,
)
def two_winners_link(lab: Lab, knobs: Knobs) -> None:
    """The name stays the first one's file."""
    let_first_win(lab, knobs, _share, (LINK,))


@mutant(
    "two-winners-symlink",
    "contenders for one name by symlink on different mounts all win",
    "ccache issue 124: lock files made by symlink; POSIX symlink() EEXIST",
    ("exclusive.winner",),
    racy=True,
    where="symlink/cold/2",
)
def two_winners_symlink(lab: Lab, knobs: Knobs) -> None:
    """The name stays the first one's link."""
    let_first_win(lab, knobs, _share, (SYMLINK,))


@mutant(
    "mknod-not-exclusive",
    "contenders for one name by mknod on different mounts all win",
    "3FS src/fuse/FuseOps.cc hf3fs_mknod: a create without O_EXCL; POSIX mknod() EEXIST",
    ("exclusive.winner",),
    racy=True,
    where="mknod/cold/2",
)
def mknod_not_exclusive(lab: Lab, knobs: Knobs) -> None:
    """Regular files."""
    let_first_win(lab, knobs, _share, (NODE,))


@mutant(
    "noreplace-ignored",
    "RENAME_NOREPLACE is executed as a plain rename: of contenders all win, the last one's file stays",
    "SaunaFS and LizardFS src/mount/fuse/sfs_fuse.cc ignore the flags of rename",
    ("exclusive.winner",),
    racy=True,
)
def noreplace_ignored(lab: Lab, knobs: Knobs) -> None:
    """A target that the client's kernel can see is refused by the kernel itself, so only contests show it."""
    let_first_win(lab, knobs, lambda call, key, contest, attempt: attempt.share(), (RENAME,))


@mutant(
    "noreplace-check-then-rename",
    "RENAME_NOREPLACE looks whether the target is free and then renames, in two steps",
    "oven-sh/bun pull request 33979: emulations of NOREPLACE where the filesystem refuses the flag",
    ("exclusive.winner",),
    racy=True,
)
def noreplace_check_then_rename(lab: Lab, knobs: Knobs) -> None:
    """`window` lies between the two steps."""
    rename, store = lab.operations.rename, lab.store

    def check_then_rename(call: Call, parent: int, name: bytes, new_parent: int, new_name: bytes, flags: int) -> None:
        if flags & NOREPLACE and knobs.strikes(call, (new_parent, new_name)):
            with store.lock:
                if new_name in store.directory(new_parent):
                    raise RefusalError(errno.EEXIST)
            call.client.pause(knobs.window)
            flags &= ~NOREPLACE
        rename(call, parent, name, new_parent, new_name, flags)

    lab.operations.rename = check_then_rename


@mutant(
    "no-winner-excl",
    "contenders for one O_EXCL create are all told EEXIST, and the name stays free",
    "POSIX open() O_EXCL: of several creators one succeeds",
    ("exclusive.winner",),
    also={"exclusive.loser-sees": "what the losers were told exists is not there"},
    racy=True,
)
def no_winner_excl(lab: Lab, knobs: Knobs) -> None:
    """A contested create is not performed, and the name is refused for a moment more."""
    contests = Contests(knobs.window)
    cursed: Memory[Key, bool] = Memory(lab)

    def referee(call: Call, key: Key, attempt: Attempt) -> Any:
        if cursed.get(key):
            raise RefusalError(errno.EEXIST)
        if not knobs.strikes(call, key):
            return attempt.perform()
        contest, first = contests.enter(call, key)
        if contest.contenders > 1:
            cursed.keep(key, True, _CURSE_S)
            contest.decided.set()
            raise RefusalError(errno.EEXIST)
        return contests.decide(contest, attempt) if first else attempt.perform()

    set_referee(lab, referee, (CREATE,))


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
    spared: Memory[Key, bool] = Memory(lab)

    def hide(call: Call, parent: int, name: bytes) -> Inode:
        inode = lookup(call, parent, name)
        contested = spared.get((parent, name))
        if contested or inode.is_directory or not opens_exclusively(call.pid) or not knobs.strikes(call):
            return inode
        give_back(store, inode)
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
                spared.keep(key, True, knobs.window)
                return made
        return create(call, parent, name, flags, mode)

    lab.operations.lookup, lab.operations.create = hide, win
