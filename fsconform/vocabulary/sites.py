"""Sites: places from which a filesystem is seen, and how two of them relate."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from fsconform.vocabulary.errors import CannotTestError

LETTERS = "abcdefghijklmnopqrstuvwxyz"


class Topology(Enum):
    """How two sites relate: one client, two clients of one kernel, two kernels."""

    PROCESS = "process"
    MOUNT = "mount"
    HOST = "host"


@dataclass(frozen=True, slots=True)
class SiteSpec:
    """One site as the user wrote it. `launcher` is `local`, `ssh`, `exec` or `lab`.

    `target` is `user@host` (ssh), the command (exec), or the lab's name with its options (lab); `path` is the mount
    path there (empty for `lab`, which stands for all mounts of one lab).
    """

    text: str
    launcher: str
    target: str
    path: str
    memory: str = ""
    """A file of this host that a lab's guest maps as shared memory (`/dev/mmapper` there); empty else."""


def parse_site(text: str) -> SiteSpec:
    """`/mnt/a`, `ssh=user@host:/mnt/a`, `exec=COMMAND:/mnt/a` (split at the last `:/`), `lab=NAME[,key[=value]...]`.

    Raises CannotTestError for an empty word, an unknown launcher or a missing path.
    """
    if not text.strip():
        raise CannotTestError("a site is empty; give a mount path, ssh=user@host:/path, exec=COMMAND:/path or lab=NAME")
    launcher, equals, rest = text.partition("=")
    if equals and launcher in ("ssh", "exec"):
        target, colon, path = rest.rpartition(":/")
        if not colon or not target:
            raise CannotTestError(f"site {text!r}: {launcher}= needs TARGET:/absolute/path")
        return SiteSpec(text, launcher, target, "/" + path)
    if equals and launcher == "lab":
        return SiteSpec(text, "lab", rest, "")
    return SiteSpec(text, "local", "", text)


@dataclass(frozen=True, slots=True)
class Mount:
    """One line of /proc/self/mountinfo (proc_pid_mountinfo(5)), of the mount a path lies on."""

    device: str
    """major:minor: equal on one host = one client of the filesystem (not st_dev: btrfs and overlay differ)."""
    point: str
    fstype: str
    source: str
    options: str
    """Mount options and superblock options, joined by commas."""
    root: str = "/"

    def option(self, name: str) -> str | None:
        """The value of `name=value`, the empty string of a bare `name`, None where it is absent."""
        for word in self.options.split(","):
            key, _, value = word.partition("=")
            if key == name:
                return value
        return None


@dataclass(frozen=True, slots=True)
class Site:
    """A site that answered, with the facts read there (run/preflight)."""

    letter: str
    spec: SiteSpec
    path: str
    """The absolute path there."""
    host: str
    boot_id: str
    time_namespace: str
    kernel: str
    python: str
    uid: int
    gid: int
    mount: Mount
    read_only: bool
    free_bytes: int
    free_files: int
    client_options: tuple[tuple[str, str], ...] = ()
    """What the mount itself says of its caches (3FS: `3fs-virt/get-conf/usr.*`), name -> text."""
    booted_ns: tuple[int, int] | None = None
    """When its kernel's clock read 0, ns on the controller's clock, as (earliest, latest); None where not known."""

    def client_option(self, name: str) -> str | None:
        """One entry of `client_options`."""
        return dict(self.client_options).get(name)

    def to_json(self) -> dict[str, Any]:
        """The row of report.json."""
        return {
            "letter": self.letter, "spec": self.spec.text, "path": self.path, "host": self.host,
            "boot_id": self.boot_id, "time_namespace": self.time_namespace, "kernel": self.kernel,
            "python": self.python, "uid": self.uid, "gid": self.gid, "fstype": self.mount.fstype,
            "source": self.mount.source, "device": self.mount.device, "mount_point": self.mount.point,
            "options": self.mount.options, "read_only": self.read_only, "free_bytes": self.free_bytes,
            "client_options": dict(self.client_options),
        }  # fmt: skip


def topology_of(first: Site, second: Site) -> Topology:
    """Same boot_id = same host; same major:minor there = same client."""
    if first.boot_id != second.boot_id:
        return Topology.HOST
    return Topology.PROCESS if first.mount.device == second.mount.device else Topology.MOUNT
