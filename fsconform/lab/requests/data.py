"""Requests about open files."""

from __future__ import annotations

from fsconform.lab.calls import Call
from fsconform.lab.protocol import (
    COPY_IN,
    FALLOCATE_IN,
    FLUSH_IN,
    FSYNC_DATA_ONLY,
    FSYNC_IN,
    LSEEK_IN,
    READ_IN,
    RELEASE_FLOCK_UNLOCK,
    RELEASE_IN,
    U32,
    U32X2,
    U64,
    WRITE_IN,
    Opcode,
)
from fsconform.lab.requests.dispatch import Dispatcher, Reply, handles


@handles(Opcode.OPEN)
def open_file(server: Dispatcher, call: Call, node: int, body: memoryview) -> Reply:
    """open(2) of a name that the client knows."""
    (flags,) = U32.unpack_from(body)
    return server.encoder.opened(server.operations.open(call, node, flags))


@handles(Opcode.READ)
def read(server: Dispatcher, call: Call, node: int, body: memoryview) -> Reply:
    """The bytes themselves."""
    number, offset, size, _, _, flags, _ = READ_IN.unpack_from(body)
    return server.operations.read(call, server.handle(number), offset, size, flags)


@handles(Opcode.WRITE)
def write(server: Dispatcher, call: Call, node: int, body: memoryview) -> Reply:
    """How many bytes were taken."""
    number, offset, size, _, _, flags, _ = WRITE_IN.unpack_from(body)
    written = server.operations.write(call, server.handle(number), offset, body[40 : 40 + size], flags)
    return U32X2.pack(written, 0)


@handles(Opcode.FLUSH)
def flush(server: Dispatcher, call: Call, node: int, body: memoryview) -> Reply:
    """close(2) of one descriptor."""
    number, _, _, owner = FLUSH_IN.unpack_from(body)
    server.operations.flush(call, server.handle(number), owner)
    return b""


@handles(Opcode.FSYNC)
def sync(server: Dispatcher, call: Call, node: int, body: memoryview) -> Reply:
    """fsync(2) and fdatasync(2)."""
    number, flags, _ = FSYNC_IN.unpack_from(body)
    server.operations.sync(call, server.handle(number), bool(flags & FSYNC_DATA_ONLY))
    return b""


@handles(Opcode.RELEASE)
def release(server: Dispatcher, call: Call, node: int, body: memoryview) -> Reply:
    """The last descriptor is gone."""
    number, _, flags, owner = RELEASE_IN.unpack_from(body)
    server.operations.release(call, server.handle(number), owner, bool(flags & RELEASE_FLOCK_UNLOCK))
    return b""


@handles(Opcode.FALLOCATE)
def allocate(server: Dispatcher, call: Call, node: int, body: memoryview) -> Reply:
    """fallocate(2)."""
    number, offset, length, mode, _ = FALLOCATE_IN.unpack_from(body)
    server.operations.allocate(call, server.handle(number), offset, length, mode)
    return b""


@handles(Opcode.LSEEK)
def seek(server: Dispatcher, call: Call, node: int, body: memoryview) -> Reply:
    """SEEK_DATA and SEEK_HOLE."""
    number, offset, whence, _ = LSEEK_IN.unpack_from(body)
    return U64.pack(server.operations.seek(call, server.handle(number), offset, whence))


@handles(Opcode.COPY_FILE_RANGE)
def copy_range(server: Dispatcher, call: Call, node: int, body: memoryview) -> Reply:
    """copy_file_range(2)."""
    source, source_offset, _, target, offset, length, _ = COPY_IN.unpack_from(body)
    copied = server.operations.copy_range(
        call, server.handle(source), source_offset, server.handle(target), offset, length
    )
    return U32X2.pack(copied, 0)
