"""What a site says of itself and of one path, changing nothing there.

Which mount a path lies on comes from the kernel's own answer (`mnt_id` of a descriptor, proc_pid_fdinfo(5)), else
from the longest mount point in proc_pid_mountinfo(5) that is a prefix of the path, the last one of a stack.
"""

import os
import platform
import re
import stat
import sys
from typing import Any, Callable, Optional

UNKNOWN_FREE = 1 << 62
"""Free bytes or files of a filesystem that does not tell (btrfs and many FUSE servers give 0 of 0 files)."""
KINDS = (
    (stat.S_ISDIR, "directory"),
    (stat.S_ISREG, "regular file"),
    (stat.S_ISFIFO, "FIFO"),
    (stat.S_ISCHR, "character device"),
    (stat.S_ISBLK, "block device"),
    (stat.S_ISSOCK, "socket"),
)
CLIENT_OPTIONS = (
    "attr_timeout",
    "entry_timeout",
    "negative_timeout",
    "symlink_timeout",
    "sync_on_stat",
    "flush_on_stat",
    "enable_read_cache",
    "readonly",
)
"""Keys of 3FS that a mount shows under `3fs-virt/get-conf/usr.*` (3FS src/fuse/UserConfig.h)."""
_OCTAL = re.compile(rb"\\([0-7]{3})")


def errno_word(error: OSError) -> str:
    """`ENOENT`; `errno 1234` where it has no name."""
    import errno

    return errno.errorcode.get(error.errno or 0, "errno %s" % error.errno)


def printable(text: str) -> str:
    """A name in a form that every encoding can carry: bytes that are no UTF-8 become `\\xNN`."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def file_text(path: str) -> str:
    """The stripped text of a small file of /proc; empty where it cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as handle:
            return handle.read(65536).strip()
    except OSError:
        return ""


def link_text(path: str) -> str:
    """The target of a symbolic link; empty where it cannot be read."""
    try:
        return os.readlink(path)
    except OSError:
        return ""


def unescape_mount_field(field: bytes) -> str:
    """A field of mountinfo with its octal escapes (`\\040` for a space) decoded."""
    plain = _OCTAL.sub(lambda match: bytes([int(match.group(1), 8) & 0xFF]), field)
    return os.fsdecode(plain)


def parse_mountinfo(text: bytes) -> list[dict[str, Any]]:
    """One dict per line of mountinfo: mount_id, device, root, point, options, fstype, source. Odd lines are skipped."""
    mounts: list[dict[str, Any]] = []
    for line in text.split(b"\n"):
        head, dash, tail = line.partition(b" - ")
        front, back = head.split(b" "), tail.split(b" ")
        if not dash or len(front) < 6 or len(back) < 3:
            continue
        words = (front[5] + b"," + b" ".join(back[2:])).split(b",")
        mounts.append(
            {
                "mount_id": int(front[0]),
                "device": front[2].decode("ascii", "replace"),
                "root": unescape_mount_field(front[3]),
                "point": unescape_mount_field(front[4]),
                "options": ",".join(dict.fromkeys(unescape_mount_field(word) for word in words)),
                "fstype": unescape_mount_field(back[0]),
                "source": unescape_mount_field(back[1]),
            }
        )
    return mounts


def mount_of(path: str, mounts: list[dict[str, Any]]) -> Optional[dict[str, Any]]:
    """The mount with the longest point that is `path` or an ancestor of it; of equals the last (it covers the rest)."""
    found = None
    for mount in mounts:
        point = mount["point"]
        inside = path == point or path.startswith(point.rstrip("/") + "/")
        if inside and (found is None or len(point) >= len(found["point"])):
            found = mount
    return found


def read_mounts() -> list[dict[str, Any]]:
    """The mounts of this process's mount namespace; empty where /proc is not there."""
    try:
        with open("/proc/self/mountinfo", "rb") as handle:
            return parse_mountinfo(handle.read())
    except OSError:
        return []


def mount_of_descriptor(fd: int, mounts: list[dict[str, Any]]) -> Optional[dict[str, Any]]:
    """The mount an open descriptor lies on, by its mnt_id; None where the kernel does not tell."""
    match = re.search(r"^mnt_id:\s*(\d+)", file_text("/proc/self/fdinfo/%d" % fd), re.MULTILINE)
    by_id = {mount["mount_id"]: mount for mount in mounts}
    return by_id.get(int(match.group(1))) if match else None


def machine_facts() -> dict[str, Any]:
    """Kernel, interpreter, user and the two ids by which hosts are told apart: boot_id and the time namespace."""
    return {
        "host": printable(platform.node()),
        "boot_id": file_text("/proc/sys/kernel/random/boot_id"),
        "time_namespace": link_text("/proc/self/ns/time"),
        "kernel": platform.release(),
        "python": "%d.%d.%d" % sys.version_info[:3],
        "uid": os.geteuid(),
        "gid": os.getegid(),
        "home": printable(os.path.realpath(os.path.expanduser("~"))),
    }


def client_options(point: str) -> dict[str, str]:
    """What a 3FS mount says of its caches: `usr.attr_timeout` -> text; empty for every other filesystem.

    An entry is a symbolic link whose target is the value; a plain file is read where a server shows one.
    """
    directory = point.rstrip("/") + "/3fs-virt/get-conf"
    values = {}
    for key in CLIENT_OPTIONS:
        name = "usr." + key
        path = directory + "/" + name
        text = link_text(path).rpartition("/")[2].strip() or file_text(path)[:200]
        if text:
            values[name] = printable(text)
    return values


def no_word(word: str) -> None:
    """Takes the place of `tell` where nobody listens."""


def path_facts(path: str, tell: Callable[[str], None] = no_word) -> dict[str, Any]:
    """What is at `path`; `tell` hears the name of each call before it is made, so that a hang can be named.

    Keys: path, resolved, kind, failed (name of the call that failed, empty where none did), errno, mount (a dict of
    `parse_mountinfo` or None), mounts ([point, fstype] of all), writable (access(2) for the effective user),
    read_only, free_bytes, free_files (both UNKNOWN_FREE where not told), client_options.
    """
    mounts = read_mounts()
    path = os.path.abspath(path)
    facts: dict[str, Any] = {
        "path": path, "resolved": path, "kind": "", "failed": "", "errno": "", "mount": mount_of(path, mounts),
        "mounts": [[printable(mount["point"]), mount["fstype"]] for mount in mounts], "writable": False,
        "read_only": False, "free_bytes": UNKNOWN_FREE, "free_files": UNKNOWN_FREE, "client_options": {},
    }  # fmt: skip
    step = ""

    def begin(word: str) -> None:
        nonlocal step
        step = word
        tell(word)

    try:
        begin("stat")
        mode = os.stat(path).st_mode
        facts["kind"] = next((word for test, word in KINDS if test(mode)), "object of an unknown type")
        if facts["kind"] != "directory":
            return facts
        begin("open")
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            facts.update(_directory_facts(fd, path, mounts, begin))
        finally:
            os.close(fd)
    except OSError as error:
        facts["failed"], facts["errno"] = step, errno_word(error)
    return facts


def _directory_facts(fd: int, path: str, mounts: list[dict[str, Any]], begin: Callable[[str], None]) -> dict[str, Any]:
    resolved = link_text("/proc/self/fd/%d" % fd) or os.path.realpath(path)
    mount = mount_of_descriptor(fd, mounts) or mount_of(resolved, mounts)
    begin("statvfs")
    space = os.fstatvfs(fd)
    begin("access")
    writable = os.access(path, os.W_OK | os.X_OK, effective_ids=os.access in os.supports_effective_ids)
    options = {}
    if mount and mount["fstype"].startswith("fuse"):
        begin("read 3fs-virt/get-conf")
        options = client_options(mount["point"])
    return {
        "resolved": resolved, "mount": mount, "writable": writable,
        "read_only": bool(space.f_flag & os.ST_RDONLY),
        "free_bytes": space.f_bavail * (space.f_frsize or space.f_bsize) if space.f_blocks else UNKNOWN_FREE,
        "free_files": space.f_favail if space.f_files else UNKNOWN_FREE, "client_options": options,
    }  # fmt: skip


def site_facts(path: str, tell: Callable[[str], None] = no_word) -> dict[str, Any]:
    """`machine_facts` and `path_facts` in one dict, names made printable."""
    tell("resolve the home directory")
    facts = machine_facts()
    facts.update(path_facts(path, tell))
    for key in ("path", "resolved"):
        facts[key] = printable(facts[key])
    if facts["mount"]:
        facts["mount"] = {key: printable(v) if isinstance(v, str) else v for key, v in facts["mount"].items()}
    return facts


FACTS: "dict[str, Callable[..., Any]]" = {"site_facts": site_facts}
