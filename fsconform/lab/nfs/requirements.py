"""What the NFS lab needs of this machine, and how to get it."""

from __future__ import annotations

import os
import platform
import re
import shutil
from pathlib import Path

from fsconform.lab.nfs.spec import NfsSpec
from fsconform.vocabulary.errors import CannotTestError

KERNEL = "linux.uml"
MODULES = Path("/usr/lib/uml/modules")
_PYTHON = Path("/usr/bin/python3")
_OLDEST_PYTHON = (3, 9)
_PACKAGES = {
    KERNEL: "user-mode-linux",
    "exportfs": "nfs-kernel-server",
    "rpc.mountd": "nfs-kernel-server",
    "nfsdcld": "nfs-kernel-server",
    "rpc.statd": "nfs-common",
    "rpcbind": "rpcbind",
    "ip": "iproute2",
}
"""Program -> the Debian package that has it."""
_DISK_PACKAGES = {"mke2fs": "e2fsprogs"}
_PLACES = "/usr/sbin:/sbin:/usr/bin:/bin"
"""Administrators' programs are not on the search path of everybody."""


def find_program(name: str) -> str | None:
    """The path of a program, those for administrators included."""
    return shutil.which(name) or shutil.which(name, path=_PLACES)


def missing_packages(disk: bool = False) -> tuple[str, ...]:
    """The Debian packages that must be installed first. `disk`: for an export on a disk image, too."""
    programs = _PACKAGES | (_DISK_PACKAGES if disk else {})
    packages = {package for program, package in programs.items() if find_program(program) is None}
    if not MODULES.is_dir():
        packages.add(_PACKAGES[KERNEL])
    if not _PYTHON.exists():
        packages.add("python3")
    return tuple(sorted(packages))


def guest_python() -> Path:
    """The interpreter that guests run: Debian's own, which starts soonest."""
    return _PYTHON.resolve()


def obstacle(disk: bool = False) -> str:
    """Why the lab cannot run here, and what to do; empty where it can."""
    if platform.system() != "Linux" or platform.machine() != "x86_64":
        return f"User-Mode Linux of Debian runs on Linux x86_64 only, this is {platform.system()} {platform.machine()}"
    packages = missing_packages(disk)
    if packages:
        command = f"apt-get install --no-install-recommends {' '.join(packages)}"
        return f"not installed: {', '.join(packages)}; make lab-deps, or: {command}"
    version = re.search(r"(\d+)\.(\d+)$", guest_python().name)
    if version and (int(version[1]), int(version[2])) < _OLDEST_PYTHON:
        return f"{guest_python()} is older than Python 3.9"
    return ""


def readiness() -> str:
    """`ready`, or why not, for `lab list`."""
    reason = obstacle()
    return f"not ready: {reason}" if reason else "ready"


def require(spec: NfsSpec) -> None:
    """Raises CannotTestError where this lab cannot run here, with what to do."""
    reason = obstacle(spec.fs != "tmpfs")
    if reason:
        raise CannotTestError(f"lab={spec.text}: {reason}")


def memory_directory(needed_bytes: int) -> str:
    """Where guests keep their memory: shared memory where it is large enough and may hold code, else `/tmp`."""
    for place in ("/dev/shm", "/tmp"):
        try:
            space = os.statvfs(place)
        except OSError:
            continue
        roomy = space.f_bavail * space.f_frsize >= needed_bytes
        if roomy and not space.f_flag & os.ST_NOEXEC and os.access(place, os.W_OK | os.X_OK):
            return place
    return "/tmp"
