"""Mutants of names of one file: links, and what a rename does with the old name."""

from __future__ import annotations

import errno

from fsconform.lab.calls import Call, RefusalError
from fsconform.lab.inodes import Inode
from fsconform.lab.knobs import Knobs
from fsconform.lab.model import Lab
from fsconform.lab.mutants.memory import give_back
from fsconform.lab.mutants.registry import mutant


@mutant(
    "link-copies",
    "a link makes another file with the same bytes",
    "sshfs and SMB gateways that copy where they cannot link; POSIX link(): both names are one file",
    ("link.identity", "link.count"),
)
def link_copies(lab: Lab, knobs: Knobs) -> None:
    """The copy has the next inode number."""
    operations, store = lab.operations, lab.store
    link = operations.link

    def copy(call: Call, number: int, parent: int, name: bytes) -> Inode:
        with store.lock:
            source = store.inode(number)
            if source.is_directory or source.nlink == 0 or not knobs.strikes(call):
                return link(call, number, parent, name)
            made = operations.make_node(call, parent, name, source.mode, 0)
            store.reserve(len(source.data))
            made.data = bytearray(source.data)
            return made

    operations.link = copy


@mutant(
    "link-count-one",
    "st_nlink is always 1",
    "sshfs: st_nlink of linked files (sshfs.rst CAVEATS); open(2) O_EXCL: the link-and-count idiom for NFS",
    ("link.count",),
)
def link_count_one(lab: Lab, knobs: Knobs) -> None:
    """Directories are left alone."""
    links = lab.operations.links
    lab.operations.links = lambda call, inode: links(call, inode) if inode.is_directory else min(1, inode.nlink)


@mutant(
    "rename-keeps-source",
    "a rename to a free name leaves the file under its old name, too",
    "filesystems that rename by copying or linking and then removing, when the second half fails",
    ("content.source-reuse",),
)
def rename_keeps_source(lab: Lab, knobs: Knobs) -> None:
    """Directories, and renames with flags, are left alone."""
    rename, link, store = lab.operations.rename, lab.operations.link, lab.store

    def keep(call: Call, parent: int, name: bytes, new_parent: int, new_name: bytes, flags: int) -> None:
        with store.lock:
            inode = store.inodes.get(store.directory(parent).get(name, -1))
            free = new_name not in store.directory(new_parent)
            if inode is None or inode.is_directory or flags or not free or not knobs.strikes(call):
                rename(call, parent, name, new_parent, new_name, flags)
                return
            try:
                give_back(store, link(call, inode.number, new_parent, new_name))
            except RefusalError as refusal:
                raise RefusalError(errno.EIO) from refusal

    lab.operations.rename = keep
