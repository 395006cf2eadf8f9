"""Family `mmap`: a file that another site has mapped is replaced, removed or cut.

A page that cannot be had is EFAULT here, because the kernel copies the mapping out; a program that touches it dies of
SIGBUS. No page is touched before the change, so that what the mapping shows afterwards was not in the caches; only the
cut file's are, because those are the pages that must go.
"""

from __future__ import annotations

import errno
from collections.abc import Sequence

import numpy as np

from fsconform.probes import held
from fsconform.probes.experiment import Experiment
from fsconform.probes.rounds import (
    BARRIER,
    all_done,
    content_word,
    is_exact,
    observe_rounds,
    places,
    refusal_of,
    refused,
)
from fsconform.probes.visibility import written
from fsconform.vocabulary.blocks import PAGE, Content, block_key, block_name
from fsconform.vocabulary.cells import Cell
from fsconform.vocabulary.errnos import OK
from fsconform.vocabulary.histories import RoundHistory
from fsconform.vocabulary.observations import Observation
from fsconform.vocabulary.programs import Lane, Program
from fsconform.vocabulary.steps import Step

_MAPPED = 2 * PAGE


def mapped_reader(cells: Sequence[Cell], letters: Sequence[str], salt: str) -> Experiment:
    """`mmap.held-reader`: as a held descriptor, but mapped."""
    publish = cells[0].axis("publish") or "rename"
    return held.build(cells, salt, publish, (Step("map_held", size=held.SIZE),), Step("read_mapping"))


def cut_reader(cells: Sequence[Cell], letters: Sequence[str], salt: str) -> Experiment:
    """`mmap.truncate`: A cuts two pages to one while B has both mapped, and has read them."""
    cell = cells[0]
    name = f"mapping-cut-{cell.direction}"
    key = block_key(salt, name)
    path = block_name(key)
    cut = (Step("open", path), Step("truncate", size=PAGE), Step("close"))
    look = Step("read_mapping", key=key, version=1, size=_MAPPED)
    observer = (BARRIER, Step("open", path, arg=1), Step("map_held", size=_MAPPED), look, BARRIER, BARRIER, look)
    actor = (*written(path, key, _MAPPED, version=1), BARRIER, BARRIER, *cut, BARRIER)
    program = Program((Lane(cell.acting, actor), Lane(cell.observing, observer)), names=(path,))
    return Experiment(name, program, tuple(cells), _observe_cut, _MAPPED)


def _observe_cut(cell: Cell, history: RoundHistory) -> Observation:
    before, after = places(history.program, 1, "read_mapping")
    word = refusal_of(history.lanes[1].errno[:, places(history.program, 1, "map_held")[0]])
    if word:
        return refused(history, word)
    columns = history.lanes[1]
    told, value, length = columns.errno[:, after], columns.value[:, after], columns.detail[:, after]
    ready = is_exact(history, (1, before), 1) & all_done(history, 0, places(history.program, 0, "truncate"))
    right = (told == OK) & (value & 0xFF == int(Content.SHORT)) & (length == PAGE)
    came_back = (told == OK) | (told == errno.EFAULT)
    words = [
        f"one page and then {'SIGBUS' if fine else 'other bytes'}" if number == OK and size == PAGE
        else content_word(int(number), int(seen))
        for fine, number, seen, size in zip(right, told, value, length, strict=True)
    ]  # fmt: skip
    guilty = np.asarray(ready & came_back & ~right, np.bool_)
    expected = "the page before the new end as it was, and SIGBUS behind it"
    return observe_rounds(history, ready & came_back, guilty, words, expected, ((1, after),))


BUILDERS = {"mmap.held-reader": mapped_reader, "mmap.truncate": cut_reader}
"""Property -> what builds the experiment that serves its cells."""
