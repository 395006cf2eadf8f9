"""Examinations of programs that remove names, against the twin."""

from __future__ import annotations

import errno
import random
from collections.abc import Sequence

import pytest

from fsconform.oracles import mortal_facts
from fsconform.oracles.examination import examine
from fsconform.oracles.lifetimes import LifeKind
from fsconform.oracles.mentions import Role
from fsconform.oracles.outcomes import Told
from fsconform.vocabulary.histories import RoundHistory
from fsconform.vocabulary.programs import Lane, Program
from fsconform.vocabulary.properties import PROPERTIES
from fsconform.vocabulary.steps import Step
from tests.oracles.histories import BULK, Pick
from tests.oracles.rounds import OPEN, Event, draw_history, events, target
from tests.oracles.twins import INF, Op, linearizable, step_life

NAME = "d/n"
ROUNDS = 6
LATE = ("stale", "ghost", "stale-eexist", "phantom", "phantom-eexist")


def draw_mortal_program(pick: Pick) -> Program:
    """2-3 lanes that make, remove and look at one name."""
    lanes = []
    for lane in range(pick(2, 3)):
        steps: list[Step] = []
        for number in range(pick(1, 2)):
            temporary = f"d/t{lane}-{number}"
            steps += (
                [Step("stat", NAME)],
                [Step("stat", NAME)],
                [Step("mkdir", NAME)],
                [Step("excl_create", NAME)],
                [Step("unlink", NAME)],
                [Step("rmdir", NAME)],
                [Step("rename", NAME, f"d/tomb{lane}-{number}")],
                [Step("excl_create", temporary), Step("rename", temporary, NAME)],
                [Step("create", NAME)],
                [Step("scandir", "d", names=("n",))],
            )[pick(0, 9)]
        lanes.append(Lane("ab"[lane % 2], tuple(steps)))
    program = Program(tuple(lanes), ("d",), (NAME,))
    if any(step.kind in ("unlink", "rmdir") for lane_ in program.lanes for step in lane_.steps):
        return program
    return Program((Lane("a", (*lanes[0].steps, Step("unlink", NAME))), *lanes[1:]), ("d",), (NAME,))


def with_removals(pick: Pick, program: Program) -> RoundHistory:
    """A random history; removals are answered, too."""
    history = draw_history(pick, program, ROUNDS)
    for lane, columns in zip(program.lanes, history.lanes, strict=True):
        for place, step in enumerate(lane.steps):
            away = step.kind == "rename" and step.path == NAME
            if step.kind in ("unlink", "rmdir") or away:
                for number in range(ROUNDS):
                    if columns.errno[number, place] == 0:
                        answers = (0, 0, 0, errno.ENOENT, errno.EIO, errno.EACCES)
                        columns.errno[number, place] = answers[pick(0, 5)]
    return history


def histories(number: int = BULK // ROUNDS, seed: int = 1) -> list[RoundHistory]:
    source = random.Random(seed)
    return [with_removals(source.randint, draw_mortal_program(source.randint)) for _ in range(number)]


def operations(found: Sequence[Event]) -> list[Op]:
    """One round as operations of `step_life`; listings apart. A plain create is a create that may find the name."""
    ops = []
    for number, event in enumerate(found):
        kind, answer, word = event.look.kind, event.errno, ""
        opened = answer in OPEN
        if kind in ("unlink", "rmdir") or (kind == "rename" and event.step.path == NAME):
            word = {0: "unlink", errno.ENOENT: "maybe_unlink" if kind == "rename" else "absent"}.get(answer, "")
            word = "maybe_unlink" if opened else word
        elif target(event) != NAME:
            continue
        elif kind in ("mkdir", "excl_create"):
            word = {0: "create", errno.EEXIST: "present"}.get(answer, "maybe_create" if opened else "")
        elif kind == "rename":
            word = "replace" if opened or answer in (0, errno.ENOENT) else ""
        elif kind == "create":
            word = {0: "ensure", errno.EEXIST: "maybe_create"}.get(answer, "maybe_create" if opened else "")
        elif kind == "stat":
            word = {0: "present", errno.ENOENT: "absent"}.get(answer, "")
        if word:
            lost = word.startswith("maybe") or (word == "replace" and answer != 0)
            ops.append(Op(word, event.start, INF if lost else event.end, number + 1))
    return ops


def step(state: int, op: Op) -> int | None:
    return (state or op.value) if op.kind == "ensure" else step_life(state, op)


def disagreement(history: RoundHistory) -> str:
    """Rounds in which an examination and the twin differ; empty where they agree."""
    result = examine(history)
    accused = {number for anomaly in result.anomalies if anomaly.observer != "listing" for number in anomaly.rounds}
    wrong, unexplained = [], set()
    for number in range(history.rounds):
        ops = operations(events(history, number))
        if not linearizable(ops, step):
            unexplained.add(number)
        elif number in accused:
            wrong.append((number, ops))
    missing = len(unexplained - accused) - result.inversions
    # A round whose only accusation is a listing's is no inversion, although its looks may be in no order.
    listed = {number for anomaly in result.anomalies if anomaly.observer == "listing" for number in anomaly.rounds}
    if wrong or not 0 <= missing <= len(listed):
        return f"{wrong} {unexplained} {accused} {result.inversions}"
    return ""


def test_programs_that_remove_names_agree_with_the_twin() -> None:
    for history in histories():
        assert disagreement(history) == "", str(history.program)


WRONG_BELIEFS = {
    "a removal told EIO did not happen": (Role.REMOVE, Told.OPEN, LifeKind.NONE),
    "a create told EIO did not happen": (Role.EXCLUSIVE, Told.OPEN, LifeKind.NONE),
    "a rename told EIO did not happen": (Role.MOVE, Told.OPEN, LifeKind.NONE),
    "EEXIST says nothing": (Role.EXCLUSIVE, Told.EEXIST, LifeKind.NONE),
    "ENOENT of a removal says nothing": (Role.REMOVE, Told.ENOENT, LifeKind.NONE),
    "a removal that was refused happened": (Role.REMOVE, Told.REFUSED, LifeKind.UNLINK),
    "a plain create makes a new file": (Role.CREATE, Told.DONE, LifeKind.CREATE),
}


@pytest.mark.parametrize("belief", WRONG_BELIEFS)
def test_the_twin_kills_wrong_beliefs(belief: str, monkeypatch: pytest.MonkeyPatch) -> None:
    role, told, kind = WRONG_BELIEFS[belief]
    table = mortal_facts._KINDS.copy()
    table[role, told] = kind
    monkeypatch.setattr(mortal_facts, "_KINDS", table)
    assert any(disagreement(history) for history in histories(600, seed=7))


def test_every_anomaly_is_well_formed() -> None:
    kinds = set()
    for history in histories(500, seed=3):
        for anomaly in examine(history).anomalies:
            kinds.add(anomaly.kind)
            assert anomaly.property_id in PROPERTIES and anomaly.rounds and anomaly.steps
            assert len(anomaly.staleness_ns) in (0, len(anomaly.rounds))
            assert "{" not in anomaly.story
    assert kinds >= {*LATE, "two-winners", "removed-twice"}


def one_round(*lanes: tuple[str, list[tuple[Step, int, int, int]]]) -> RoundHistory:
    """A round from (site, [(step, start, end, errno)])."""
    program = Program(tuple(Lane(site, tuple(row[0] for row in rows)) for site, rows in lanes), (), (NAME,))
    history = draw_history(lambda low, high: low, program, 1)
    for (_, rows), columns in zip(lanes, history.lanes, strict=True):
        for place, (_, start, end, answer) in enumerate(rows):
            columns.invoked[0, place], columns.returned[0, place], columns.errno[0, place] = start, end, answer
    return history


def test_a_removed_name_that_is_still_seen_is_a_ghost_since_the_removal() -> None:
    make, remove, look = Step("excl_create", NAME), Step("unlink", NAME), Step("stat", NAME)
    result = examine(
        one_round(("a", [(make, 0, 2, 0), (remove, 20, 25, 0)]), ("b", [(look, 5, 6, 0), (look, 40, 41, 0)]))
    )
    (ghost,) = result.anomalies
    assert (ghost.kind, ghost.property_id, ghost.staleness_ns) == ("ghost", "visibility.unlink", (15,))
    assert (ghost.state, ghost.acting, ghost.observing, ghost.observer) == ("known", "a", "b", "stat")
    assert ghost.steps == ((0, 1), (1, 1))
    assert result.opportunities["visibility.unlink"] == 1


def test_eexist_of_a_removed_name_is_stale() -> None:
    make, remove = Step("excl_create", NAME), Step("unlink", NAME)
    history = one_round(("a", [(make, 0, 2, 0), (remove, 3, 5, 0)]), ("b", [(make, 9, 11, errno.EEXIST)]))
    (anomaly,) = examine(history).anomalies
    assert (anomaly.kind, anomaly.property_id) == ("stale-eexist", "exclusive.stale-eexist")
    assert anomaly.staleness_ns == (4,)


def test_a_believed_miss_of_a_removal_is_found() -> None:
    """unlink = ENOENT; then another site makes a directory; then unlink = ENOENT again: the miss was believed."""
    remove = Step("rmdir", NAME)
    history = one_round(
        ("a", [(remove, 0, 1, errno.ENOENT), (remove, 9, 10, errno.ENOENT)]), ("b", [(Step("mkdir", NAME), 3, 4, 0)])
    )
    (anomaly,) = examine(history).anomalies
    assert (anomaly.kind, anomaly.state, anomaly.staleness_ns) == ("stale", "missed", (5,))


def test_exchanged_names_are_not_judged() -> None:
    exchange = Step("rename_exchange", NAME, "d/m")
    result = examine(one_round(("a", [(exchange, 0, 1, 0), (Step("stat", NAME), 2, 3, errno.ENOENT)])))
    assert result.anomalies == () and result.undecided == 1
