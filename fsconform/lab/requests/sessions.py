"""Requests that open and close a session, give references back, interrupt, and lock."""

from __future__ import annotations

from fsconform.lab.calls import Call
from fsconform.lab.locks import UNLOCK, Lock
from fsconform.lab.model import ReadDirPlus, Session
from fsconform.lab.protocol import (
    FORGET_ONE,
    INIT_IN,
    INIT_OUT,
    LOCK,
    LOCK_IN,
    LOCK_IS_FLOCK,
    MAJOR,
    MINOR,
    U32,
    U32X2,
    U64,
    Init,
    Opcode,
)
from fsconform.lab.requests.dispatch import Dispatcher, Reply, handles

MAX_WRITE = 1 << 20
PAGES = MAX_WRITE // 4096
_ALWAYS = (
    Init.ASYNC_READ | Init.ATOMIC_O_TRUNC | Init.BIG_WRITES | Init.AUTO_INVAL_DATA | Init.ASYNC_DIO
    | Init.PARALLEL_DIROPS | Init.MAX_PAGES | Init.INIT_EXT | Init.DIRECT_IO_ALLOW_MMAP
)  # fmt: skip


def wanted(session: Session) -> int:
    """The INIT flags that a session asks for."""
    flags = int(_ALWAYS)
    flags |= Init.POSIX_LOCKS if session.record_locks else 0
    flags |= Init.FLOCK_LOCKS if session.flocks else 0
    if session.plus is not ReadDirPlus.NEVER:
        flags |= Init.DO_READDIRPLUS
    if session.plus is ReadDirPlus.ADAPTIVE:
        flags |= Init.READDIRPLUS_AUTO
    return flags


@handles(Opcode.INIT)
def initialise(server: Dispatcher, call: Call, node: int, body: memoryview) -> Reply:
    """Agree on version and flags."""
    _, _, read_ahead, low = INIT_IN.unpack_from(body)
    offered = low | (U32.unpack_from(body, 16)[0] << 32 if low & Init.INIT_EXT and len(body) >= 20 else 0)
    agreed = wanted(server.lab.session) & offered
    if server.encoder.settle_data_path(bool(agreed & Init.DIRECT_IO_ALLOW_MMAP)):
        agreed &= ~int(Init.DIRECT_IO_ALLOW_MMAP)
    return INIT_OUT.pack(
        MAJOR, MINOR, read_ahead, agreed & 0xFFFFFFFF, 64, 48, MAX_WRITE, server.lab.store.granularity, PAGES, 0,
        agreed >> 32, *[0] * 7,
    )  # fmt: skip


@handles(Opcode.DESTROY)
def destroy(server: Dispatcher, call: Call, node: int, body: memoryview) -> Reply:
    """The mount is gone."""
    return b""


@handles(Opcode.FORGET)
def forget(server: Dispatcher, call: Call, node: int, body: memoryview) -> Reply:
    """References given back; not answered."""
    store = server.lab.store
    with store.lock:
        store.forget(node, U64.unpack_from(body)[0])
    return None


@handles(Opcode.BATCH_FORGET)
def forget_many(server: Dispatcher, call: Call, node: int, body: memoryview) -> Reply:
    """The same for several inodes; not answered."""
    store = server.lab.store
    count, _ = U32X2.unpack_from(body)
    with store.lock:
        for index in range(count):
            store.forget(*FORGET_ONE.unpack_from(body, 8 + index * FORGET_ONE.size))
    return None


@handles(Opcode.INTERRUPT)
def interrupt(server: Dispatcher, call: Call, node: int, body: memoryview) -> Reply:
    """A signal for somebody who waits; not answered."""
    server.operations.interrupt(call, U64.unpack_from(body)[0])
    return None


def _wish(server: Dispatcher, call: Call, body: memoryview) -> Lock:
    handle, owner, start, end, kind, pid, flags, _ = LOCK_IN.unpack_from(body)
    return Lock((call.client.number, owner), kind, start, end, pid, bool(flags & LOCK_IS_FLOCK), handle)


@handles(Opcode.SETLK)
def set_lock(server: Dispatcher, call: Call, node: int, body: memoryview) -> Reply:
    """Try."""
    server.operations.set_lock(call, node, _wish(server, call, body), False)
    return b""


@handles(Opcode.SETLKW)
def wait_for_lock(server: Dispatcher, call: Call, node: int, body: memoryview) -> Reply:
    """Wait; answered by whoever makes room."""
    return b"" if server.operations.set_lock(call, node, _wish(server, call, body), True) else None


@handles(Opcode.GETLK)
def test_lock(server: Dispatcher, call: Call, node: int, body: memoryview) -> Reply:
    """Who is in the way."""
    holder = server.operations.test_lock(call, node, _wish(server, call, body))
    if holder is None:
        return LOCK.pack(0, 0, UNLOCK, 0)
    return LOCK.pack(holder.start, holder.end, holder.kind, holder.pid)
