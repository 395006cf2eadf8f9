"""Requests about attributes, extended attributes and space."""

from __future__ import annotations

import errno

from fsconform.lab.calls import Call, RefusalError
from fsconform.lab.inodes import AttributeChange
from fsconform.lab.protocol import SETATTR_IN, STATFS_OUT, U32X2, Opcode, SetAttr
from fsconform.lab.requests.dispatch import Dispatcher, Reply, handles

_NS = 10**9


@handles(Opcode.GETATTR)
def get_attributes(server: Dispatcher, call: Call, node: int, body: memoryview) -> Reply:
    """stat(2) and fstat(2): the kernel does not say which."""
    return server.encoder.attributes_valid(call, server.operations.get_attributes(call, node))


@handles(Opcode.SETATTR)
def set_attributes(server: Dispatcher, call: Call, node: int, body: memoryview) -> Reply:
    """chmod(2), chown(2), truncate(2), utimensat(2)."""
    valid, _, _, size, _, atime, mtime, _, atime_ns, mtime_ns, _, mode, _, uid, gid, _ = SETATTR_IN.unpack_from(body)
    change = AttributeChange(
        mode=mode if valid & SetAttr.MODE else None,
        uid=uid if valid & SetAttr.UID else None,
        gid=gid if valid & SetAttr.GID else None,
        size=size if valid & SetAttr.SIZE else None,
        atime=atime * _NS + atime_ns if valid & SetAttr.ATIME else None,
        mtime=mtime * _NS + mtime_ns if valid & SetAttr.MTIME else None,
        atime_now=bool(valid & SetAttr.ATIME_NOW),
        mtime_now=bool(valid & SetAttr.MTIME_NOW),
    )
    return server.encoder.attributes_valid(call, server.operations.set_attributes(call, node, change))


@handles(Opcode.READLINK)
def read_link(server: Dispatcher, call: Call, node: int, body: memoryview) -> Reply:
    """The text."""
    return server.operations.read_link(call, node)


@handles(Opcode.SETXATTR)
def set_xattr(server: Dispatcher, call: Call, node: int, body: memoryview) -> Reply:
    """setxattr(2)."""
    size, flags = U32X2.unpack_from(body)
    name, value = bytes(body[8:]).split(b"\0", 1)
    server.operations.set_xattr(call, node, name, value[:size], flags)
    return b""


@handles(Opcode.GETXATTR)
def get_xattr(server: Dispatcher, call: Call, node: int, body: memoryview) -> Reply:
    """getxattr(2)."""
    size, _ = U32X2.unpack_from(body)
    return _sized(size, server.operations.get_xattr(call, node, bytes(body[8:-1])))


@handles(Opcode.LISTXATTR)
def list_xattrs(server: Dispatcher, call: Call, node: int, body: memoryview) -> Reply:
    """listxattr(2)."""
    size, _ = U32X2.unpack_from(body)
    return _sized(size, b"".join(name + b"\0" for name in server.operations.list_xattrs(call, node)))


@handles(Opcode.REMOVEXATTR)
def remove_xattr(server: Dispatcher, call: Call, node: int, body: memoryview) -> Reply:
    """removexattr(2)."""
    server.operations.remove_xattr(call, node, bytes(body[:-1]))
    return b""


def _sized(room: int, value: bytes) -> bytes:
    """The length where no room was offered, ERANGE where it is too small."""
    if room == 0:
        return U32X2.pack(len(value), 0)
    if room < len(value):
        raise RefusalError(errno.ERANGE)
    return value


@handles(Opcode.STATFS)
def space(server: Dispatcher, call: Call, node: int, body: memoryview) -> Reply:
    """statfs(2)."""
    report = server.operations.space(call)
    return STATFS_OUT.pack(
        report.blocks, report.free, report.free, report.files, report.files, report.block, 255, report.block, 0,
        *[0] * 6,
    )  # fmt: skip
