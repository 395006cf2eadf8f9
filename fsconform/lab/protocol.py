"""The wire format of the FUSE kernel protocol: opcodes, flags and structures (include/uapi/linux/fuse.h, 7.38)."""

from __future__ import annotations

from enum import IntEnum, IntFlag
from struct import Struct

MAJOR, MINOR = 7, 38
ROOT = 1
"""Node id of a mount's root directory."""


class Opcode(IntEnum):
    """What the kernel asks for."""

    LOOKUP = 1
    FORGET = 2
    GETATTR = 3
    SETATTR = 4
    READLINK = 5
    SYMLINK = 6
    MKNOD = 8
    MKDIR = 9
    UNLINK = 10
    RMDIR = 11
    RENAME = 12
    LINK = 13
    OPEN = 14
    READ = 15
    WRITE = 16
    STATFS = 17
    RELEASE = 18
    FSYNC = 20
    SETXATTR = 21
    GETXATTR = 22
    LISTXATTR = 23
    REMOVEXATTR = 24
    FLUSH = 25
    INIT = 26
    OPENDIR = 27
    READDIR = 28
    RELEASEDIR = 29
    FSYNCDIR = 30
    GETLK = 31
    SETLK = 32
    SETLKW = 33
    CREATE = 35
    INTERRUPT = 36
    DESTROY = 38
    BATCH_FORGET = 42
    FALLOCATE = 43
    READDIRPLUS = 44
    RENAME2 = 45
    LSEEK = 46
    COPY_FILE_RANGE = 47
    TMPFILE = 51


class Init(IntFlag):
    """What kernel and server agree on at INIT; bits from 32 on travel in the second word."""

    ASYNC_READ = 1 << 0
    POSIX_LOCKS = 1 << 1
    ATOMIC_O_TRUNC = 1 << 3
    BIG_WRITES = 1 << 5
    FLOCK_LOCKS = 1 << 10
    AUTO_INVAL_DATA = 1 << 12
    DO_READDIRPLUS = 1 << 13
    READDIRPLUS_AUTO = 1 << 14
    ASYNC_DIO = 1 << 15
    PARALLEL_DIROPS = 1 << 18
    MAX_PAGES = 1 << 22
    INIT_EXT = 1 << 30
    DIRECT_IO_ALLOW_MMAP = 1 << 36


FOPEN_DIRECT_IO = 1 << 0
RELEASE_FLOCK_UNLOCK = 1 << 1
LOCK_IS_FLOCK = 1 << 0
FSYNC_DATA_ONLY = 1 << 0


class SetAttr(IntFlag):
    """Which fields of a SETATTR request are meant."""

    MODE = 1 << 0
    UID = 1 << 1
    GID = 1 << 2
    SIZE = 1 << 3
    ATIME = 1 << 4
    MTIME = 1 << 5
    ATIME_NOW = 1 << 7
    MTIME_NOW = 1 << 8


IN_HEADER = Struct("<IIQQIIIHH")
"""length, opcode, unique, nodeid, uid, gid, pid, extension length, padding"""
OUT_HEADER = Struct("<IiQ")
"""length, -errno, unique"""
ATTR = Struct("<QQQQQQIIIIIIIIII")
"""ino, size, blocks, atime, mtime, ctime, their nanoseconds, mode, nlink, uid, gid, rdev, block size, flags"""
ENTRY = Struct("<QQQQII")
"""nodeid, generation, entry seconds, attr seconds, entry ns, attr ns; an ATTR follows"""
NO_ENTRY = bytes(ENTRY.size + ATTR.size)
"""In READDIRPLUS: do not link this name to an inode."""
ATTR_VALID = Struct("<QII")
OPEN_OUT = Struct("<QIi")
DIRENT = Struct("<QQII")
"""ino, next offset, name length, type; the name follows, padded to 8 bytes"""
INIT_IN = Struct("<IIII")
INIT_OUT = Struct("<IIIIHHIIHHI7I")
FORGET_ONE = Struct("<QQ")
LOCK = Struct("<QQII")
LOCK_IN = Struct("<QQQQIIII")
SETATTR_IN = Struct("<IIQQQQQQIIIIIIII")
READ_IN = Struct("<QQIIQII")
WRITE_IN = READ_IN
STATFS_OUT = Struct("<QQQQQIIII6I")
U32, U32X2, U32X4 = Struct("<I"), Struct("<II"), Struct("<IIII")
U64, U64X2 = Struct("<Q"), Struct("<QQ")
FLUSH_IN = Struct("<QIIQ")
FSYNC_IN = Struct("<QII")
RELEASE_IN = Struct("<QIIQ")
RENAME2_IN = Struct("<QII")
FALLOCATE_IN = Struct("<QQQII")
LSEEK_IN = Struct("<QQII")
COPY_IN = Struct("<QQQQQQQ")
READDIR_IN = Struct("<QQI")


def split_seconds(seconds: float) -> tuple[int, int]:
    """Seconds and nanoseconds of a timeout."""
    whole = int(seconds)
    return whole, int((seconds - whole) * 1e9)
