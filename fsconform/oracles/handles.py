"""Close-to-open by handle: whoever opens after a writer's close must read what it wrote (nfs(5), session semantics).

A read through a handle is a look that lasts from the open of the handle to the end of the read; a version is written
from the first write (or the open for writing) to the return of the close (`commit` level: of the fsync). On these
intervals the staleness of `replaceable` is exactly close-to-open: a finding iff it is positive. It applies to data and
size through that handle; stat and names are other registers. Versions must be whole in every read (see `content`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fsconform.oracles.replaceable import judge_versions
from fsconform.oracles.segments import After, Until
from fsconform.vocabulary.histories import INF, Ints


@dataclass(frozen=True, slots=True)
class HandleReport:
    """`staleness`: ns per read, how long before its open a newer version had been closed; INF: from the future."""

    staleness: Ints
    opportunities: int


def judge_handles(
    write_name: Ints, write_version: Ints, opened_for_write: Ints, closed: Ints,
    read_name: Ints, read_version: Ints, opened: Ints, read_returned: Ints,
) -> HandleReport:  # fmt: skip
    """Close-to-open over many names; the first four arrays describe writes, the others reads.

    `closed`: ns at which close (or fsync) of the writer returned; INF where it did not or was told an open outcome.
    Version 0 is what the file held at first.
    """
    is_write = np.repeat([True, False], [len(write_name), len(read_name)])
    report = judge_versions(
        np.r_[write_name, read_name], np.r_[write_version, read_version], is_write,
        np.r_[opened_for_write, opened], np.r_[closed, read_returned],
    )  # fmt: skip
    return HandleReport(report.staleness[~is_write], report.opportunities)


@dataclass(frozen=True, slots=True)
class GrowthReport:
    """Lengths seen of files that one writer each lets grow, per look."""

    short: Ints
    """Bytes by which a look was surely too short."""
    long: Ints
    """Bytes by which a look was surely too long (a length that nobody had begun to write)."""
    staleness: Ints
    """ns for which a greater length had surely been there when a short look began; 0 else."""


def judge_growth(
    write_name: Ints, length: Ints, began: Ints, closed: Ints,
    look_name: Ints, seen: Ints, opened: Ints, look_returned: Ints,
) -> GrowthReport:  # fmt: skip
    """Growth by one writer per file: legal is any length from the last one closed before the look was opened to the
    last one whose write began before the look ended; lengths ascend per name, 0 at first.

    `closed`: ns, return of the close that published the length; INF where that is not known.
    """
    before = Until(write_name, closed, look_name, opened - 1)
    least = before.maximum(length, 0)
    most = Until(write_name, began, look_name, look_returned).maximum(length, 0)
    short = np.maximum(0, least - seen)
    since = _since(write_name, length, closed, look_name, seen)
    return GrowthReport(
        short, np.maximum(0, seen - most), np.where(short > 0, np.maximum(0, opened - since), 0)
    )  # fmt: skip


def _since(write_name: Ints, length: Ints, closed: Ints, look_name: Ints, seen: Ints) -> Ints:
    """Earliest close of a greater length than was seen."""
    # Lengths take the place of times: rows later than the query are those of greater length.
    return After(write_name, length, look_name, seen).minimum(closed, INF)
