"""The run's own directory on the filesystem under test: its name, its removal, and the cleaning of old ones.

On the mounts under test nothing is ever written outside it (docs/design.md, Safety).
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fsconform.run.asking import Asker, ask
from fsconform.run.children import ChildFailedError, Stuck, call_in_child
from fsconform.run.surveys import RunDirectory
from fsconform.vocabulary.errors import CannotTestError, FsconformError
from fsconform.vocabulary.sites import Site

REMOVAL_DEADLINE_S = 60.0
"""How long one removal may take altogether."""
STALL_DEADLINE_S = 5.0
"""How long one call of a removal may take before the child is given up."""


def new_run_id() -> str:
    """An id that nobody can guess, so that nobody can have planted a directory of that name."""
    return secrets.token_hex(8)


@dataclass(frozen=True, slots=True)
class Removal:
    """What a removal came to."""

    path: str
    state: str
    """`removed`, `absent`, `stays`, or `refused: WHY`."""
    stays: tuple[str, ...] = ()
    """Lines `PATH: why` of what could not be removed."""

    @property
    def left_behind(self) -> tuple[str, ...]:
        """What a report must name: nothing where all is gone."""
        if self.state in ("removed", "absent"):
            return ()
        return self.stays or (f"{self.path}: {self.state}",)


def removal_from(path: str, answer: dict[str, Any]) -> Removal:
    """The record of a worker's `remove_run_directory` answer."""
    lines = [f"{where}: {why}" for where, why in answer["stays"]]
    more = answer["count"] - len(lines)
    return Removal(path, answer["state"], (*lines, *([f"{path}: and {more} more"] if more > 0 else ())))


def remove_locally(
    parent: str, run_id: str, deadline_s: float = REMOVAL_DEADLINE_S, stall_s: float = STALL_DEADLINE_S
) -> Removal:
    """Remove a run's directory below the local path `parent`, in a child: survives Ctrl-C and hung mounts.

    Removes only what carries the run's marker; never raises for what stays, but names it.
    """
    from fsconform.fleet.worker import tree

    path = f"{parent.rstrip('/')}/{tree.directory_name(run_id)}"
    try:
        answer = call_in_child(tree, "remove_run_directory", [parent, run_id, deadline_s], stall_s)
    except ChildFailedError as error:
        return Removal(path, "stays", (f"{path}: {error}",))
    if isinstance(answer, Stuck):
        return Removal(path, "stays", (f"{path}: {answer}",))
    return removal_from(path, answer)


def remove(fleet: Asker, workers: Mapping[str, Any], sites: Sequence[Site], directory: RunDirectory) -> Removal:
    """Remove the run's directory; never raises for what stays, but names it.

    The site that made it comes first, then every other one that can write. Local sites are served by a child of
    ours, so this works after the fleet is gone; others need a live worker (`workers`: letter -> worker).
    """
    removal = Removal(directory.paths[directory.maker], "stays")
    for site in sorted(sites, key=lambda site: (site.letter != directory.maker, site.letter)):
        if site.read_only and site.letter != directory.maker:
            continue
        if site.spec.launcher == "local":
            removal = remove_locally(site.path, directory.run_id)
        else:
            removal = _remove_there(fleet, workers.get(site.letter), site, directory)
        if not removal.left_behind:
            break
    return removal


def _remove_there(fleet: Asker, worker: Any, site: Site, directory: RunDirectory) -> Removal:
    path = directory.paths[site.letter]
    if worker is None:
        return Removal(path, "stays", (f"{site.spec.text}: {path}: no worker is left there",))
    try:
        answer = ask(
            fleet, worker, site.spec, "remove_run_directory", site.path, directory.run_id, REMOVAL_DEADLINE_S,
            deadline_s=REMOVAL_DEADLINE_S + STALL_DEADLINE_S,
        )  # fmt: skip
    except FsconformError as error:
        return Removal(path, "stays", (f"{site.spec.text}: {path}: {error}",))
    return removal_from(path, answer)


def clean(mount: str, deadline_s: float = REMOVAL_DEADLINE_S) -> tuple[Removal, ...]:
    """Remove the directories of earlier runs directly below `mount`: only those that carry our marker.

    Directories of our name without the marker are left alone and come back as `refused`. Raises CannotTestError
    for a path that cannot be listed or does not answer.
    """
    from fsconform.run import marks

    mount = os.path.abspath(mount)
    try:
        found = call_in_child(marks, "find_marks", [mount], STALL_DEADLINE_S)
    except ChildFailedError as error:
        raise CannotTestError(f"{mount}: {error}") from error
    if isinstance(found, Stuck):
        raise CannotTestError(f"{mount}: hung: {found}; see whether its server runs and answers, then try again")
    if found["errno"]:
        raise CannotTestError(f"{mount}: cannot be listed ({found['errno']}); give the directory that was tested")
    removals = []
    for name, run_id, state in found["directories"]:
        if state != "ours":
            removals.append(Removal(f"{mount.rstrip('/')}/{name}", f"refused: {state}"))
        else:
            removals.append(remove_locally(mount, run_id, deadline_s))
    return tuple(removals)
