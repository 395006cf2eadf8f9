"""Programs as plans for the oracles: which column says what about which name. Static, made once per program."""

from __future__ import annotations

import posixpath
from collections import defaultdict
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import lru_cache

import numpy as np

from fsconform.oracles.completeness import Bytes, Publication, publications
from fsconform.oracles.outcomes import Bools
from fsconform.vocabulary.histories import Ints
from fsconform.vocabulary.programs import Program
from fsconform.vocabulary.steps import CONTENT_LOOKS, Step


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


EXCLUSIVES = frozenset({"excl_create", "link", "mkdir", "symlink", "mknod", "rename_noreplace"})
OBSERVERS = {
    "stat": "stat", "statx_force_sync": "statx", "access": "access", "open": "open", "open_read": "open",
    "open_fstat_read": "open", "open_fstat": "open", "open_direct": "open", "mmap_read": "open",
    "scandir": "listing",
}  # fmt: skip
"""Step kind -> observer class: each is a register of its own, with a freshness of its own."""
_REMOVES = frozenset({"unlink", "rmdir", "rename", "rename_noreplace"})


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


@dataclass(frozen=True, slots=True)
class Creator:
    """A publication with its columns."""

    mention: int
    """Index into `Plan.mentions`."""
    needs: tuple[int, ...]
    sealed_by: int
    """Column of the close; -1: complete when it appears; -2: not known what it wrote."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A translated program. Mentions are sorted by name; arrays of length P are aligned with them."""

    program: Program
    names: tuple[str, ...]
    mentions: tuple[Mention, ...]
    column: Ints
    role: Ints
    name: Ints
    cut: Ints
    """Index of the first mention of each name."""
    listings: Ints
    """Mentions that are listings."""
    bits: Ints
    need: Ints
    """Per column: the value that a full write must have; -1 for other steps."""
    creators: tuple[tuple[Creator, ...], ...]
    """Per name."""
    contents: tuple[tuple[int, ...], ...]
    """Per name: mentions that read bytes which the creators' data lets us judge."""
    versioned: tuple[bool, ...]
    """Per name: replaceable content (versions >= 1) instead of write-once content."""
    replaced: Bools
    """Per name: several renames go over it."""
    meetings: tuple[Ints, Ints]
    """Mentions in pairs, of different lanes on one name: two exclusive calls, or a creator and a look."""
    races: Bools
    """Per meeting: both are exclusive calls."""
    swaps: Bools
    """Per meeting: a rename over the name, and a look by its path."""
    makers: Ints
    """Mentions that may create their name."""
    reads: Ints
    """Mentions of `contents` in one array."""
    after_eexist: tuple[Ints, Ints]
    """Mentions in pairs: an exclusive call, and a later look of the same lane at the same name."""
    mortal: tuple[int, ...]
    """Names (indices into the program's names) that some step removes or moves away: not judged here."""


@lru_cache(maxsize=512)
def translate(program: Program) -> Plan:
    """The plan of a program over `program.names`."""
    wanted = {posixpath.normpath(name): number for number, name in enumerate(program.names)}
    found, need, spoilt = _mentions(program, wanted)
    mortal = _mortal(program, wanted)
    linked = {mention.name for mention in found if mention.kind == "symlink"}
    kept = [
        mention
        for mention in sorted(found, key=lambda mention: mention.name)
        if mention.name not in mortal
        # A path look follows the symlink: it says nothing about the name itself.
        and not (mention.name in linked and mention.role is Role.LOOK)
    ]
    present = sorted({mention.name for mention in kept})
    place = {name: number for number, name in enumerate(present)}
    kept = [replace(mention, name=place[mention.name]) for mention in kept]
    name = np.array([mention.name for mention in kept], np.int64)
    first, second = meetings = _meetings(kept)
    role = np.array([int(mention.role) for mention in kept], np.int64)
    listings = [index for index, mention in enumerate(kept) if mention.bit >= 0]
    creators, contents, versioned = _contents(program, kept, {place[name] for name in spoilt & place.keys()})
    return Plan(
        program=program,
        names=tuple(program.names[number] for number in present),
        mentions=tuple(kept),
        column=np.array([mention.column for mention in kept], np.int64),
        role=role,
        name=name,
        cut=np.array([int(np.searchsorted(name, number)) for number in range(len(present))], np.int64),
        listings=np.array(listings, np.int64),
        bits=np.array([kept[index].bit for index in listings], np.int64),
        need=np.array(need, np.int64),
        creators=creators,
        contents=contents,
        versioned=versioned,
        replaced=np.bincount(name[role == Role.MOVE], minlength=len(present)) > 1,
        meetings=meetings,
        races=(role[first] <= Role.EXCLUSIVE_MOVE) & (role[second] <= Role.EXCLUSIVE_MOVE),
        swaps=(role[first] == Role.MOVE) & (role[second] == Role.LOOK),
        makers=np.flatnonzero(role <= Role.MOVE),
        reads=np.array([index for group in contents for index in group], np.int64),
        after_eexist=_after_eexist(kept),
        mortal=tuple(sorted(mortal)),
    )


def _mentions(program: Program, wanted: dict[str, int]) -> tuple[list[Mention], list[int], set[int]]:
    """Mentions of all names, the full value of each column, and the names whose bytes are changed unseen."""
    found: list[Mention] = []
    need: list[int] = []
    for lane_number, lane in enumerate(program.lanes):
        for number, outer in enumerate(lane.steps):
            step = outer.then if outer.kind == "watch" and outer.then else outer
            for path, role, bit in _speaks_of(step):
                if path in wanted:
                    observer = OBSERVERS.get(step.kind, "")
                    found.append(
                        Mention(len(need), lane_number, number, lane.site, wanted[path], role, step.kind, observer, bit)
                    )
            need.append(outer.size if outer.kind in ("write", "write_held") else -1)
    spoilt = {
        wanted[path]
        for lane in program.lanes
        for path in map(posixpath.normpath, publications(lane.steps)[1])
        if path in wanted
    }
    return found, need, spoilt


def _speaks_of(step: Step) -> list[tuple[str, Role, int]]:
    """(path, role, bit of a listing) for everything a step says or does about names."""
    path = posixpath.normpath(step.path) if step.path else ""
    other = posixpath.normpath(step.other) if step.other else ""
    if step.kind == "scandir":
        entries = [name if "/" in name else posixpath.normpath(posixpath.join(path, name)) for name in step.names]
        return [(entry, Role.LISTING, bit) for bit, entry in enumerate(entries)]
    if step.kind in OBSERVERS:
        return [(path, Role.LOOK, -1)]
    if step.kind in ("excl_create", "mkdir", "mknod"):
        return [(path, Role.EXCLUSIVE, -1)]
    if step.kind in ("link", "symlink"):
        return [(other, Role.EXCLUSIVE, -1)]
    if step.kind == "create":
        return [(path, Role.CREATE, -1)]
    if step.kind == "rename_noreplace":
        return [(other, Role.EXCLUSIVE_MOVE, -1)]
    if step.kind == "rename":
        return [(other, Role.MOVE, -1)]
    return []


def _mortal(program: Program, wanted: dict[str, int]) -> set[int]:
    """Names that some step removes, moves away or exchanges, themselves or with a directory above them."""
    gone: set[str] = set()
    for lane in program.lanes:
        for step in lane.steps:
            if step.kind in _REMOVES and posixpath.normpath(step.path) != posixpath.normpath(step.other or "."):
                gone.add(posixpath.normpath(step.path))
            if step.kind == "rename_exchange":
                gone |= {posixpath.normpath(step.path), posixpath.normpath(step.other)}
    return {
        number for path, number in wanted.items() if any(path == dead or path.startswith(f"{dead}/") for dead in gone)
    }


def _contents(
    program: Program, kept: list[Mention], spoilt: set[int]
) -> tuple[tuple[tuple[Creator, ...], ...], tuple[tuple[int, ...], ...], tuple[bool, ...]]:
    bases = np.cumsum([0] + [len(lane.steps) for lane in program.lanes]).tolist()
    shown: dict[tuple[int, int], Publication] = {}
    for lane_number, lane in enumerate(program.lanes):
        for publication in publications(lane.steps)[0]:
            shown[lane_number, publication.step] = publication
    present = range(1 + max((mention.name for mention in kept), default=-1))
    creators: dict[int, list[Creator]] = defaultdict(list)
    data: dict[int, set[Bytes | None]] = defaultdict(set)
    versions: dict[int, list[int]] = defaultdict(list)
    for index, mention in enumerate(kept):
        if mention.role in (Role.LOOK, Role.LISTING):
            continue
        publication = shown.get((mention.lane, mention.step)) or Publication(mention.step, "", None)
        base = bases[mention.lane]
        sealed = -1 if publication.sealed_by is None else base + publication.sealed_by
        if publication.data is None:
            sealed = -2
        creators[mention.name].append(Creator(index, tuple(base + step for step in publication.needs), sealed))
        if mention.kind not in ("mkdir", "symlink"):
            data[mention.name].add(publication.data)
            versions[mention.name].append(publication.data.version if publication.data else 0)
    versioned = {name: bool(versions[name]) and min(versions[name]) >= 1 for name in present}
    unique = {name: len(set(versions[name])) == len(versions[name]) for name in present}
    readable = {
        name: name not in spoilt
        and None not in data[name]
        and (unique[name] if versioned[name] else len(data[name]) == 1)
        for name in present
    }
    contents: dict[int, list[int]] = defaultdict(list)
    for index, mention in enumerate(kept):
        step = program.lanes[mention.lane].steps[mention.step]
        look = step.then if step.kind == "watch" and step.then else step
        if look.kind in CONTENT_LOOKS and readable[mention.name] and _judges(look, data[mention.name]):
            contents[mention.name].append(index)
    return (
        tuple(tuple(creators[name]) for name in present),
        tuple(tuple(contents[name]) for name in present),
        tuple(versioned[name] for name in present),
    )


def _judges(look: Step, data: set[Bytes | None]) -> bool:
    """Whether the look verifies the bytes that the creators wrote."""
    return look.version == 0 and all(
        entry is not None
        and entry.key == look.key
        and (look.size == entry.size or (look.size == 0 and entry.version > 0))
        for entry in data
    )


def _meetings(kept: list[Mention]) -> tuple[Ints, Ints]:
    pairs = []
    makes = (Role.EXCLUSIVE, Role.EXCLUSIVE_MOVE, Role.CREATE, Role.MOVE)
    exclusive = (Role.EXCLUSIVE, Role.EXCLUSIVE_MOVE)
    for i, a in enumerate(kept):
        for j, b in enumerate(kept):
            if a.name != b.name or a.lane == b.lane or a.role not in makes:
                continue
            if b.role in (Role.LOOK, Role.LISTING) or (i < j and a.role in exclusive and b.role in exclusive):
                pairs.append((i, j))
    return _columns(pairs)


def _after_eexist(kept: list[Mention]) -> tuple[Ints, Ints]:
    return _columns(
        [
            (i, j)
            for i, a in enumerate(kept)
            for j, b in enumerate(kept)
            if a.name == b.name and a.lane == b.lane and a.step < b.step
            and a.role in (Role.EXCLUSIVE, Role.EXCLUSIVE_MOVE) and b.role is Role.LOOK and b.observer == "open"
        ]
    )  # fmt: skip


def _columns(pairs: list[tuple[int, int]]) -> tuple[Ints, Ints]:
    return np.array([a for a, _ in pairs], np.int64), np.array([b for _, b in pairs], np.int64)
