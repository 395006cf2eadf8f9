"""Content looks: every read judges itself, because the name says what the bytes must be.

Write-once names: before the publish is complete anything goes, after it only the exact bytes. Replaceable names under
rename-over (POSIX.1-2024 rename()): from the first publish on the name is there for every look, and every read is one
whole version.
"""

from __future__ import annotations

import errno as numbers
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from fsconform.oracles.outcomes import Bools, Told, told
from fsconform.vocabulary.blocks import Content
from fsconform.vocabulary.histories import INF, Ints


class Seen(IntEnum):
    """What a content look gave: the classes of `blocks.Content`, then the ways of not reading at all."""

    EXACT = Content.EXACT
    SHORT = Content.SHORT
    LONG = Content.LONG
    ZERO = Content.ZERO
    FOREIGN = Content.FOREIGN
    TORN = Content.TORN
    STALE = 6
    """One whole version, but surely not the current one."""
    ENOENT = 7
    ESTALE = 8
    OTHER = 9
    """Another errno."""
    NOT_RUN = 10


@dataclass(frozen=True, slots=True)
class ContentReport:
    """Arrays have the shape of the looks."""

    seen: Ints
    """`Seen` of every look."""
    stale_by: Ints
    """Whole versions by which an exact read was surely behind when it began; 0 else."""
    broken: Bools
    """Reads that returned bytes they must not return."""
    missing: Bools
    """ENOENT although the name had surely been published before the look began."""
    failed: Bools
    """ESTALE, EIO and other open outcomes that did return, after the publish."""
    judged: int
    """Looks that could have been found broken."""

    @property
    def counts(self) -> Mapping[str, int]:
        """Outcome in words -> looks; `stale by n` is counted per n."""
        return tally(self.seen, self.stale_by)


def seen(errno: Ints, value: Ints) -> Ints:
    """`Seen` of content looks without regard to time; any shape. Unknown content classes count as torn."""
    codes = told(errno)
    content = np.minimum(value & 0xFF, Content.TORN)
    failed = np.where(errno == numbers.ESTALE, Seen.ESTALE, Seen.OTHER)
    other = np.where(codes == Told.ENOENT, Seen.ENOENT, np.where(codes == Told.ABSENT, Seen.NOT_RUN, failed))
    return np.where(codes == Told.DONE, content, other).astype(np.int64)


def judge_write_once(errno: Ints, value: Ints, invoked: Ints, published: Ints, complete: Ints) -> ContentReport:
    """Looks at write-once names; all arrays broadcast against each other.

    `published`: ns at which the publish had returned (INF: never). `complete`: ns from which on the bytes are
    complete: -INF where the name only ever appears complete (rename, link, NOREPLACE of a closed file), the return of
    the writer's close where it was written in place, INF where nothing is known.
    """
    classes = seen(errno, value)
    after = invoked > published
    read = classes <= Seen.TORN
    ripe = read & (invoked > complete)
    return ContentReport(
        seen=classes,
        stale_by=np.zeros(classes.shape, np.int64),
        broken=ripe & (classes != Seen.EXACT),
        missing=after & (classes == Seen.ENOENT),
        failed=after & _failed(errno),
        judged=int(np.count_nonzero(ripe)),
    )


def judge_replaceable(errno: Ints, value: Ints, invoked: Ints, publish_returned: Ints) -> ContentReport:
    """Looks at a name that one writer replaces by rename, each round on its own; shapes (R, n) and (R, V).

    `publish_returned[r, v]`: ns at which the rename of version v + 1 had returned; INF where it did not (it obliges
    nobody). Versions ascend in the order of the writer. A whole version is `STALE` by the number of versions that
    had surely been published after it before the look began.
    """
    classes = seen(errno, value)
    versions = value >> 8
    current = _current_version(invoked, publish_returned)
    behind = np.where((classes == Seen.EXACT) & ~_may_come_late(versions, publish_returned), current - versions, 0)
    behind = np.maximum(0, behind)
    read = classes <= Seen.TORN
    return ContentReport(
        seen=np.where(behind > 0, Seen.STALE, classes).astype(np.int64),
        stale_by=behind,
        broken=read & (classes != Seen.EXACT),
        missing=(current > 0) & (classes == Seen.ENOENT),
        failed=(current > 0) & _failed(errno),
        judged=int(np.count_nonzero(read)),
    )


def tally(classes: Ints, stale_by: Ints | None = None) -> dict[str, int]:
    """Outcome in words -> number of looks; steps that never ran are left out."""
    counts = np.bincount(classes.ravel(), minlength=len(Seen))
    out = {_WORDS[code]: int(counts[code]) for code in Seen if counts[code] and code not in (Seen.NOT_RUN, Seen.STALE)}
    if stale_by is not None:
        behind, number = np.unique(stale_by[stale_by > 0], return_counts=True)
        out |= {f"stale by {int(n)}": int(k) for n, k in zip(behind, number, strict=True)}
    return out


_WORDS = {
    Seen.EXACT: "exact", Seen.SHORT: "short", Seen.LONG: "long", Seen.ZERO: "zero", Seen.FOREIGN: "foreign",
    Seen.TORN: "torn", Seen.STALE: "stale", Seen.ENOENT: "ENOENT", Seen.ESTALE: "ESTALE", Seen.OTHER: "other errno",
    Seen.NOT_RUN: "not run",
}  # fmt: skip


def _failed(errno: Ints) -> Bools:
    return np.asarray((told(errno) == Told.OPEN) & (errno > 0), np.bool_)


def _may_come_late(versions: Ints, publish_returned: Ints) -> Bools:
    """Versions whose publish has an open outcome: it may take effect after later ones; (R, n), (R, V) -> (R, n)."""
    count = publish_returned.shape[1]
    known = (versions >= 1) & (versions <= count)
    padded = np.concatenate([np.zeros((len(publish_returned), 1), np.int64), publish_returned], axis=1)
    late = np.take_along_axis(padded, np.where(known, versions, 0), axis=1) >= INF
    return np.asarray(late, np.bool_)


def _current_version(invoked: Ints, publish_returned: Ints) -> Ints:
    """Highest version whose publish had returned before each look began; (R, n), (R, V) -> (R, n)."""
    ascending = np.arange(1, publish_returned.shape[1] + 1, dtype=np.int64)
    done = (publish_returned[:, None, :] < invoked[:, :, None]) & (publish_returned < INF)[:, None, :]
    return np.asarray(np.max(np.where(done, ascending, 0), axis=2, initial=0), np.int64)
