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
from fsconform.vocabulary.stored_witnesses import StoredWitness

MESSAGE = 32
"""Rounds performed at once."""
ROUNDS, FEWEST = 100, 3
LONGEST_S = 60.0
"""How long the sleeps of all rounds may take together, unless the user asks for more rounds."""


@dataclass(frozen=True, slots=True)
class Replay:
    """`failures` of `rounds` showed what was expected; `events` are those of the first one, empty where none did."""

    failures: int
    rounds: int
    story: str = ""
    events: tuple[dict[str, Any], ...] = ()

    def __str__(self) -> str:
        return f"reproduced in {self.failures} of {self.rounds} rounds"


def fitting_rounds(program: Program) -> int:
    """How often a program is performed where nobody says so: `ROUNDS`, fewer where its sleeps take long."""
    slept = max((sum(step.arg for step in lane.steps if step.kind == "sleep") for lane in program.lanes), default=0)
    return max(FEWEST, min(ROUNDS, int(LONGEST_S * 1e9 / slept))) if slept else ROUNDS


def save_witness(finding: Finding, path: Path) -> None:
    """Writes a finding as a witness file (JSON)."""
    told = dict(finding.witness.program)
    witness = StoredWitness(
        finding.kind, finding.property_id, finding.story, Program.from_json(told), told.get("seed", 0),
        told.get("encoding", ENCODING), failures=finding.failures, rounds=finding.rounds, events=finding.witness.events,
    )  # fmt: skip
    path.write_text(json.dumps(witness.to_json(), indent=1) + "\n")


def load_witness(path: Path) -> StoredWitness:
    """Reads a witness file of this version or an older one. Raises CannotTestError, naming the file and its fault."""
    try:
        return read_witness(path.read_text("utf-8"), f"witness {path}")
    except OSError as error:
        raise CannotTestError(f"witness {path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise CannotTestError(f"witness {path}: {error}") from None


def read_witness(text: str, where: str) -> StoredWitness:
    """The witness that a text of JSON holds. Raises CannotTestError, beginning with `where`."""
    try:
        witness = StoredWitness.from_json(json.loads(text))
    except json.JSONDecodeError as error:
        raise CannotTestError(f"{where}: is no JSON ({error}); give the witness.json of a run") from None
    except KeyError as error:
        raise CannotTestError(f"{where}: the field {error} is missing") from None
    except (ValueError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise CannotTestError(f"{where}: {error}") from None
    if witness.encoding > ENCODING:
        newest = f"this version of fsconform knows encodings up to {ENCODING}"
        raise CannotTestError(f"{where}: drawn with encoding {witness.encoding}, {newest}; replay it with a newer one")
    return witness


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
