"""What experiments in rounds have in common: where steps stand, what looks say in words, and the observation of it all.

A round is *able* where it could have shown a violation: what had to be prepared was, and the look came back. What an
open outcome says (EIO, a worker that was lost) is no evidence, unless a probe says so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

import numpy as np
import numpy.typing as npt

from fsconform.probes.experiment import round_witness
from fsconform.vocabulary.blocks import Content
from fsconform.vocabulary.errnos import OK, Outcome, classify, name_of
from fsconform.vocabulary.histories import Ints, RoundHistory
from fsconform.vocabulary.observations import Observation
from fsconform.vocabulary.programs import Program
from fsconform.vocabulary.steps import Step

BARRIER = Step("barrier")
Bools = npt.NDArray[np.bool_]
Place = tuple[int, int]
"""(lane, step)"""


def places(program: Program, lane: int, *kinds: str) -> list[int]:
    """Indexes of the steps of these kinds in one lane."""
    return [k for k, step in enumerate(program.lanes[lane].steps) if step.kind in kinds]


def all_done(history: RoundHistory, lane: int, steps: Sequence[int]) -> Bools:
    """Rounds in which all these steps of a lane were told success."""
    return np.asarray((history.lanes[lane].errno[:, steps] == OK).all(axis=1), np.bool_)


def written_whole(history: RoundHistory, lane: int) -> Bools:
    """Rounds in which every write of a lane took all its bytes, and every close and fsync was told success."""
    steps = history.program.lanes[lane].steps
    writes = places(history.program, lane, "write", "write_held")
    sizes = np.array([steps[k].size for k in writes], np.int64)
    full = (history.lanes[lane].value[:, writes] == sizes).all(axis=1)
    done = all_done(history, lane, places(history.program, lane, "write", "write_held", "close", "fsync"))
    return np.asarray(full & done, np.bool_)


def is_exact(history: RoundHistory, place: Place, version: int = 0) -> Bools:
    """Rounds in which a content look found exactly the bytes of this version."""
    lane, k = place
    columns = history.lanes[lane]
    wanted = int(Content.EXACT) | version << 8
    return np.asarray((columns.errno[:, k] == OK) & (columns.value[:, k] == wanted), np.bool_)


def is_wrong(history: RoundHistory, place: Place, version: int = 0) -> Bools:
    """Rounds in which a content look came back with other bytes than those of this version."""
    lane, k = place
    return np.asarray((history.lanes[lane].errno[:, k] == OK) & ~is_exact(history, place, version), np.bool_)


def content_word(errno: int, value: int) -> str:
    """`exact`, `short of version 2`, `ENOENT`: a content look in words."""
    if errno != OK:
        return name_of(errno)
    version = value >> 8
    return Content(value & 0xFF).name.lower() + (f" of version {version}" if version else "")


def content_words(history: RoundHistory, looks: Sequence[Place]) -> list[str]:
    """One round per entry, its content looks in words; looks that agree are told once."""
    told = []
    for k in range(history.rounds):
        rows = [(history.lanes[lane], at) for lane, at in looks]
        words = [content_word(int(lane.errno[k, at]), int(lane.value[k, at])) for lane, at in rows]
        told.append(", ".join(dict.fromkeys(words)))
    return told


def refusal_of(told: Ints) -> str:
    """The errno with which a call was refused in every round; empty where it ever worked, or said nothing."""
    numbers = np.unique(told)
    if len(numbers) and all(classify(int(number)) is Outcome.REFUSED for number in numbers):
        return name_of(int(numbers[0]))
    return ""


def refused(history: RoundHistory, word: str) -> Observation:
    """What is told of a call that was refused in every round."""
    return Observation(history.rounds, 0, refused=word, outcomes={f"refused: {word}": history.rounds})


def observe_rounds(
    history: RoundHistory, able: Bools, guilty: Bools, words: Sequence[str], expected: str,
    looks: Collection[Place] = (), missing: str = "could not be prepared",
) -> Observation:  # fmt: skip
    """An observation with one outcome in words per round, and the first guilty round as its witness.

    `looks`: what the judgement rests on, marked in the witness. `missing`: why rounds are not informative.
    """
    informative = able | guilty
    witness = None
    if guilty.any():
        first = int(np.flatnonzero(guilty)[0])
        witness = round_witness(history, first, f"expected: {expected}; got: {words[first]}", looks)
    silent = history.rounds - int(informative.sum())
    return Observation(
        attempted=history.rounds, informative=int(informative.sum()), violations=int(guilty.sum()),
        outcomes=dict(Counter(words).most_common()), witness=witness,
        reason=f"{silent} of {history.rounds} rounds {missing}" if silent else "",
    )  # fmt: skip
