"""Witnesses as files, and performing them again: `k of n`."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fsconform.search.encoding import ENCODING
from fsconform.search.hunting import never
from fsconform.search.ledger import Examine, Perform, Rule
from fsconform.vocabulary.errors import CannotTestError
from fsconform.vocabulary.findings import Finding
from fsconform.vocabulary.histories import RoundHistory
from fsconform.vocabulary.programs import Program

WITNESS_FORMAT = 1
MESSAGE = 32
"""Rounds performed at once."""


@dataclass(frozen=True, slots=True)
class StoredWitness:
    """A program and what it is expected to show."""

    kind: str
    property_id: str
    story: str
    program: Program
    seed: int
    encoding: int
    """Version of the byte encoding that the program was drawn with; the program itself does not depend on it."""


@dataclass(frozen=True, slots=True)
class Replay:
    """`failures` of `rounds` showed what was expected; `events` are those of the first one, empty where none did."""

    failures: int
    rounds: int
    story: str = ""
    events: tuple[dict[str, Any], ...] = ()

    def __str__(self) -> str:
        return f"reproduced in {self.failures} of {self.rounds} rounds"


def witness_json(finding: Finding) -> dict[str, Any]:
    """The replayable form of a finding of the search."""
    program = dict(finding.witness.program)
    seed, encoding = program.pop("seed", 0), program.pop("encoding", ENCODING)
    return {
        "format": WITNESS_FORMAT, "kind": finding.kind, "property": finding.property_id, "story": finding.story,
        "seed": seed, "encoding": encoding, "failures": finding.failures, "rounds": finding.rounds,
        "program": program, "events": [dict(event) for event in finding.witness.events],
    }  # fmt: skip


def save_witness(finding: Finding, path: Path) -> None:
    """Writes a finding as a witness file (JSON)."""
    path.write_text(json.dumps(witness_json(finding), indent=1) + "\n")


def load_witness(path: Path) -> StoredWitness:
    """Reads a witness file. Raises CannotTestError, naming the file and what is wrong with it."""
    try:
        data = json.loads(path.read_text())
        if data["format"] != WITNESS_FORMAT:
            raise ValueError(f"format {data['format']!r}, this version reads {WITNESS_FORMAT}")
        return StoredWitness(
            str(data["kind"]), str(data["property"]), str(data["story"]), Program.from_json(data["program"]),
            int(data["seed"]), int(data["encoding"]),
        )  # fmt: skip
    except OSError as error:
        raise CannotTestError(f"witness {path}: {error.strerror}") from None
    except KeyError as error:
        raise CannotTestError(f"witness {path}: the field {error} is missing") from None
    except (ValueError, TypeError) as error:
        raise CannotTestError(f"witness {path}: {error}") from None


def replay(
    witness: StoredWitness, perform: Perform, examine: Examine, rule: Rule, sites: Collection[str], rounds: int,
    stop: Callable[[], bool] = never,
) -> Replay:  # fmt: skip
    """Performs the program `rounds` times, in messages of at most `MESSAGE` rounds; fewer where `stop()`.

    Raises CannotTestError where the program needs sites that are not there.
    """
    needed = {lane.site for lane in witness.program.lanes}
    if missing := sorted(needed - set(sites)):
        raise CannotTestError(
            f"the witness needs {len(needed)} sites ({', '.join(sorted(needed))}); missing: {', '.join(missing)}"
        )
    result = Replay(0, 0)
    while result.rounds < rounds and not stop():
        result = _added(result, witness, perform(witness.program, min(MESSAGE, rounds - result.rounds)), examine, rule)
    return result


def _added(result: Replay, witness: StoredWitness, history: RoundHistory, examine: Examine, rule: Rule) -> Replay:
    shown: dict[int, str] = {}
    for widened in history.widenings():
        for anomaly in examine(widened).anomalies:
            if (anomaly.kind, anomaly.property_id) == (witness.kind, witness.property_id):
                shown |= dict.fromkeys(rule(anomaly, widened).rounds, anomaly.story)
    story, events = result.story, result.events
    if shown and not events:
        first = min(shown)
        story, events = shown[first], tuple(history.events(first))
    return Replay(result.failures + len(shown), result.rounds + history.rounds, story, events)
