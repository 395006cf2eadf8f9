"""`content.rewrite`: a file is overwritten in place with as many bytes; from when on does another site read them?

The length says nothing, so a client must learn of it by a timestamp, a change attribute, or by asking. A mixture of old
and new bytes, read when the writer has closed the file, is as late as the old ones.
"""

from __future__ import annotations

from fsconform.vocabulary.blocks import PAGE, Content, block_key, block_name
from fsconform.vocabulary.cells import Cell
from fsconform.vocabulary.steps import Step
from fsconform.vocabulary.trials import Trial, Want

OLD, NEW = 1, 2
SIZE = 2 * PAGE


def make_trial(cell: Cell, number: int, directory: str, salt: str) -> Trial:
    """Trial `number` of a cell. `held`: the observer has the file open from before the change."""
    key = block_key(salt, cell.id, number)
    path = f"{directory}/{block_name(key)}"

    def write(version: int) -> Step:
        return Step("write", key=key, size=SIZE, version=version)

    seed = (Step("mkdir", directory), Step("excl_create", path), write(OLD), Step("close"))
    change = (Step("open", path), write(NEW), Step("close"))
    observer, state = cell.axis("observer") or "open_read", cell.axis("state")
    look = Step("read_held", key=key) if state == "held" else Step(observer, path, key=key)
    return Trial(
        cell, number, look, Want(mask=-1, value=int(Content.EXACT) | NEW << 8), change, 2, seed,
        acquaint=(Step("open", path, arg=1),) if state == "held" else (),
        prime=() if state == "cold" else (look,),
        after=(Step("close"),) if state == "held" else (),
    )  # fmt: skip
