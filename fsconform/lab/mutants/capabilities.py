"""Switches for single capabilities: one call refused, or done otherwise than asked."""

from __future__ import annotations

from fsconform.lab.calls import Call
from fsconform.lab.knobs import Knobs
from fsconform.lab.model import Lab
from fsconform.lab.mutants.registry import mutant
from fsconform.lab.operations.renames import EXCHANGE
from fsconform.lab.traits import refusals

_NO_CONTEST = "contenders by this call are refused"
_NO_LINK = {
    "visibility.create": "names cannot be published by link",
    "content.complete": "names cannot be published by link",
    "exclusive.winner": _NO_CONTEST,
    "exclusive.loser-errno": _NO_CONTEST,
    "exclusive.over-existing": _NO_CONTEST,
    "exclusive.stale-eexist": _NO_CONTEST,
    "exclusive.success-told": _NO_CONTEST,
    "exclusive.loser-sees": _NO_CONTEST,
    "link.identity": "there is no second name",
    "link.count": "there is no second name",
}
_NO_NOREPLACE = {key: why for key, why in _NO_LINK.items() if why == _NO_CONTEST}

mutant("no-link", "link is refused with EPERM", "link(2) EPERM; DAOS dfuse, S3 mounts", ("capability.link",), _NO_LINK)(
    refusals.no_links
)
mutant(
    "no-rename-noreplace",
    "RENAME_NOREPLACE is refused with EINVAL",
    "rename(2): EINVAL where the filesystem does not support a flag",
    ("capability.rename-noreplace",),
    _NO_NOREPLACE,
)(refusals.no_noreplace)
mutant(
    "no-rename-exchange",
    "RENAME_EXCHANGE is refused with EINVAL",
    "rename(2): EINVAL where the filesystem does not support a flag",
    ("capability.rename-exchange",),
)(refusals.no_exchange)
mutant("no-xattr", "user attributes are refused with ENOTSUP", "xattr(7); 3FS FuseOps.cc", ("capability.xattr",))(
    refusals.no_xattrs
)
mutant(
    "no-o-direct", "open with O_DIRECT is refused with EINVAL", "open(2) EINVAL; tmpfs before 6.6",
    ("capability.o-direct",),
)(refusals.no_direct_io)  # fmt: skip
mutant(
    "no-mmap", "a shared mapping is refused with ENODEV", "Documentation/filesystems/fuse/fuse-io.rst",
    ("capability.mmap",),
    dict.fromkeys(("mmap.held-reader", "mmap.truncate"), "there is no mapping"),
)(refusals.no_shared_mapping)  # fmt: skip
mutant(
    "no-fallocate", "fallocate is refused with EOPNOTSUPP", "fallocate(2); NFSv3", ("capability.fallocate",)
)(refusals.no_fallocate)  # fmt: skip
mutant(
    "no-o-tmpfile", "O_TMPFILE is refused with EOPNOTSUPP", "open(2); NFS", ("capability.o-tmpfile",)
)(refusals.no_tmpfile)  # fmt: skip
mutant(
    "no-fsync-dir", "fsync of a directory is refused with EINVAL", "fsync(2) EINVAL", ("capability.fsync-dir",)
)(refusals.no_directory_sync)  # fmt: skip
mutant(
    "o-direct-refused-at-read",
    "a file can be opened with O_DIRECT, and reads of it are refused with EINVAL",
    "vllm-project/vllm pull requests 49734, 44016; LMCache issue 4364: EINVAL at open on some, at read on others",
    ("capability.o-direct",),
)(refusals.no_direct_reads)
mutant(
    "locks-enolck",
    "flock and POSIX record locks are refused with ENOLCK",
    "huggingface/datasets issue 2618; golang/go issue 49894: NFS homes without a lock service",
    ("capability.flock", "capability.fcntl-lock"),
)(refusals.no_lock_service)
mutant(
    "locks-enosys",
    "flock and POSIX record locks are refused with ENOSYS",
    "huggingface/huggingface_hub issue 2399: Lustre mounted without flock",
    ("capability.flock", "capability.fcntl-lock"),
)(refusals.no_lock_calls)
mutant(
    "locks-for-all",
    "every lock is granted to everybody",
    "flock(2), fcntl(2): an exclusive lock excludes",
    ("capability.flock", "capability.fcntl-lock"),
)(refusals.locks_for_all)


@mutant(
    "flock-local",
    "flock excludes only on its own mount",
    "libfuse lib/fuse_lowlevel.c: without a handler locks stay in the client's kernel; sshfs, BeeGFS defaults",
    ("capability.flock",),
)
def flock_local(lab: Lab, knobs: Knobs) -> None:
    """POSIX locks are left alone."""
    lab.session.flocks = False


@mutant(
    "fcntl-local",
    "POSIX record locks exclude only on their own mount",
    "nfs(5) local_lock=posix; libfuse lib/fuse_lowlevel.c",
    ("capability.fcntl-lock",),
)
def fcntl_local(lab: Lab, knobs: Knobs) -> None:
    """flock is left alone."""
    lab.session.record_locks = False


@mutant(
    "exchange-as-rename",
    "RENAME_EXCHANGE is executed as a plain rename: one of the two files is lost",
    "mfusepy and other bindings that drop the flags of rename; SaunaFS src/mount/fuse/sfs_fuse.cc",
    ("capability.rename-exchange",),
)
def exchange_as_rename(lab: Lab, knobs: Knobs) -> None:
    """The source name is gone afterwards."""
    rename = lab.operations.rename

    def plain(call: Call, parent: int, name: bytes, new_parent: int, new_name: bytes, flags: int) -> None:
        rename(call, parent, name, new_parent, new_name, flags & ~EXCHANGE)

    lab.operations.rename = plain
