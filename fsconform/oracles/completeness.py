"""Which steps of a lane make the bytes behind a name: what must have succeeded before a read of it can be judged.

Follows descriptors and paths through one lane. A name that only appears by link or rename of a closed file is complete
whenever it is there; one that is written in place, or published before its close, is complete once that close returned.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from fsconform.vocabulary.steps import Step

MOVES = frozenset({"rename", "rename_noreplace"})
CREATES = frozenset({"excl_create", "create"})


@dataclass(frozen=True, slots=True)
class Bytes:
    """What a writer put behind a name."""

    key: str
    version: int
    size: int


@dataclass(frozen=True, slots=True)
class Publication:
    """One step that makes a name appear, and the steps of the same lane that make its bytes."""

    step: int
    """Index of the step in the lane."""
    name: str
    data: Bytes | None
    """None where the lane does not show what the bytes are: reads of the name cannot be judged then."""
    needs: tuple[int, ...] = ()
    """Steps that must have succeeded in full."""
    sealed_by: int | None = None
    """The close after which the bytes are complete; None where they are already when the name appears."""


@dataclass(slots=True)
class _File:
    steps: list[int] = field(default_factory=list)
    writes: list[tuple[int, Step]] = field(default_factory=list)
    closes: list[int] = field(default_factory=list)
    shown: list[tuple[int, str]] = field(default_factory=list)
    spoilt: bool = False


def publications(steps: Sequence[Step]) -> tuple[list[Publication], set[str]]:
    """The publications of one lane, and the paths whose bytes it changes in ways that are not followed."""
    files, spoilt = _follow(steps)
    return [publication for file in files for publication in _published(file)], spoilt


def _follow(steps: Sequence[Step]) -> tuple[list[_File], set[str]]:
    files: list[_File] = []
    paths: dict[str, _File] = {}
    slots: dict[int, _File | str | None] = {}
    spoilt: set[str] = set()
    for number, step in enumerate(steps):
        if step.kind in CREATES:
            file = paths.get(step.path) if step.kind == "create" else None
            if file is None:
                file = paths[step.path] = _File(shown=[(number, step.path)])
                files.append(file)
            file.steps.append(number)
            slots[step.fd] = file
        elif step.kind == "open":
            slots[step.fd] = paths.get(step.path, step.path)
        elif step.kind in ("open_tmpfile", "open_dir"):
            slots[step.fd] = None
        elif step.kind in ("write", "write_held", "fallocate", "close"):
            _on_descriptor(number, step, slots, spoilt)
        elif step.kind in MOVES or step.kind == "link":
            file = paths.get(step.path)
            if file is None:
                file = _File(spoilt=True)
                files.append(file)
            file.shown.append((number, step.other))
            paths[step.other] = file
            if step.kind in MOVES:
                paths.pop(step.path, None)
    return files, spoilt


def _on_descriptor(number: int, step: Step, slots: dict[int, _File | str | None], spoilt: set[str]) -> None:
    file = slots.get(step.fd)
    if step.kind == "close":
        if isinstance(file, _File):
            file.closes.append(number)
        slots.pop(step.fd, None)
    elif isinstance(file, str):
        spoilt.add(file)
    elif file is not None:
        file.spoilt |= step.kind == "fallocate"
        file.writes.append((number, step))


def _published(file: _File) -> Iterator[Publication]:
    data = None if file.spoilt else _covered([step for _, step in file.writes])
    last = max((number for number, _ in file.writes), default=-1)
    close = next((number for number in file.closes if number > last), None)
    made = tuple(file.steps) + tuple(number for number, _ in file.writes)
    for number, name in file.shown:
        if data is None or close is None:
            yield Publication(number, name, None)
        elif close < number:
            yield Publication(number, name, data, (*made, close))
        else:
            yield Publication(number, name, data, made, close)


def _covered(writes: Sequence[Step]) -> Bytes | None:
    """What the writes make together: None unless they are of one block and version and leave no hole."""
    if len({(write.key, write.version) for write in writes}) != 1:
        return None
    end = 0
    for write in sorted(writes, key=lambda write: write.offset):
        if write.offset > end:
            return None
        end = max(end, write.offset + write.size)
    return Bytes(writes[0].key, writes[0].version, end)
