"""Mutants of writes: bytes that are not stored, put in the wrong place, or seen too early or too late."""

from __future__ import annotations

import os

from fsconform.lab.calls import Call
from fsconform.lab.inodes import Handle, Inode
from fsconform.lab.knobs import Knobs
from fsconform.lab.model import Lab
from fsconform.lab.mutants.memory import Memory
from fsconform.lab.mutants.registry import mutant

PAGE = 4096
_LARGE = 1 << 15


@mutant(
    "write-loses-tail",
    "a write of 32 KiB or more says that it stored everything, and its last page is not there",
    "e2b-dev/infra pull request 2144: short pieces taken for whole ones; POSIX write() returns the bytes written",
    ("content.complete", "atomic.content"),
    also={
        "atomic.held-reader": "the file was never whole",
        "unlink.held-reader": "the file was never whole",
        "mmap.held-reader": "the file was never whole",
        "content.copy-range": "what is copied lacks its last page",
    },
    racy=True,
)
def write_loses_tail(lab: Lab, knobs: Knobs) -> None:
    """Short writes are left alone."""
    write = lab.operations.write

    def store_less(call: Call, handle: Handle, offset: int, data: memoryview, flags: int) -> int:
        if len(data) < _LARGE or not knobs.strikes(call):
            return write(call, handle, offset, data, flags)
        return write(call, handle, offset, data[:-PAGE], flags) + PAGE

    lab.operations.write = store_less


@mutant(
    "partial-page-lost",
    "a write into the middle of a page that the file has already loses what stood in that page before it",
    "vitalif/vitastor issue 116: read-modify-write of partial pages in an NFS gateway",
    ("content.unaligned",),
    also={"content.neighbours": "what stood there may be the other site's"},
)
def partial_page_lost(lab: Lab, knobs: Knobs) -> None:
    """Zeros in its place. Writes that begin at the end of the file are left alone."""
    write, store = lab.operations.write, lab.store

    def lose(call: Call, handle: Handle, offset: int, data: memoryview, flags: int) -> int:
        inode, start = handle.inode, offset - offset % PAGE
        with store.lock:
            if start < offset < len(inode.data) and not flags & os.O_APPEND and knobs.strikes(call):
                inode.data[start:offset] = bytes(offset - start)
            return write(call, handle, offset, data, flags)

    lab.operations.write = lose


@mutant(
    "page-written-back",
    "a mount that writes a part of a page again puts the whole page as it knows it, over what others wrote meanwhile",
    "Alluxio/alluxio issue 16793; nfs(5): clients that write the same page without a lock",
    ("content.neighbours",),
    racy=True,
)
def page_written_back(lab: Lab, knobs: Knobs) -> None:
    """What a mount knows of a page is what stood there at its first write, and its own writes since."""
    write, store = lab.operations.write, lab.store
    known: dict[tuple[int, int, int], bytearray] = {}

    def write_back(call: Call, handle: Handle, offset: int, data: memoryview, flags: int) -> int:
        inode = handle.inode
        with store.lock:
            inside = offset + len(data) <= len(inode.data) and not flags & os.O_APPEND
            if not inside or not knobs.strikes(call, inode.number):
                return write(call, handle, offset, data, flags)
            pages = range(offset // PAGE, (offset + len(data) - 1) // PAGE + 1)
            for page in pages:
                key = (call.client.number, inode.number, page)
                own = known.setdefault(key, inode.data[page * PAGE : (page + 1) * PAGE])
                inode.data[page * PAGE : page * PAGE + len(own)] = own
            written = write(call, handle, offset, data, flags)
            for page in pages:
                known[call.client.number, inode.number, page] = inode.data[page * PAGE : (page + 1) * PAGE]
            return written

    def forget(now: float) -> None:
        with store.lock:
            for key in [key for key in known if key[1] not in store.inodes]:
                del known[key]

    lab.periodic.append(forget)
    lab.operations.write = write_back


@mutant(
    "rewrite-unseen",
    "for `ttl` after a file was overwritten in place, other mounts read its old bytes",
    "llm-d-kv-cache pull request 176; nfs(5): a change that neither size nor timestamp tells keeps cached pages",
    ("content.rewrite",),
    also={"content.neighbours": "the other site's strips are such writes"},
)
def rewrite_unseen(lab: Lab, knobs: Knobs) -> None:
    """Writes inside the length of a file that was opened without O_CREAT."""
    write, read, store = lab.operations.write, lab.operations.read, lab.store
    before: Memory[int, tuple[bytes, int]] = Memory(lab)

    def overwrite(call: Call, handle: Handle, offset: int, data: memoryview, flags: int) -> int:
        inode = handle.inode
        with store.lock:
            inside = offset + len(data) <= len(inode.data) and not handle.flags & (os.O_CREAT | os.O_APPEND)
            if inside and before.get(inode.number) is None and knobs.strikes(call):
                before.keep(inode.number, (bytes(inode.data), call.client.number), knobs.ttl)
            return write(call, handle, offset, data, flags)

    def read_old(call: Call, handle: Handle, offset: int, size: int, flags: int) -> bytes:
        data, by = before.get(handle.inode.number) or (b"", call.client.number)
        if by == call.client.number:
            return read(call, handle, offset, size, flags)
        return data[offset : offset + size]

    lab.operations.write, lab.operations.read = overwrite, read_old


@mutant(
    "nul-tail",
    "a write at the end of a file first makes it longer, and puts the bytes there `window` later",
    "moosefs/moosefs issue 471; logstash-input-file pull request 190: NUL bytes at the tail of a growing file",
    ("content.tail",),
    window=0.002,
    racy=True,
)
def nul_tail(lab: Lab, knobs: Knobs) -> None:
    """The write returns when they are there."""
    write, store = lab.operations.write, lab.store

    def grow_first(call: Call, handle: Handle, offset: int, data: memoryview, flags: int) -> int:
        with store.lock:
            grows = offset == len(handle.inode.data) and not flags & os.O_APPEND and knobs.strikes(call)
            if grows:
                store.resize(handle.inode, offset + len(data))
        if grows:
            call.client.pause(knobs.window)
        return write(call, handle, offset, data, flags)

    lab.operations.write = grow_first


@mutant(
    "append-overlaps",
    "an append looks where the end is, and writes there `window` later: appends of others are overwritten",
    "open(2) O_APPEND, NFS: reframe-hpc/reframe issue 3521; ycrc/dSQ issue 20; moosefs/moosefs issue 471",
    ("append.atomic",),
    window=0.002,
    racy=True,
)
def append_overlaps(lab: Lab, knobs: Knobs) -> None:
    """Appends of one mount that come one after another are left alone."""
    write = lab.operations.write

    def append(call: Call, handle: Handle, offset: int, data: memoryview, flags: int) -> int:
        if not flags & os.O_APPEND or not knobs.strikes(call):
            return write(call, handle, offset, data, flags)
        end = len(handle.inode.data)
        call.client.pause(knobs.window)
        return write(call, handle, end, data, flags & ~os.O_APPEND)

    lab.operations.write = append


@mutant(
    "copy-short",
    "copy_file_range says that it copied everything, and stores only the first half",
    "copy_file_range(2) BUGS; oss-tsukuba/gfarm issue 99: copies that nobody reads back",
    ("content.copy-range",),
)
def copy_short(lab: Lab, knobs: Knobs) -> None:
    """The second half reads as zeros."""
    copy, store = lab.operations.copy_range, lab.store

    def copy_half(call: Call, source: Handle, start: int, target: Handle, offset: int, length: int) -> int:
        copied = copy(call, source, start, target, offset, length)
        if knobs.strikes(call):
            with store.lock:
                half = copied // 2
                target.inode.data[offset + half : offset + copied] = bytes(copied - half)
        return copied

    lab.operations.copy_range = copy_half


@mutant(
    "length-rounded",
    "other mounts are told lengths rounded up to whole pages",
    "deepseek-ai/3FS docs/design_notes.md: lengths known by chunks; s3fs-fuse/s3fs-fuse issue 320",
    ("size.exact",),
)
def length_rounded(lab: Lab, knobs: Knobs) -> None:
    """Reads end where the file ends."""
    size, write = lab.operations.size, lab.operations.write
    writer: dict[int, int] = {}

    def note(call: Call, handle: Handle, offset: int, data: memoryview, flags: int) -> int:
        writer[handle.inode.number] = call.client.number
        return write(call, handle, offset, data, flags)

    def rounded(call: Call, inode: Inode) -> int:
        actual = size(call, inode)
        if writer.get(inode.number, call.client.number) == call.client.number or not knobs.strikes(call):
            return actual
        return -(-actual // PAGE) * PAGE

    lab.operations.size, lab.operations.write = rounded, note
