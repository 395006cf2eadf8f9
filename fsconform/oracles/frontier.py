"""Linearizability of any small object, exactly: a frontier of configurations.

Just-in-time linearization (Lowe, Testing for Linearizability, CCPE 2017).
A configuration is a state of the object and the set of pending operations that have already taken effect. Events are
swept in time, invocations before returns at equal times (touching is concurrent). A mutation is placed only when some
return forces it; a look as soon as the state fits (it changes nothing, so earliest is best). At most states * 2^m
configurations for m mutations in flight, open ones included: they never leave.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, TypeVar

from fsconform.oracles.operations import Op
from fsconform.vocabulary.histories import INF

State = TypeVar("State")
Specification = Callable[[State, Op], State | None]
"""State and operation -> next state; None where the operation cannot have happened in that state."""
CAP = 200_000
"""Configurations after which the verdict is `undecided`."""


class Frontier(NamedTuple):
    """`violation`: the operation at whose return no order was left, None where there is one. `undecided`: the
    number of configurations grew beyond the cap before a verdict."""

    violation: Op | None
    undecided: bool = False
    widest: int = 0
    """Greatest number of configurations."""


def sweep(
    ops: Sequence[Op], specification: Specification[State], initial: State, looks: frozenset[str], cap: int = CAP
) -> Frontier:
    """Whether some order of the operations that real time allows satisfies the specification.

    `looks`: kinds that never change the state. An operation with `end` = INF may never have happened.
    """
    return _Sweep(ops, specification, initial, looks, cap).run()


class _Sweep(Generic[State]):
    def __init__(
        self, ops: Sequence[Op], specification: Specification[State], initial: State, looks: frozenset[str], cap: int
    ) -> None:
        self.ops, self.specification, self.look_kinds, self.cap = ops, specification, looks, cap
        self.configurations: set[tuple[State, int]] = {(initial, 0)}
        self.looks: dict[int, int] = {}
        self.mutations: dict[int, int] = {}
        self.free: list[int] = []
        self.width = 0
        self.widest = 1

    def run(self) -> Frontier:
        events = sorted(
            [(op.start, 0, number) for number, op in enumerate(self.ops)]
            + [(op.end, 1, number) for number, op in enumerate(self.ops) if op.end < INF]
        )
        for _, is_return, number in events:
            if not is_return:
                self._invoke(number)
                continue
            left = self._force(number)
            if left is None:
                return Frontier(None, True, self.widest)
            if not left:
                return Frontier(self.ops[number], False, self.widest)
            self.configurations = left
            self.free.append(self.looks.pop(number, 0) or self.mutations.pop(number))
        return Frontier(None, False, self.widest)

    def _invoke(self, number: int) -> None:
        if self.free:
            bit = self.free.pop()
        else:
            bit = 1 << self.width
            self.width += 1
        op = self.ops[number]
        if op.kind not in self.look_kinds:
            self.mutations[number] = bit
            return
        self.looks[number] = bit
        step = self.specification
        self.configurations = {
            (state, placed | bit) if step(state, op) is not None else (state, placed)
            for state, placed in self.configurations
        }

    def _force(self, number: int) -> set[tuple[State, int]] | None:
        """The configurations in which the operation has taken effect, without it; None beyond the cap."""
        bit = self.looks.get(number) or self.mutations[number]
        done: set[tuple[State, int]] = set()
        stack = list(self.configurations)
        seen = set(stack)
        while stack:
            state, placed = stack.pop()
            if placed & bit:
                done.add((state, placed ^ bit))
                continue
            for other, its_bit in self.mutations.items():
                if placed & its_bit:
                    continue
                after = self.specification(state, self.ops[other])
                if after is not None:
                    following = self._settled(after, placed | its_bit)
                    if following not in seen:
                        seen.add(following)
                        stack.append(following)
            if len(seen) > self.cap:
                return None
        self.widest = max(self.widest, len(seen))
        return done

    def _settled(self, state: State, placed: int) -> tuple[State, int]:
        """Places every pending look that the state answers."""
        for number, bit in self.looks.items():
            if not placed & bit and self.specification(state, self.ops[number]) is not None:
                placed |= bit
        return state, placed
