"""Mutants that keep what is no longer so."""

from __future__ import annotations

import time
from dataclasses import replace

from fsconform.lab.calls import Call
from fsconform.lab.inodes import DirectoryHandle, Handle, Inode
from fsconform.lab.knobs import Knobs
from fsconform.lab.model import FOREVER_S, Lab
from fsconform.lab.mutants.contests import Key
from fsconform.lab.mutants.registry import mutant
from fsconform.lab.operations.renames import EXCHANGE


@mutant(
    "negative-forever",
    "a mount that once missed a name misses it for ever",
    "juicefs issue 6302; ydb-platform/nbs issue 579: negative entries that never end",
    ("visibility.create",),
    also={"atomic.order": "whoever missed the new name of a rename finds neither once the old one is gone"},
)
def negative_forever(lab: Lab, knobs: Knobs) -> None:
    """By the timeout that the client's kernel is given, so that exclusive creates are not affected."""
    lab.timeouts = replace(lab.timeouts, negative=FOREVER_S)


@mutant(
    "stale-entry",
    "a mount that knows a name keeps it for `ttl` after another one removed or replaced it",
    "fs/fuse/dir.c fuse_dentry_revalidate: entry_timeout is never cut short by other clients",
    ("visibility.unlink", "visibility.replace"),
)
def stale_entry(lab: Lab, knobs: Knobs) -> None:
    """By the timeout that the client's kernel is given: both properties hang on the one cache."""
    lab.timeouts = replace(lab.timeouts, entry=knobs.ttl)


@mutant(
    "stale-replace",
    "for `ttl` after a rename over a file, other mounts go on finding the replaced file",
    "rename over a known name on clients that cache entries (nfs(5), lookupcache)",
    ("visibility.replace",),
)
def stale_replace(lab: Lab, knobs: Knobs) -> None:
    """Removed names are gone at once."""
    lookup, rename, store = lab.operations.lookup, lab.operations.rename, lab.store
    replaced: dict[Key, tuple[Inode, float, int]] = {}

    def forget_expired(now: float) -> None:
        with store.lock:
            for key in [key for key, (_, until, _) in replaced.items() if until < now]:
                store.forget(replaced.pop(key)[0].number, 1)

    def remember(call: Call, parent: int, name: bytes, new_parent: int, new_name: bytes, flags: int) -> None:
        with store.lock:
            old = store.inodes.get(store.directory(new_parent).get(new_name, -1))
            rename(call, parent, name, new_parent, new_name, flags)
            if old is None or flags & EXCHANGE or not knobs.strikes(call):
                return
            key = (new_parent, new_name)
            if key in replaced:
                store.forget(replaced[key][0].number, 1)
            if old.number in store.inodes:
                old.lookups += 1
                replaced[key] = (old, time.monotonic() + knobs.ttl, call.client.number)
            else:
                replaced.pop(key, None)

    def find_old(call: Call, parent: int, name: bytes) -> Inode:
        with store.lock:
            inode = lookup(call, parent, name)
            old, until, by = replaced.get((parent, name), (inode, 0.0, -1))
            if until < time.monotonic() or by == call.client.number:
                return inode
            old.lookups += 1
            store.forget(inode.number, 1)
            return old

    lab.periodic.append(forget_expired)
    lab.operations.lookup, lab.operations.rename = find_old, remember


@mutant(
    "stale-length",
    "a mount that was told a file's length is told the same for `ttl` while another one appends to it",
    "rclone cmd/mountlib/mount/mount.md; 3FS src/fuse/FuseOps.cc hf3fs_open: an open does not ask for the size",
    ("size.grow",),
)
def stale_length(lab: Lab, knobs: Knobs) -> None:
    """Only growth by others; reads reach the new bytes."""
    size, write, allocate = lab.operations.size, lab.operations.write, lab.operations.allocate
    told: dict[tuple[int, int], tuple[int, float]] = {}
    writer: dict[int, int] = {}

    def forget_expired(now: float) -> None:
        with lab.store.lock:
            for key in [key for key, (_, since) in told.items() if since + knobs.ttl < now]:
                del told[key]

    def note_writer(call: Call, handle: Handle, offset: int, data: memoryview, flags: int) -> int:
        writer[handle.inode.number] = call.client.number
        return write(call, handle, offset, data, flags)

    def note_allocator(call: Call, handle: Handle, offset: int, length: int, mode: int) -> None:
        writer[handle.inode.number] = call.client.number
        allocate(call, handle, offset, length, mode)

    def old_size(call: Call, inode: Inode) -> int:
        now, actual, key = time.monotonic(), size(call, inode), (call.client.number, inode.number)
        if inode.is_directory or writer.get(inode.number) == call.client.number:
            return actual
        with lab.store.lock:
            known, since = told.get(key, (actual, 0.0))
            if since + knobs.ttl > now and actual > known and knobs.strikes(call):
                return known
            told[key] = (actual, now) if since + knobs.ttl <= now or actual != known else (known, since)
            return actual

    lab.periodic.append(forget_expired)
    lab.operations.size, lab.operations.write, lab.operations.allocate = old_size, note_writer, note_allocator


@mutant(
    "stale-listing",
    "for `ttl` after a listing, a mount's listings of that directory lack the names made since",
    "nfs(5) acdirmin; Documentation/filesystems/nfs: cached READDIR results; FOPEN_CACHE_DIR in linux/fuse.h",
    ("visibility.create",),
)
def stale_listing(lab: Lab, knobs: Knobs) -> None:
    """Removed names are left out at once, and looking a name up finds it."""
    list_names = lab.operations.list_names
    cached: dict[tuple[int, int], tuple[set[bytes], float]] = {}

    def forget_expired(now: float) -> None:
        with lab.store.lock:
            for key in [key for key, (_, until) in cached.items() if until < now]:
                del cached[key]

    def list_cached(call: Call, handle: DirectoryHandle) -> list[tuple[bytes, int]]:
        fresh, now, key = list_names(call, handle), time.monotonic(), (call.client.number, handle.inode.number)
        with lab.store.lock:
            names, until = cached.get(key, (set(), 0.0))
            if until < now or not knobs.strikes(call):
                cached[key] = ({name for name, _ in fresh}, now + knobs.ttl)
                return fresh
            return [entry for entry in fresh if entry[0] in names]

    lab.periodic.append(forget_expired)
    lab.operations.list_names = list_cached
