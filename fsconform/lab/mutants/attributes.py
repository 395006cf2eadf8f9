"""Mutants of extended attributes, permissions, times and names as strings."""

from __future__ import annotations

import errno
from collections.abc import Callable
from typing import Any

from fsconform.lab.calls import Call, RefusalError
from fsconform.lab.inodes import AttributeChange, Inode
from fsconform.lab.knobs import Knobs
from fsconform.lab.model import Lab
from fsconform.lab.mutants.memory import Memory
from fsconform.lab.mutants.registry import BY_CALLS, mutant

_ACL = b"system.nfs4_acl"
_LONGEST_NAME = 143
_SECOND_NS = 10**9
_SKEW_NS = 60 * _SECOND_NS
_NAMED = ("lookup", "create", "make_node", "make_directory", "make_symlink", "unlink", "remove_directory")
"""Operations whose first arguments are a parent and a name."""


@mutant(
    "xattr-forgotten",
    "setting a user attribute succeeds, and nothing is kept",
    "coreos/fedora-coreos-tracker issue 2040: attributes that vanish; stacked filesystems that ignore what they lack",
    ("capability.xattr",),
)
def xattr_forgotten(lab: Lab, knobs: Knobs) -> None:
    """Attributes of the system's are left alone."""
    set_xattr = lab.operations.set_xattr

    def forget(call: Call, number: int, name: bytes, value: bytes, flags: int) -> None:
        if not name.startswith(b"user.") or not knobs.strikes(call):
            set_xattr(call, number, name, value, flags)

    lab.operations.set_xattr = forget


@mutant(
    "xattr-lost-at-rename",
    "a rename drops the file's extended attributes",
    "filesystems that rename by copying; podman issue 19132: a store that needs them after it renamed",
    (),
    shown_by=BY_CALLS,
)
def xattr_lost_at_rename(lab: Lab, knobs: Knobs) -> None:
    """Those of the file that gets the new name."""
    rename, store = lab.operations.rename, lab.store

    def drop(call: Call, parent: int, name: bytes, new_parent: int, new_name: bytes, flags: int) -> None:
        with store.lock:
            rename(call, parent, name, new_parent, new_name, flags)
            inode = store.inodes.get(store.directory(new_parent).get(new_name, -1))
            if inode is not None and knobs.strikes(call):
                inode.xattrs.clear()

    lab.operations.rename = drop


@mutant(
    "xattr-late",
    "for `ttl` after an attribute was set, other mounts do not have it",
    "JuiceFS, MooseFS and GlusterFS cache attributes for a second or longer",
    (),
    shown_by=BY_CALLS,
)
def xattr_late(lab: Lab, knobs: Knobs) -> None:
    """ENODATA to getxattr; it is listed."""
    set_xattr, get_xattr = lab.operations.set_xattr, lab.operations.get_xattr
    fresh: Memory[tuple[int, bytes], int] = Memory(lab)

    def note(call: Call, number: int, name: bytes, value: bytes, flags: int) -> None:
        set_xattr(call, number, name, value, flags)
        if knobs.strikes(call):
            fresh.keep((number, name), call.client.number, knobs.ttl)

    def get(call: Call, number: int, name: bytes) -> bytes:
        if fresh.get((number, name)) not in (None, call.client.number):
            raise RefusalError(errno.ENODATA)
        return get_xattr(call, number, name)

    lab.operations.set_xattr, lab.operations.get_xattr = note, get


@mutant(
    "xattr-listed-not-settable",
    "every file lists an attribute that can be read, and that cannot be set",
    "ostreedev/ostree issue 3501: system.nfs4_acl is listed, setting it is refused with EOPNOTSUPP",
    (),
    shown_by=BY_CALLS,
)
def xattr_listed_not_settable(lab: Lab, knobs: Knobs) -> None:
    """system.nfs4_acl."""
    operations = lab.operations
    list_xattrs, get_xattr, set_xattr = operations.list_xattrs, operations.get_xattr, operations.set_xattr

    def set_other(call: Call, number: int, name: bytes, value: bytes, flags: int) -> None:
        if name == _ACL:
            raise RefusalError(errno.EOPNOTSUPP)
        set_xattr(call, number, name, value, flags)

    operations.list_xattrs = lambda call, number: [*list_xattrs(call, number), _ACL]
    operations.get_xattr = lambda call, number, name: b"acl" if name == _ACL else get_xattr(call, number, name)
    operations.set_xattr = set_other


@mutant(
    "chmod-eacces",
    "chmod of one's own file is refused with EACCES",
    "restic/restic issues 1756, 1728, 2215: exports whose mapping of owners forbids it",
    (),
    shown_by=BY_CALLS,
)
def chmod_eacces(lab: Lab, knobs: Knobs) -> None:
    """Other changes of attributes go on working."""
    set_attributes = lab.operations.set_attributes

    def refuse(call: Call, number: int, change: AttributeChange) -> Inode:
        if change.mode is not None and change.size is None and knobs.strikes(call):
            raise RefusalError(errno.EACCES)
        return set_attributes(call, number, change)

    lab.operations.set_attributes = refuse


def _rename_names(lab: Lab, spell: Callable[[Call, int, bytes], bytes]) -> None:
    """Let every operation work on the name that `spell` gives for a parent and a name; it may refuse."""
    operations = lab.operations
    link, rename = operations.link, operations.rename

    def respelled(field: str) -> None:
        inner: Callable[..., Any] = getattr(operations, field)

        def perform(call: Call, parent: int, name: bytes, *rest: Any) -> Any:
            return inner(call, parent, spell(call, parent, name), *rest)

        setattr(operations, field, perform)

    for field in _NAMED:
        respelled(field)
    operations.link = lambda call, number, parent, name: link(call, number, parent, spell(call, parent, name))
    operations.rename = lambda call, parent, name, new_parent, new_name, flags: rename(
        call, parent, spell(call, parent, name), new_parent, spell(call, new_parent, new_name), flags
    )


@mutant(
    "case-folding",
    "names that differ only in case are one name; the case of the first one is kept",
    "NixOS/nix issues 119 and 1931; owncloud/core issue 25372: APFS, SMB shares",
    (),
    shown_by=BY_CALLS,
)
def case_folding(lab: Lab, knobs: Knobs) -> None:
    """Of ASCII letters."""
    store = lab.store

    def spell(call: Call, parent: int, name: bytes) -> bytes:
        with store.lock:
            names = store.directory(parent)
            return name if name in names else next((known for known in names if known.lower() == name.lower()), name)

    _rename_names(lab, spell)


@mutant(
    "names-143",
    "names of more than 143 bytes are refused with ENAMETOOLONG, and statfs says 255",
    "eCryptfs: psf/black issue 4174; doctrine/cache issues 118 and 176; iree-org/iree issue 16711",
    (),
    shown_by=BY_CALLS,
)
def names_143(lab: Lab, knobs: Knobs) -> None:
    """By every operation."""

    def spell(call: Call, parent: int, name: bytes) -> bytes:
        if len(name) > _LONGEST_NAME:
            raise RefusalError(errno.ENAMETOOLONG)
        return name

    _rename_names(lab, spell)


@mutant(
    "clock-skewed",
    "the server's clock is a minute fast",
    "snakemake/snakemake issues 3261 and 3097; libkrun/libkrun issue 80: 69 s between guest and host",
    (),
    shown_by=BY_CALLS,
)
def clock_skewed(lab: Lab, knobs: Knobs) -> None:
    """All times that it sets."""
    lab.store.stamp = lambda now: now + _SKEW_NS


@mutant(
    "clock-backward",
    "every second time that the server sets is a second behind the one before",
    "snakemake/snakemake issue 3261: an output older than the input it was made from",
    (),
    shown_by=BY_CALLS,
)
def clock_backward(lab: Lab, knobs: Knobs) -> None:
    """As two servers whose clocks differ, asked in turn."""
    turn = [0]

    def step_back(now: int) -> int:
        turn[0] ^= 1
        return now - turn[0] * _SECOND_NS

    lab.store.stamp = step_back


@mutant(
    "clock-coarse",
    "times are in steps of two seconds",
    "mesonbuild/meson issue 7275: exFAT, and NFS servers on it",
    (),
    shown_by=BY_CALLS,
)
def clock_coarse(lab: Lab, knobs: Knobs) -> None:
    """Rounded down."""
    lab.store.granularity = 2 * _SECOND_NS
