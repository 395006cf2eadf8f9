"""Family `visibility`: one site creates, replaces or removes a name; from when on does another site see it?

Each trial has a name and a parent directory of its own, made before anything is primed (on NFS a change of a
directory, or a listing of it or of its parent, refreshes every name that waits in it). Temporary files are written
long before the prime, so that the change itself is one call.
"""

from __future__ import annotations

import errno
from dataclasses import replace

from fsconform.vocabulary.blocks import PAGE, Content, block_key, block_name
from fsconform.vocabulary.cells import Cell
from fsconform.vocabulary.steps import Step
from fsconform.vocabulary.trials import Trial, Want

OLD, NEW = 1, 2
"""Versions of a replaced name; the new one is longer, so that its length tells it apart (`same`: it is not)."""
NEW_SIZE = 2 * PAGE
LISTINGS = ("scandir", "scandir_held")
"""Looks that answer with a listing: by the path of the directory, or rewound through a descriptor that is held."""


def written(path: str, key: str, size: int, version: int = 0, fd: int = 0) -> tuple[Step, ...]:
    """Steps that make a complete, closed file."""
    return (
        Step("excl_create", path, fd=fd),
        Step("write", fd=fd, key=key, size=size, version=version),
        Step("close", fd=fd),
    )


def look_step(observer: str, path: str, key: str, versioned: bool = False) -> Step:
    """The look of one observer at one name. KeyError for an observer that looks at no name."""
    directory, _, name = path.rpartition("/")
    size = 0 if versioned else PAGE
    return {
        "stat": Step("stat", path),
        "access": Step("access", path),
        "statx": Step("statx_force_sync", path),
        "open_read": Step("open_read", path, key=key, size=size),
        "open_fstat": Step("open_fstat", path),
        "scandir": Step("scandir", directory, names=(name,)),
        "scandir_held": Step("scandir_held", names=(name,)),
    }[observer]


def make_trial(cell: Cell, number: int, directory: str, salt: str) -> Trial:
    """Trial `number` of a visibility cell, in `directory` (made by the trial's seed).

    `salt` makes block names unique to the run. Raises KeyError for axis values that no trial exists for.
    """
    key = block_key(salt, cell.id, number)
    build = {"visibility.create": _create, "visibility.replace": _replace, "visibility.unlink": _unlink}
    trial = build[cell.property_id](cell, number, directory, key)
    if trial.look.kind == "scandir_held":
        return replace(trial, acquaint=(Step("open_dir", directory),), after=(Step("close"),))
    return replace(trial, acquaint=_acquaintance(trial)) if cell.axis("age") == "settled" else trial


def _acquaintance(trial: Trial) -> tuple[Step, ...]:
    """What the observer looks at before all rests: timeouts that adapt grow with what was seen unchanged since."""
    if trial.cell.axis("state") == "known":
        return trial.prime
    return (Step("stat", trial.look.path.rpartition("/")[0]),)


def _prime(cell: Cell, look: Step, path: str) -> tuple[Step, ...]:
    """What the observer does right before the change."""
    state = cell.axis("state")
    if state == "cold":
        return ()
    if state in ("missed", "missed-ancestor"):
        # The miss is made by a lookup of the name itself: a listing would not leave a negative entry behind.
        return (Step("stat", path),) if look.kind == "scandir" else (look,)
    return (look,)  # known, listed: the observer's own look, so that the entry and what it says are cached


def _create(cell: Cell, number: int, directory: str, key: str) -> Trial:
    parent = f"{directory}/sub" if cell.axis("state") == "missed-ancestor" else directory
    temporary, path = f"{directory}/.t-{key[:16]}", f"{parent}/{block_name(key)}"
    look = look_step(cell.axis("observer") or "", path, key)
    publish = cell.axis("publish")
    seed: tuple[Step, ...] = (Step("mkdir", directory),)
    after: tuple[Step, ...] = ()
    before = (Step("mkdir", parent),) if parent != directory else ()
    if publish in ("rename", "link"):
        seed += written(temporary, key, PAGE)
        change: tuple[Step, ...] = (*before, Step(publish, temporary, path))
    elif publish == "rename-open":
        seed += written(temporary, key, PAGE)[:-1]
        change, after = (*before, Step("rename", temporary, path)), (Step("close"),)
    elif publish == "cross-dir":
        staging = f"{directory}/staging"
        seed += (Step("mkdir", staging), *written(f"{staging}/t", key, PAGE))
        change = (*before, Step("rename", f"{staging}/t", path))
    elif publish == "excl":
        change = (*before, *written(path, key, PAGE))
    else:
        change = (*before, {"mkdir": Step("mkdir", path)}[publish or ""])
    want = Want(mask=1, value=1) if look.kind in LISTINGS else Want()
    return Trial(cell, number, look, want, (*change, *after), len(before), seed, (), _prime(cell, look, path))


def _replace(cell: Cell, number: int, directory: str, key: str) -> Trial:
    temporary, path = f"{directory}/.t-{key[:16]}", f"{directory}/{block_name(key)}"
    observer = cell.axis("observer") or ""
    new_size = PAGE if cell.axis("size") == "same" else NEW_SIZE
    look = look_step(observer, path, key, versioned=True)
    seed = (
        Step("mkdir", directory),
        *written(path, key, PAGE, OLD),
        *written(temporary, key, new_size, NEW),
    )
    if observer == "open_read":
        want = Want(mask=-1, value=int(Content.EXACT) | NEW << 8, unsound=0xFF)
    else:
        want = Want(mask=-1, value=NEW_SIZE)
    return Trial(cell, number, look, want, (Step("rename", temporary, path),), 0, seed, (), _prime(cell, look, path))


def _unlink(cell: Cell, number: int, directory: str, key: str) -> Trial:
    path = f"{directory}/{block_name(key)}"
    look = look_step(cell.axis("observer") or "", path, key)
    seed = (Step("mkdir", directory), *written(path, key, PAGE))
    want = Want(mask=1, value=0) if look.kind in LISTINGS else Want(errno=errno.ENOENT)
    return Trial(cell, number, look, want, (Step("unlink", path),), 0, seed, (), _prime(cell, look, path))
