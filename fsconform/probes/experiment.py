"""An experiment in rounds: one program, performed many times in fresh directories, that serves several cells."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from fsconform.vocabulary.cells import Cell
from fsconform.vocabulary.histories import RoundHistory
from fsconform.vocabulary.observations import Observation, Witness
from fsconform.vocabulary.programs import Program

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


def round_witness(
    history: RoundHistory, round_number: int, story: str, guilty: Collection[tuple[int, int]] = ()
) -> Witness:
    """The events of one round, with the program that made them; `guilty`: (lane, step) of what cannot be together."""
    return Witness(history.program.to_json(), history.witness_events(round_number, guilty), story)


def clock_note(history: RoundHistory) -> str:
    """What a reader must know of the clocks where too few overlaps could be proved, as the end of a sentence."""
    if history.clock_fault:
        return f" ({history.clock_fault})"
    error = max((int(history.error_between(0, n).max(initial=0)) for n in range(1, len(history.lanes))), default=0)
    return f" (clocks compared to within {error / 1e6:.3f} ms)" if error else ""
