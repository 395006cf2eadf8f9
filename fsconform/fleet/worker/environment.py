"""What stands around a mount: system, user, client programs and their packages, and the kernel's own counters.

Nothing here touches the filesystem under test. What cannot be found is left empty.
"""

import os
import pwd
import subprocess
import time
from typing import Any, Callable

from fsconform.fleet.worker.facts import file_text, link_text, mount_of, printable, read_mounts, unescape_mount_field

DEADLINE_S = 3.0
"""Of each of the two searches below."""
STATISTICS_BYTES = 1 << 16
_FUSE_DEVICE = "/dev/fuse"
_PACKAGES = {"nfs": ("nfs-common", "nfs-utils"), "fuse": ("fuse3", "libfuse3-3", "fuse3-libs")}
"""Beginning of the fstype -> packages of its client, as Debian and Red Hat call them."""


def site_environment(path: str) -> dict[str, Any]:
    """Keys: user, system, kernel_version, mountinfo (the line, empty where none), daemons, packages ([name, version])
    and statistics (see `mount_statistics`)."""
    mount = mount_of(os.path.realpath(path), read_mounts()) or {"fstype": "", "mount_id": -1}
    return {
        "user": printable(_user()), "system": _system(), "kernel_version": file_text("/proc/version")[:500],
        "mountinfo": printable(_mountinfo_line(mount["mount_id"])), "daemons": _daemons(mount["fstype"]),
        "packages": _packages(mount["fstype"]), "statistics": mount_statistics(path),
    }  # fmt: skip


def mount_statistics(path: str) -> str:
    """The block of /proc/self/mountstats of the mount that a path lies on; empty where the kernel counts nothing."""
    mount = mount_of(os.path.realpath(path), read_mounts())
    try:
        with open("/proc/self/mountstats", "rb") as handle:
            blocks = handle.read().split(b"\ndevice ")
    except OSError:
        return ""
    for block in reversed(blocks):
        head = block.split(b"\n", 1)[0]
        point = head.partition(b" mounted on ")[2].partition(b" with fstype ")[0]
        if mount and unescape_mount_field(point) == mount["point"] and b"\n" in block.strip():
            return block[:STATISTICS_BYTES].decode("utf-8", "replace")
    return ""


def _user() -> str:
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return ""


def _system() -> str:
    for line in file_text("/etc/os-release").splitlines():
        key, _, value = line.partition("=")
        if key == "PRETTY_NAME":
            return value.strip('"')[:200]
    return ""


def _mountinfo_line(mount_id: int) -> str:
    try:
        with open("/proc/self/mountinfo", "rb") as handle:
            lines = handle.read().split(b"\n")
    except OSError:
        return ""
    return next((os.fsdecode(line) for line in lines if line.split(b" ", 1)[0] == b"%d" % mount_id), "")


def _daemons(fstype: str) -> list[str]:
    """Programs that hold /dev/fuse, as far as we may see them: the server of the mount is among them."""
    found, end = set(), time.monotonic() + DEADLINE_S
    for pid in os.listdir("/proc") if fstype.startswith("fuse") else []:
        if pid.isdigit() and time.monotonic() < end and _holds(pid, _FUSE_DEVICE):
            found.add(os.path.basename(link_text("/proc/%s/exe" % pid)) or file_text("/proc/%s/comm" % pid))
    return sorted(map(printable, found))


def _holds(pid: str, device: str) -> bool:
    table = "/proc/%s/fd" % pid
    try:
        return any(link_text(os.path.join(table, fd)) == device for fd in os.listdir(table))
    except OSError:  # another user's, or gone
        return False


def _packages(fstype: str) -> "list[list[str]]":
    """Name and version of the packages that a client of this kind comes in, by dpkg or rpm."""
    kind, _, word = fstype.partition(".")
    names = [name for start, known in _PACKAGES.items() if kind.startswith(start) for name in known]
    names += [name + end for name in (word or kind,) for end in ("", "-client", "-common", "-fuse") if name.isalnum()]
    for command in (
        ["dpkg-query", "--show", "--showformat=${Package} ${Version}\n"],
        ["rpm", "--query", "--queryformat=%{NAME} %{VERSION}-%{RELEASE}\n"],
    ):
        try:
            told = subprocess.run([*command, *names], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                  stdin=subprocess.DEVNULL, timeout=DEADLINE_S, check=False)  # fmt: skip
        except (OSError, subprocess.TimeoutExpired):
            continue
        rows = [line.split() for line in told.stdout.decode("utf-8", "replace").splitlines()]
        return [row for row in rows if len(row) == 2 and row[0] in names]
    return []


ENVIRONMENT: "dict[str, Callable[..., Any]]" = {
    "site_environment": site_environment, "mount_statistics": mount_statistics,
}  # fmt: skip
