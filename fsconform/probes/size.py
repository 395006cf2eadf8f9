"""Family `size`: one site appends to a file that another site knows; from when on does that see the new length?

And is the first length that anybody sees of a closed file exact to the byte?
"""

from __future__ import annotations

from collections.abc import Sequence

from fsconform.probes.experiment import Experiment
from fsconform.probes.rounds import BARRIER, observe_rounds, written_whole
from fsconform.vocabulary.blocks import PAGE, block_key, block_name
from fsconform.vocabulary.cells import Cell
from fsconform.vocabulary.errnos import OK, name_of
from fsconform.vocabulary.histories import RoundHistory
from fsconform.vocabulary.observations import Observation
from fsconform.vocabulary.programs import Lane, Program
from fsconform.vocabulary.steps import Step
from fsconform.vocabulary.trials import Trial, Want

GROWN = 2 * PAGE
ODD = {"1b": 1, "4095b": PAGE - 1, "4097b": PAGE + 1, "1m+1b": (1 << 20) + 1}
"""Size axis -> bytes."""


def make_trial(cell: Cell, number: int, directory: str, salt: str) -> Trial:
    """Trial `number` of a size cell: the file has one page, the observer knows it, the acting site adds another.

    `after` says which call of the writer must have returned: `close`, or `fsync`, `fdatasync` or the `write` itself
    (the descriptor then stays open).
    Raises KeyError for axis values that no trial exists for.
    """
    key = block_key(salt, cell.id, number)
    path = f"{directory}/{block_name(key)}"
    page = Step("write", fd=0, key=key, size=PAGE)
    seed = (Step("mkdir", directory), Step("excl_create", path), page, Step("close"), Step("open", path))
    more = Step("write", fd=0, key=key, size=PAGE, offset=PAGE)
    change = {
        "close": (more, Step("close")), "fsync": (more, Step("fsync")), "fdatasync": (more, Step("fdatasync")),
        "write": (more,),
    }[cell.axis("after") or ""]  # fmt: skip
    look = {"stat": Step("stat", path), "open_fstat": Step("open_fstat", path), "fstat_held": Step("fstat_held")}[
        cell.axis("observer") or ""
    ]
    held = look.kind == "fstat_held"
    return Trial(
        cell, number, look, Want(mask=-1, value=GROWN), change, len(change) - 1, seed,
        acquaint=(Step("open", path, arg=1),) if held else (),
        prime=(look,) if cell.axis("state") != "cold" else (),
        after=(Step("close"),) if held else (),
    )  # fmt: skip


def exact(cells: Sequence[Cell], letters: Sequence[str], salt: str) -> Experiment:
    """`size.exact`: A writes a file of an odd length and closes it; B, which never looked at it, stats it."""
    cell = cells[0]
    observer, word = cell.axis("observer") or "stat", cell.axis("size") or "4097b"
    name = f"exact-{word}-{observer}-{cell.direction}"
    key = block_key(salt, name)
    path = block_name(key)
    writer = (Step("excl_create", path), Step("write", key=key, size=ODD[word]), Step("close"), BARRIER)
    program = Program((Lane(cell.acting, writer), Lane(cell.observing, (BARRIER, Step(observer, path)))), names=(path,))
    return Experiment(name, program, tuple(cells), _observe_exact, ODD[word])


def _observe_exact(cell: Cell, history: RoundHistory) -> Observation:
    size = ODD[cell.axis("size") or "4097b"]
    told, length = history.lanes[1].errno[:, 1], history.lanes[1].value[:, 1]
    able = written_whole(history, 0) & (told == OK)
    words = [
        f"{seen} bytes" if number == OK else name_of(int(number)) for number, seen in zip(told, length, strict=True)
    ]
    return observe_rounds(history, able, able & (length != size), words, f"{size} bytes", ((1, 1),))


BUILDERS = {"size.exact": exact}
"""Property -> what builds the experiment that serves its cells."""
