"""Which directories carry the mark of a run: the marker file, and where supported the user attribute beside it.

Runs in a child process (`run/children.py`), because the mount looked at may not answer.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from fsconform.fleet.worker import tree


def find_marks(mount: str, tell: Callable[[str], None]) -> dict[str, Any]:
    """The directories directly below `mount` whose names are ours.

    Returns errno (name of the failure to list, else empty) and directories: (name, run id, `ours` or why not).
    """
    tell("list")
    try:
        with os.scandir(mount) as entries:
            names = sorted(entry.name for entry in entries if entry.name.startswith(tree.PREFIX))
    except OSError as error:
        return {"errno": os.strerror(error.errno or 0), "directories": []}
    found = []
    for name in names:
        tell(f"look at {name}")
        run_id = name.removeprefix(tree.PREFIX)
        found.append((name, run_id, mark_of(os.path.join(mount, name), run_id)))
    return {"errno": "", "directories": found}


def mark_of(path: str, run_id: str) -> str:
    """`ours` where `path` is a directory (not a link to one) with the marker of `run_id`, else why not."""
    try:
        tree.directory_name(run_id)
    except ValueError:
        return "its name is no run id"
    try:
        top = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        return f"not a directory that can be opened ({os.strerror(error.errno or 0)})"
    try:
        state = tree.marker_state(top, run_id)
        return state if state != "ours" else attribute_state(top, run_id)
    finally:
        os.close(top)


def attribute_state(top: int, run_id: str) -> str:
    """`ours` where the open directory's user attribute names the run, or where there is none (not supported)."""
    import xattr

    try:
        written = xattr.getxattr(top, tree.XATTR)
    except OSError:
        return "ours"
    return "ours" if written == run_id.encode() else f"the run id in {tree.XATTR} is another one"
