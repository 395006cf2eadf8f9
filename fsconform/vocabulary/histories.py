"""Histories: what workers did, as columns on one time axis (integer nanoseconds)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from fsconform.vocabulary.programs import Program

Ints = npt.NDArray[np.int64]
INF = 1 << 62
"""The return time of what never returned."""
UNKNOWN_ERROR = 1 << 60
"""Half-width of the error of a clock of which nothing is known, ns (36 years)."""


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
    """R rounds of one program. `error_ns[k]` is the largest half-width of lane k's clock error on the common axis."""

    program: Program
    lanes: tuple[LaneColumns, ...]
    error_ns: tuple[int, ...]
    lost: dict[int, str] = field(default_factory=dict)
    """Lane number -> why its worker is gone; its rounds that were not finished carry LOST and NOT_RUN."""
    clocks: tuple[int, ...] = ()
    """Lane -> number of the clock it was stamped with: lanes of one clock have no error between them. Empty: each lane
    has a clock of its own."""
    clock_fault: str = ""
    """Why a clock of these lanes says nothing (its error is `UNKNOWN_ERROR` then)."""
    errors: tuple[Ints, ...] = ()
    """Lane -> half-width per round, shape (R,). Empty: `error_ns` in every round."""

    @property
    def rounds(self) -> int:
        """Number of rounds."""
        return int(self.lanes[0].invoked.shape[0]) if self.lanes else 0

    def widened(self) -> RoundHistory:
        """Every event widened by its lane's clock error: what an oracle may be given."""
        return self._changed(self._common_axis())

    def widenings(self) -> tuple[RoundHistory, ...]:
        """All histories that may be given to an oracle, whose findings together hold: one per axis.

        On the axis of one clock its own events are exact and only those of the others are widened, by both errors.
        Sound, and much sharper than the common axis alone: an interval order allows one error per event, not per pair.
        """
        return tuple(self._changed(axis) for axis in self._axes())

    def narrowings(self) -> tuple[RoundHistory, ...]:
        """The same with every event narrowed: what overlaps in one of these has truly overlapped."""
        return tuple(self._changed([-error for error in axis]) for axis in self._axes())

    def error_of(self, lane: int) -> Ints:
        """Half-width of a lane's clock error on the common axis, shape (R,), ns."""
        return self.errors[lane] if self.errors else np.full(self.rounds, self.error_ns[lane], dtype=np.int64)

    def error_between(self, first: int, second: int) -> Ints:
        """Half-width of the error between the stamps of two lanes, shape (R,), ns."""
        clocks = self.clocks or tuple(range(len(self.lanes)))
        if clocks[first] == clocks[second]:
            return np.zeros(self.rounds, dtype=np.int64)
        return self.error_of(first) + self.error_of(second)

    def _common_axis(self) -> list[Ints]:
        return [self.error_of(lane) for lane in range(len(self.lanes))]

    def _axes(self) -> list[list[Ints]]:
        """Half-widths of all lanes, on the common axis and on that of each clock; each set once."""
        lanes = range(len(self.lanes))
        found = [self._common_axis(), *([self.error_between(axis, lane) for lane in lanes] for axis in lanes)]
        return list({b"".join(error.tobytes() for error in errors): errors for errors in found}.values())

    def _changed(self, errors: Sequence[Ints]) -> RoundHistory:
        lanes = tuple(
            LaneColumns(
                lane.invoked - error[:, None],
                np.where(lane.returned >= INF, INF, lane.returned + error[:, None]),
                lane.errno, lane.value, lane.detail,
            )
            for lane, error in zip(self.lanes, errors, strict=True)
        )  # fmt: skip
        return RoundHistory(self.program, lanes, tuple(0 for _ in lanes), self.lost, self.clocks, self.clock_fault)

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

    def witness_events(self, round_number: int, guilty: Collection[tuple[int, int]] = ()) -> tuple[dict[str, Any], ...]:
        """The same for a witness: with the clock error of the lane (`error_ns`, half-width), and `guilty` where the
        event is one of those that cannot be together, given as (lane, step)."""
        return tuple(
            {**event, "error_ns": int(self.error_of(event["worker"])[round_number]),
             "guilty": (event["worker"], event["seq"]) in guilty}
            for event in self.events(round_number)
        )  # fmt: skip
