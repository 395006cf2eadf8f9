"""Family `atomic`: a name is replaced by rename under readers; one file is moved under looks at both its names.

Rules that keep correct filesystems innocent: reads go to the end of the file, or to the length that fstat of the same
descriptor gave (a stat by path before the open is short everywhere); a whole old version is stale, not torn; "neither
name" counts only where the look at the old name came first, on a name that is renamed once.
"""

from __future__ import annotations

import errno
from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from fsconform.probes.experiment import Experiment, clock_note, round_witness
from fsconform.probes.visibility import written
from fsconform.vocabulary.blocks import SIZES, Content, block_key, block_name
from fsconform.vocabulary.cells import Cell
from fsconform.vocabulary.errnos import OK, Outcome, classify, name_of
from fsconform.vocabulary.histories import INF, RoundHistory
from fsconform.vocabulary.observations import Observation
from fsconform.vocabulary.programs import Lane, Program
from fsconform.vocabulary.steps import Step

BARRIER = Step("barrier")
REPLACEMENTS = {"64k": 6, "1m": 3, "8m": 1}
"""Size axis -> versions that replace the first one in each round."""
READS = {"64k": 24, "1m": 6, "8m": 3}
STAGING = "staging"
"""Directory out of which a cross-directory rename comes."""
PAIRS, PACED_PAIRS = 12, 20
"""Looks at (old name, new name) of the two files of a round of `atomic.order`."""
PACE_NS, DELAY_NS = 200_000, 3_500_000
"""Between paced looks; before the rename of the file that they look at."""
Steps = tuple[tuple[int, int], ...]
"""(lane, step) of some operations."""
PAUSE_NS = 50_000
"""Between two replacements."""
WRONG = (Content.SHORT, Content.LONG, Content.ZERO, Content.FOREIGN, Content.TORN)


def replacement(cells: Sequence[Cell], letters: Sequence[str], salt: str) -> Experiment:
    """One writer renames fresh versions over a name while readers at the observing site read it."""
    cell = cells[0]
    size, observer = cell.axis("size") or "64k", cell.axis("observer") or "open_read"
    publish = cell.axis("publish") or "rename"
    source = f"{STAGING}/.t" if publish == "cross-dir" else ".t"
    name = f"atomic-{publish}-{size}-{observer}-{cell.direction}"
    key = block_key(salt, name)
    path = block_name(key)
    count, length = REPLACEMENTS[size], SIZES[size]
    prepared: list[Step] = [*written(f"{source}1", key, length, version=1), Step("rename", f"{source}1", path)]
    changes: list[Step] = []
    for version in range(2, count + 2):
        prepared += written(f"{source}{version}", key, length, version=version)
        changes += [Step("rename", f"{source}{version}", path), Step("sleep", arg=PAUSE_NS)]
    writer = Lane(cell.acting, (*prepared, BARRIER, *changes))
    # Any version will do; the length says how much there is to read.
    reads = tuple(Step(observer, path, key=key, version=1, size=length) for _ in range(READS[size]))
    readers = tuple(Lane(cell.observing, (BARRIER, *reads)) for _ in range(2))
    program = Program((writer, *readers), (STAGING,) if publish == "cross-dir" else (), (path,))
    return Experiment(name, program, tuple(cells), _observe_replacement, length * (count + 1))


def _reads(history: RoundHistory) -> tuple[npt.NDArray[np.int64], ...]:
    """errno, value, invoked, returned of all reads, each of the shape (R, reads)."""
    at = [k for k, step in enumerate(history.program.lanes[1].steps) if step.kind != "barrier"]
    columns = []
    for choose in ("errno", "value", "invoked", "returned"):
        columns.append(np.concatenate([getattr(lane, choose)[:, at] for lane in history.lanes[1:]], axis=1))
    return tuple(columns)


def _observe_replacement(cell: Cell, history: RoundHistory) -> Observation:
    told, value, invoked, returned = _reads(history)
    writer = history.lanes[0]
    renames = [k for k, step in enumerate(history.program.lanes[0].steps) if step.kind == "rename"]
    published = writer.errno[:, renames[0]] == OK
    error = history.error_between(0, 1)
    first, last = writer.invoked[:, renames[1]] + error, writer.returned[:, renames[-1]] - error
    during = (invoked < last[:, None]) & (returned > first[:, None]) & published[:, None] & (returned < INF)
    content, version = value & 0xFF, value >> 8
    latest = _latest(history, renames, invoked - error[:, None])
    if cell.property_id == "atomic.presence":
        wrong = (told == errno.ENOENT) & published[:, None]
        expected = "a name that is replaced by rename is there at every open"
    else:
        wrong = (told == OK) & (content != int(Content.EXACT)) & published[:, None]
        expected = "every read is one whole version"
    outcomes: Counter[str] = Counter()
    for number, count in zip(*np.unique(told[told != OK], return_counts=True), strict=True):
        outcomes[name_of(int(number))] += int(count)
    good = told == OK
    for kind in WRONG:
        outcomes[kind.name.lower()] += int((good & (content == int(kind))).sum())
    behind = np.where(good & (content == int(Content.EXACT)), np.maximum(latest - version, 0), -1)
    for age, count in zip(*np.unique(behind[behind >= 0], return_counts=True), strict=True):
        outcomes["exact" if age == 0 else f"stale by {int(age)} versions"] += int(count)
    return _rounds(history, during.any(axis=1), wrong, told, value, _looks_of(history), outcomes, expected)


def _looks_of(history: RoundHistory) -> list[Steps]:
    """Column of `_reads` -> (lane, step) of that read."""
    at = [k for k, step in enumerate(history.program.lanes[1].steps) if step.kind != "barrier"]
    return [((lane, k),) for lane in range(1, len(history.lanes)) for k in at]


def _latest(history: RoundHistory, renames: Sequence[int], invoked: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The version whose publish had returned when each read began, shape (R, reads)."""
    returned = history.lanes[0].returned[:, renames]
    counts: npt.NDArray[np.int64] = (returned[:, None, :] < invoked[:, :, None]).sum(axis=2)
    return counts


def _rounds(
    history: RoundHistory, able: npt.NDArray[np.bool_], wrong: npt.NDArray[np.bool_], told: npt.NDArray[np.int64],
    value: npt.NDArray[np.int64], looks: Sequence[Steps], outcomes: Counter[str], expected: str,
) -> Observation:  # fmt: skip
    """`wrong`, `told` and `value` have a column per look, `looks` says which operations that is."""
    guilty = wrong.any(axis=1)
    informative = int((able | guilty).sum())
    witness = None
    if guilty.any():
        first = int(np.flatnonzero(guilty)[0])
        read = int(np.flatnonzero(wrong[first])[0])
        number = int(told[first, read])
        got = name_of(number) if number != OK else Content(int(value[first, read]) & 0xFF).name.lower()
        witness = round_witness(history, first, f"expected: {expected}; got: {got}", looks[read])
    missing = history.rounds - informative
    silent = f"{missing} of {history.rounds} rounds had no look during a change{clock_note(history)}"
    return Observation(
        attempted=history.rounds, informative=informative, violations=int(guilty.sum()),
        outcomes={what: count for what, count in outcomes.most_common() if count}, witness=witness,
        reason=silent if missing else "",
    )  # fmt: skip


def order(cells: Sequence[Cell], letters: Sequence[str], salt: str) -> Experiment:
    """Two files are renamed once each, while another site looks at their old names and then at their new ones.

    The first one is moved at once, under looks that follow each other closely: two workers of one host meet in it. The
    second one is moved a little later, under paced looks: across hosts, where answers from a cache take microseconds
    and the clocks agree to within half a millisecond, only that one is certain to have been moved in the meantime.
    """
    cell = cells[0]
    name = f"order-{cell.direction}"
    keys = [block_key(salt, f"{name}-{which}") for which in ("first", "second")]
    olds, paths = ("old-1", "old-2"), tuple(map(block_name, keys))
    writer = (
        *(step for old, key in zip(olds, keys, strict=True) for step in written(old, key, SIZES["4k"])), BARRIER,
        Step("rename", olds[0], paths[0]), BARRIER, Step("sleep", arg=DELAY_NS), Step("rename", olds[1], paths[1]),
    )  # fmt: skip
    close = (Step("stat", olds[0]), Step("stat", paths[0])) * PAIRS
    paced = (Step("stat", olds[1]), Step("stat", paths[1]), Step("sleep", arg=PACE_NS)) * PACED_PAIRS
    lanes = (Lane(cell.acting, writer), Lane(cell.observing, (BARRIER, *close, BARRIER, *paced)))
    return Experiment(name, Program(lanes, names=paths), tuple(cells), _observe_order, 2 * SIZES["4k"])


def _observe_order(cell: Cell, history: RoundHistory) -> Observation:
    writer, looks = history.lanes
    error = history.error_between(0, 1)
    stats = [k for k, step in enumerate(history.program.lanes[1].steps) if step.kind == "stat"]
    renames = [k for k, step in enumerate(history.program.lanes[0].steps) if step.kind == "rename"]
    old, new = looks.errno[:, stats[::2]], looks.errno[:, stats[1::2]]
    wrong = np.zeros(old.shape, np.bool_)
    able = np.zeros(history.rounds, np.bool_)
    for rename, pairs in zip(renames, (slice(0, PAIRS), slice(PAIRS, None)), strict=True):
        renamed = writer.errno[:, rename] == OK
        gone = (old[:, pairs] == errno.ENOENT) & (new[:, pairs] == errno.ENOENT)
        wrong[:, pairs] = gone & renamed[:, None]
        first, last = stats[::2][pairs][0], stats[1::2][pairs][-1]
        began = looks.invoked[:, first] + error < writer.returned[:, rename]
        ended = looks.returned[:, last] - error > writer.invoked[:, rename]
        np.logical_or(able, began & ended & renamed, out=able)
    outcomes: Counter[str] = Counter()
    outcomes["both"] = int(((old == OK) & (new == OK)).sum())
    outcomes["old only"] = int(((old == OK) & (new == errno.ENOENT)).sum())
    outcomes["new only"] = int(((old == errno.ENOENT) & (new == OK)).sum())
    outcomes["neither"] = int(wrong.sum())
    for number in np.unique(np.concatenate([old, new])):
        if classify(int(number)) in (Outcome.OPEN, Outcome.REFUSED):
            outcomes[name_of(int(number))] = int((old == number).sum() + (new == number).sum())
    expected = "stat(old) = ENOENT and then stat(new) = ENOENT never happens"
    looked = [((1, first), (1, second)) for first, second in zip(stats[::2], stats[1::2], strict=True)]
    return _rounds(history, able, wrong, np.maximum(old, new), new * 0, looked, outcomes, expected)


BUILDERS = {"atomic.presence": replacement, "atomic.content": replacement, "atomic.order": order}
"""Property -> what builds the experiment that serves its cells."""
