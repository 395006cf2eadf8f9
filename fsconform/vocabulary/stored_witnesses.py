"""Witnesses as files (witness.json): a program, what it showed, and enough to see that again years later."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fsconform.vocabulary.contradictions import Contradiction
from fsconform.vocabulary.programs import Program

WITNESS_FORMAT = 1
"""Changes when an old reader would misread the new form; fields may be added without."""


@dataclass(frozen=True, slots=True)
class StoredWitness:
    """A program and what it is expected to show."""

    kind: str
    """The oracle's word for a find of the search; `cell` for a violated cell."""
    property_id: str
    story: str
    """Expected, got: one line."""
    program: Program
    seed: int
    encoding: int
    """Version of the byte encoding that the program was drawn with; the program itself does not depend on it."""
    name: str = ""
    """The cell's id, or `search: KIND`; empty in files of old versions."""
    expected: str = ""
    source: str = ""
    """Where the promise comes from."""
    failures: int = 0
    rounds: int = 0
    """It showed in `failures` of `rounds` rounds, or trials, of the run."""
    contradictions: tuple[Contradiction, ...] = ()
    """Each of them alone is the violation; empty where only the oracles know it."""
    events: tuple[Mapping[str, Any], ...] = ()
    """Of the round, or trial, that showed it first."""
    recorded: Mapping[str, Any] = field(default_factory=dict)
    """What the run made of it: budget, promise, observation and verdict."""

    @property
    def of_cell(self) -> bool:
        """Whether it is of a cell, not of the search."""
        return self.kind == "cell"

    def to_json(self) -> dict[str, Any]:
        """witness.json."""
        return {
            "format": WITNESS_FORMAT, "name": self.name, "kind": self.kind, "property": self.property_id,
            "story": self.story, "expected": self.expected, "source": self.source, "seed": self.seed,
            "encoding": self.encoding, "failures": self.failures, "rounds": self.rounds,
            "recorded": dict(self.recorded), "program": self.program.to_json(),
            "contradictions": [contradiction.to_json() for contradiction in self.contradictions],
            "events": [dict(event) for event in self.events],
        }  # fmt: skip

    @classmethod
    def from_json(cls, data: Any) -> StoredWitness:
        """The inverse of `to_json`, of any version. Raises KeyError, TypeError or ValueError for anything else."""
        if data["format"] != WITNESS_FORMAT:
            raise ValueError(f"format {data['format']!r}, this version reads {WITNESS_FORMAT}")
        witness = cls(
            str(data["kind"]), str(data["property"]), str(data["story"]), Program.from_json(data["program"]),
            int(data["seed"]), int(data["encoding"]), str(data.get("name", "")), str(data.get("expected", "")),
            str(data.get("source", "")), int(data.get("failures", 0)), int(data.get("rounds", 0)),
            tuple(map(Contradiction.from_json, data.get("contradictions", ()))),
            tuple(map(dict, data.get("events", ()))), dict(data.get("recorded", {})),
        )  # fmt: skip
        for place in {place for found in witness.contradictions for place in found.places}:
            lane, step = place
            if not (0 <= lane < len(witness.program.lanes) and 0 <= step < len(witness.program.lanes[lane].steps)):
                raise ValueError(f"the program has no step {step} in lane {lane}")
        return witness
