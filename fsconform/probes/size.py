"""Family `size`: one site appends to a file that another site knows; from when on does that see the new length?"""

from __future__ import annotations

from fsconform.vocabulary.blocks import PAGE, block_key, block_name
from fsconform.vocabulary.cells import Cell
from fsconform.vocabulary.steps import Step
from fsconform.vocabulary.trials import Trial, Want

GROWN = 2 * PAGE


def make_trial(cell: Cell, number: int, directory: str, salt: str) -> Trial:
    """Trial `number` of a size cell: the file has one page, the observer knows it, the acting site adds another.

    `after` says which call of the writer must have returned: `close` or `fsync` (the descriptor then stays open).
    Raises KeyError for axis values that no trial exists for.
    """
    key = block_key(salt, cell.id, number)
    path = f"{directory}/{block_name(key)}"
    page = Step("write", fd=0, key=key, size=PAGE)
    seed = (Step("mkdir", directory), Step("excl_create", path), page, Step("close"), Step("open", path))
    more = Step("write", fd=0, key=key, size=PAGE, offset=PAGE)
    change = {"close": (more, Step("close")), "fsync": (more, Step("fsync"))}[cell.axis("after") or ""]
    look = {"stat": Step("stat", path), "open_fstat": Step("open_fstat", path), "fstat_held": Step("fstat_held")}[
        cell.axis("observer") or ""
    ]
    held = look.kind == "fstat_held"
    return Trial(
        cell, number, look, Want(mask=-1, value=GROWN), change, 1, seed,
        acquaint=(Step("open", path, arg=1),) if held else (),
        prime=(look,) if cell.axis("state") != "cold" else (),
        after=(Step("close"),) if held else (),
    )  # fmt: skip
