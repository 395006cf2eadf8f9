"""An experiment in rounds: one program, performed many times in fresh directories, that serves several cells."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from fsconform.vocabulary.cells import Cell
from fsconform.vocabulary.errnos import NOT_RUN
from fsconform.vocabulary.histories import INF, RoundHistory
from fsconform.vocabulary.observations import Observation, Witness
from fsconform.vocabulary.programs import Program

BATCH_ROUNDS, BATCH_BYTES = 55, 256 << 20
"""Rounds and bytes of one message of an experiment: two messages of small files are `quick`'s first batch."""

Observe = Callable[[Cell, RoundHistory], Observation]
"""Pure: what the rounds show about one cell."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """`name` is unique in a plan and names the experiment's directory."""

    name: str
    program: Program
    cells: tuple[Cell, ...]
    observe: Observe
    extra_bytes: int = 0
    """Bytes that one round leaves on the filesystem."""

    @property
    def batch(self) -> int:
        """Rounds per message: as many as it takes to be quick, but no more than space for them can be expected."""
        return max(1, min(BATCH_ROUNDS, BATCH_BYTES // max(1, self.extra_bytes)))


def round_witness(
    history: RoundHistory, round_number: int, story: str, guilty: Collection[tuple[int, int]] = ()
) -> Witness:
    """The events of one round, with the program that made them; `guilty`: (lane, step) of what cannot be together."""
    began = min(int(lane.invoked[0][lane.errno[0] != NOT_RUN].min(initial=INF)) for lane in history.lanes)
    stamps = [lane.returned[round_number] for lane in history.lanes]
    ended = max(int(returned[returned < INF].max(initial=began)) for returned in stamps)
    return Witness(
        history.program.to_json(), history.witness_events(round_number, guilty), story, round_number + 1, ended - began
    )


def clock_note(history: RoundHistory) -> str:
    """What a reader must know of the clocks where too few overlaps could be proved, as the end of a sentence."""
    if history.clock_fault:
        return f" ({history.clock_fault})"
    error = max((int(history.error_between(0, n).max(initial=0)) for n in range(1, len(history.lanes))), default=0)
    return f" (clocks compared to within {error / 1e6:.3f} ms)" if error else ""
