"""Mutants of a full filesystem: errors that come late, or never. `capacity` says when it is full."""

from __future__ import annotations

import errno

from fsconform.lab.calls import Call, RefusalError
from fsconform.lab.inodes import Handle
from fsconform.lab.knobs import Knobs
from fsconform.lab.model import Lab
from fsconform.lab.mutants.registry import BY_CALLS, mutant


def _swallow(lab: Lab) -> set[int]:
    """Writes that do not fit say success and store nothing; the numbers of the handles they came by."""
    write = lab.operations.write
    swallowed: set[int] = set()

    def accept(call: Call, handle: Handle, offset: int, data: memoryview, flags: int) -> int:
        try:
            return write(call, handle, offset, data, flags)
        except RefusalError as refusal:
            if refusal.errno != errno.ENOSPC:
                raise
            swallowed.add(handle.number)
            return len(data)

    lab.operations.write = accept
    return swallowed


@mutant(
    "enospc-at-close",
    "on a full filesystem writes say success, and close says ENOSPC",
    "llvm/llvm-project issue 56501; cctools issue 2784: AFS and NFS store at close",
    (),
    shown_by=BY_CALLS,
)
def enospc_at_close(lab: Lab, knobs: Knobs) -> None:
    """fsync says so, too."""
    swallowed, flush, sync = _swallow(lab), lab.operations.flush, lab.operations.sync

    def close(call: Call, handle: Handle, owner: int) -> None:
        flush(call, handle, owner)
        if handle.number in swallowed:
            raise RefusalError(errno.ENOSPC)

    def synced(call: Call, handle: Handle, data_only: bool) -> None:
        if handle.number in swallowed:
            raise RefusalError(errno.ENOSPC)
        sync(call, handle, data_only)

    lab.operations.flush, lab.operations.sync = close, synced


@mutant(
    "enospc-never-told",
    "on a full filesystem writes, fsync and close say success, and nothing is stored",
    "ceph/ceph pull request 24846: a quota that nobody tells the client of",
    (),
    shown_by=BY_CALLS,
)
def enospc_never_told(lab: Lab, knobs: Knobs) -> None:
    """The file keeps what fitted."""
    _swallow(lab)


@mutant(
    "edquot-at-close",
    "beyond the quota writes say success, and close says EDQUOT",
    "llvm/llvm-project issue 56501: an NFS quota that is told when nobody listens any more",
    (),
    shown_by=BY_CALLS,
)
def edquot_at_close(lab: Lab, knobs: Knobs) -> None:
    """fsync says success."""
    swallowed, flush = _swallow(lab), lab.operations.flush

    def close(call: Call, handle: Handle, owner: int) -> None:
        flush(call, handle, owner)
        if handle.number in swallowed:
            raise RefusalError(errno.EDQUOT)

    lab.operations.flush = close


@mutant(
    "full-rename-loses-target",
    "on a full filesystem a rename over a file fails with ENOSPC, and the file that was there is gone",
    "DataBiosphere/toil issue 4333: rename as removal and creation",
    (),
    shown_by=BY_CALLS,
)
def full_rename_loses_target(lab: Lab, knobs: Knobs) -> None:
    """Full: less than 64 KiB left."""
    rename, unlink, store = lab.operations.rename, lab.operations.unlink, lab.store

    def fail(call: Call, parent: int, name: bytes, new_parent: int, new_name: bytes, flags: int) -> None:
        with store.lock:
            full = store.capacity - store.used < 1 << 16
            if not full or flags or new_name not in store.directory(new_parent) or not knobs.strikes(call):
                rename(call, parent, name, new_parent, new_name, flags)
                return
            unlink(call, new_parent, new_name)
            raise RefusalError(errno.ENOSPC)

    lab.operations.rename = fail
