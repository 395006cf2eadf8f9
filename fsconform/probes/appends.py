"""Family `append`: two sites append records to one file at the same time; none may be lost or torn.

The records have an odd length, so that page boundaries fall inside them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fsconform.probes.experiment import Experiment, clock_note
from fsconform.probes.rounds import BARRIER, observe_rounds, places, written_whole
from fsconform.vocabulary.blocks import block_key
from fsconform.vocabulary.cells import Cell
from fsconform.vocabulary.errnos import OK, name_of
from fsconform.vocabulary.histories import RoundHistory
from fsconform.vocabulary.observations import Observation
from fsconform.vocabulary.programs import Lane, Program
from fsconform.vocabulary.steps import Step

RECORD = 1001
EACH = 8
"""Records per site."""
PATH = "log"


def appending(cells: Sequence[Cell], letters: Sequence[str], salt: str) -> Experiment:
    """Both sites open one empty file with O_APPEND and write their records; afterwards both read all of it."""
    cell = cells[0]
    name = f"append-{cell.direction}"
    key = block_key(salt, name)
    look = Step("read_records", PATH, key=key, size=RECORD, arg=2 * EACH)

    def lane(number: int) -> tuple[Step, ...]:
        made = (Step("excl_create", PATH, fd=1), Step("close", fd=1)) if number == 0 else ()
        records = (Step("write", key=key, version=number * EACH + k, size=RECORD) for k in range(EACH))
        return (*made, BARRIER, Step("open_append", PATH), BARRIER, *records, Step("close"), BARRIER, look)

    program = Program((Lane(cell.acting, lane(0)), Lane(cell.observing, lane(1))), names=(PATH,))
    return Experiment(name, program, tuple(cells), _observe, 2 * EACH * RECORD)


def _observe(cell: Cell, history: RoundHistory) -> Observation:
    done = written_whole(history, 0) & written_whole(history, 1)
    looks = [(lane, places(history.program, lane, "read_records")[0]) for lane in (0, 1)]
    guilty = np.zeros(history.rounds, np.bool_)
    able = done & _overlapping(history)
    for lane, k in looks:
        columns = history.lanes[lane]
        read = columns.errno[:, k] == OK
        whole = (columns.value[:, k] == (1 << 2 * EACH) - 1) & (columns.detail[:, k] == 2 * EACH * RECORD)
        guilty |= done & read & ~whole
        able &= read
    words = [_words(history, looks, k) for k in range(history.rounds)]
    missing = f"had no overlapping appends{clock_note(history)}"
    return observe_rounds(history, able, guilty, words, "all records once and whole, nothing else", looks, missing)


def _overlapping(history: RoundHistory) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Rounds in which the two sites' appends overlapped, whatever the clocks' errors are."""
    error = history.error_between(0, 1)
    spans = []
    for lane in (0, 1):
        writes = places(history.program, lane, "write")
        spans.append((history.lanes[lane].invoked[:, writes[0]], history.lanes[lane].returned[:, writes[-1]]))
    (first, first_end), (second, second_end) = spans
    return np.asarray((first + error <= second_end) & (second + error <= first_end), np.bool_)


def _words(history: RoundHistory, looks: Sequence[tuple[int, int]], k: int) -> str:
    told = []
    for lane, at in looks:
        columns = history.lanes[lane]
        if columns.errno[k, at] != OK:
            told.append(name_of(int(columns.errno[k, at])))
            continue
        there, length = int(columns.value[k, at]).bit_count(), int(columns.detail[k, at])
        told.append(f"{there} of {2 * EACH} records in {length} bytes")
    return ", ".join(dict.fromkeys(told))


BUILDERS = {"append.atomic": appending}
"""Property -> what builds the experiment that serves its cells."""
