"""Contests: exclusive creations of one name that come close together, held until all contenders are there.

Only about a third of the creates that programs start together race inside a server: the kernel of the second
contender mostly finds the name at its look-up and answers EEXIST by itself. So the first creation is held back for a
moment *before* it takes effect: until then every look-up rightly says that the name is free, and the others come in.
"""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from fsconform.lab.calls import Call, RefusalError
from fsconform.lab.inodes import Handle, Inode
from fsconform.lab.model import Lab
from fsconform.lab.operations.renames import NOREPLACE

Key = tuple[int, bytes]
"""Parent and name."""
Attempt = Callable[[], Any]
Referee = Callable[[Call, Key, Attempt], Any]
"""Decides what becomes of one attempt at an exclusive creation."""
CREATE, MKDIR, LINK, RENAME = "create", "mkdir", "link", "rename"
ALL_KINDS = (CREATE, MKDIR, LINK, RENAME)
_LONGEST_S = 5.0


@dataclass(slots=True)
class Contest:
    """The contenders for one name, and what became of the first one."""

    contenders: int = 0
    won: bool = False
    decided: threading.Event = field(default_factory=threading.Event)


class Contests:
    """All contests of a lab. `window` is how long the first contender is held, seconds."""

    def __init__(self, window: float) -> None:
        self.window = window
        self._open: dict[Key, Contest] = {}
        self._lock = threading.Lock()

    def enter(self, call: Call, key: Key) -> tuple[Contest, bool]:
        """Take part; returns when nobody can join any more, and for all but the first when that one is through.

        The second value says whether the caller is the first one, who then has to call `decide`.
        """
        with self._lock:
            contest = self._open.setdefault(key, Contest())
            contest.contenders += 1
            first = contest.contenders == 1
        if first:
            call.client.pause(self.window)
            with self._lock:
                del self._open[key]
        else:
            call.client.pause(_LONGEST_S, contest.decided)
        return contest, first

    @staticmethod
    def decide(contest: Contest, attempt: Attempt) -> Any:
        """Perform the first contender's attempt and tell the others."""
        try:
            result = attempt()
            contest.won = True
            return result
        finally:
            contest.decided.set()


def referee_exclusives(lab: Lab, referee: Referee, kinds: tuple[str, ...] = ALL_KINDS) -> None:
    """Put a referee before every exclusive creation of these kinds."""
    operations = lab.operations
    create, mkdir, link, rename = (
        operations.create,
        operations.make_directory,
        operations.link,
        operations.rename,
    )

    def exclusive_create(call: Call, parent: int, name: bytes, flags: int, mode: int) -> tuple[Inode, Handle]:
        if not flags & os.O_EXCL:
            return create(call, parent, name, flags, mode)
        made: tuple[Inode, Handle] = referee(call, (parent, name), lambda: create(call, parent, name, flags, mode))
        return made

    def exclusive_mkdir(call: Call, parent: int, name: bytes, mode: int) -> Inode:
        made: Inode = referee(call, (parent, name), lambda: mkdir(call, parent, name, mode))
        return made

    def exclusive_link(call: Call, number: int, parent: int, name: bytes) -> Inode:
        made: Inode = referee(call, (parent, name), lambda: link(call, number, parent, name))
        return made

    def exclusive_rename(call: Call, parent: int, name: bytes, new_parent: int, new_name: bytes, flags: int) -> None:
        def attempt() -> None:
            rename(call, parent, name, new_parent, new_name, flags)

        if flags & NOREPLACE:
            referee(call, (new_parent, new_name), attempt)
        else:
            attempt()

    if CREATE in kinds:
        operations.create = exclusive_create
    if MKDIR in kinds:
        operations.make_directory = exclusive_mkdir
    if LINK in kinds:
        operations.link = exclusive_link
    if RENAME in kinds:
        operations.rename = exclusive_rename


def refused_as_existing(attempt: Attempt) -> bool:
    """Perform an attempt; whether it was told EEXIST. Other errors are raised."""
    try:
        attempt()
    except RefusalError as refusal:
        if refusal.errno != errno.EEXIST:
            raise
        return True
    return False
