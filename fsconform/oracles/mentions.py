"""Mentions: which steps of a program speak about which names, and in what role. Static."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

from fsconform.vocabulary.programs import Program
from fsconform.vocabulary.steps import Step


class Role(IntEnum):
    """What a step does to, or says about, a name."""

    EXCLUSIVE = 0
    EXCLUSIVE_MOVE = 1
    """The same, and ENOENT leaves the effect open (a retransmitted request finds its source gone)."""
    CREATE = 2
    MOVE = 3
    LOOK = 4
    LISTING = 5
    REMOVE = 6


EXCLUSIVE_ROLES = (Role.EXCLUSIVE, Role.EXCLUSIVE_MOVE)
OBSERVERS = {
    "stat": "stat", "statx_force_sync": "statx", "access": "access", "open": "open", "open_read": "open",
    "open_fstat_read": "open", "open_fstat": "open", "open_direct": "open", "mmap_read": "open",
    "scandir": "listing",
}  # fmt: skip
"""Step kind -> observer class: each is a register of its own, with a freshness of its own."""


@dataclass(frozen=True, slots=True)
class Mention:
    """One step speaking about one name."""

    column: int
    lane: int
    step: int
    site: str
    name: int
    role: Role
    kind: str
    observer: str
    bit: int
    """Which bit of a listing's value; -1 else."""
    repeated: bool = False
    """Part of a watch: looks before the one that was told may have left a miss in the site's caches."""


def find_mentions(program: Program, wanted: Mapping[str, int]) -> list[Mention]:
    """All mentions of the wanted paths (normalised, with their numbers), by name, then by column."""
    found: list[Mention] = []
    column = 0
    for lane_number, lane in enumerate(program.lanes):
        for number, outer in enumerate(lane.steps):
            step = watched(outer)
            found += [
                Mention(column, lane_number, number, lane.site, wanted[path], role, step.kind,
                        OBSERVERS.get(step.kind, ""), bit, outer is not step)
                for path, role, bit in _speaks_of(step) if path in wanted
            ]  # fmt: skip
            column += 1
    linked = {mention.name for mention in found if mention.kind == "symlink"}
    # A path look follows a symlink: it says nothing about the name itself.
    kept = [mention for mention in found if not (mention.role is Role.LOOK and mention.name in linked)]
    return sorted(kept, key=lambda mention: mention.name)


def watched(step: Step) -> Step:
    """The look that a watch repeats; the step itself else."""
    return step.then if step.kind == "watch" and step.then else step


def mortal_names(program: Program, wanted: Mapping[str, int]) -> tuple[set[int], set[int]]:
    """(names that some step removes or moves away, names that are exchanged or lose a directory above them)."""
    gone: set[str] = set()
    mixed: set[str] = set()
    linked = {posixpath.normpath(step.path) for lane in program.lanes for step in lane.steps if step.kind == "link"}
    for lane in program.lanes:
        for step in lane.steps:
            path, other = posixpath.normpath(step.path), posixpath.normpath(step.other)
            # A rename onto another link to the same file does nothing and succeeds.
            nothing = step.kind == "rename" and (path == other or path in linked)
            if step.kind == "rename_exchange" or nothing:
                mixed |= {path, other}
            elif step.kind in ("unlink", "rmdir", "rename", "rename_noreplace"):
                gone.add(path)
    dying = {number for path, number in wanted.items() if path in gone}
    above = {number for path, number in wanted.items() if any(path.startswith(f"{dead}/") for dead in gone | mixed)}
    opaque = above | {number for path, number in wanted.items() if path in mixed}
    return dying - opaque, opaque


def _speaks_of(step: Step) -> list[tuple[str, Role, int]]:
    """(path, role, bit of a listing) for everything a step says or does about names."""
    path = posixpath.normpath(step.path) if step.path else ""
    other = posixpath.normpath(step.other) if step.other else ""
    if step.kind == "scandir":
        entries = [name if "/" in name else posixpath.normpath(posixpath.join(path, name)) for name in step.names]
        return [(entry, Role.LISTING, bit) for bit, entry in enumerate(entries)]
    if step.kind in OBSERVERS:
        return [(path, Role.LOOK, -1)]
    if step.kind in ("rename", "rename_noreplace"):
        onto = Role.MOVE if step.kind == "rename" else Role.EXCLUSIVE_MOVE
        return [(other, onto, -1), (path, Role.REMOVE, -1)]
    roles = {
        "excl_create": Role.EXCLUSIVE, "mkdir": Role.EXCLUSIVE, "mknod": Role.EXCLUSIVE, "link": Role.EXCLUSIVE,
        "symlink": Role.EXCLUSIVE, "create": Role.CREATE, "unlink": Role.REMOVE, "rmdir": Role.REMOVE,
    }  # fmt: skip
    role = roles.get(step.kind)
    return [] if role is None else [(other if step.kind in ("link", "symlink") else path, role, -1)]
