"""Mutants that show what a name was before: replaced and removed files that are found again."""

from __future__ import annotations

import errno
import time
from dataclasses import dataclass

from fsconform.lab.calls import Call, RefusalError
from fsconform.lab.inodes import Inode
from fsconform.lab.intents import opens_exclusively
from fsconform.lab.knobs import Knobs
from fsconform.lab.model import Lab
from fsconform.lab.mutants.memory import Key, Memory, give_back
from fsconform.lab.mutants.registry import BY_CALLS, mutant
from fsconform.lab.operations.renames import EXCHANGE
from fsconform.lab.store import Store

_REAPPEARS_S = 0.2
"""How long after the change the old file comes back."""
_SEEN_SOON_S, _VANISHES_S = 0.05, 0.3
"""A name that is looked at this soon after it was made is one that somebody waits for; when it vanishes, since then."""
_FOLLOWED_S = 5.0


@dataclass(frozen=True, slots=True)
class Past:
    """What a name was bound to before it was replaced or removed, by which mount, and when (monotonic, seconds)."""

    inode: Inode
    by: int
    at: float


class _Pasts:
    """The files that names were bound to, each kept usable for `seconds`."""

    def __init__(self, store: Store, seconds: float) -> None:
        self.store, self.seconds = store, seconds
        self._pasts: dict[Key, Past] = {}

    def install(self, lab: Lab, knobs: Knobs, removals: bool) -> None:
        """Note what plain renames over a file replace, and what unlinks remove where `removals`."""
        rename, unlink, store = lab.operations.rename, lab.operations.unlink, self.store

        def note_rename(call: Call, parent: int, name: bytes, new_parent: int, new_name: bytes, flags: int) -> None:
            with store.lock:
                old = store.inodes.get(store.directory(new_parent).get(new_name, -1))
                rename(call, parent, name, new_parent, new_name, flags)
                if old is not None and not flags & EXCHANGE and knobs.strikes(call):
                    self._keep((new_parent, new_name), Past(old, call.client.number, time.monotonic()))

        def note_unlink(call: Call, parent: int, name: bytes) -> None:
            with store.lock:
                old = store.inodes.get(store.directory(parent).get(name, -1))
                unlink(call, parent, name)
                if old is not None and knobs.strikes(call):
                    self._keep((parent, name), Past(old, call.client.number, time.monotonic()))

        lab.operations.rename = note_rename
        if removals:
            lab.operations.unlink = note_unlink
        lab.periodic.append(self._forget_expired)

    def _keep(self, key: Key, past: Past) -> None:
        self._drop(key)
        # Where the last reference was given back with the last name, there is nothing left to show.
        if past.inode.number in self.store.inodes and not past.inode.is_directory:
            past.inode.lookups += 1
            self._pasts[key] = past

    def _drop(self, key: Key) -> None:
        past = self._pasts.pop(key, None)
        if past is not None:
            self.store.forget(past.inode.number, 1)

    def _forget_expired(self, now: float) -> None:
        with self.store.lock:
            for key in [key for key, past in self._pasts.items() if past.at + self.seconds < now]:
                self._drop(key)

    def of(self, key: Key) -> Past | None:
        """None where nothing is known, or not any more."""
        past = self._pasts.get(key)
        return past if past is not None and time.monotonic() < past.at + self.seconds else None

    def show(self, past: Past) -> Inode:
        """The old file as the answer to a look-up. The store's lock is held."""
        past.inode.lookups += 1
        return past.inode


@mutant(
    "stale-replace",
    "for `ttl` after a rename over a file, other mounts go on finding the replaced file",
    "rename over a known name on clients that cache entries (nfs(5), lookupcache)",
    ("visibility.replace",),
)
def stale_replace(lab: Lab, knobs: Knobs) -> None:
    """Removed names are gone at once."""
    pasts, lookup = _Pasts(lab.store, knobs.ttl), lab.operations.lookup
    pasts.install(lab, knobs, removals=False)

    def find_old(call: Call, parent: int, name: bytes) -> Inode:
        with lab.store.lock:
            inode = lookup(call, parent, name)
            past = pasts.of((parent, name))
            if past is None or past.by == call.client.number:
                return inode
            lab.store.forget(inode.number, 1)
            return pasts.show(past)

    lab.operations.lookup = find_old


@mutant(
    "old-file-while-held",
    "a mount that has a replaced file open goes on finding it by its name",
    "GitLab gitaly issue 2589: NFSv4 clients reuse an open file at open; a stat, or its close, cures it",
    (),
    shown_by=BY_CALLS,
)
def old_file_while_held(lab: Lab, knobs: Knobs) -> None:
    """For as long as it is open there, an hour at most."""
    pasts, lookup, store = _Pasts(lab.store, 3600.0), lab.operations.lookup, lab.store
    pasts.install(lab, knobs, removals=False)

    def find_held(call: Call, parent: int, name: bytes) -> Inode:
        with store.lock:
            past = pasts.of((parent, name))
            if past is not None and past.by != call.client.number and past.inode.opens:
                number = call.client.number
                if any(handle.inode is past.inode and handle.client == number for handle in store.handles.values()):
                    return pasts.show(past)
            return lookup(call, parent, name)

    lab.operations.lookup = find_held


@mutant(
    "unlinked-readable",
    "for `ttl` after a file was removed, other mounts find and read it by its name",
    "juicedata/juicefs pull request 6346: entry cache and trash; llm-d-kv-cache pull request 621",
    ("visibility.unlink",),
    also={"exclusive.stale-eexist": "a mkdir or link of that name finds it taken", "exclusive.winner": "so do all",
          "exclusive.loser-sees": "who was told so finds the removed file, or nothing once it has gone"},
)  # fmt: skip
def unlinked_readable(lab: Lab, knobs: Knobs) -> None:
    """Exclusive opens are told the truth, as the client's kernel asks anew for them."""
    pasts, lookup = _Pasts(lab.store, knobs.ttl), lab.operations.lookup
    pasts.install(lab, knobs, removals=True)

    def find_removed(call: Call, parent: int, name: bytes) -> Inode:
        with lab.store.lock:
            past = pasts.of((parent, name))
            removed = past is not None and name not in lab.store.directory(parent)
            if past is None or not removed or past.by == call.client.number or opens_exclusively(call.pid):
                return lookup(call, parent, name)
            return pasts.show(past)

    lab.operations.lookup = find_removed


@mutant(
    "old-file-returns",
    "from 0.2 s after a file was replaced or removed, other mounts find the old one again, for `ttl`",
    "caches of several servers behind one name: ceph/cephci pull request 6111; nfs-ganesha issue 852",
    ("visibility.replace", "visibility.unlink"),
    ttl=0.6,
)
def old_file_returns(lab: Lab, knobs: Knobs) -> None:
    """Until then they see what is right."""
    pasts, lookup = _Pasts(lab.store, _REAPPEARS_S + knobs.ttl), lab.operations.lookup
    pasts.install(lab, knobs, removals=True)

    def find_again(call: Call, parent: int, name: bytes) -> Inode:
        with lab.store.lock:
            past = pasts.of((parent, name))
            back = past is not None and time.monotonic() > past.at + _REAPPEARS_S
            if past is None or not back or past.by == call.client.number:
                return lookup(call, parent, name)
            return pasts.show(past)

    lab.operations.lookup = find_again


@mutant(
    "seen-then-unseen",
    "a new name that another mount has seen is missing there for `window` at a look 0.3 s later, and then seen again",
    "a mount whose requests go to several metadata servers in turn; Golab et al. 2011",
    ("visibility.create",),
)
def seen_then_unseen(lab: Lab, knobs: Knobs) -> None:
    """Names that appear by a link and are looked at within 50 ms: those that somebody waits for.

    A single answer would not do: a kernel that finds an entry gone looks the name up once more before it says so.
    """
    lookup, link = lab.operations.lookup, lab.operations.link
    born: Memory[Key, int] = Memory(lab)
    first_seen: Memory[tuple[int, Key], float] = Memory(lab)
    gone: Memory[tuple[int, Key], bool] = Memory(lab)

    def note_link(call: Call, number: int, parent: int, name: bytes) -> Inode:
        made = link(call, number, parent, name)
        if knobs.strikes(call):
            born.keep((parent, name), call.client.number, _SEEN_SOON_S)
        return made

    def blink(call: Call, parent: int, name: bytes) -> Inode:
        inode = lookup(call, parent, name)
        key, seen = (parent, name), (call.client.number, (parent, name))
        since = first_seen.get(seen)
        if since is None:
            if born.get(key) not in (None, call.client.number):
                first_seen.keep(seen, time.monotonic(), _FOLLOWED_S)
        elif not gone.get(seen) and time.monotonic() > since + _VANISHES_S:
            gone.keep(seen, True, knobs.window)
            first_seen.keep(seen, float("inf"), _FOLLOWED_S)
        if gone.get(seen):
            give_back(lab.store, inode)
            raise RefusalError(errno.ENOENT)
        return inode

    lab.operations.lookup, lab.operations.link = blink, note_link
