"""Requests about directories that are read."""

from __future__ import annotations

import stat

from fsconform.lab.calls import Call
from fsconform.lab.inodes import DirectoryHandle
from fsconform.lab.protocol import DIRENT, NO_ENTRY, OPEN_OUT, READDIR_IN, U64, Opcode
from fsconform.lab.requests.dispatch import Dispatcher, Reply, handles


@handles(Opcode.OPENDIR)
def open_directory(server: Dispatcher, call: Call, node: int, body: memoryview) -> Reply:
    """A handle; the listing is taken when it is first read."""
    return OPEN_OUT.pack(server.operations.open_directory(call, node).number, 0, 0)


@handles(Opcode.RELEASEDIR)
def release_directory(server: Dispatcher, call: Call, node: int, body: memoryview) -> Reply:
    """The handle is gone."""
    store = server.lab.store
    with store.lock:
        handle = store.directories.pop(U64.unpack_from(body)[0], None)
        if handle is not None:
            handle.inode.opens -= 1
            store.settle(handle.inode)
    return b""


@handles(Opcode.FSYNCDIR)
def sync_directory(server: Dispatcher, call: Call, node: int, body: memoryview) -> Reply:
    """fsync(2) of a directory."""
    server.operations.sync_directory(call, node)
    return b""


@handles(Opcode.READDIR)
def read_directory(server: Dispatcher, call: Call, node: int, body: memoryview) -> Reply:
    """Names and types."""
    return _listing(server, call, body, plus=False)


@handles(Opcode.READDIRPLUS)
def read_directory_plus(server: Dispatcher, call: Call, node: int, body: memoryview) -> Reply:
    """Names, and for those still bound to the listed inode an entry that fills the client's caches."""
    return _listing(server, call, body, plus=True)


def _listing(server: Dispatcher, call: Call, body: memoryview, plus: bool) -> Reply:
    number, offset, room = READDIR_IN.unpack_from(body)
    handle = server.directory(number)
    listing = server.operations.resume(call, handle) if offset else server.operations.rewind(call, handle)
    parts: list[bytes] = []
    with server.lab.store.lock:
        for index in range(offset, len(listing)):
            name, inode_number = listing[index]
            size = DIRENT.size + len(name) + (-len(name) % 8) + (len(NO_ENTRY) if plus else 0)
            if size > room:
                break
            room -= size
            if not server.lab.session.dots and name in (b".", b".."):
                continue
            if plus:
                parts.append(_entry(server, call, handle, name))
            parts.append(_dirent(server, name, inode_number, index + 1))
    return b"".join(parts)


def _dirent(server: Dispatcher, name: bytes, number: int, following: int) -> bytes:
    """A listed name is shown even where its inode was replaced or removed since."""
    inode = server.lab.store.inodes.get(number)
    kind = stat.S_IFMT(inode.mode) >> 12 if inode is not None else 0
    return DIRENT.pack(number, following, len(name), kind) + name + bytes(-len(name) % 8)


def _entry(server: Dispatcher, call: Call, handle: DirectoryHandle, name: bytes) -> bytes:
    """What the name is bound to now, with a reference; nothing to link where it is bound no more."""
    children = handle.inode.children
    number = children.get(name) if children is not None else None
    inode = server.lab.store.inodes.get(number) if number is not None else None
    if inode is None:
        return NO_ENTRY
    inode.lookups += 1
    return server.encoder.entry(call, inode)
