"""What the emulated server stores: inodes, and the handles that clients hold on them."""

from __future__ import annotations

import stat
from dataclasses import dataclass, field

from fsconform.lab.locks import LockTable


class Inode:
    """One file, directory or symlink. Times in ns since the epoch.

    `lookups` counts the references that the kernels of all clients hold (FORGET gives them back), `opens` the open
    handles: an unlinked inode lives until both are zero.
    """

    __slots__ = (
        "atime", "children", "ctime", "data", "flushed", "gid", "linkable", "locks", "lookups", "mode", "mtime",
        "nlink", "number", "opens", "parent", "published", "rdev", "target", "uid", "virtual", "writers", "xattrs",
    )  # fmt: skip

    def __init__(self, number: int, mode: int, uid: int, gid: int, now: int) -> None:
        self.number, self.mode, self.uid, self.gid = number, mode, uid, gid
        self.children: dict[bytes, int] | None = {} if stat.S_ISDIR(mode) else None
        self.nlink = 2 if self.children is not None else 1
        self.data = bytearray()
        self.target = b""
        self.xattrs: dict[bytes, bytes] = {}
        self.parent = 1
        self.rdev = 0
        self.atime = self.mtime = self.ctime = now
        self.lookups = self.opens = 0
        self.linkable = False
        self.virtual = False
        self.locks: LockTable | None = None
        self.writers: dict[int, int] = {}
        self.published = 0
        """Length that other clients are told (only where a preset publishes lengths late), bytes."""
        self.flushed = 0
        """Length of the data that has left the writer's buffer, bytes."""

    @property
    def is_directory(self) -> bool:
        """Whether it has children."""
        return self.children is not None


@dataclass(slots=True)
class Handle:
    """An open file of one client."""

    number: int
    inode: Inode
    client: int
    flags: int
    name: bytes = b""
    closing: bool = False
    """A FLUSH came and nothing after it: close(2) has probably returned, RELEASE is on its way."""

    @property
    def writes(self) -> bool:
        """Whether it was opened for writing."""
        return self.flags & 3 != 0


@dataclass(slots=True)
class DirectoryHandle:
    """An open directory of one client, with the listing that it is being read from."""

    number: int
    inode: Inode
    listing: list[tuple[bytes, int]] | None = None


@dataclass(frozen=True, slots=True)
class AttributeChange:
    """A SETATTR request; None where a field is not meant. Times in ns, `now` where the server sets its own."""

    mode: int | None = None
    uid: int | None = None
    gid: int | None = None
    size: int | None = None
    atime: int | None = None
    mtime: int | None = None
    atime_now: bool = False
    mtime_now: bool = False


@dataclass(frozen=True, slots=True)
class SpaceReport:
    """What statfs says. Sizes in blocks of `block` bytes."""

    blocks: int
    free: int
    block: int = 4096
    files: int = field(default=1 << 20)
