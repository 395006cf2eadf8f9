"""Mounting and unmounting by mount(2) and umount2(2): no helper program is needed."""

from __future__ import annotations

import ctypes
import errno
import os
import re
from collections.abc import Callable
from pathlib import Path

FSTYPE = "fuse.fsconform"
"""The file system type of every emulated mount, so that it is never mistaken for what it models."""
_NOSUID, _NODEV, _DETACH = 2, 4, 2
_NEWNS = 0x00020000
_libc = ctypes.CDLL(None, use_errno=True)


def mount_fuse(device: int, path: Path, source: str, options: str) -> None:
    """Mount an opened /dev/fuse. Raises OSError with the kernel's errno."""
    data = f"fd={device},rootmode=40755,user_id={os.getuid()},group_id={os.getgid()}"
    data += f",{options}" if options else ""
    failed = _libc.mount(source.encode(), os.fsencode(path), FSTYPE.encode(), _NOSUID | _NODEV, data.encode())
    if failed:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), str(path))


def detach(path: Path) -> bool:
    """Unmount lazily: works under open files and dead servers. False where nothing was mounted there."""
    return int(_libc.umount2(os.fsencode(path), _DETACH)) == 0


def within(pid: int | None, action: Callable[[], object]) -> None:
    """Do something inside the mount namespace of a process (setns(2)): in a fork, which has one thread only.

    Raises OSError with the errno of what failed there. `pid` None: here.
    """
    if pid is None:
        action()
        return
    child = os.fork()
    if child == 0:
        os._exit(_number_of(pid, action))
    number = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if number:
        raise OSError(number, os.strerror(number), f"/proc/{pid}/ns/mnt")


def _number_of(pid: int, action: Callable[[], object]) -> int:
    """The errno with which an action failed in another namespace, 0 where it did not."""
    try:
        namespace = os.open(f"/proc/{pid}/ns/mnt", os.O_RDONLY)
        if _libc.setns(namespace, _NEWNS):
            return ctypes.get_errno()
        action()
        return 0
    except OSError as error:
        return error.errno or errno.EIO
    except BaseException:
        return errno.EIO


def emulated_mounts() -> list[tuple[Path, str]]:
    """Mount points and sources of all emulated mounts that this process can see."""
    found = []
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        fields, _, rest = line.partition(" - ")
        fstype, source, _ = rest.split(" ", 2)
        if fstype == FSTYPE:
            point = re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), fields.split(" ")[4])
            found.append((Path(point), source))
    return found
