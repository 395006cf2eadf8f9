"""Directories that keep less than POSIX asks: no times, constant link counts, listings held per handle."""

from __future__ import annotations

import errno
import os
import stat

from fsconform.lab.calls import Call, Client, RefusalError
from fsconform.lab.inodes import DirectoryHandle, Handle, Inode
from fsconform.lab.knobs import Knobs
from fsconform.lab.model import FOREVER_S, Lab, ReadDirPlus

VIRTUAL = b"3fs-virt"
_MOST_LINKS = 65535
_NOBODY = Client(-1)


def untouched_directory_times(lab: Lab, knobs: Knobs) -> None:
    """Creating, removing and renaming leave a directory's times as they are (3FS: nothing in src/meta/store sets
    them)."""
    lab.store.directory_times = False


def coarse_times(lab: Lab, knobs: Knobs) -> None:
    """Times in whole seconds (3FS src/fuse/FuseConfig.h time_granularity)."""
    lab.store.granularity = 10**9


def constant_links(lab: Lab, knobs: Knobs) -> None:
    """st_nlink of a directory is 1; at most 65535 names for a file, then EPERM (3FS ops/HardLink.cc)."""
    link = lab.operations.link
    lab.operations.links = lambda call, inode: min(inode.nlink, 1) if inode.is_directory else inode.nlink

    def bounded(call: Call, number: int, parent: int, name: bytes) -> Inode:
        if lab.store.inode(number).nlink >= _MOST_LINKS:
            raise RefusalError(errno.EPERM)
        return link(call, number, parent, name)

    lab.operations.link = bounded


def listings_per_handle(lab: Lab, knobs: Knobs) -> None:
    """A handle keeps its first listing, rewound or not; entries come with attributes, without `.` and `..`
    (3FS src/fuse/FuseOps.cc hf3fs_readdirplus)."""
    rewind = lab.operations.rewind
    lab.session.plus, lab.session.dots = ReadDirPlus.ALWAYS, False

    def keep(call: Call, handle: DirectoryHandle) -> list[tuple[bytes, int]]:
        return handle.listing if handle.listing is not None else rewind(call, handle)

    lab.operations.rewind = keep


def shared_nodes(lab: Lab, knobs: Knobs) -> None:
    """mknod(2) of a regular file is a create without O_EXCL (3FS src/fuse/FuseOps.cc hf3fs_mknod)."""
    create, release = lab.operations.create, lab.operations.release

    def make_node(call: Call, parent: int, name: bytes, mode: int, device: int) -> Inode:
        if not stat.S_ISREG(mode):
            raise RefusalError(errno.ENOSYS)
        inode, handle = create(call, parent, name, os.O_RDONLY, mode)
        release(call, handle, 0, False)
        return inode

    lab.operations.make_node = make_node


def appends_by_client(lab: Lab, knobs: Knobs) -> None:
    """O_APPEND writes where the client believes the end is."""
    write = lab.operations.write

    def at_offset(call: Call, handle: Handle, offset: int, data: memoryview, flags: int) -> int:
        return write(call, handle, offset, data, flags & ~os.O_APPEND)

    lab.operations.write = at_offset


def shown_configuration(lab: Lab, knobs: Knobs) -> None:
    """`3fs-virt/get-conf/usr.*`: symlinks whose text is the value in force (3FS src/fuse/UserConfig.cc statConfig)."""
    store, timeouts = lab.store, lab.timeouts
    owner = Call(_NOBODY, os.getuid(), os.getgid(), 0, 0)
    virtual = _add_virtual(lab, owner, 1, VIRTUAL, stat.S_IFDIR | 0o555)
    listing = _add_virtual(lab, owner, virtual.number, b"get-conf", stat.S_IFDIR | 0o555)
    values = {
        "usr.attr_timeout": timeouts.attr,
        "usr.entry_timeout": timeouts.entry,
        "usr.negative_timeout": timeouts.negative,
        "usr.symlink_timeout": timeouts.symlink,
    }
    for name, value in values.items():
        text = _add_virtual(lab, owner, listing.number, name.encode(), stat.S_IFLNK | 0o400)
        text.target = str(min(float(value), FOREVER_S)).encode()
    for inode in store.inodes.values():
        inode.virtual = inode.number != 1


def _add_virtual(lab: Lab, owner: Call, parent: int, name: bytes, mode: int) -> Inode:
    store = lab.store
    inode = store.new_inode(owner, mode)
    store.add_name(store.inode(parent), name, inode)
    return inode
