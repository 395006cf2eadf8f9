"""Small histories as the columns that oracles take."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fsconform.oracles.once import OnceKind, OnceReport
from fsconform.oracles.outcomes import Bools
from fsconform.vocabulary.histories import Ints
from tests.oracles.twins import Op


def once_columns(histories: Sequence[Sequence[Op]]) -> tuple[Ints, Ints, Ints, Ints]:
    """(name, kind, invoked, returned) of many histories, the number of the history for the name."""
    rows = [
        (name, int(OnceKind[op.kind.upper()]), op.start, op.end) for name, ops in enumerate(histories) for op in ops
    ]
    name, kind, invoked, returned = np.array(rows, np.int64).reshape(-1, 4).T
    return name, kind, invoked, returned


def once_verdicts(report: OnceReport) -> list[tuple[int, int]]:
    """(Delta, staleness) per name."""
    return list(zip(report.delta.tolist(), report.stale.tolist(), strict=True))


def register_columns(histories: Sequence[Sequence[Op]]) -> tuple[Ints, Ints, Bools, Ints, Ints]:
    """(name, version, is_write, invoked, returned) of many histories, the number of the history for the name."""
    rows = [(name, op.value, op.kind == "write", op.start, op.end) for name, ops in enumerate(histories) for op in ops]
    name, version, write, invoked, returned = np.array(rows, np.int64).reshape(-1, 5).T
    return name, version, write > 0, invoked, returned
