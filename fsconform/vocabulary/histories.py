"""Histories: what workers did, as columns on one time axis (integer nanoseconds)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from fsconform.vocabulary.programs import Program

Ints = npt.NDArray[np.int64]
INF = 1 << 62
"""The return time of what never returned."""


@dataclass(frozen=True, slots=True)
class LaneColumns:
    """The events of one lane over R rounds of S steps: every array has the shape (R, S)."""

    invoked: Ints
    """ns. Never later than the moment the call was made; for looks exactly then (a stamp of their own)."""
    returned: Ints
    """ns. Never earlier than the moment the call came back; INF where it did not."""
    errno: Ints
    """0 = success, see `errnos`."""
    value: Ints
    detail: Ints


@dataclass(frozen=True, slots=True)
class RoundHistory:
    """R rounds of one program. `error_ns[k]` is the half-width of lane k's clock error on the common axis."""

    program: Program
    lanes: tuple[LaneColumns, ...]
    error_ns: tuple[int, ...]
    lost: dict[int, str] = field(default_factory=dict)
    """Lane number -> why its worker is gone; its rounds that were not finished carry LOST and NOT_RUN."""

    @property
    def rounds(self) -> int:
        """Number of rounds."""
        return int(self.lanes[0].invoked.shape[0]) if self.lanes else 0

    def widened(self) -> RoundHistory:
        """Every event widened by its lane's clock error: what an oracle may be given."""
        lanes = tuple(
            LaneColumns(
                lane.invoked - error,
                np.where(lane.returned >= INF, INF, lane.returned + error),
                lane.errno, lane.value, lane.detail,
            )
            for lane, error in zip(self.lanes, self.error_ns, strict=True)
        )  # fmt: skip
        return RoundHistory(self.program, lanes, tuple(0 for _ in lanes), self.lost)

    def events(self, round_number: int) -> Iterator[dict[str, Any]]:
        """One round as plain records in order of invocation, times relative to the first one (for witnesses)."""
        from fsconform.vocabulary.errnos import name_of

        rows: list[dict[str, Any]] = []
        for number, (lane, columns) in enumerate(zip(self.program.lanes, self.lanes, strict=True)):
            for k, step in enumerate(lane.steps):
                invoked, returned = (
                    int(columns.invoked[round_number, k]),
                    int(columns.returned[round_number, k]),
                )
                rows.append(
                    {
                        "worker": number, "site": lane.site, "seq": k, "step": step.kind, "path": step.path,
                        "other": step.other, "invoked_ns": invoked,
                        "returned_ns": None if returned >= INF else returned,
                        "errno": name_of(int(columns.errno[round_number, k])),
                        "value": int(columns.value[round_number, k]), "detail": int(columns.detail[round_number, k]),
                    }
                )  # fmt: skip
        start = min((row["invoked_ns"] for row in rows), default=0)
        for row in sorted(rows, key=lambda row: row["invoked_ns"]):
            row["invoked_ns"] -= start
            if row["returned_ns"] is not None:
                row["returned_ns"] -= start
            yield row
