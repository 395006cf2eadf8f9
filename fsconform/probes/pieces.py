"""Blocks written in pieces: by one site out of order, by two sites side by side, and under the eyes of a reader.

Boundaries fall inside pages. Readers open the file when the writers have closed it, except in `content.tail`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fsconform.probes.experiment import Experiment, clock_note
from fsconform.probes.rounds import (
    BARRIER,
    content_words,
    is_exact,
    is_wrong,
    observe_rounds,
    places,
    refusal_of,
    refused,
    written_whole,
)
from fsconform.probes.visibility import written
from fsconform.vocabulary.blocks import SIZES, Content, block_key, block_name
from fsconform.vocabulary.cells import Cell
from fsconform.vocabulary.errnos import OK
from fsconform.vocabulary.histories import INF, RoundHistory
from fsconform.vocabulary.observations import Observation
from fsconform.vocabulary.programs import Lane, Program
from fsconform.vocabulary.steps import Step

SIZE = SIZES["64k"]
PIECE = 3001
SHARED, STRIP = 4 * SIZES["4k"], 1701
"""Length of the file that two sites write, and of their strips of it."""
GROWN, GROWTH = 24_001, 1501
READS = 24


def cut(size: int, piece: int, key: str, version: int = 0) -> list[Step]:
    """Writes that make a block of `size` bytes together, in order."""
    return [
        Step("write", key=key, version=version, offset=start, size=min(piece, size - start), arg=size)
        for start in range(0, size, piece)
    ]


def unaligned(cells: Sequence[Cell], letters: Sequence[str], salt: str) -> Experiment:
    """`content.unaligned`: every second piece first, then those between."""
    cell = cells[0]
    observer = cell.axis("observer") or "open_read"
    name = f"unaligned-{observer}-{cell.direction}"
    key = block_key(salt, name)
    path = block_name(key)
    pieces = cut(SIZE, PIECE, key)
    writer = (Step("excl_create", path), *pieces[1::2], *pieces[::2], Step("close"), BARRIER)
    reader = (BARRIER, Step(observer, path, key=key, size=SIZE))
    program = Program((Lane(cell.acting, writer), Lane(cell.observing, reader)), names=(path,))
    return Experiment(name, program, tuple(cells), _observe_unaligned, SIZE)


def _observe_unaligned(cell: Cell, history: RoundHistory) -> Observation:
    look = (1, 1)
    word = refusal_of(history.lanes[1].errno[:, 1])
    if word:
        return refused(history, word)
    done = written_whole(history, 0)
    guilty = done & is_wrong(history, look)
    able = done & is_exact(history, look)
    return observe_rounds(
        history, able, guilty, content_words(history, (look,)), "every byte that was written", (look,)
    )


def neighbours(cells: Sequence[Cell], letters: Sequence[str], salt: str) -> Experiment:
    """`content.neighbours`: a file of one version has its full length from the start, so that nobody's idea of its
    length matters; two sites write the next version over it, strip by strip in turns."""
    cell = cells[0]
    name = f"neighbours-{cell.direction}"
    key = block_key(salt, name)
    path = block_name(key)
    strips = cut(SHARED, STRIP, key, version=2)
    look = Step("open_read", path, key=key)

    def lane(number: int) -> tuple[Step, ...]:
        made = written(path, key, SHARED, version=1, fd=1) if number == 0 else ()
        return (*made, BARRIER, Step("open", path), BARRIER, *strips[number::2], Step("close"), BARRIER, look)

    program = Program((Lane(cell.acting, lane(0)), Lane(cell.observing, lane(1))), names=(path,))
    return Experiment(name, program, tuple(cells), _observe_neighbours, SHARED)


def _observe_neighbours(cell: Cell, history: RoundHistory) -> Observation:
    looks = [(lane, places(history.program, lane, "open_read")[0]) for lane in (0, 1)]
    done = written_whole(history, 0) & written_whole(history, 1)
    guilty = done & (is_wrong(history, looks[0], 2) | is_wrong(history, looks[1], 2))
    able = done & is_exact(history, looks[0], 2) & is_exact(history, looks[1], 2)
    return observe_rounds(
        history, able, guilty, content_words(history, looks), "the bytes of both sites, all of them", looks
    )


def tail(cells: Sequence[Cell], letters: Sequence[str], salt: str) -> Experiment:
    """`content.tail`: a reader opens and reads a growing file again and again; each time it must be a beginning of
    the block, of whatever length."""
    cell = cells[0]
    name = f"tail-{cell.direction}"
    key = block_key(salt, name)
    path = block_name(key)
    writer = (Step("excl_create", path), BARRIER, *cut(GROWN, GROWTH, key), Step("close"))
    reader = (BARRIER, *(Step("open_read", path, key=key, size=GROWN) for _ in range(READS)))
    program = Program((Lane(cell.acting, writer), Lane(cell.observing, reader)), names=(path,))
    return Experiment(name, program, tuple(cells), _observe_tail, GROWN)


def _observe_tail(cell: Cell, history: RoundHistory) -> Observation:
    writer, reader = history.lanes
    writes, looks = places(history.program, 0, "write"), places(history.program, 1, "open_read")
    told, content = reader.errno[:, looks], reader.value[:, looks] & 0xFF
    wrong = (told == OK) & ~np.isin(content, (int(Content.EXACT), int(Content.SHORT)))
    error = history.error_between(0, 1)[:, None]
    during = (reader.invoked[:, looks] < writer.returned[:, [writes[-1]]] - error) & (reader.returned[:, looks] < INF)
    during &= (reader.returned[:, looks] > writer.invoked[:, [writes[0]]] + error) & (told == OK)
    words = []
    for k in range(history.rounds):
        kinds = sorted({int(kind) for kind in content[k][told[k] == OK]})
        words.append(", ".join(Content(kind).name.lower() for kind in kinds) or "nothing read")
    guilty = np.asarray(wrong.any(axis=1), np.bool_)
    able = np.asarray(during.any(axis=1), np.bool_)
    marks = [(1, looks[int(k)]) for k in np.flatnonzero(wrong[int(np.flatnonzero(guilty)[0])])] if guilty.any() else []
    missing = f"had no read while the file grew{clock_note(history)}"
    expected = "every read is a beginning of the block"
    return observe_rounds(history, able, guilty, words, expected, marks, missing)


BUILDERS = {"content.unaligned": unaligned, "content.neighbours": neighbours, "content.tail": tail}
"""Property -> what builds the experiment that serves its cells."""
