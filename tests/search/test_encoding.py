"""Every byte string is a program, always the same one, and small ones are simple."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconform.search.drafts import WATCH_NS, Act, Draft, Move
from fsconform.search.encoding import SHORTEST, TURNS, Ground, decode, decode_draft
from fsconform.vocabulary.errors import CannotTestError
from fsconform.vocabulary.programs import Program

GROUNDS = st.sampled_from(
    [Ground(("a",)), Ground(("a", "b")), Ground(("a", "b"), frozenset("a")), Ground(tuple("abcde"), frozenset("be"))]
)
BYTES = st.binary(max_size=64)
MUTATING = {"excl_create", "write", "close", "rename", "link", "unlink"}


@given(BYTES, GROUNDS, st.integers(0, 9))
def test_every_byte_string_is_a_program(data: bytes, ground: Ground, seed: int) -> None:
    program = decode(data, ground, seed)
    assert program == decode(data, ground, seed)
    assert Program.from_json(program.to_json()) == program
    assert 1 <= len(program.lanes) <= 4
    assert len({sum(step.kind == "barrier" for step in lane.steps) for lane in program.lanes}) == 1
    assert any(step.kind != "barrier" for lane in program.lanes for step in lane.steps)
    assert {lane.site for lane in program.lanes} <= set(ground.sites)
    assert program.lanes[0].site not in ground.read_only
    for lane in program.lanes:
        if lane.site in ground.read_only:
            assert not MUTATING & {step.kind for step in lane.steps}


@given(BYTES, GROUNDS)
def test_steps_stay_within_the_fan_out(data: bytes, ground: Ground) -> None:
    program = decode(data, ground)
    assert 1 <= len(program.names) <= 4
    leaves = {name.rpartition("/")[0] for name in program.names}
    assert leaves | {leaf.partition("/")[0] for leaf in leaves} == set(program.directories)
    temporaries: set[str] = set()
    for lane in program.lanes:
        for step in lane.steps:
            for path in (step.path, step.other):
                assert not path or path in program.names or path in leaves or path.rpartition("/")[0] in leaves
            if step.kind == "excl_create" and step.path not in program.names:
                assert step.path not in temporaries  # unique over workers and steps
                temporaries.add(step.path)
            if step.key:
                assert f"{step.key}.bin" in {name.rpartition("/")[2] for name in program.names}
            if step.kind == "scandir":
                assert step.names and {f"{step.path}/{name}" for name in step.names} <= set(program.names)


def test_small_bytes_are_simple() -> None:
    (only,) = decode(b"", Ground(("a", "b"))).lanes
    assert [step.kind for step in only.steps] == ["stat"] and only.site == "a"
    assert decode_draft(bytes(SHORTEST), Ground(("a", "b"))).size == (SHORTEST - 1, 1, 1)
    alone = [turn.one[0] for turn in TURNS if turn.one and not turn.meet]
    assert alone[:5] == [Act.STAT, Act.OPEN, Act.PUBLISH, Act.EXCL, Act.LINK]
    assert Act.CLAIM not in {act for turn in TURNS for act in turn.one + turn.others}
    assert len(TURNS) == 16


def test_the_table_of_the_documentation() -> None:
    draft = decode_draft(bytes([1, 2, 16 + 3, 6, 32 + 1, 64 + 7]), Ground(("a", "b")))
    race = decode_draft(bytes([1, 1, 16 + 11]), Ground(("a", "b")))
    assert race.phases == (((Move(Act.OPEN, 0),), (), ()), ((Move(Act.EXCL, 0),),) * 3)
    assert draft == Draft(
        ("a", "b", "a"),
        (((Move(Act.PUBLISH, 0),), (Move(Act.EXCL, 0),), ()), ((Move(Act.OPEN, 1),), (), (Move(Act.OPEN, 0),))),
    )
    watchful = decode_draft(bytes([225, 7]), Ground(("a",)))
    assert watchful.moves == (Move(Act.WATCH, 0),)
    (lane,) = watchful.program(0).lanes
    assert lane.steps[0].arg == WATCH_NS and lane.steps[0].then is not None
    assert lane.steps[0].then.kind == "open_read"


def test_sites_take_turns() -> None:
    ground = Ground(("a", "b", "c"))
    assert {decode_draft(bytes([9 * turn, 0]), ground).sites[0] for turn in range(3)} == {"a", "b", "c"}
    assert Ground(("a", "b"), frozenset("a")).crew(3, 0) == ("b", "a", "b")


def test_keys_are_fresh_per_seed_and_program() -> None:
    ground, data = Ground(("a",)), bytes([0, 2, 64 + 2])
    names = [decode(data, ground, seed).names for seed in (1, 2)] + [decode(data + b"\1", ground, 1).names]
    assert len({name for group in names for name in group}) == 6
    assert len({name[:6] for name in names[0]}) == 1  # two names share a leaf


def test_nobody_can_write() -> None:
    with pytest.raises(CannotTestError, match="can be written"):
        Ground(("a", "b"), frozenset("ab"))
