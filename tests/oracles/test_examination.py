"""Whole examinations against the twin: random programs with random histories."""

from __future__ import annotations

import errno
import random
from collections.abc import Sequence

import numpy as np
import pytest

from fsconform.oracles import evidence as evidence_module
from fsconform.oracles.anomalies import Examination
from fsconform.oracles.examination import examine
from fsconform.oracles.mentions import Role
from fsconform.oracles.once import OnceKind
from fsconform.oracles.outcomes import Told
from fsconform.vocabulary.histories import RoundHistory
from fsconform.vocabulary.programs import Lane, Program
from fsconform.vocabulary.properties import PROPERTIES
from tests.oracles.histories import BULK
from tests.oracles.rounds import (
    KEY,
    NAMES,
    OPEN,
    SIZE,
    Event,
    draw_history,
    draw_program,
    events,
    operations,
    target,
)
from tests.oracles.twins import INF, linearizable, step_once

IMPOSSIBLE = (
    "two-winners", "win-over-existing", "won-in-gap", "no-winner", "success-told-as-failure", "phantom",
    "phantom-eexist",
)  # fmt: skip
LATE = ("stale", "gap")
ROUNDS = 8


def histories(number: int = BULK // ROUNDS, seed: int = 1) -> list[RoundHistory]:
    source = random.Random(seed)
    return [draw_history(source.randint, draw_program(source.randint), ROUNDS) for _ in range(number)]


def rounds_of(result: Examination, kinds: Sequence[str], name: str, observers: Sequence[str] = ()) -> set[int]:
    return {
        number
        for anomaly in result.anomalies
        if anomaly.kind in kinds and anomaly.name == name and (not observers or anomaly.observer in observers)
        for number in anomaly.rounds
    }


def published(found: Sequence[Event], name: str) -> int:
    """Earliest return of a successful create, by the twin."""
    return min((op.end for op in operations(found, name) if op.kind in ("win", "publish")), default=INF)


def disagreement(history: RoundHistory) -> str:
    """What an examination says about presence against the twin; empty where they agree."""
    result = examine(history)
    inversions = set()
    for name in NAMES:
        impossible = rounds_of(result, IMPOSSIBLE, name)
        late = rounds_of(result, LATE, name, ("stat", "access", "open"))
        for number in range(history.rounds):
            found = events(history, number)
            ops = operations(found, name)
            known, seen = (
                published(found, name),
                min((op.end for op in ops if op.kind not in ("absent", "maybe")), default=INF),
            )
            missed = max((op.start for op in ops if op.kind == "absent"), default=-INF)
            inverted = missed > seen and missed <= known
            inversions |= {number} if inverted else set()
            explained = linearizable(ops, step_once)
            if explained != (number not in impossible and number not in late and not inverted):
                return f"{name} round {number}: {'explained' if explained else 'impossible'} {ops}"
            if (number in late) != (missed > known):
                return f"{name} round {number}: staleness {ops}"
            if (number in impossible) == linearizable([op for op in ops if op.kind != "absent"], step_once):
                return f"{name} round {number}: impossible {ops}"
    if len(inversions) != result.inversions:
        return f"inversions {inversions} {result.inversions}"
    return ""


def test_presence_agrees_with_the_twin() -> None:
    for history in histories():
        assert disagreement(history) == "", history.program


WRONG_BELIEFS = {
    "EEXIST is no sighting": (Role.EXCLUSIVE, Told.EEXIST, OnceKind.NONE),
    "an exclusive success is a publish": (Role.EXCLUSIVE, Told.DONE, OnceKind.PUBLISH),
    "a create told EIO did not happen": (Role.EXCLUSIVE, Told.OPEN, OnceKind.NONE),
    "a create told EIO happened before it returned": (Role.EXCLUSIVE, Told.OPEN, OnceKind.PUBLISH),
    "a rename told EIO did not happen": (Role.MOVE, Told.OPEN, OnceKind.NONE),
    "a rename told EIO happened before it returned": (Role.MOVE, Told.OPEN, OnceKind.PUBLISH),
    "a rename told ENOENT did not happen": (Role.MOVE, Told.ENOENT, OnceKind.NONE),
    "EEXIST of a plain create proves that it made nothing": (Role.CREATE, Told.EEXIST, OnceKind.NONE),
    "a refused create may have happened": (Role.EXCLUSIVE, Told.REFUSED, OnceKind.MAYBE),
    "a look that failed with EIO found nothing": (Role.LOOK, Told.OPEN, OnceKind.ABSENT),
}


@pytest.mark.parametrize("belief", WRONG_BELIEFS)
def test_the_twin_kills_wrong_beliefs(belief: str, monkeypatch: pytest.MonkeyPatch) -> None:
    role, told, kind = WRONG_BELIEFS[belief]
    table = evidence_module._KINDS.copy()
    table[role, told] = kind
    monkeypatch.setattr(evidence_module, "_KINDS", table)
    assert any(disagreement(history) for history in histories(400, seed=7))


def unsettled(event: Event) -> bool:
    """Whether a rename or plain create that was not told success may still take effect."""
    return event.errno in (*OPEN, errno.ENOENT if event.look.kind == "rename" else errno.EEXIST)


def twin_listing(history: RoundHistory, number: int, name: str) -> int:
    """Worst staleness of a listing that missed a name it must contain (0: none)."""
    found, worst = events(history, number), 0
    for event in found:
        if event.look.kind != "scandir" or event.errno != 0 or event.value >> NAMES.index(name) & 1:
            continue
        moved = any(
            target(other) == name and other.look.kind in ("rename", "create")
            and other.start <= event.end and (other.end >= event.start if other.errno == 0 else unsettled(other))
            for other in found
        )  # fmt: skip
        if not moved:
            worst = max(worst, event.start - published(found, name))
    return worst


def test_listings_agree_with_the_twin() -> None:
    total = 0
    for history in histories(seed=2):
        result = examine(history)
        for name in NAMES:
            worst = [twin_listing(history, number, name) for number in range(history.rounds)]
            stale = {
                number: delay
                for anomaly in result.anomalies
                if anomaly.kind == "stale" and anomaly.name == name and anomaly.observer == "listing"
                for number, delay in zip(anomaly.rounds, anomaly.staleness_ns, strict=True)
            }
            assert stale.keys() == {number for number, delay in enumerate(worst) if delay > 0}
            assert all(delay <= worst[number] for number, delay in stale.items())
            total += len(stale)
    assert total > 20


def whole_from(found: Sequence[Event], name: str) -> int:
    """When the bytes of a name are complete, by the twin: -INF, the last close, or INF where that is not known."""
    moment = -INF
    if any(event.look.kind == "mkdir" and target(event) == name and event.errno in (0, *OPEN) for event in found):
        return INF  # it may be a directory
    for event in found:
        answers = (0, errno.ENOENT) if event.look.kind in ("rename", "rename_noreplace") else (0,)
        if event.look.kind == "create":
            answers = (0, errno.EEXIST)
        if (
            target(event) != name
            or event.look.kind in ("mkdir", "stat", "open_read")
            or event.errno not in (*answers, *OPEN)
        ):
            continue
        kind = event.look.kind
        lane = {other.place: other for other in found if other.lane == event.lane}
        places = {
            "excl_create": (event.place + 1, event.place + 2),
            "create": (event.place, event.place + 1, event.place + 2),
            "rename": (event.place - 3, event.place - 2, event.place - 1),
            "link": (event.place - 3, event.place - 2, event.place - 1),
            "rename_noreplace": (event.place - 2, event.place - 1, event.place + 1),
        }[kind]  # fmt: skip
        made = [lane.get(place) for place in places]
        whole = all(
            step is not None and step.errno == 0 and (step.step.kind != "write" or step.value == SIZE) for step in made
        )
        if kind == "excl_create":
            whole = whole and event.errno == 0
        if not whole:
            return INF
        last = made[-1]
        assert last is not None
        if kind in ("excl_create", "create", "rename_noreplace"):
            moment = max(moment, last.end)
    return moment


def twin_broken(history: RoundHistory, name: str) -> set[int]:
    """Rounds in which a read of a name gave wrong bytes although they had to be complete."""
    return {
        number
        for number in range(history.rounds)
        for found in [events(history, number)]
        for event in found
        if event.look.kind == "open_read" and target(event) == name and event.errno == 0 and event.value & 0xFF
        and event.start > whole_from(found, name)
    }  # fmt: skip


def creations(history: RoundHistory, name: str) -> list[int]:
    """How many creating steps each lane has for a name."""
    looks = ("stat", "open_read", "watch", "mkdir")
    steps = [[Event(0, 0, "", step, 0, 0, 0, 0) for step in lane.steps] for lane in history.program.lanes]
    return [sum(target(event) == name and event.step.kind not in looks for event in lane) for lane in steps]


def test_contents_agree_with_the_twin() -> None:
    total = 0
    for history in histories(seed=3):
        result = examine(history)
        for name in NAMES:
            broken = rounds_of(result, ("short", "zero", "torn", "stale-size"), name)
            wanted = twin_broken(history, name)
            # Of a lane that writes a file twice the oracle waits for the later close, too.
            assert broken <= wanted
            if max(creations(history, name)) == 1:
                assert broken == wanted, history.program
            total += len(broken)
    assert total > 50


def test_every_anomaly_is_well_formed() -> None:
    kinds = set()
    for history in histories(400, seed=4):
        for anomaly in examine(history).anomalies:
            kinds.add(anomaly.kind)
            assert anomaly.property_id in PROPERTIES
            assert list(anomaly.rounds) == sorted(set(anomaly.rounds)) and anomaly.rounds
            assert len(anomaly.staleness_ns) in (0, len(anomaly.rounds))
            assert all(delay > 0 for delay in anomaly.staleness_ns)
            assert anomaly.steps and all(step < len(history.program.lanes[lane].steps) for lane, step in anomaly.steps)
    assert kinds >= {*IMPOSSIBLE, *LATE, "short", "torn", "zero", "stale-size", "spurious-eexist", "eexist-then-enoent",
                     "loser-errno"}  # fmt: skip


def test_names_are_examined_apart() -> None:
    for history in histories(60, seed=5):
        both = {(a.kind, a.name, a.rounds, a.staleness_ns) for a in examine(history).anomalies}
        apart: set[tuple[object, ...]] = set()
        for name in NAMES:
            program = Program(history.program.lanes, history.program.directories, (name,))
            alone = RoundHistory(program, history.lanes, history.error_ns)
            # A listing's bits are counted by its own names, so the answer must not change.
            apart |= {(a.kind, a.name, a.rounds, a.staleness_ns) for a in examine(alone).anomalies}
        assert both == apart


def test_nothing_to_judge() -> None:
    program = Program((Lane("a", ()),), (), ("n",))
    history = draw_history(lambda low, high: low, program, 3)
    assert examine(history) == Examination((), 0, {}, 0)
    assert np.asarray(KEY).size == 1
