"""The table of operations: the hook points of traits and mutants.

A trait or mutant takes a callable out of the table and puts another one in, usually one that calls the first. The
standard callables promise what a local filesystem promises. Each takes the store's lock itself, so a wrapper may
wait (`call.client.pause`) between its own step and the inner one. What answers with an Inode hands one reference
out; a wrapper that refuses after an inner success gives it back (`store.forget`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fsconform.lab.calls import Call
from fsconform.lab.inodes import AttributeChange, DirectoryHandle, Handle, Inode, SpaceReport
from fsconform.lab.locks import Lock
from fsconform.lab.operations.attributes import AttributeOperations
from fsconform.lab.operations.data import DataOperations
from fsconform.lab.operations.listings import ListingOperations
from fsconform.lab.operations.locking import LockOperations
from fsconform.lab.operations.names import NameOperations
from fsconform.lab.operations.renames import RenameOperations
from fsconform.lab.store import Store

MakeNode = Callable[[Call, int, bytes, int, int], Inode]
Remove = Callable[[Call, int, bytes], None]


@dataclass(slots=True)
class Operations:
    """One callable per operation; parents and inodes by node id, names as bytes."""

    lookup: Callable[[Call, int, bytes], Inode]
    create: Callable[[Call, int, bytes, int, int], tuple[Inode, Handle]]
    """parent, name, open flags, mode"""
    open_unnamed: Callable[[Call, int, int, int], tuple[Inode, Handle]]
    """directory, open flags, mode"""
    make_node: MakeNode
    """parent, name, mode, device"""
    make_directory: Callable[[Call, int, bytes, int], Inode]
    make_symlink: Callable[[Call, int, bytes, bytes], Inode]
    link: Callable[[Call, int, int, bytes], Inode]
    """inode, parent, name"""
    unlink: Remove
    remove_directory: Remove
    rename: Callable[[Call, int, bytes, int, bytes, int], None]
    """parent, name, new parent, new name, RENAME_* flags"""
    open: Callable[[Call, int, int], Handle]
    read: Callable[[Call, Handle, int, int, int], bytes]
    """handle, offset, size, open flags"""
    write: Callable[[Call, Handle, int, memoryview, int], int]
    """handle, offset, bytes, open flags"""
    flush: Callable[[Call, Handle, int], None]
    """handle, lock owner"""
    sync: Callable[[Call, Handle, bool], None]
    """handle, data only"""
    release: Callable[[Call, Handle, int, bool], None]
    """handle, lock owner, drop its flock"""
    allocate: Callable[[Call, Handle, int, int, int], None]
    """handle, offset, length, FALLOC_FL_* mode"""
    seek: Callable[[Call, Handle, int, int], int]
    copy_range: Callable[[Call, Handle, int, Handle, int, int], int]
    """source, offset, target, offset, length"""
    size: Callable[[Call, Inode], int]
    """the length that this client is told"""
    links: Callable[[Call, Inode], int]
    """the link count that this client is told"""
    get_attributes: Callable[[Call, int], Inode]
    set_attributes: Callable[[Call, int, AttributeChange], Inode]
    read_link: Callable[[Call, int], bytes]
    set_xattr: Callable[[Call, int, bytes, bytes, int], None]
    get_xattr: Callable[[Call, int, bytes], bytes]
    list_xattrs: Callable[[Call, int], list[bytes]]
    remove_xattr: Callable[[Call, int, bytes], None]
    space: Callable[[Call], SpaceReport]
    open_directory: Callable[[Call, int], DirectoryHandle]
    list_names: Callable[[Call, DirectoryHandle], list[tuple[bytes, int]]]
    """a fresh listing"""
    rewind: Callable[[Call, DirectoryHandle], list[tuple[bytes, int]]]
    """the listing to read from its beginning"""
    resume: Callable[[Call, DirectoryHandle], list[tuple[bytes, int]]]
    """the listing to read on, from an offset into it"""
    sync_directory: Callable[[Call, int], None]
    set_lock: Callable[[Call, int, Lock, bool], bool]
    """inode, wish, wait; False where the answer comes later"""
    test_lock: Callable[[Call, int, Lock], Lock | None]
    interrupt: Callable[[Call, int], None]
    """a signal for the request with this unique number"""


def standard_operations(store: Store) -> Operations:
    """The table of a filesystem that keeps every promise of a local one."""
    names, renames, data = NameOperations(store), RenameOperations(store), DataOperations(store)
    attributes, listings, locks = AttributeOperations(store), ListingOperations(store), LockOperations(store)
    table = Operations(
        lookup=names.lookup, create=names.create, open_unnamed=names.open_unnamed, make_node=names.make_node,
        make_directory=names.make_directory, make_symlink=names.make_symlink, link=names.link, unlink=names.unlink,
        remove_directory=names.remove_directory, rename=renames.rename, open=data.open, read=data.read,
        write=data.write, flush=data.flush, sync=data.sync, release=data.release, allocate=data.allocate,
        seek=data.seek, copy_range=data.copy_range, size=attributes.size, links=attributes.links,
        get_attributes=attributes.get, set_attributes=attributes.set, read_link=attributes.read_link,
        set_xattr=attributes.set_xattr, get_xattr=attributes.get_xattr, list_xattrs=attributes.list_xattrs,
        remove_xattr=attributes.remove_xattr, space=attributes.space, open_directory=listings.open,
        list_names=listings.names, rewind=listings.rewind, resume=listings.resume,
        sync_directory=listings.sync, set_lock=locks.set, test_lock=locks.test, interrupt=locks.interrupt,
    )  # fmt: skip
    data.bind(lambda call, handle, offset, piece, flags: table.write(call, handle, offset, piece, flags))
    listings.bind(lambda call, handle: table.list_names(call, handle))
    return table
