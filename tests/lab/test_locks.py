"""Record locks against a model that keeps one owner per byte."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fsconform.lab.locks import END, READ, UNLOCK, WRITE, Lock, LockTable

_BYTES = 6
_wishes = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from((READ, WRITE, UNLOCK)), st.integers(0, 5), st.integers(0, 5)),
    max_size=12,
)


@given(_wishes)
def test_record_locks_agree_with_one_owner_map_per_byte(wishes: list[tuple[int, int, int, int]]) -> None:
    table = LockTable()
    model: list[dict[int, int]] = [{} for _ in range(_BYTES)]
    for owner, kind, one, other in wishes:
        start, end = min(one, other), max(one, other)
        wish = Lock((0, owner), kind, start, end)
        blocked = kind != UNLOCK and any(
            holder != owner and WRITE in (kind, held)
            for cell in model[start : end + 1]
            for holder, held in cell.items()
        )
        if kind != UNLOCK:
            assert (table.conflict(wish) is not None) == blocked
        if blocked:
            continue
        table.apply(wish)
        for cell in model[start : end + 1]:
            cell.pop(owner, None)
            if kind != UNLOCK:
                cell[owner] = kind
    for offset, cell in enumerate(model):
        held = {lock.owner[1]: lock.kind for lock in table.records if lock.start <= offset <= lock.end}
        assert held == cell


def test_flock_and_record_locks_know_nothing_of_each_other() -> None:
    table = LockTable()
    table.apply(Lock((0, 1), WRITE, is_flock=True))
    assert table.conflict(Lock((1, 1), WRITE)) is None
    assert table.conflict(Lock((1, 1), READ, is_flock=True)) is not None
    table.drop((0, 1), is_flock=True)
    assert table.conflict(Lock((1, 1), WRITE, is_flock=True)) is None


def test_owners_of_two_clients_are_two_owners() -> None:
    table = LockTable()
    table.apply(Lock((0, 7), WRITE, 0, END))
    assert table.conflict(Lock((1, 7), WRITE, 5, 5)) is not None
