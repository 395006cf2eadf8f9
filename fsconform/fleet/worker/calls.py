"""System calls that the `os` module lacks or bends, as functions that raise OSError with the kernel's errno.

A C library without the call: OSError with the pseudo errno UNSUPPORTED_HERE, which says nothing of a filesystem.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import struct
from typing import Any

UNSUPPORTED_HERE = -4
"""As `vocabulary.errnos.UNSUPPORTED_HERE`."""
AT_FDCWD = -100
RENAME_NOREPLACE, RENAME_EXCHANGE = 1, 2
_AT_STATX_FORCE_SYNC = 0x2000
_STATX_BASIC_STATS = 0x7FF
_ALIGNMENT = 4096
_READ_BEYOND = 1 << 20

_libc = ctypes.CDLL(None, use_errno=True)


def _function(name: str, *argument_types: Any) -> Any:
    function = getattr(_libc, name, None)
    if function is not None:
        function.argtypes = argument_types
        function.restype = ctypes.c_int
    return function


_int, _text, _uint, _pointer, _long = (
    ctypes.c_int, ctypes.c_char_p, ctypes.c_uint, ctypes.c_void_p, ctypes.c_int64,
)  # fmt: skip
_renameat2 = _function("renameat2", _int, _text, _int, _text, _uint)
_statx = _function("statx", _int, _text, _int, _uint, _pointer)
_access = _function("access", _text, _int)
_fallocate = _function("fallocate64", _int, _int, _long, _long)


def _call(function: Any, *arguments: Any) -> None:
    """One call. EINTR is told like every other errno: a call is never repeated silently."""
    if function is None:
        raise OSError(UNSUPPORTED_HERE, "this C library has no such call")
    if function(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def rename_noreplace(source: str, target: str) -> None:
    """renameat2(2) with RENAME_NOREPLACE."""
    _call(_renameat2, AT_FDCWD, os.fsencode(source), AT_FDCWD, os.fsencode(target), RENAME_NOREPLACE)


def rename_exchange(source: str, target: str) -> None:
    """renameat2(2) with RENAME_EXCHANGE."""
    _call(_renameat2, AT_FDCWD, os.fsencode(source), AT_FDCWD, os.fsencode(target), RENAME_EXCHANGE)


def access(path: str) -> None:
    """access(2) with F_OK (`os.access` hides the errno)."""
    _call(_access, os.fsencode(path), os.F_OK)


def statx_force_sync(path: str) -> "tuple[int, int]":
    """(size in bytes, inode) by statx(2) with AT_STATX_FORCE_SYNC."""
    record = ctypes.create_string_buffer(256)
    _call(_statx, AT_FDCWD, os.fsencode(path), _AT_STATX_FORCE_SYNC, _STATX_BASIC_STATS, record)
    inode, size = struct.unpack_from("<QQ", record, 32)
    return size, inode


def fallocate(descriptor: int, offset: int, size: int) -> None:
    """fallocate(2), mode 0 (posix_fallocate would write zeros where the filesystem refuses)."""
    _call(_fallocate, descriptor, 0, offset, size)


def sync_directory(path: str) -> None:
    """Open a directory, fsync it, close it."""
    descriptor = os.open(path or ".", os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_to_end(descriptor: int, expected: int) -> bytes:
    """All bytes from the current position on; stops early beyond twice the expected length and 1 MiB."""
    data = os.read(descriptor, expected + 1)
    pieces, length = [data], len(data)
    while data and length <= 2 * expected + _READ_BEYOND:
        data = os.read(descriptor, max(expected + 1 - length, _ALIGNMENT))
        pieces.append(data)
        length += len(data)
    return pieces[0] if len(pieces) <= 2 and not data else b"".join(pieces)


def read_exactly(descriptor: int, size: int) -> bytes:
    """`size` bytes from the current position on, fewer only at the end of the file."""
    pieces, left = [], size
    while left > 0:
        data = os.read(descriptor, left)
        if not data:
            break
        pieces.append(data)
        left -= len(data)
    return b"".join(pieces)


def read_at_start(descriptor: int, expected: int) -> bytes:
    """All bytes of a descriptor from offset 0 on, its position unmoved; stops early as `read_to_end`."""
    pieces, length = [], 0
    while length <= 2 * expected + _READ_BEYOND:
        data = os.pread(descriptor, max(expected + 1 - length, _ALIGNMENT), length)
        if not data:
            break
        pieces.append(data)
        length += len(data)
    return b"".join(pieces)


def read_direct(path: str, expected: int) -> bytes:
    """All bytes of a file through O_DIRECT (aligned buffer, length and offset; open(2) NOTES)."""
    span = (expected // _ALIGNMENT + 2) * _ALIGNMENT
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECT)
    try:
        pieces, length = [], 0
        with mmap.mmap(-1, span) as buffer:
            while length <= 2 * expected + _READ_BEYOND:
                count = os.preadv(descriptor, [buffer], length)
                pieces.append(buffer[:count])
                length += count
                if count == 0 or count % _ALIGNMENT:
                    break
        return b"".join(pieces)
    finally:
        os.close(descriptor)


def read_mapped(path: str) -> bytes:
    """All bytes of a file as a shared mapping shows them (see `copy_mapping`); EFAULT where a page cannot be had."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        mapping = map_shared(descriptor, 0)
    except ValueError:  # an empty file cannot be mapped
        return b""
    finally:
        os.close(descriptor)
    with mapping:
        data = copy_mapping(mapping)
        if len(data) < len(mapping):
            raise OSError(errno.EFAULT, os.strerror(errno.EFAULT))
        return data


def map_shared(descriptor: int, size: int) -> mmap.mmap:
    """A shared read-only mapping of the first `size` bytes, or of the whole file where it is 0."""
    return mmap.mmap(descriptor, size, mmap.MAP_SHARED, mmap.PROT_READ)


def copy_mapping(mapping: mmap.mmap) -> bytes:
    """What a mapping shows, up to the first page that cannot be had; EFAULT where that is the first one.

    The kernel copies it out (write from the mapping into a memory file), so that such a page is EFAULT instead of
    SIGBUS, and the interpreter's lock is free meanwhile.
    """
    target = os.memfd_create("fsconform")
    done = 0
    try:
        with memoryview(mapping) as view:
            while done < len(view):
                with view[done:] as rest:
                    done += os.pwrite(target, rest, done)
    except OSError as error:
        if error.errno != errno.EFAULT or done == 0:
            raise
    finally:
        data = os.pread(target, done, 0)
        os.close(target)
    return data


def copy_range(source: str, target: str, size: int) -> int:
    """copy_file_range(2) of the first `size` bytes of a file to a new one; how many there were."""
    function = getattr(os, "copy_file_range", None)
    if function is None:
        raise OSError(UNSUPPORTED_HERE, "this C library has no such call")
    one = os.open(source, os.O_RDONLY)
    try:
        other = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        try:
            done = 0
            while done < size:
                count = function(one, other, size - done)
                if count == 0:
                    break
                done += count
        finally:
            os.close(other)  # an error of this close is the copy's
        return done
    finally:
        os.close(one)
