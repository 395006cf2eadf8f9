"""Mutants of listings."""

from __future__ import annotations

from fsconform.lab.calls import Call
from fsconform.lab.inodes import DirectoryHandle
from fsconform.lab.knobs import Knobs
from fsconform.lab.model import Lab
from fsconform.lab.mutants.memory import Memory
from fsconform.lab.mutants.registry import mutant

Listing = list[tuple[bytes, int]]


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
