"""Copies inside the filesystem, and temporary names that are used again: every name must have its own bytes."""

from __future__ import annotations

import errno
from collections.abc import Sequence

import numpy as np

from fsconform.probes.experiment import Experiment
from fsconform.probes.rounds import (
    BARRIER,
    all_done,
    content_words,
    is_exact,
    is_wrong,
    observe_rounds,
    places,
    refusal_of,
    refused,
    written_whole,
)
from fsconform.probes.visibility import written
from fsconform.vocabulary.blocks import SIZES, block_key, block_name
from fsconform.vocabulary.cells import Cell
from fsconform.vocabulary.errnos import OK
from fsconform.vocabulary.histories import RoundHistory
from fsconform.vocabulary.observations import Observation
from fsconform.vocabulary.programs import Lane, Program
from fsconform.vocabulary.steps import Step

TEMPORARY = ".t"
REUSED = SIZES["4k"]


def copied(cells: Sequence[Cell], letters: Sequence[str], salt: str) -> Experiment:
    """`content.copy-range`: A copies a closed file to a new name, B reads that."""
    cell = cells[0]
    size = SIZES[cell.axis("size") or "64k"]
    name = f"copy-{cell.axis('size')}-{cell.direction}"
    key = block_key(salt, name)
    path = block_name(key)
    actor = (*written(TEMPORARY, key, size), Step("copy_range", TEMPORARY, path, size=size), BARRIER)
    observer = (BARRIER, Step("open_read", path, key=key, size=size))
    program = Program((Lane(cell.acting, actor), Lane(cell.observing, observer)), names=(path,))
    return Experiment(name, program, tuple(cells), _observe_copied, 2 * size)


def _observe_copied(cell: Cell, history: RoundHistory) -> Observation:
    copying = places(history.program, 0, "copy_range")[0]
    size = history.program.lanes[0].steps[copying].size
    word = refusal_of(history.lanes[0].errno[:, copying])
    if word:
        return refused(history, word)
    look = (1, 1)
    told = written_whole(history, 0) & (history.lanes[0].errno[:, copying] == OK)
    short = told & (history.lanes[0].value[:, copying] != size)
    guilty = short | (told & is_wrong(history, look))
    words = content_words(history, (look,))
    words = [f"{word}, {history.lanes[0].value[k, copying]} of {size} bytes copied" if short[k] else word
             for k, word in enumerate(words)]  # fmt: skip
    able = told & is_exact(history, look)
    return observe_rounds(history, able, guilty, words, "a copy of all bytes", ((0, copying), look))


def reused(cells: Sequence[Cell], letters: Sequence[str], salt: str) -> Experiment:
    """`content.source-reuse`: A publishes two blocks, one after the other, through one temporary name.

    `known`: B has looked at the temporary name before, so that its caches know the first file by it.
    """
    cell = cells[0]
    name = f"reuse-{cell.axis('state')}-{cell.direction}"
    key = block_key(salt, name)
    paths = tuple(block_name(block_key(key, version)) for version in (1, 2))
    known = cell.axis("state") == "known"
    meet = (BARRIER, BARRIER) if known else ()
    looks = tuple(Step("open_read", path, key=key, version=version, size=REUSED)
                  for version, path in enumerate(paths, start=1))  # fmt: skip
    actor = (
        *written(TEMPORARY, key, REUSED, version=1), *meet, Step("rename", TEMPORARY, paths[0]),
        *written(TEMPORARY, key, REUSED, version=2), Step("rename", TEMPORARY, paths[1]), BARRIER, *looks,
    )  # fmt: skip
    observer = (*((BARRIER, Step("stat", TEMPORARY), BARRIER) if known else ()), BARRIER, *looks)
    program = Program((Lane(cell.acting, actor), Lane(cell.observing, observer)), names=(*paths, TEMPORARY))
    return Experiment(name, program, tuple(cells), _observe_reused, 2 * REUSED)


def _observe_reused(cell: Cell, history: RoundHistory) -> Observation:
    renames = places(history.program, 0, "rename")
    taken = history.lanes[0].errno[:, places(history.program, 0, "excl_create")[1]] == errno.EEXIST
    done = written_whole(history, 0) & all_done(history, 0, renames)
    looks = [(lane, k) for lane in (0, 1) for k in places(history.program, lane, "open_read")]
    guilty = all_done(history, 0, renames[:1]) & taken
    able = done.copy()
    for number, (lane, k) in enumerate(looks):
        version = number % 2 + 1
        guilty |= done & is_wrong(history, (lane, k), version)
        if lane == 0:  # who renamed it must find it; when others do is a question of visibility
            guilty |= done & (history.lanes[0].errno[:, k] == errno.ENOENT)
        able &= is_exact(history, (lane, k), version)
    words = content_words(history, looks)
    words = ["the temporary name is not free again" if taken[k] else word for k, word in enumerate(words)]
    expected = "the temporary name is free again, and both names have their own bytes"
    return observe_rounds(history, able, np.asarray(guilty, np.bool_), words, expected, looks)


BUILDERS = {"content.copy-range": copied, "content.source-reuse": reused}
"""Property -> what builds the experiment that serves its cells."""
