"""Family `link`: two names of one file are one file, and it says how many it has.

The observer looks at these names for the first time, so that no attribute comes from a cache of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fsconform.probes.experiment import Experiment
from fsconform.probes.rounds import (
    BARRIER,
    Place,
    all_done,
    content_word,
    is_wrong,
    observe_rounds,
    places,
    refusal_of,
    refused,
)
from fsconform.probes.visibility import written
from fsconform.vocabulary.blocks import PAGE, block_key
from fsconform.vocabulary.cells import Cell
from fsconform.vocabulary.errnos import OK, name_of
from fsconform.vocabulary.histories import RoundHistory
from fsconform.vocabulary.observations import Observation
from fsconform.vocabulary.programs import Lane, Program
from fsconform.vocabulary.steps import Step

NAMES = ("one", "other")


def _linked(key: str) -> tuple[Step, ...]:
    return (*written(NAMES[0], key, PAGE, version=1), Step("link", *NAMES))


def identity(cells: Sequence[Cell], letters: Sequence[str], salt: str) -> Experiment:
    """A gives a file a second name; both sites stat both names, B reads the second one."""
    cell = cells[0]
    name = f"link-identity-{cell.direction}"
    key = block_key(salt, name)
    stats = tuple(Step("stat", word) for word in NAMES)
    actor = (*_linked(key), BARRIER, *stats)
    observer = (BARRIER, *stats, Step("open_read", NAMES[1], key=key, version=1, size=PAGE))
    program = Program((Lane(cell.acting, actor), Lane(cell.observing, observer)), names=NAMES)
    return Experiment(name, program, tuple(cells), _observe_identity, PAGE)


def _observe_identity(cell: Cell, history: RoundHistory) -> Observation:
    linking = places(history.program, 0, "link")
    word = refusal_of(history.lanes[0].errno[:, linking[0]])
    if word:
        return refused(history, word)
    linked = all_done(history, 0, linking)
    looks = [(lane, places(history.program, lane, "stat")) for lane in (0, 1)]
    read = (1, places(history.program, 1, "open_read")[0])
    guilty = linked & is_wrong(history, read, 1)
    able = linked.copy()
    for lane, stats in looks:
        known = all_done(history, lane, stats)
        inodes = history.lanes[lane].detail[:, stats]
        guilty |= linked & known & (inodes[:, 0] != inodes[:, 1])
        able &= known
    words = [_identity_words(history, looks, read, k) for k in range(history.rounds)]
    marks = [(lane, k) for lane, stats in looks for k in stats]
    return observe_rounds(history, able, guilty, words, "one inode number and one content under both names", marks)


def _identity_words(history: RoundHistory, looks: Sequence[tuple[int, list[int]]], read: Place, k: int) -> str:
    told = []
    for lane, stats in looks:
        columns = history.lanes[lane]
        failed = [int(columns.errno[k, at]) for at in stats if columns.errno[k, at] != OK]
        same = columns.detail[k, stats[0]] == columns.detail[k, stats[1]]
        told.append(name_of(failed[0]) if failed else "one inode" if same else "two inodes")
    columns = history.lanes[read[0]]
    told.append(content_word(int(columns.errno[k, read[1]]), int(columns.value[k, read[1]])))
    return ", ".join(dict.fromkeys(told))


def count(cells: Sequence[Cell], letters: Sequence[str], salt: str) -> Experiment:
    """A gives a file a second name and counts, B counts by both names, A removes the first name and counts again."""
    cell = cells[0]
    name = f"link-count-{cell.direction}"
    key = block_key(salt, name)
    own = Step("stat_links", NAMES[1])
    actor = (*_linked(key), own, BARRIER, BARRIER, Step("unlink", NAMES[0]), own)
    observer = (BARRIER, *(Step("stat_links", word) for word in NAMES), BARRIER)
    program = Program((Lane(cell.acting, actor), Lane(cell.observing, observer)), names=NAMES)
    return Experiment(name, program, tuple(cells), _observe_count, PAGE)


def _observe_count(cell: Cell, history: RoundHistory) -> Observation:
    linking = places(history.program, 0, "link")
    word = refusal_of(history.lanes[0].errno[:, linking[0]])
    if word:
        return refused(history, word)
    first, last = places(history.program, 0, "stat_links")
    others = places(history.program, 1, "stat_links")
    looks: list[tuple[Place, int]] = [((0, first), 2), *(((1, k), 2) for k in others), ((0, last), 1)]
    done = all_done(history, 0, [*linking, *places(history.program, 0, "unlink")])
    guilty = np.zeros(history.rounds, np.bool_)
    able = done.copy()
    for (lane, k), wanted in looks:
        told = history.lanes[lane].errno[:, k] == OK
        guilty |= done & told & (history.lanes[lane].value[:, k] != wanted)
        able &= told
    marks = [place for place, _ in looks]
    words = [", ".join(_counted(history, place, k) for place in marks) for k in range(history.rounds)]
    return observe_rounds(history, able, guilty, words, "2, 2, 2 names, and 1 after the unlink", marks)


def _counted(history: RoundHistory, place: Place, k: int) -> str:
    lane, at = place
    columns = history.lanes[lane]
    return str(columns.value[k, at]) if columns.errno[k, at] == OK else name_of(int(columns.errno[k, at]))


BUILDERS = {"link.identity": identity, "link.count": count}
"""Property -> what builds the experiment that serves its cells."""
