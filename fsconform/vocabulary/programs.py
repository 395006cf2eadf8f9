"""Programs: lists of steps, one per worker, with the points where they wait for one another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fsconform.vocabulary.steps import Step

PROGRAM_FORMAT = 1


@dataclass(frozen=True, slots=True)
class Lane:
    """What one worker does in a program, and the letter of the site it does it at."""

    site: str
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Program:
    """Lanes that are performed at the same time, in a fresh directory per round.

    All lanes start together; a `barrier` step is one more meeting point, so every lane must have the same number
    of barriers. `directories` are made (below the round's directory) before the round, by the first lane's site.
    Raises ValueError where the numbers of barriers differ.
    """

    lanes: tuple[Lane, ...]
    directories: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    """Names of interest, below the round's directory, for oracles and witnesses."""

    def __post_init__(self) -> None:
        if len({sum(step.kind == "barrier" for step in lane.steps) for lane in self.lanes}) > 1:
            raise ValueError("every lane of a program needs the same number of barriers")

    def to_json(self) -> dict[str, Any]:
        """A replayable form (format number included)."""
        return {
            "format": PROGRAM_FORMAT,
            "directories": list(self.directories),
            "names": list(self.names),
            "lanes": [{"site": lane.site, "steps": [step.to_wire() for step in lane.steps]} for lane in self.lanes],
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Program:
        """The inverse of `to_json`. Raises ValueError for another format, KeyError for a missing field."""
        if data["format"] != PROGRAM_FORMAT:
            raise ValueError(f"program format {data['format']!r}, this version reads {PROGRAM_FORMAT}")
        lanes = tuple(
            Lane(lane["site"], tuple(Step.from_wire(tuple(wire)) for wire in lane["steps"])) for lane in data["lanes"]
        )
        return cls(lanes, tuple(data["directories"]), tuple(data["names"]))

    def __str__(self) -> str:
        """For people: one line per lane."""
        return "\n".join(
            f"worker {number} at {lane.site}: " + "; ".join(map(str, lane.steps))
            for number, lane in enumerate(self.lanes)
        )
