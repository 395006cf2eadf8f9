"""Contests: exclusive creations of one name that come close together, held until all contenders are there.

Only about a third of the creates that programs start together race inside a server: the kernel of the second
contender mostly finds the name at its look-up and answers EEXIST by itself. So the first creation is held back for a
moment *before* it takes effect: until then every look-up rightly says that the name is free, and the others come in.
"""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from fsconform.lab.calls import Call
from fsconform.lab.inodes import Handle, Inode
from fsconform.lab.knobs import Knobs
from fsconform.lab.model import Lab
from fsconform.lab.mutants.memory import Key
from fsconform.lab.operations.renames import NOREPLACE

CREATE, MKDIR, LINK, SYMLINK, NODE, RENAME, PLAIN = "create", "mkdir", "link", "symlink", "node", "rename", "plain"
ALL_KINDS = (CREATE, MKDIR, LINK, SYMLINK, NODE, RENAME)
"""Every exclusive creation; PLAIN, an open(O_CREAT) without O_EXCL, is none."""
_LONGEST_S = 5.0


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try at the creation of a name, in two ways."""

    perform: Callable[[], Any]
    share: Callable[[], Any]
    """As a server does it that knows nothing of exclusion: what is there is taken, or replaced, and it is a success."""


Referee = Callable[[Call, Key, Attempt], Any]
"""Decides what becomes of one attempt."""


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
            result = attempt.perform()
            contest.won = True
            return result
        finally:
            contest.decided.set()


Losers = Callable[[Call, Key, Contest, Attempt], Any]
"""What becomes of the attempt of a contender that came too late."""


def let_first_win(lab: Lab, knobs: Knobs, losers: Losers, kinds: tuple[str, ...] = ALL_KINDS) -> None:
    """In contests the first contender goes ahead, and `losers` says what the others are told."""
    contests = Contests(knobs.window)

    def referee(call: Call, key: Key, attempt: Attempt) -> Any:
        if not knobs.strikes(call, key):
            return attempt.perform()
        contest, first = contests.enter(call, key)
        return contests.decide(contest, attempt) if first else losers(call, key, contest, attempt)

    set_referee(lab, referee, kinds)


def set_referee(lab: Lab, referee: Referee, kinds: tuple[str, ...] = ALL_KINDS) -> None:
    """Put a referee before every creation of these kinds."""
    for kind in kinds:
        _PUT_BEFORE[kind](lab, referee)


def _before_creates(lab: Lab, referee: Referee, exclusive: bool) -> None:
    create = lab.operations.create

    def refereed(call: Call, parent: int, name: bytes, flags: int, mode: int) -> tuple[Inode, Handle]:
        if bool(flags & os.O_EXCL) != exclusive:
            return create(call, parent, name, flags, mode)
        attempt = Attempt(
            lambda: create(call, parent, name, flags, mode),
            lambda: create(call, parent, name, flags & ~os.O_EXCL, mode),
        )
        made: tuple[Inode, Handle] = referee(call, (parent, name), attempt)
        return made

    lab.operations.create = refereed


def _before_mkdir(lab: Lab, referee: Referee) -> None:
    mkdir, lookup = lab.operations.make_directory, lab.operations.lookup

    def refereed(call: Call, parent: int, name: bytes, mode: int) -> Inode:
        attempt = Attempt(lambda: mkdir(call, parent, name, mode), lambda: lookup(call, parent, name))
        made: Inode = referee(call, (parent, name), attempt)
        return made

    lab.operations.make_directory = refereed


def _before_link(lab: Lab, referee: Referee) -> None:
    link, lookup = lab.operations.link, lab.operations.lookup

    def refereed(call: Call, number: int, parent: int, name: bytes) -> Inode:
        attempt = Attempt(lambda: link(call, number, parent, name), lambda: lookup(call, parent, name))
        made: Inode = referee(call, (parent, name), attempt)
        return made

    lab.operations.link = refereed


def _before_symlink(lab: Lab, referee: Referee) -> None:
    symlink, lookup = lab.operations.make_symlink, lab.operations.lookup

    def refereed(call: Call, parent: int, name: bytes, target: bytes) -> Inode:
        attempt = Attempt(lambda: symlink(call, parent, name, target), lambda: lookup(call, parent, name))
        made: Inode = referee(call, (parent, name), attempt)
        return made

    lab.operations.make_symlink = refereed


def _before_nodes(lab: Lab, referee: Referee) -> None:
    make_node, lookup = lab.operations.make_node, lab.operations.lookup

    def refereed(call: Call, parent: int, name: bytes, mode: int, device: int) -> Inode:
        attempt = Attempt(lambda: make_node(call, parent, name, mode, device), lambda: lookup(call, parent, name))
        if not stat.S_ISREG(mode):
            return make_node(call, parent, name, mode, device)
        made: Inode = referee(call, (parent, name), attempt)
        return made

    lab.operations.make_node = refereed


def _before_noreplace(lab: Lab, referee: Referee) -> None:
    rename = lab.operations.rename

    def refereed(call: Call, parent: int, name: bytes, new_parent: int, new_name: bytes, flags: int) -> None:
        if not flags & NOREPLACE:
            rename(call, parent, name, new_parent, new_name, flags)
            return
        attempt = Attempt(
            lambda: rename(call, parent, name, new_parent, new_name, flags),
            lambda: rename(call, parent, name, new_parent, new_name, flags & ~NOREPLACE),
        )
        referee(call, (new_parent, new_name), attempt)

    lab.operations.rename = refereed


_PUT_BEFORE: dict[str, Callable[[Lab, Referee], None]] = {
    CREATE: lambda lab, referee: _before_creates(lab, referee, exclusive=True),
    PLAIN: lambda lab, referee: _before_creates(lab, referee, exclusive=False),
    MKDIR: _before_mkdir,
    LINK: _before_link,
    SYMLINK: _before_symlink,
    NODE: _before_nodes,
    RENAME: _before_noreplace,
}
