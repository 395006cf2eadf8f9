"""Mutants of listings and of what directories say of themselves."""

from __future__ import annotations

import zlib

from fsconform.lab.calls import Call
from fsconform.lab.inodes import DirectoryHandle
from fsconform.lab.knobs import Knobs
from fsconform.lab.model import Lab
from fsconform.lab.mutants.memory import Memory
from fsconform.lab.mutants.registry import mutant

Listing = list[tuple[bytes, int]]
_DOTS = (b".", b"..")
_SHARE = 5
"""One name of so many is missed or shown twice."""


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
    "one name of five is never listed, though looking it up finds it",
    "nfs-ganesha/nfs-ganesha issue 852; red-hat-storage/cephci pull request 6111",
    ("visibility.create",),
)
def listing_misses(lab: Lab, knobs: Knobs) -> None:
    """The same names at every mount; files only, so that directories can be walked."""
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
