"""Held readers: a name is replaced or removed while another site has the file open; the descriptor must keep it.

The observer opens the file and asks for its length only, so that the bytes it reads afterwards were not in its caches.
"""

from __future__ import annotations

import errno
from collections.abc import Sequence

import numpy as np

from fsconform.probes.experiment import Experiment
from fsconform.probes.rounds import (
    BARRIER,
    Bools,
    Place,
    all_done,
    content_words,
    is_exact,
    observe_rounds,
    places,
    refusal_of,
    refused,
)
from fsconform.probes.visibility import written
from fsconform.vocabulary.blocks import SIZES, block_key, block_name
from fsconform.vocabulary.cells import Cell
from fsconform.vocabulary.errnos import OK, name_of
from fsconform.vocabulary.histories import RoundHistory
from fsconform.vocabulary.observations import Observation
from fsconform.vocabulary.programs import Lane, Program
from fsconform.vocabulary.steps import Step

OLD, NEW = 1, 2
SIZE = SIZES["64k"]
LOST_HOLD = (errno.ESTALE, errno.ENOENT, errno.EBADF, errno.EIO, errno.EFAULT)
"""What a reader is told whose file was taken away (EFAULT: a mapping that would raise SIGBUS)."""
_EXPECTED = "what is open stays as it was"


def build(cells: Sequence[Cell], salt: str, publish: str, hold: Sequence[Step], look: Step) -> Experiment:
    """A publishes a file, B takes hold of it, A replaces (`rename`) or removes (`unlink`) it, B looks.

    `hold` and `look` are B's steps; the look's key and version are put in here.
    """
    cell = cells[0]
    name = f"held-{cell.family}-{publish}-{look.kind}-{cell.direction}"
    key = block_key(salt, name)
    path = block_name(key)
    prepared = [*written(".t1", key, SIZE, version=OLD), Step("rename", ".t1", path)]
    prepared += written(".t2", key, SIZE, version=NEW) if publish == "rename" else ()
    change = Step("rename", ".t2", path) if publish == "rename" else Step("unlink", path)
    actor = (*prepared, BARRIER, BARRIER, change, BARRIER)
    looking = Step(look.kind, key=key, version=OLD, size=SIZE)
    observer = (BARRIER, Step("open", path, arg=1), *hold, BARRIER, BARRIER, looking)
    program = Program((Lane(cell.acting, actor), Lane(cell.observing, observer)), names=(path,))
    return Experiment(name, program, tuple(cells), observe, 2 * SIZE)


def replaced_reader(cells: Sequence[Cell], letters: Sequence[str], salt: str) -> Experiment:
    """`atomic.held-reader`."""
    observer = cells[0].axis("observer") or "read_held"
    return build(cells, salt, "rename", (Step("fstat_held"),), Step(observer))


def removed_reader(cells: Sequence[Cell], letters: Sequence[str], salt: str) -> Experiment:
    """`unlink.held-reader`."""
    observer = cells[0].axis("observer") or "read_held"
    return build(cells, salt, "unlink", (Step("fstat_held"),), Step(observer))


def observe(cell: Cell, history: RoundHistory) -> Observation:
    """Guilty: the hold was lost, or shows other bytes, or another length, than before the change."""
    look = len(history.program.lanes[1].steps) - 1
    change = places(history.program, 0, "rename", "unlink")[-1]
    hold = places(history.program, 1, "open", "fstat_held", "map_held")
    hold = [k for k in hold if k < look]
    word = refusal_of(history.lanes[1].errno[:, hold[-1]])
    if word:
        return refused(history, word)
    ready = all_done(history, 1, hold) & all_done(history, 0, [change])
    kept = _kept(history, (1, look))
    told = history.lanes[1].errno[:, look]
    came_back = (told == OK) | np.isin(told, LOST_HOLD)
    return observe_rounds(
        history, ready & came_back, ready & came_back & ~kept, _words(history, (1, look)), _EXPECTED, ((1, look),)
    )


def _kept(history: RoundHistory, look: Place) -> Bools:
    lane, k = look
    if history.program.lanes[lane].steps[k].kind == "fstat_held":
        columns = history.lanes[lane]
        return np.asarray((columns.errno[:, k] == OK) & (columns.value[:, k] == SIZE), np.bool_)
    return is_exact(history, look, OLD)


def _words(history: RoundHistory, look: Place) -> list[str]:
    lane, k = look
    if history.program.lanes[lane].steps[k].kind != "fstat_held":
        return content_words(history, (look,))
    rows = zip(history.lanes[lane].errno[:, k], history.lanes[lane].value[:, k], strict=True)
    return [f"{value} bytes" if number == OK else name_of(int(number)) for number, value in rows]


BUILDERS = {"atomic.held-reader": replaced_reader, "unlink.held-reader": removed_reader}
"""Property -> what builds the experiment that serves its cells."""
