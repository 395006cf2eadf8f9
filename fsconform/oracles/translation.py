"""Programs as plans for the oracles: which column says what about which name. Static, made once per program."""

from __future__ import annotations

import posixpath
from collections import defaultdict
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from fsconform.oracles.completeness import Bytes, Publication, publications
from fsconform.oracles.mentions import EXCLUSIVE_ROLES, Mention, Role, find_mentions, mortal_names, watched
from fsconform.oracles.outcomes import Bools
from fsconform.vocabulary.histories import Ints
from fsconform.vocabulary.programs import Program
from fsconform.vocabulary.steps import CONTENT_LOOKS, Step


@dataclass(frozen=True, slots=True)
class Creator:
    """A publication with its columns."""

    mention: int
    """Index into `Plan.mentions`."""
    needs: tuple[int, ...]
    sealed_by: int
    """Column of the close; -1: complete when it appears; -2: not known what it wrote."""
    version: int
    """Version of the bytes; 0 where write-once or not known."""


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
    dying: tuple[Mention, ...]
    """Mentions of names (numbered as in the program) that some step removes or moves away: see `mortals`."""
    opaque: tuple[int, ...]
    """Names (numbered as in the program) that are exchanged or lose a directory above them: not judged."""


@lru_cache(maxsize=512)
def translate(program: Program) -> Plan:
    """The plan of a program over `program.names`."""
    wanted = {posixpath.normpath(name): number for number, name in enumerate(program.names)}
    dying, opaque = mortal_names(program, wanted)
    found = find_mentions(program, wanted)
    kept = [mention for mention in found if mention.name not in dying | opaque]
    present = sorted({mention.name for mention in kept})
    place = {name: number for number, name in enumerate(present)}
    kept = [replace(mention, name=place[mention.name]) for mention in kept]
    name = np.array([mention.name for mention in kept], np.int64)
    first, second = meetings = _meetings(kept)
    role = np.array([int(mention.role) for mention in kept], np.int64)
    listings = [index for index, mention in enumerate(kept) if mention.bit >= 0]
    creators, contents, versioned = _contents(program, kept, _spoilt(program, wanted, place))
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
        need=np.array(_full_values(program), np.int64),
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
        dying=tuple(mention for mention in found if mention.name in dying),
        opaque=tuple(sorted(opaque)),
    )


def _full_values(program: Program) -> list[int]:
    return [step.size if step.kind in ("write", "write_held") else -1 for lane in program.lanes for step in lane.steps]


def _spoilt(program: Program, wanted: dict[str, int], place: dict[int, int]) -> set[int]:
    """Names whose bytes some lane changes through a descriptor that is not followed."""
    paths = {posixpath.normpath(path) for lane in program.lanes for path in publications(lane.steps)[1]}
    return {place[wanted[path]] for path in paths if path in wanted and wanted[path] in place}


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
        version = publication.data.version if publication.data else 0
        needs = tuple(base + step for step in publication.needs)
        creators[mention.name].append(Creator(index, needs, sealed, version))
        if mention.kind not in ("mkdir", "symlink"):
            data[mention.name].add(publication.data)
            versions[mention.name].append(version)
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
        look = watched(program.lanes[mention.lane].steps[mention.step])
        if look.kind in CONTENT_LOOKS and readable[mention.name] and _judges(look, data[mention.name]):
            contents[mention.name].append(index)
    return (
        tuple(tuple(creators[name]) for name in present),
        tuple(tuple(contents[name]) for name in present),
        tuple(versioned[name] for name in present),
    )


def _judges(look: Step, data: set[Bytes | None]) -> bool:
    """Whether the look verifies the bytes that the creators wrote."""

    def fits(entry: Bytes) -> bool:
        if entry.version:  # any whole version is exact, and says which one it is
            return look.size in (0, entry.size)
        return look.version == 0 and look.size == entry.size

    return all(entry is not None and entry.key == look.key and fits(entry) for entry in data)


def _meetings(kept: list[Mention]) -> tuple[Ints, Ints]:
    pairs = []
    for i, a in enumerate(kept):
        for j, b in enumerate(kept):
            if a.name != b.name or a.lane == b.lane or a.role > Role.MOVE:
                continue
            if b.role in (Role.LOOK, Role.LISTING) or (
                i < j and a.role in EXCLUSIVE_ROLES and b.role in EXCLUSIVE_ROLES
            ):
                pairs.append((i, j))
    return _columns(pairs)


def _after_eexist(kept: list[Mention]) -> tuple[Ints, Ints]:
    return _columns(
        [
            (i, j)
            for i, a in enumerate(kept)
            for j, b in enumerate(kept)
            if a.name == b.name and a.lane == b.lane and a.step < b.step
            and a.role in EXCLUSIVE_ROLES and b.role is Role.LOOK and b.observer == "open"
        ]
    )  # fmt: skip


def _columns(pairs: list[tuple[int, int]]) -> tuple[Ints, Ints]:
    return np.array([a for a, _ in pairs], np.int64), np.array([b for _, b in pairs], np.int64)
