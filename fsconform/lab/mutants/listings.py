"""Mutants of listings and of what directories say of themselves."""

from __future__ import annotations

import zlib

from fsconform.lab.calls import Call
from fsconform.lab.inodes import DirectoryHandle, Inode
from fsconform.lab.knobs import Knobs
from fsconform.lab.model import Lab
from fsconform.lab.mutants.memory import Memory
from fsconform.lab.mutants.registry import BY_CALLS, mutant

Listing = list[tuple[bytes, int]]
_DOTS = (b".", b"..")
_SHARE = 2
"""One name of so many is missed or shown twice: the same ones at every mount."""


def _chosen(name: bytes) -> bool:
    return name not in _DOTS and zlib.crc32(name) % _SHARE == 0


@mutant(
    "stale-listing",
    "for `ttl` after a listing, a mount's listings of that directory lack the names made since",
    "nfs(5) acdirmin; Documentation/filesystems/nfs: cached READDIR results; FOPEN_CACHE_DIR in linux/fuse.h",
    ("visibility.create",),
)
def stale_listing(lab: Lab, knobs: Knobs) -> None:
    """Removed names are left out at once, and looking a name up finds it."""
    list_names = lab.operations.list_names
    cached: Memory[tuple[int, int], set[bytes]] = Memory(lab)

    def list_cached(call: Call, handle: DirectoryHandle) -> Listing:
        fresh, key = list_names(call, handle), (call.client.number, handle.inode.number)
        names = cached.get(key)
        if names is None or not knobs.strikes(call):
            cached.keep(key, {name for name, _ in fresh}, knobs.ttl)
            return fresh
        return [entry for entry in fresh if entry[0] in names]

    lab.operations.list_names = list_cached


@mutant(
    "listing-misses",
    "half of the names are never listed, though looking them up finds them",
    "nfs-ganesha/nfs-ganesha issue 852; red-hat-storage/cephci pull request 6111",
    ("visibility.create",),
)
def listing_misses(lab: Lab, knobs: Knobs) -> None:
    """Files only, so that directories can be walked."""
    list_names, store = lab.operations.list_names, lab.store

    def leave_out(call: Call, handle: DirectoryHandle) -> Listing:
        found = list_names(call, handle)
        with store.lock:
            return [
                (name, number)
                for name, number in found
                if not (_chosen(name) and not store.inode(number).is_directory and knobs.strikes(call, name))
            ]

    lab.operations.list_names = leave_out


@mutant(
    "listing-twice",
    "half of the names are listed twice",
    "libfuse issue 401; Sherlock-Holo/fuse3 issue 12: offsets that are taken up again one too early",
    (),
    shown_by=BY_CALLS,
)
def listing_twice(lab: Lab, knobs: Knobs) -> None:
    """Right after one another."""
    list_names = lab.operations.list_names

    def repeat(call: Call, handle: DirectoryHandle) -> Listing:
        found: Listing = []
        for entry in list_names(call, handle):
            found += [entry, entry] if _chosen(entry[0]) and knobs.strikes(call, entry[0]) else [entry]
        return found

    lab.operations.list_names = repeat


@mutant(
    "listing-by-index",
    "a listing is read on from an index into what is there now: what is removed meanwhile makes it skip names",
    "tavianator/bfs issue 67; libfuse issue 401; xoriors/rencfs pull request 302: index as offset",
    (),
    shown_by=BY_CALLS,
)
def listing_by_index(lab: Lab, knobs: Knobs) -> None:
    """Directories of more names than one reply holds."""
    rewind = lab.operations.rewind
    lab.operations.resume = lambda call, handle: rewind(call, handle)


@mutant(
    "directory-times-frozen",
    "making, removing and renaming names leaves the times of their directory as they are",
    "juicedata/juicefs issue 6681: a listing that never refreshes because its mtime never changes",
    (),
    shown_by=BY_CALLS,
)
def directory_times_frozen(lab: Lab, knobs: Knobs) -> None:
    """Since it was made."""
    lab.store.directory_times = False


@mutant(
    "directory-times-restless",
    "every look at a directory moves its mtime",
    "gluster/glusterfs issue 4071: mtime changes at every stat, and listings start again for ever",
    (),
    shown_by=BY_CALLS,
)
def directory_times_restless(lab: Lab, knobs: Knobs) -> None:
    """By stat and by a look-up of its name."""
    get_attributes, lookup, store = lab.operations.get_attributes, lab.operations.lookup, lab.store

    def move(call: Call, inode: Inode) -> Inode:
        if inode.is_directory and knobs.strikes(call):
            with store.lock:
                store.touch_directory(inode)
        return inode

    lab.operations.get_attributes = lambda call, number: move(call, get_attributes(call, number))
    lab.operations.lookup = lambda call, parent, name: move(call, lookup(call, parent, name))
