"""Examinations of programs that replace one name by rename, against the twin."""

from __future__ import annotations

import random
from collections.abc import Sequence

from fsconform.oracles.examination import examine
from fsconform.vocabulary.histories import RoundHistory
from fsconform.vocabulary.programs import Lane, Program
from fsconform.vocabulary.properties import PROPERTIES
from fsconform.vocabulary.steps import Step
from tests.oracles.histories import BULK, Pick
from tests.oracles.rounds import KEY, OPEN, SIZE, Event, draw_history, events
from tests.oracles.twins import INF, Op, least_shift, step_register

NAME = "d/n"
ROUNDS = 6


def draw_replacing_program(pick: Pick) -> Program:
    """2-3 lanes of replacements and reads; every replacement has a version of its own."""
    lanes, version = [], 0
    for lane in range(pick(2, 3)):
        steps: list[Step] = []
        for number in range(pick(1, 3)):
            if pick(0, 1):
                version += 1
                temporary = f"d/t{lane}-{number}"
                steps += [
                    Step("excl_create", temporary, fd=number),
                    Step("write", fd=number, key=KEY, version=version, size=SIZE),
                    Step("close", fd=number),
                    Step("rename", temporary, NAME),
                ]
            else:
                steps.append(Step("open_read", NAME, key=KEY))
        lanes.append(Lane("ab"[lane % 2], tuple(steps)))
    return Program(tuple(lanes), ("d",), (NAME,))


def with_versions(pick: Pick, program: Program) -> RoundHistory:
    """A random history in which reads give versions."""
    history = draw_history(pick, program, ROUNDS)
    written = sum(step.kind == "rename" for lane in program.lanes for step in lane.steps)
    for lane, columns in zip(program.lanes, history.lanes, strict=True):
        for place, step in enumerate(lane.steps):
            if step.kind == "open_read":
                for number in range(ROUNDS):
                    columns.value[number, place] = pick(1, max(1, written)) << 8 if pick(0, 9) else 3
    return history


def histories(number: int = BULK // ROUNDS, seed: int = 1) -> list[RoundHistory]:
    source = random.Random(seed)
    return [with_versions(source.randint, draw_replacing_program(source.randint)) for _ in range(number)]


def operations(found: Sequence[Event]) -> list[Op]:
    """One round as operations of a register."""
    ops = []
    for event in found:
        kind, answer = event.step.kind, event.errno
        if kind == "rename" and (answer in (0, 2) or answer in OPEN):
            (write,) = (other for other in found if other.lane == event.lane and other.place == event.place - 2)
            ops.append(Op("write", event.start, event.end if answer == 0 else INF, write.step.version))
        if kind == "open_read" and answer == 0 and event.value & 0xFF == 0:
            ops.append(Op("read", event.start, event.end, event.value >> 8))
    return ops


def test_replaced_names_agree_with_the_twin() -> None:
    stale_rounds = 0
    for history in histories():
        result = examine(history)
        stale, future = set(), set()
        for anomaly in result.anomalies:
            stale |= set(anomaly.rounds) if anomaly.kind == "stale-version" else set()
            future |= set(anomaly.rounds) if anomaly.kind == "future-version" else set()
        inverted = 0
        judged = any(step.kind == "rename" for lane in history.program.lanes for step in lane.steps)
        for number in range(history.rounds):
            delta = least_shift(operations(events(history, number)), step_register, ("read",)) if judged else 0
            if number in future:
                assert delta >= INF
            elif number in stale:
                assert 0 < delta < INF
            else:
                inverted += delta > 0
        # Misses of a name that somebody had seen are inversions of presence, counted in the same number.
        assert inverted <= result.inversions or not judged
        stale_rounds += len(stale)
    assert stale_rounds > 20


def test_stale_versions_carry_their_staleness_and_who_is_concerned() -> None:
    found = []
    for history in histories(200, seed=2):
        for anomaly in examine(history).anomalies:
            assert anomaly.property_id in PROPERTIES
            if anomaly.kind == "stale-version":
                assert anomaly.property_id == "visibility.replace" and anomaly.observer == "open"
                assert anomaly.publish == "rename" and anomaly.acting in "ab" and anomaly.observing in "ab"
                assert len(anomaly.staleness_ns) == len(anomaly.rounds) and min(anomaly.staleness_ns) > 0
                found.append(anomaly.state)
    assert {"known", "cold"} <= set(found)


def test_torn_reads_of_replaced_names_break_atomic_content() -> None:
    kinds = {
        anomaly.property_id
        for history in histories(200, seed=3)
        for anomaly in examine(history).anomalies
        if anomaly.kind == "zero"
    }
    assert kinds <= {"atomic.content", "content.complete"} and "atomic.content" in kinds
