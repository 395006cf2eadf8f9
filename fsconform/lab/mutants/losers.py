"""Mutants of what contenders for a name are told, and of what they then see."""

from __future__ import annotations

import errno
import threading
from contextlib import suppress
from typing import Any

from fsconform.lab.calls import Call, RefusalError
from fsconform.lab.inodes import Handle, Inode
from fsconform.lab.knobs import Knobs
from fsconform.lab.model import Lab
from fsconform.lab.mutants.contests import (
    ALL_KINDS,
    LINK,
    PLAIN,
    RENAME,
    Attempt,
    Contest,
    Contests,
    Losers,
    let_first_win,
    set_referee,
)
from fsconform.lab.mutants.memory import Key, Memory, give_back
from fsconform.lab.mutants.registry import mutant


def _told(number: int) -> Losers:
    """Losers are told this errno."""

    def losers(call: Call, key: Key, contest: Contest, attempt: Attempt) -> Any:
        if contest.won:
            raise RefusalError(number)
        return attempt.perform()

    return losers


@mutant(
    "loser-told-eio",
    "losers of an exclusive create that meets another one are told EIO",
    "3FS src/common/utils/StatusCode.cc: exhausted transaction conflicts become EIO; seaweedfs issue 11079",
    ("exclusive.loser-errno",),
    racy=True,
)
def loser_told_eio(lab: Lab, knobs: Knobs) -> None:
    """Every kind of exclusive creation."""
    let_first_win(lab, knobs, _told(errno.EIO))


@mutant(
    "loser-told-eperm",
    "losers of an exclusive create that meets another one are told EPERM",
    "sshfs over SFTP servers: SSH_FX_FAILURE becomes EPERM (borgbackup/borg issue 3315)",
    ("exclusive.loser-errno",),
    racy=True,
)
def loser_told_eperm(lab: Lab, knobs: Knobs) -> None:
    """Every kind of exclusive creation."""
    let_first_win(lab, knobs, _told(errno.EPERM))


def _tell_winner(lab: Lab, knobs: Knobs, number: int, kinds: tuple[str, ...]) -> None:
    """The contender whose attempt takes effect is told this errno.

    Only where several contend, so that publishing alone goes on working.
    """
    contests = Contests(knobs.window)

    def referee(call: Call, key: Key, attempt: Attempt) -> Any:
        if not knobs.strikes(call, key):
            return attempt.perform()
        contest, first = contests.enter(call, key)
        if not first:
            return attempt.perform()
        made = contests.decide(contest, attempt)
        if contest.contenders == 1:
            return made
        give_back(lab.store, made)
        raise RefusalError(number)

    set_referee(lab, referee, kinds)


@mutant(
    "success-told-eexist",
    "of contenders by link or RENAME_NOREPLACE one takes effect and is told EEXIST, too",
    "RFC 1813 section 4.5; link(2) BUGS: a retransmitted request that had succeeded answers EEXIST",
    ("exclusive.success-told",),
    racy=True,
)
def success_told_eexist(lab: Lab, knobs: Knobs) -> None:
    """Their contents tell whose file it is."""
    _tell_winner(lab, knobs, errno.EEXIST, (LINK, RENAME))


@mutant(
    "eio-though-done",
    "of contenders for a name the one whose create takes effect is told EIO",
    "3FS src/client/meta/MetaClient.cc: a retry that runs out after the first try had taken effect",
    ("exclusive.loser-errno",),
    racy=True,
)
def eio_though_done(lab: Lab, knobs: Knobs) -> None:
    """Every kind of exclusive creation."""
    _tell_winner(lab, knobs, errno.EIO, ALL_KINDS)


@mutant(
    "eio-done-later",
    "contenders for a name are all told EIO, and `ttl` later the first one's create takes effect after all",
    "RFC 1813 section 4.5: a soft mount gives up (EIO) while the server still has the request",
    ("exclusive.loser-errno",),
    racy=True,
)
def eio_done_later(lab: Lab, knobs: Knobs) -> None:
    """Only where several contend."""
    contests = Contests(knobs.window)

    def referee(call: Call, key: Key, attempt: Attempt) -> Any:
        if not knobs.strikes(call, key):
            return attempt.perform()
        contest, first = contests.enter(call, key)
        if contest.contenders == 1:
            return contests.decide(contest, attempt)
        if first:
            contest.decided.set()
            later = threading.Timer(knobs.ttl, _perform_unseen, (lab, attempt))
            later.daemon = True
            later.start()
        raise RefusalError(errno.EIO)

    set_referee(lab, referee)


def _perform_unseen(lab: Lab, attempt: Attempt) -> None:
    with suppress(RefusalError):
        give_back(lab.store, attempt.perform())


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
        return attempt.perform()

    lab.operations.unlink, lab.operations.remove_directory = note_unlink, note_rmdir
    set_referee(lab, referee)


@mutant(
    "loser-cannot-open",
    "for 50 ms the loser of an exclusive create does not find what it was told exists",
    "deepseek-ai/DeepEP issue 683; ydb-platform/nbs issue 579: EEXIST, then ENOENT from open",
    ("exclusive.loser-sees",),
    ttl=0.05,
    racy=True,
)
def loser_cannot_open(lab: Lab, knobs: Knobs) -> None:
    """Only mounts whose contender lost, and only for `ttl`."""
    lookup = lab.operations.lookup
    blind: Memory[tuple[int, Key], bool] = Memory(lab)

    def losers(call: Call, key: Key, contest: Contest, attempt: Attempt) -> Any:
        if contest.won:
            blind.keep((call.client.number, key), True, knobs.ttl)
        return attempt.perform()

    def overlook(call: Call, parent: int, name: bytes) -> Inode:
        inode = lookup(call, parent, name)
        if not blind.get((call.client.number, (parent, name))):
            return inode
        give_back(lab.store, inode)
        raise RefusalError(errno.ENOENT)

    let_first_win(lab, knobs, losers)
    lab.operations.lookup = overlook


@mutant(
    "loser-reads-half",
    "for 50 ms the loser of a contest by link or RENAME_NOREPLACE reads only the first half of the winner's file",
    "POSIX link(): the name appears with the whole file",
    ("exclusive.loser-sees",),
    ttl=0.05,
    racy=True,
)
def loser_reads_half(lab: Lab, knobs: Knobs) -> None:
    """Only mounts whose contender lost, and only for `ttl`."""
    read, store = lab.operations.read, lab.store
    short: Memory[tuple[int, int], bool] = Memory(lab)

    def losers(call: Call, key: Key, contest: Contest, attempt: Attempt) -> Any:
        number = store.directory(key[0]).get(key[1])
        if contest.won and number is not None:
            short.keep((call.client.number, number), True, knobs.ttl)
        return attempt.perform()

    def read_half(call: Call, handle: Handle, offset: int, size: int, flags: int) -> bytes:
        if short.get((call.client.number, handle.inode.number)):
            size = max(0, min(size, len(handle.inode.data) // 2 - offset))
        return read(call, handle, offset, size, flags)

    let_first_win(lab, knobs, losers, (LINK, RENAME))
    lab.operations.read = read_half


@mutant(
    "plain-create-eexist",
    "of several plain O_CREAT opens of one free name all but the first are told EEXIST",
    "leil-io/leilfs issue 921: the protocol does not carry O_EXCL",
    ("exclusive.plain-create",),
    racy=True,
)
def plain_create_eexist(lab: Lab, knobs: Knobs) -> None:
    """Opens without O_EXCL that race inside the server."""
    let_first_win(lab, knobs, _told(errno.EEXIST), (PLAIN,))
