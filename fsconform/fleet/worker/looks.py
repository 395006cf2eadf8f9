"""Looks: steps that only observe, as zero-argument calls, and what their results mean.

A builder takes a step and the score's descriptors and gives (call, decode); `decode(result)` gives
(value, detail) and runs after the timed part. Nothing here touches the filesystem before the call is made.
"""

from __future__ import annotations

import errno
import os
from functools import partial
from operator import index
from typing import Any, Callable, NamedTuple, Tuple

from fsconform.fleet.worker import blocks, calls
from fsconform.fleet.worker.descriptors import EmptySlot, Handles


class Step(NamedTuple):
    """A step as it comes over the wire: the fields of `vocabulary.steps.Step`, in its order."""

    kind: str
    path: str
    other: str
    fd: int
    key: str
    version: int
    size: int
    offset: int
    arg: int
    names: "tuple[str, ...]"
    then: "Any"


Call = Callable[[], Any]
Decode = Callable[[Any], "tuple[int, int]"]
Built = Tuple[Call, Decode]
_ANY_VERSION_READ = 1 << 20


def nothing(_result: Any) -> "tuple[int, int]":
    """Decoder of steps whose success says all."""
    return 0, 0


def signed(number: int) -> int:
    """A 64-bit unsigned number (inode) as the signed one with the same bits."""
    return number - (1 << 64) if number >= 1 << 63 else number


def _status(result: os.stat_result) -> "tuple[int, int]":
    return result.st_size, signed(result.st_ino)


def _size_and_inode(result: "tuple[int, int]") -> "tuple[int, int]":
    return result[0], signed(result[1])


def build_stat(step: Step, _handles: Handles) -> Built:
    """stat(2)."""
    return partial(os.stat, step.path), _status


def build_stat_links(step: Step, _handles: Handles) -> Built:
    """stat(2), for the number of names."""
    return partial(os.stat, step.path), lambda result: (result.st_nlink, signed(result.st_ino))


def build_access(step: Step, _handles: Handles) -> Built:
    """access(2), F_OK."""
    return partial(calls.access, step.path), nothing


def build_statx_force_sync(step: Step, _handles: Handles) -> Built:
    """statx(2), AT_STATX_FORCE_SYNC."""
    return partial(calls.statx_force_sync, step.path), _size_and_inode


def build_fstat_held(step: Step, handles: Handles) -> Built:
    """fstat(2) of a slot."""
    where, at = handles.find(step.fd)
    return lambda: os.fstat(where[at]), _status


def build_open_fstat(step: Step, _handles: Handles) -> Built:
    """open, fstat, close."""

    def look() -> os.stat_result:
        descriptor = os.open(step.path, os.O_RDONLY)
        try:
            return os.fstat(descriptor)
        finally:
            os.close(descriptor)

    return look, _status


def _listing(step: Step) -> Decode:
    places = {name: number for number, name in enumerate(step.names)}

    def decode(names: "list[str]") -> "tuple[int, int]":
        bits = 0
        for name in names:
            number = places.get(name)
            if number is not None:
                bits |= 1 << (32 + number if bits >> number & 1 else number)
        return bits, len(names)

    return decode


def build_scandir(step: Step, _handles: Handles) -> Built:
    """Open a directory, read it to its end, close it."""
    return partial(os.listdir, step.path or "."), _listing(step)


def build_scandir_held(step: Step, handles: Handles) -> Built:
    """Read a directory descriptor from its start to its end."""
    where, at = handles.find(step.fd)

    def look() -> "list[str]":
        descriptor = index(where[at])
        os.lseek(descriptor, 0, os.SEEK_SET)
        return os.listdir(descriptor)

    return look, _listing(step)


def _content(step: Step) -> Decode:
    if step.size:
        blocks.make(step.key, step.version, step.size)

    def decode(data: bytes) -> "tuple[int, int]":
        return blocks.verify(data, step.key, step.version, step.size)

    return decode


def build_open_read(step: Step, _handles: Handles) -> Built:
    """open, read to the end of the file, close."""
    expected = step.size or _ANY_VERSION_READ

    def look() -> bytes:
        descriptor = os.open(step.path, os.O_RDONLY)
        try:
            return calls.read_to_end(descriptor, expected)
        finally:
            os.close(descriptor)

    return look, _content(step)


def build_open_fstat_read(step: Step, _handles: Handles) -> Built:
    """open, fstat, read as many bytes as fstat said, close."""

    def look() -> bytes:
        descriptor = os.open(step.path, os.O_RDONLY)
        try:
            return calls.read_exactly(descriptor, os.fstat(descriptor).st_size)
        finally:
            os.close(descriptor)

    return look, _content(step)


def build_open_direct(step: Step, _handles: Handles) -> Built:
    """open_read through O_DIRECT."""
    return partial(calls.read_direct, step.path, step.size or _ANY_VERSION_READ), _content(step)


def build_read_held(step: Step, handles: Handles) -> Built:
    """Read a slot from offset 0 to the end of the file."""
    where, at = handles.find(step.fd)
    expected = step.size or _ANY_VERSION_READ
    return lambda: calls.read_at_start(where[at], expected), _content(step)


def build_mmap_read(step: Step, _handles: Handles) -> Built:
    """open, map the whole file, copy it out, close."""
    return partial(calls.read_mapped, step.path), _content(step)


def build_map_held(step: Step, handles: Handles) -> Built:
    """mmap(2) of a slot; the mapping outlives its descriptor."""
    where, at = handles.find(step.fd)
    mappings = handles.slots.mappings

    def look() -> None:
        descriptor = index(where[at])
        try:
            mappings[step.fd] = calls.map_shared(descriptor, step.size)
        except ValueError:  # `mmap` asks for the length first, and was told a smaller one
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL)) from None

    return look, nothing


def build_read_mapping(step: Step, handles: Handles) -> Built:
    """Copy a held mapping out."""
    mappings = handles.slots.mappings

    def look() -> bytes:
        if step.fd not in mappings:
            raise EmptySlot
        return calls.copy_mapping(mappings[step.fd])

    return look, _content(step)


def build_read_records(step: Step, _handles: Handles) -> Built:
    """open, read to the end of the file, close: which records are there?"""
    records = {blocks.make(step.key, version, step.size): version for version in range(step.arg)}
    whole = step.size * step.arg

    def look() -> bytes:
        descriptor = os.open(step.path, os.O_RDONLY)
        try:
            return calls.read_to_end(descriptor, whole)
        finally:
            os.close(descriptor)

    def decode(data: bytes) -> "tuple[int, int]":
        found = [records.get(data[start : start + step.size]) for start in range(0, len(data), step.size)]
        once = [version for version in found if version is not None and found.count(version) == 1]
        return sum(1 << version for version in once), len(data)

    return look, decode


def build_getxattr(step: Step, _handles: Handles) -> Built:
    """getxattr(2) of a user attribute."""
    wanted = step.key.encode()
    return partial(os.getxattr, step.path, attribute(step.other)), lambda value: (int(value == wanted), len(value))


def attribute(name: str) -> str:
    """The full name of a user attribute."""
    return name if name.startswith("user.") else "user." + name
