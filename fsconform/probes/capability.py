"""Family `capability`: does one call work here, and does it do what it says? Asked with free targets.

Each feature is a short program; one step is the question (its errno is the answer), later steps look whether a
success had its effect.
"""

from __future__ import annotations

import errno
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fsconform.probes.experiment import Experiment, round_witness
from fsconform.probes.visibility import written
from fsconform.vocabulary.blocks import PAGE, Content, block_key
from fsconform.vocabulary.cells import Cell
from fsconform.vocabulary.errnos import OK, Outcome, classify, name_of
from fsconform.vocabulary.histories import LaneColumns, RoundHistory
from fsconform.vocabulary.observations import Observation
from fsconform.vocabulary.programs import Lane, Program
from fsconform.vocabulary.steps import Step

BARRIER = Step("barrier")
Bools = npt.NDArray[np.bool_]
TRY, UNLOCK = 1, 8
ATTRIBUTE = "user.fsconform"


@dataclass(frozen=True, slots=True)
class Feature:
    """What is asked, and what shows that a success was true.

    `steps(key)` end with the looks; `question` and `proof` are indexes into them; `proved` says per round whether
    the looks agree with a success.
    """

    steps: Callable[[str], tuple[Step, ...]]
    question: int
    proved: Callable[[LaneColumns], Bools]
    effect: str


def _exact(column: LaneColumns, k: int, version: int) -> Bools:
    wanted = int(Content.EXACT) | version << 8
    result: Bools = (column.errno[:, k] == OK) & (column.value[:, k] == wanted)
    return result


def _read(path: str, key: str) -> Step:
    return Step("open_read", path, key=key)


def _both(key: str, kind: str) -> tuple[Step, ...]:
    return (*written("x", key, PAGE, 1), *written("y", key, PAGE, 2), Step(kind, "x", "y"),
            _read("x", key), _read("y", key))  # fmt: skip


FEATURES: dict[str, Feature] = {
    "link": Feature(
        lambda key: (*written("x", key, PAGE, 1), Step("link", "x", "y"), _read("y", key)),
        3, lambda c: _exact(c, 4, 1), "the second name shows the same content",
    ),
    "rename-noreplace": Feature(
        # A free target first; then a taken one, which must be refused and left alone.
        lambda key: (*written("x", key, PAGE, 1), Step("rename_noreplace", "x", "y"), *written("z", key, PAGE, 2),
                     Step("rename_noreplace", "z", "y"), _read("y", key)),
        3, lambda c: (c.errno[:, 7] == errno.EEXIST) & _exact(c, 8, 1), "a taken target is refused and left alone",
    ),
    "rename-exchange": Feature(
        lambda key: _both(key, "rename_exchange"),
        6, lambda c: _exact(c, 7, 2) & _exact(c, 8, 1), "both names are there, with each other's content",
    ),
    "xattr": Feature(
        lambda key: (*written("x", key, PAGE), Step("setxattr", "x", ATTRIBUTE, key=key),
                     Step("getxattr", "x", ATTRIBUTE, key=key)),
        3, lambda c: (c.errno[:, 4] == OK) & (c.value[:, 4] == 1), "the attribute reads back as it was set",
    ),
    "o-direct": Feature(
        lambda key: (*written("x", key, PAGE, 1), Step("open_direct", "x", key=key)),
        3, lambda c: _exact(c, 3, 1), "the content is right",
    ),
    "mmap": Feature(
        lambda key: (*written("x", key, PAGE, 1), Step("mmap_read", "x", key=key)),
        3, lambda c: _exact(c, 3, 1), "the content is right",
    ),
    "fallocate": Feature(
        lambda key: (Step("excl_create", "x"), Step("fallocate", size=PAGE), Step("close"), Step("stat", "x")),
        1, lambda c: c.value[:, 3] == PAGE, "the file has the reserved length",
    ),
    "o-tmpfile": Feature(
        lambda key: (Step("open_tmpfile", "."), Step("write", key=key, size=PAGE), Step("fstat_held"), Step("close"),
                     Step("scandir", ".")),
        0, lambda c: (c.value[:, 2] == PAGE) & (c.detail[:, 4] == 0), "the file has no name",
    ),
    "fsync-dir": Feature(
        lambda key: (Step("fsync_dir", "."),), 0, lambda c: c.errno[:, 0] == OK, "it returns success",
    ),
}  # fmt: skip
LOCKS = {"flock": "flock", "fcntl-lock": "fcntl_lock"}
"""Feature -> the step that takes the lock."""


def _word(cell: Cell) -> str:
    return cell.property_id.partition(".")[2]


def support(cells: Sequence[Cell], letters: Sequence[str], salt: str) -> Experiment:
    """One feature at one site."""
    cell = cells[0]
    name = f"capability-{_word(cell)}-{cell.acting}"
    steps = FEATURES[_word(cell)].steps(block_key(salt, name))
    program = Program((Lane(cell.acting, steps),))
    return Experiment(name, program, tuple(cells), _observe_support, 2 * PAGE)


def _observe_support(cell: Cell, history: RoundHistory) -> Observation:
    feature, lane = FEATURES[_word(cell)], history.lanes[0]
    told = lane.errno[:, feature.question]
    works = told == OK
    guilty = works & ~feature.proved(lane)
    silent = [n for n in np.unique(told) if classify(int(n)) in (Outcome.OPEN, Outcome.ABSENT)]
    outcomes = Counter("works" if number == OK else name_of(int(number)) for number in told)
    refusals = told[~works & ~np.isin(told, silent)]
    witness = None
    if guilty.any():
        first = int(np.flatnonzero(guilty)[0])
        step = history.program.lanes[0].steps[feature.question].kind
        story = f"expected: {step} told success, so {feature.effect}; got: success without that effect"
        witness = round_witness(history, first, story, [(0, feature.question)])
    elif len(refusals):
        first = int(np.flatnonzero(told == refusals[0])[0])
        step = history.program.lanes[0].steps[feature.question].kind
        witness = round_witness(history, first, f"expected: {step} works; got: {name_of(int(refusals[0]))}",
                                [(0, feature.question)])  # fmt: skip
    refused = name_of(int(refusals[0])) if len(refusals) else "works" if works.any() else ""
    return Observation(
        attempted=history.rounds, informative=int((~np.isin(told, silent)).sum()), violations=int(guilty.sum()),
        outcomes=dict(outcomes.most_common()), refused=refused, witness=witness,
        reason="" if refused else "the call neither worked nor was refused",
    )  # fmt: skip


def exclusion(cells: Sequence[Cell], letters: Sequence[str], salt: str) -> Experiment:
    """One site holds a lock while the other tries to take it."""
    cell = cells[0]
    step = LOCKS[_word(cell)]
    name = f"lock-{_word(cell)}-{cell.direction}"
    holder = (
        Step("excl_create", "lock", fd=1), Step("close", fd=1), Step("open", "lock"), Step(step, arg=TRY), BARRIER,
        BARRIER, Step(step, arg=UNLOCK), Step("close"),
    )  # fmt: skip
    contender = (BARRIER, Step("open", "lock"), Step(step, arg=TRY), BARRIER, Step("close"))
    program = Program((Lane(cell.acting, holder), Lane(cell.observing, contender)))
    return Experiment(name, program, tuple(cells), _observe_exclusion, 0)


def _observe_exclusion(cell: Cell, history: RoundHistory) -> Observation:
    holder, contender = history.lanes
    held, tried = holder.errno[:, 3], contender.errno[:, 2]
    refusal = next((int(n) for n in np.unique(held) if n != OK and classify(int(n)) is Outcome.REFUSED), None)
    if refusal is not None and not (held == OK).any():
        word = name_of(refusal)
        return Observation(history.rounds, history.rounds, refused=word, outcomes={f"refused: {word}": history.rounds})
    busy = np.isin(tried, (errno.EAGAIN, errno.EACCES))
    asked = (held == OK) & (busy | (tried == OK))
    guilty = asked & ~busy
    outcomes = Counter("granted to both" if number == OK else f"told {name_of(int(number))}" for number in tried)
    witness = None
    if guilty.any():
        first = int(np.flatnonzero(guilty)[0])
        story = "expected: a lock that another site holds is refused with EAGAIN; got: granted to both"
        witness = round_witness(history, first, story, [(0, 3), (1, 2)])
    return Observation(
        attempted=history.rounds, informative=int(asked.sum()), violations=int(guilty.sum()),
        outcomes=dict(outcomes.most_common()), witness=witness,
        reason="" if asked.all() else f"{int((~asked).sum())} rounds could not be prepared",
    )  # fmt: skip


BUILDERS = {f"capability.{word}": support for word in FEATURES} | {f"capability.{word}": exclusion for word in LOCKS}
"""Property -> what builds the experiment that serves its cells."""
