"""What `fsconform replay` prints."""

from __future__ import annotations

from collections.abc import Iterator

from fsconform.report.escaping import shorten_keys, visible
from fsconform.report.witnesses import program_lines, timeline
from fsconform.run.replay import Replayed
from fsconform.vocabulary.observations import Witness
from fsconform.vocabulary.stored_witnesses import StoredWitness


def replay_lines(stored: StoredWitness, replayed: Replayed) -> Iterator[str]:
    """The program, the timeline of the first round that shows it, and `k of n`. Printable, one line each."""
    result = replayed.replay
    witness = Witness(stored.program.to_json(), result.events, stored.story)
    yield visible(stored.name or f"{stored.kind} ({stored.property_id})")
    yield f"  {shorten_keys(visible(stored.story))}"
    yield from (f"  {line}" for line in program_lines(witness))
    moments = timeline(witness)
    yield from (f"  {m.when:>12}  {m.where}  {m.what}  {m.result}" for m in moments)
    yield from (f"  incident: {visible(line)}" for line in replayed.incidents)
    yield from (f"  left behind: {visible(line)}" for line in replayed.left_behind)
    yield f"reproduced {result.failures} of {result.rounds}"
