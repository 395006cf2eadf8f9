"""Mounting without root: a user namespace in which we may (user_namespaces(7), mount_namespaces(7))."""

from __future__ import annotations

import ctypes
import errno
import os
import shlex
import sys
from pathlib import Path
from typing import NoReturn

from fsconform.vocabulary.errors import CannotTestError

DEVICE = "/dev/fuse"
MARKER = "FSCONFORM_NAMESPACE"
"""Set in the environment of a run that has already entered a namespace."""
_NEWNS, _NEWUSER = 0x00020000, 0x10000000
_REC, _PRIVATE = 0x4000, 0x40000
_CAP_SYS_ADMIN = 21
_libc = ctypes.CDLL(None, use_errno=True)


def require_fuse() -> None:
    """Raises CannotTestError where /dev/fuse cannot be opened: nothing else is ever taken in its place."""
    try:
        os.close(os.open(DEVICE, os.O_RDWR | os.O_CLOEXEC))
    except OSError as error:
        hint = {
            errno.ENOENT: "the kernel has no FUSE, or the container was not given the device (--device /dev/fuse)",
            errno.EACCES: "no permission",
            errno.EPERM: "the container does not allow the device (--device /dev/fuse)",
            errno.ENODEV: "the module fuse is not loaded",
            errno.ENXIO: "the module fuse is not loaded",
        }.get(error.errno or 0, "")
        reason = f"{error.strerror}{'; ' + hint if hint else ''}"
        raise CannotTestError(f"the emulated lab needs {DEVICE}: {reason}") from None


def may_mount() -> bool:
    """Whether this process has CAP_SYS_ADMIN here (root, or inside a namespace of its own)."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("CapEff:"):
            return bool(int(line.split()[1], 16) >> _CAP_SYS_ADMIN & 1)
    return False


def enter_line(command: list[str]) -> str:
    """The line to type for doing `command` with mounts allowed and visible to its children only."""
    return "unshare --user --map-root-user --mount " + shlex.join(command)


def reexec_with_mounts(command: list[str]) -> NoReturn:
    """Become `command` (program and arguments) inside a new user and mount namespace, with our user as root there.

    The process must have one thread only. Raises CannotTestError where the kernel refuses namespaces, or where we
    are inside one already and still may not mount.
    """
    if os.environ.get(MARKER):
        raise CannotTestError("the emulated lab cannot mount: no CAP_SYS_ADMIN even inside a user namespace")
    enter_namespace()
    os.environ[MARKER] = "1"
    os.execvp(command[0], command)


def enter_namespace() -> None:
    """Move this process into a new user and mount namespace. Raises CannotTestError."""
    uid, gid = os.getuid(), os.getgid()
    if _libc.unshare(_NEWUSER | _NEWNS):
        number = ctypes.get_errno()
        raise CannotTestError(
            f"the emulated lab needs root or a user namespace, and unshare(2) says {os.strerror(number)}"
            " (sysctl kernel.unprivileged_userns_clone, user.max_user_namespaces or an AppArmor profile may forbid it)"
        )
    try:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"0 {uid} 1")
        Path("/proc/self/gid_map").write_text(f"0 {gid} 1")
    except OSError as error:
        raise CannotTestError(f"the emulated lab cannot map users (user_namespaces(7)): {error.strerror}") from None
    if _libc.mount(b"none", b"/", None, _REC | _PRIVATE, None):
        raise CannotTestError(f"the emulated lab cannot make mounts private: {os.strerror(ctypes.get_errno())}")


def own_command() -> list[str]:
    """The command line of this process, to be done again."""
    return [sys.executable, *sys.orig_argv[1:]]
