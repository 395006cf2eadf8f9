"""Family `exclusive`: several contenders create one name; who wins, what are the losers told, what do they see?

One program serves the cells of one (publish, contenders, state): every lane publishes content of its own version, so
that the name's content says whose create took effect. Only rounds in which calls overlapped are informative.
"""

from __future__ import annotations

import errno
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt

from fsconform.probes.experiment import Experiment, clock_note, round_witness
from fsconform.probes.visibility import written
from fsconform.vocabulary.blocks import PAGE, Content, block_key, block_name
from fsconform.vocabulary.cells import Cell
from fsconform.vocabulary.errnos import OK, Outcome, classify, name_of
from fsconform.vocabulary.histories import INF, LaneColumns, RoundHistory
from fsconform.vocabulary.observations import Observation
from fsconform.vocabulary.programs import Lane, Program
from fsconform.vocabulary.steps import Step

Bools = npt.NDArray[np.bool_]
BARRIER = Step("barrier")
CONTEST = {
    "excl": "excl_create", "link": "link", "mkdir": "mkdir", "noreplace": "rename_noreplace", "create": "create",
    "symlink": "symlink", "mknod": "mknod",
}  # fmt: skip
"""Publish axis -> the step that the contenders race with."""
COMPLETE_WHEN_SEEN = frozenset({"link", "noreplace", "symlink"})
"""Where EEXIST implies a complete file: the name appears by one call on a closed file (a symlink names one, beside it,
which its contender wrote before)."""
_WITHOUT_CONTENT = frozenset({"mkdir", "mknod"})


def _contest_step(publish: str, path: str, temporary: str) -> Step:
    kind = CONTEST[publish]
    return Step(kind, temporary, path) if publish in COMPLETE_WHEN_SEEN else Step(kind, path)


def _look(publish: str, path: str, key: str) -> Step:
    return Step("stat", path) if publish in _WITHOUT_CONTENT else Step("open_read", path, key=key)


def _contender(publish: str, state: str, number: int, path: str, key: str) -> tuple[Step, ...]:
    """prepare | the contest, and at once a look | after everybody is done, a last look."""
    temporary = f".t{number}-{key[:16]}"
    content = written(temporary, key, PAGE, version=number + 1, fd=1) if publish in COMPLETE_WHEN_SEEN else ()
    meet: tuple[Step, ...] = (BARRIER,)
    if state == "missed":
        meet = (Step("stat", path), BARRIER)
    elif state == "ghost":
        # Everybody knows the name, then the first lane removes it.
        make, remove = (
            (Step("mkdir", path), Step("rmdir", path)) if publish == "mkdir" else (None, Step("unlink", path))
        )
        first = (make,) if make else written(path, key, PAGE, version=99, fd=2)
        meet = (
            *(first if number == 0 else ()), BARRIER, Step("stat", path), BARRIER,
            *((remove,) if number == 0 else ()), BARRIER,
        )  # fmt: skip
    fill = (Step("write", fd=0, key=key, size=PAGE, version=number + 1), Step("close", fd=0))
    race = (_contest_step(publish, path, temporary), _look(publish, path, key), *(fill if publish == "excl" else ()))
    return (*content, *meet, *race, BARRIER, _look(publish, path, key))


def _sites(direction: str, letters: Sequence[str], count: int) -> list[str]:
    """The contenders' sites: all in turn, or the two of a direction."""
    chosen = list(letters) if direction == "all" else [direction[0], direction[-1]]
    return [chosen[number % len(chosen)] for number in range(count)]


def contest(cells: Sequence[Cell], letters: Sequence[str], salt: str) -> Experiment:
    """The race that serves `cells`, which agree in publish, contenders, state and direction."""
    cell = cells[0]
    publish, state = cell.axis("publish") or "", cell.axis("state") or "cold"
    count = int(cell.axis("contenders") or 2)
    name = f"exclusive-{publish}-{state}-{count}-{cell.direction}"
    key = block_key(salt, name)
    path = block_name(key)
    lanes = tuple(
        Lane(site, _contender(publish, state, number, path, key))
        for number, site in enumerate(_sites(cell.direction, letters, count))
    )
    return Experiment(name, Program(lanes, names=(path,)), tuple(cells), _observe_contest, (count + 1) * PAGE)


class _Contest:
    """The contest of a history as arrays of the shape (R, k)."""

    def __init__(self, cell: Cell, history: RoundHistory) -> None:
        self.publish = cell.axis("publish") or ""
        self._error_between = history.error_between
        steps = history.program.lanes
        kind = CONTEST[self.publish]
        # The last one: a ghost was made by the same step earlier in the round.
        at = [max(k for k, step in enumerate(lane.steps) if step.kind == kind and step.fd != 1 and step.fd != 2)
              for lane in steps]  # fmt: skip
        self.at = tuple(at)

        def column(choose: Callable[[LaneColumns], npt.NDArray[np.int64]], shift: int) -> npt.NDArray[np.int64]:
            lanes = zip(history.lanes, at, strict=True)
            return np.stack([choose(lane)[:, k + shift if shift >= 0 else shift] for lane, k in lanes], axis=1)

        self.invoked = column(lambda lane: lane.invoked, 0)
        self.returned = column(lambda lane: lane.returned, 0)
        self.told = column(lambda lane: lane.errno, 0)
        self.look_errno = column(lambda lane: lane.errno, 1)
        self.look_value = column(lambda lane: lane.value, 1)
        self.last_errno = column(lambda lane: lane.errno, -1)
        self.last_value = column(lambda lane: lane.value, -1)
        self.open = np.isin(self.told, [n for n in np.unique(self.told) if classify(int(n)) is Outcome.OPEN])
        self.absent = np.isin(self.told, [n for n in np.unique(self.told) if classify(int(n)) is Outcome.ABSENT])
        self.won = self.told == OK
        self.lost = self.told == errno.EEXIST
        self.winners = self.won.sum(axis=1)

    def author_lost(self) -> Bools:
        """Rounds whose final content was written by a contender that was told EEXIST."""
        author = (np.where(self.last_errno == OK, self.last_value, 0) >> 8).max(axis=1)
        known = (author >= 1) & (author <= self.told.shape[1])
        told = np.take_along_axis(self.told, np.where(known, author - 1, 0)[:, None], axis=1)[:, 0]
        result: Bools = known & (told == errno.EEXIST)
        return result

    def contested(self) -> Bools:
        """Rounds in which at least two contenders' calls overlapped, whatever the clocks' errors are."""
        overlap = np.zeros(self.told.shape[0], np.bool_)
        for a, b in combinations(range(self.told.shape[1]), 2):
            error = self._error_between(a, b)
            meets = self.invoked[:, b] + error <= self.returned[:, a]
            overlap |= meets & (self.invoked[:, a] + error <= self.returned[:, b])
        result: Bools = overlap & ~self.absent.any(axis=1)
        return result


def _verdicts(cell: Cell, race: _Contest) -> tuple[Bools, Bools, str]:
    """(violating rounds, rounds that can show a violation, what was expected) of one property."""
    contested = race.contested()
    none_open = ~race.open.any(axis=1) & ~race.absent.any(axis=1)
    there = (race.last_errno == OK).any(axis=1)
    if cell.property_id in ("exclusive.winner", "exclusive.winner-in-step"):
        nobody = (race.winners == 0) & none_open & ~there
        return (race.winners > 1) | nobody, contested, "exactly one contender is told success"
    if cell.property_id == "exclusive.loser-errno":
        # EIO and its like say nothing about the effect, but they are not what a loser may be told.
        wrong = ~race.won & (race.told != errno.EEXIST) & ~race.absent & (race.returned < INF)
        return wrong.any(axis=1), contested & ((~race.won).any(axis=1)), "every loser is told EEXIST"
    if cell.property_id == "exclusive.success-told":
        told_wrong = (race.winners == 0) & none_open & there & race.lost.all(axis=1)
        if race.publish in COMPLETE_WHEN_SEEN:
            told_wrong |= race.author_lost()
        return told_wrong, contested, "the contender whose create took effect is told success"
    if cell.property_id == "exclusive.loser-sees":
        # A removal is impossible in these rounds, so what exists stays: the loser's next look must find it.
        unseen = race.lost & (race.look_errno == errno.ENOENT)
        if race.publish in COMPLETE_WHEN_SEEN:
            unseen |= race.lost & (race.look_errno == OK) & (race.look_value & 0xFF != int(Content.EXACT))
        expected = "whole" if race.publish in COMPLETE_WHEN_SEEN else "openable"
        return unseen.any(axis=1), contested & race.lost.any(axis=1), f"after EEXIST the name is {expected}"
    if cell.property_id == "exclusive.plain-create":
        return (race.told == errno.EEXIST).any(axis=1), contested, "open(O_CREAT) without O_EXCL never says EEXIST"
    raise KeyError(cell.property_id)


def _guilty(cell: Cell, race: _Contest, k: int) -> list[tuple[int, int]]:
    """(lane, step) of what cannot be together in a violating round."""
    if cell.property_id == "exclusive.loser-sees":
        damaged = (race.look_errno[k] == OK) & (race.look_value[k] & 0xFF != int(Content.EXACT))
        damaged &= race.publish in COMPLETE_WHEN_SEEN
        unseen = race.lost[k] & ((race.look_errno[k] == errno.ENOENT) | damaged)
        return [(lane, race.at[lane] + shift) for lane in np.flatnonzero(unseen).tolist() for shift in (0, 1)]
    if cell.property_id == "exclusive.loser-errno":
        wrong = ~race.won[k] & ~race.lost[k]
    elif cell.property_id == "exclusive.plain-create":
        wrong = race.lost[k]
    else:
        wrong = race.won[k] if race.winners[k] > 1 else np.ones_like(race.won[k])
    return [(lane, race.at[lane]) for lane in np.flatnonzero(wrong).tolist()]


def _observe_contest(cell: Cell, history: RoundHistory) -> Observation:
    race = _Contest(cell, history)
    refusal = _refusal(race)
    if refusal:
        return Observation(history.rounds, 0, refused=refusal, outcomes={f"refused: {refusal}": history.rounds})
    guilty, able, expected = _verdicts(cell, race)
    informative = able | guilty
    outcomes = Counter(_describe(race, k) for k in range(history.rounds))
    witness = None
    if guilty.any():
        first = int(np.flatnonzero(guilty)[0])
        witness = round_witness(history, first, f"expected: {expected}; got: {_describe(race, first)}",
                                _guilty(cell, race, first))  # fmt: skip
    missing = history.rounds - int(informative.sum())
    return Observation(
        attempted=history.rounds,
        informative=int(informative.sum()),
        violations=int(guilty.sum()),
        outcomes=dict(outcomes.most_common()),
        witness=witness,
        reason=f"{missing} of {history.rounds} rounds had no overlapping calls{clock_note(history)}" if missing else "",
    )


def _refusal(race: _Contest) -> str:
    """The errno with which every contender was refused in every round; empty where the call is supported."""
    numbers = np.unique(race.told)
    if len(numbers) == 1 and classify(int(numbers[0])) is Outcome.REFUSED:
        return name_of(int(numbers[0]))
    return ""


def _describe(race: _Contest, k: int) -> str:
    """`1 won, 1 EEXIST (sees exact)`: one round in words."""
    words = []
    winners = int(race.winners[k])
    words.append(f"{winners} won")
    told: Counter[str] = Counter()
    for told_errno, look_errno, look_value in zip(race.told[k], race.look_errno[k], race.look_value[k], strict=True):
        if told_errno == OK:
            continue
        sees = ""
        if told_errno == errno.EEXIST:
            content = Content(int(look_value) & 0xFF).name.lower() if race.publish not in _WITHOUT_CONTENT else "it"
            sees = f" (sees {content if look_errno == OK else name_of(int(look_errno))})"
        told[name_of(int(told_errno)) + sees] += 1
    words += [f"{count} {what}" for what, count in sorted(told.items())]
    if race.winners[k] == 0:
        words.append("name there afterwards" if (race.last_errno[k] == OK).any() else "name not there afterwards")
    return ", ".join(words)


def over_existing(cells: Sequence[Cell], letters: Sequence[str], salt: str) -> Experiment:
    """A name is published, then created exclusively from another site: that must fail with EEXIST."""
    cell = cells[0]
    publish, state = cell.axis("publish") or "", cell.axis("state") or "cold"
    name = f"existing-{publish}-{state}-{cell.direction}"
    key = block_key(salt, name)
    path = block_name(key)
    temporary = f".t1-{key[:16]}"
    first = (Step("mkdir", path),) if publish == "mkdir" else (
        *written(f".t0-{key[:16]}", key, PAGE, version=1), Step("rename", f".t0-{key[:16]}", path))  # fmt: skip
    content = written(temporary, key, PAGE, version=2, fd=1) if publish in COMPLETE_WHEN_SEEN else ()
    miss = (Step("stat", path),) if state == "missed" else ()
    know = (Step("stat", path),) if state == "known" else ()
    acting = Lane(cell.acting, (BARRIER, *first, BARRIER, BARRIER))
    challenger = (*content, *miss, BARRIER, BARRIER, *know, _contest_step(publish, path, temporary), BARRIER)
    program = Program((acting, Lane(cell.observing, challenger)), names=(path,))
    return Experiment(name, program, tuple(cells), _observe_existing, 3 * PAGE)


def _observe_existing(cell: Cell, history: RoundHistory) -> Observation:
    publisher, challenger = history.lanes
    told = challenger.errno[:, -2]
    made = publisher.errno[:, -3] == OK
    return _single(cell, history, told, made, told == OK, "an exclusive create of a published name fails with EEXIST")


def stale_eexist(cells: Sequence[Cell], letters: Sequence[str], salt: str) -> Experiment:
    """A name that this site knows is removed by the other one: an exclusive create must find it free."""
    cell = cells[0]
    publish = cell.axis("publish") or ""
    name = f"stale-eexist-{publish}-{cell.direction}"
    key = block_key(salt, name)
    path = block_name(key)
    temporary = f".t1-{key[:16]}"
    directory = publish == "mkdir"
    make = (Step("mkdir", path),) if directory else written(path, key, PAGE, version=1)
    remove = Step("rmdir" if directory else "unlink", path)
    content = written(temporary, key, PAGE, version=2, fd=1) if publish in COMPLETE_WHEN_SEEN else ()
    acting = Lane(cell.acting, (*make, BARRIER, BARRIER, remove, BARRIER, BARRIER))
    creator = (*content, BARRIER, Step("stat", path), BARRIER, BARRIER,
               _contest_step(publish, path, temporary), BARRIER)  # fmt: skip
    program = Program((acting, Lane(cell.observing, creator)), names=(path,))
    return Experiment(name, program, tuple(cells), _observe_stale, 3 * PAGE)


def _observe_stale(cell: Cell, history: RoundHistory) -> Observation:
    remover, creator = history.lanes
    told = creator.errno[:, -2]
    gone = remover.errno[:, -3] == OK
    return _single(cell, history, told, gone, told == errno.EEXIST, "the removed name is free for an exclusive create")


def _single(
    cell: Cell, history: RoundHistory, told: npt.NDArray[np.int64], ready: Bools, wrong: Bools, expected: str
) -> Observation:
    """Rounds with one challenger: `ready` rounds can show a violation, `wrong` ones do."""
    numbers = np.unique(told[ready])
    if len(numbers) == 1 and classify(int(numbers[0])) is Outcome.REFUSED:
        word = name_of(int(numbers[0]))
        return Observation(history.rounds, 0, refused=word, outcomes={f"refused: {word}": history.rounds})
    guilty = ready & wrong
    # Outcomes that say nothing about the effect (EIO, a lost worker) are no evidence either way.
    silent = np.isin(told, [n for n in np.unique(told) if classify(int(n)) in (Outcome.OPEN, Outcome.ABSENT)])
    informative = ready & ~silent
    outcomes = Counter(f"told {name_of(int(number))}" for number in told[ready])
    witness = None
    if guilty.any():
        first = int(np.flatnonzero(guilty)[0])
        witness = round_witness(history, first, f"expected: {expected}; got: told {name_of(int(told[first]))}",
                                [(1, len(history.program.lanes[1].steps) - 2)])  # fmt: skip
    return Observation(
        attempted=history.rounds, informative=int(informative.sum()), violations=int(guilty.sum()),
        outcomes=dict(outcomes.most_common()), witness=witness,
        reason="" if ready.all() else f"{int((~ready).sum())} rounds could not be prepared",
    )  # fmt: skip


BUILDERS = {
    "exclusive.winner": contest, "exclusive.winner-in-step": contest, "exclusive.loser-errno": contest,
    "exclusive.success-told": contest, "exclusive.loser-sees": contest, "exclusive.plain-create": contest,
    "exclusive.over-existing": over_existing, "exclusive.stale-eexist": stale_eexist,
}  # fmt: skip
"""Property -> what builds the experiment that serves its cells."""
