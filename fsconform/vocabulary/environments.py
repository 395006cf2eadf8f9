"""What stood around each site: client programs, packages, and how many calls its kernel really sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

LOOKING_CALLS = frozenset(
    {"LOOKUP", "LOOKUPP", "GETATTR", "ACCESS", "OPEN", "OPEN_NOATTR", "READ", "READDIR", "READDIRPLUS", "READLINK"}
)
"""Operations of nfs(5) mounts by which a client asks the server what is there."""


@dataclass(frozen=True, slots=True)
class SiteEnvironment:
    """One site; what could not be found is empty."""

    letter: str
    user: str = ""
    system: str = ""
    kernel_version: str = ""
    mountinfo: str = ""
    daemons: tuple[str, ...] = ()
    """Programs that hold /dev/fuse."""
    packages: tuple[tuple[str, str], ...] = ()
    """(name, version)."""
    calls: Mapping[str, int] | None = None
    """Operation -> calls sent during the run, by /proc/self/mountstats; None where the kernel does not count."""
    looks: int = 0
    """Looks of our latency trials at this site during the run."""
    counters: Mapping[str, int] = field(default_factory=dict)
    """Name -> increase of the `events:` line of mountstats that says how often caches were asked."""

    @property
    def from_cache(self) -> int | None:
        """How many of our looks, at least, were answered from the cache: no call was sent. None where nobody counts."""
        if self.calls is None:
            return None
        return max(0, self.looks - sum(count for name, count in self.calls.items() if name in LOOKING_CALLS))

    def to_json(self) -> dict[str, Any]:
        """Plain objects."""
        return {
            "letter": self.letter, "user": self.user, "system": self.system, "kernel_version": self.kernel_version,
            "mountinfo": self.mountinfo, "daemons": list(self.daemons),
            "packages": dict(self.packages),
            "calls": None if self.calls is None else dict(self.calls), "looks": self.looks,
            "counters": dict(self.counters), "answered_from_cache": self.from_cache,
        }  # fmt: skip


_EVENTS = ("inode_revalidations", "dentry_revalidations", "data_invalidations", "attribute_invalidations", "opens",
           "lookups", "access_checks")  # fmt: skip
"""The first fields of the line `events:` (Linux include/linux/nfs_iostat.h, enum nfs_stat_eventcounters)."""


def calls_in(statistics: str) -> dict[str, int] | None:
    """Operation -> calls sent since the mount, of a block of mountstats (Documentation/filesystems/nfs/nfs-stat.rst:
    the first figure of each line of `per-op statistics`); None where it has none."""
    _, heading, table = statistics.partition("per-op statistics")
    if not heading:
        return None
    rows = (line.split(":", 1) for line in table.splitlines() if ":" in line)
    return {name.strip(): int(figures.split()[0]) for name, figures in rows if figures.split()[:1]
            and figures.split()[0].isdigit()}  # fmt: skip


def counters_in(statistics: str) -> dict[str, int]:
    """How often the caches of a mount were asked and thrown away, since the mount."""
    for line in statistics.splitlines():
        word, _, figures = line.strip().partition(":")
        if word == "events":
            numbers = [int(figure) for figure in figures.split() if figure.isdigit()]
            return dict(zip(_EVENTS, numbers, strict=False))
    return {}


def increase(before: Mapping[str, int] | None, after: Mapping[str, int] | None) -> dict[str, int] | None:
    """What changed between two readings; None where one of them has nothing."""
    if before is None or after is None:
        return None
    changes = {name: count - before.get(name, 0) for name, count in after.items()}
    return {name: change for name, change in changes.items() if change > 0}
