"""Requests about names."""

from __future__ import annotations

import errno

from fsconform.lab.calls import Call, RefusalError
from fsconform.lab.protocol import RENAME2_IN, U32X2, U32X4, U64, Opcode
from fsconform.lab.requests.dispatch import Dispatcher, Reply, handles


@handles(Opcode.LOOKUP)
def lookup(server: Dispatcher, call: Call, node: int, body: memoryview) -> Reply:
    """An unknown name is an entry of its own where the client may remember it."""
    try:
        inode = server.operations.lookup(call, node, bytes(body[:-1]))
    except RefusalError as refusal:
        if refusal.errno == errno.ENOENT and server.lab.timeouts.negative > 0:
            return server.encoder.negative()
        raise
    return server.encoder.entry(call, inode)


@handles(Opcode.CREATE)
def create(server: Dispatcher, call: Call, node: int, body: memoryview) -> Reply:
    """Entry and handle."""
    flags, mode, _, _ = U32X4.unpack_from(body)
    inode, handle = server.operations.create(call, node, bytes(body[16:-1]), flags, mode)
    return server.encoder.entry(call, inode) + server.encoder.opened(handle)


@handles(Opcode.TMPFILE)
def open_unnamed(server: Dispatcher, call: Call, node: int, body: memoryview) -> Reply:
    """As CREATE, without a name."""
    flags, mode, _, _ = U32X4.unpack_from(body)
    inode, handle = server.operations.open_unnamed(call, node, flags, mode)
    return server.encoder.entry(call, inode) + server.encoder.opened(handle)


@handles(Opcode.MKNOD)
def make_node(server: Dispatcher, call: Call, node: int, body: memoryview) -> Reply:
    """mknod(2)."""
    mode, device, _, _ = U32X4.unpack_from(body)
    return server.encoder.entry(call, server.operations.make_node(call, node, bytes(body[16:-1]), mode, device))


@handles(Opcode.MKDIR)
def make_directory(server: Dispatcher, call: Call, node: int, body: memoryview) -> Reply:
    """mkdir(2)."""
    mode, _ = U32X2.unpack_from(body)
    return server.encoder.entry(call, server.operations.make_directory(call, node, bytes(body[8:-1]), mode))


@handles(Opcode.SYMLINK)
def make_symlink(server: Dispatcher, call: Call, node: int, body: memoryview) -> Reply:
    """symlink(2): name and text, each ended by a zero byte."""
    name, target, _ = bytes(body).split(b"\0", 2)
    return server.encoder.entry(call, server.operations.make_symlink(call, node, name, target))


@handles(Opcode.LINK)
def link(server: Dispatcher, call: Call, node: int, body: memoryview) -> Reply:
    """link(2)."""
    (old,) = U64.unpack_from(body)
    return server.encoder.entry(call, server.operations.link(call, old, node, bytes(body[8:-1])))


@handles(Opcode.UNLINK)
def unlink(server: Dispatcher, call: Call, node: int, body: memoryview) -> Reply:
    """unlink(2)."""
    server.operations.unlink(call, node, bytes(body[:-1]))
    return b""


@handles(Opcode.RMDIR)
def remove_directory(server: Dispatcher, call: Call, node: int, body: memoryview) -> Reply:
    """rmdir(2)."""
    server.operations.remove_directory(call, node, bytes(body[:-1]))
    return b""


@handles(Opcode.RENAME)
def rename(server: Dispatcher, call: Call, node: int, body: memoryview) -> Reply:
    """rename(2)."""
    (new_parent,) = U64.unpack_from(body)
    name, new_name, _ = bytes(body[8:]).split(b"\0", 2)
    server.operations.rename(call, node, name, new_parent, new_name, 0)
    return b""


@handles(Opcode.RENAME2)
def rename_flags(server: Dispatcher, call: Call, node: int, body: memoryview) -> Reply:
    """renameat2(2)."""
    new_parent, flags, _ = RENAME2_IN.unpack_from(body)
    name, new_name, _ = bytes(body[16:]).split(b"\0", 2)
    server.operations.rename(call, node, name, new_parent, new_name, flags)
    return b""
