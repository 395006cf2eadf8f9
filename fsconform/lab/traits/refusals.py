"""Calls that a filesystem does not have, and locks that end at its client."""

from __future__ import annotations

import errno
import os
from typing import NoReturn

from fsconform.lab.calls import Call, RefusalError
from fsconform.lab.inodes import Handle, Inode
from fsconform.lab.knobs import Knobs
from fsconform.lab.locks import Lock
from fsconform.lab.model import DataPath, Lab
from fsconform.lab.operations.renames import EXCHANGE, NOREPLACE


def _refusal(number: int) -> NoReturn:
    raise RefusalError(number)


def no_rename_flags(lab: Lab, knobs: Knobs) -> None:
    """ENOSYS to any flag; the kernel makes EINVAL of it and does not ask again (fs/fuse/dir.c fuse_rename2)."""
    rename = lab.operations.rename

    def refuse(call: Call, parent: int, name: bytes, new_parent: int, new_name: bytes, flags: int) -> None:
        if flags:
            raise RefusalError(errno.ENOSYS)
        rename(call, parent, name, new_parent, new_name, flags)

    lab.operations.rename = refuse


def _without_flag(lab: Lab, flag: int) -> None:
    rename = lab.operations.rename

    def refuse(call: Call, parent: int, name: bytes, new_parent: int, new_name: bytes, flags: int) -> None:
        if flags & flag:
            raise RefusalError(errno.EINVAL)
        rename(call, parent, name, new_parent, new_name, flags)

    lab.operations.rename = refuse


def no_noreplace(lab: Lab, knobs: Knobs) -> None:
    """EINVAL to RENAME_NOREPLACE."""
    _without_flag(lab, NOREPLACE)


def no_exchange(lab: Lab, knobs: Knobs) -> None:
    """EINVAL to RENAME_EXCHANGE."""
    _without_flag(lab, EXCHANGE)


def no_links(lab: Lab, knobs: Knobs) -> None:
    """EPERM to link(2)."""
    lab.operations.link = lambda call, number, parent, name: _refusal(errno.EPERM)


def no_xattrs(lab: Lab, knobs: Knobs) -> None:
    """ENOTSUP to setting, nothing to read (3FS src/fuse/FuseOps.cc hf3fs_setxattr and its neighbours)."""
    lab.operations.set_xattr = lambda call, number, name, value, flags: _refusal(errno.EOPNOTSUPP)
    lab.operations.get_xattr = lambda call, number, name: _refusal(errno.ENODATA)
    lab.operations.list_xattrs = lambda call, number: []
    lab.operations.remove_xattr = lambda call, number, name: _refusal(errno.EPERM)


def no_fallocate(lab: Lab, knobs: Knobs) -> None:
    """EOPNOTSUPP to fallocate(2)."""
    lab.operations.allocate = lambda call, handle, offset, length, mode: _refusal(errno.EOPNOTSUPP)


def no_tmpfile(lab: Lab, knobs: Knobs) -> None:
    """EOPNOTSUPP to open(O_TMPFILE)."""
    lab.operations.open_unnamed = lambda call, parent, flags, mode: _refusal(errno.EOPNOTSUPP)


def no_copy_range(lab: Lab, knobs: Knobs) -> None:
    """The kernel copies by reading and writing."""
    lab.operations.copy_range = lambda call, source, start, target, offset, length: _refusal(errno.ENOSYS)


def no_directory_sync(lab: Lab, knobs: Knobs) -> None:
    """EINVAL to fsync(2) of a directory."""
    lab.operations.sync_directory = lambda call, number: _refusal(errno.EINVAL)


def no_direct_io(lab: Lab, knobs: Knobs) -> None:
    """EINVAL to open(O_DIRECT)."""
    open_file, create = lab.operations.open, lab.operations.create

    def refuse_open(call: Call, number: int, flags: int) -> Handle:
        if flags & os.O_DIRECT:
            raise RefusalError(errno.EINVAL)
        return open_file(call, number, flags)

    def refuse_create(call: Call, parent: int, name: bytes, flags: int, mode: int) -> tuple[Inode, Handle]:
        if flags & os.O_DIRECT:
            raise RefusalError(errno.EINVAL)
        return create(call, parent, name, flags, mode)

    lab.operations.open, lab.operations.create = refuse_open, refuse_create


def no_direct_reads(lab: Lab, knobs: Knobs) -> None:
    """EINVAL to reads of a descriptor opened with O_DIRECT."""
    read = lab.operations.read

    def refuse(call: Call, handle: Handle, offset: int, size: int, flags: int) -> bytes:
        if handle.flags & os.O_DIRECT:
            raise RefusalError(errno.EINVAL)
        return read(call, handle, offset, size, flags)

    lab.operations.read = refuse


def no_shared_mapping(lab: Lab, knobs: Knobs) -> None:
    """ENODEV to a shared mmap(2) (Documentation/filesystems/fuse/fuse-io.rst, direct-io mode)."""
    lab.session.data_path = DataPath.UNMAPPABLE


def local_locks(lab: Lab, knobs: Knobs) -> None:
    """Both kinds of lock are known to their own client only."""
    lab.session.flocks = lab.session.record_locks = False


def no_lock_service(lab: Lab, knobs: Knobs) -> None:
    """ENOLCK to every wish."""
    lab.operations.set_lock = lambda call, number, wish, wait: _refusal(errno.ENOLCK)


def no_lock_calls(lab: Lab, knobs: Knobs) -> None:
    """ENOSYS to every wish."""
    lab.operations.set_lock = lambda call, number, wish, wait: _refusal(errno.ENOSYS)


def locks_for_all(lab: Lab, knobs: Knobs) -> None:
    """Every wish is granted."""

    def grant(call: Call, number: int, wish: Lock, wait: bool) -> bool:
        return True

    lab.operations.set_lock = grant
    lab.operations.test_lock = lambda call, number, wish: None
