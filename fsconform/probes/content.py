"""Family `content`: a freshly published name is complete at its first open, wherever that is."""

from __future__ import annotations

import errno
from collections import Counter
from collections.abc import Sequence

import numpy as np

from fsconform.probes.atomic import STAGING
from fsconform.probes.experiment import Experiment, round_witness
from fsconform.probes.rounds import BARRIER, refusal_of, refused
from fsconform.probes.visibility import written
from fsconform.vocabulary.blocks import SIZES, Content, block_key, block_name
from fsconform.vocabulary.cells import Cell
from fsconform.vocabulary.errnos import OK, name_of
from fsconform.vocabulary.histories import RoundHistory
from fsconform.vocabulary.observations import Observation
from fsconform.vocabulary.programs import Lane, Program
from fsconform.vocabulary.steps import Step

WATCH_NS = 3_000_000


def first_open(cells: Sequence[Cell], letters: Sequence[str], salt: str) -> Experiment:
    """A block is published and closed; then another site, which never looked at the name, opens it."""
    cell = cells[0]
    publish, size = cell.axis("publish") or "rename", SIZES[cell.axis("size") or "64k"]
    observer = cell.axis("observer") or "open_read"
    name = f"complete-{publish}-{observer}-{cell.axis('size')}-{cell.direction}"
    key = block_key(salt, name)
    path = block_name(key)
    if publish == "excl":
        prepared: tuple[Step, ...] = ()
        change: tuple[Step, ...] = written(path, key, size)
    elif publish == "rename-open":
        prepared = written(".t", key, size)[:-1]
        change = (Step("rename", ".t", path), Step("close"))
    elif publish == "cross-dir":
        prepared = written(f"{STAGING}/.t", key, size)
        change = (Step("rename", f"{STAGING}/.t", path),)
    else:
        prepared = written(".t", key, size)
        change = (Step(publish, ".t", path),)
    read = Step(observer, path, key=key, size=size)
    writer = Lane(cell.acting, (*prepared, BARRIER, *change, BARRIER))
    reader = Lane(cell.observing, (BARRIER, BARRIER, read, Step("watch", arg=WATCH_NS, then=read)))
    program = Program((writer, reader), (STAGING,) if publish == "cross-dir" else (), (path,))
    return Experiment(name, program, tuple(cells), _observe, size)


def _observe(cell: Cell, history: RoundHistory) -> Observation:
    writer, reader = history.lanes
    word = refusal_of(reader.errno[:, 2])
    if word:
        return refused(history, word)
    published = (writer.errno == OK).all(axis=1)
    told, content = reader.errno[:, 2:], reader.value[:, 2:] & 0xFF
    wrong = (told == OK) & (content != int(Content.EXACT)) & published[:, None]
    # What is not there (yet) is a question of visibility, not of content.
    opened = (told == OK).any(axis=1) & published
    guilty = wrong.any(axis=1)
    outcomes: Counter[str] = Counter()
    for number, kind in zip(told[:, 0], content[:, 0], strict=True):
        outcomes[Content(int(kind)).name.lower() if number == OK else name_of(int(number))] += 1
    witness = None
    if guilty.any():
        first = int(np.flatnonzero(guilty)[0])
        read = int(np.flatnonzero(wrong[first])[0])
        got = Content(int(content[first, read])).name.lower()
        story = f"expected: the block is complete at its first open after {cell.axis('publish')} returned; got: {got}"
        witness = round_witness(history, first, story, [(1, read + 2)])
    absent = int(((told == errno.ENOENT).all(axis=1) & published).sum())
    return Observation(
        attempted=history.rounds, informative=int((opened | guilty).sum()), violations=int(guilty.sum()),
        outcomes=dict(outcomes.most_common()), witness=witness,
        reason=f"{absent} of {history.rounds} names could not be opened yet" if absent else "",
    )  # fmt: skip


BUILDERS = {"content.complete": first_open}
"""Property -> what builds the experiment that serves its cells."""
