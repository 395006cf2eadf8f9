"""From the events of a witness to the results that cannot be together, wherever in the program they may show again.

The events marked guilty are the contradiction; those of equal steps elsewhere (another contender, an earlier read) are
the same one. An order is asked for only where the results alone could be innocent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import permutations, product
from typing import Any

from fsconform.vocabulary.blocks import Content
from fsconform.vocabulary.contradictions import Contradiction, Order, Place, Result
from fsconform.vocabulary.programs import Program
from fsconform.vocabulary.steps import CONTENT_LOOKS, KINDS, LOOKS, Step

_EXCLUSIVE = frozenset({"excl_create", "link", "mkdir", "rename_noreplace", "mknod", "symlink"})
_ALL_BITS = -1
_CLASS = 0xFF
_MOST = 64
"""Places where one contradiction is looked for, at most."""

Event = Mapping[str, Any]


def contradictions_in(program: Program, events: Sequence[Event]) -> tuple[Contradiction, ...]:
    """What the events of one round show. Where none is marked, all results together are taken; empty without any."""
    known = {(event["worker"], event["seq"]): event for event in events if "seq" in event}
    told = {place: event for place, event in known.items() if _tells(_step(program, place), event)}
    guilty = {place: event for place, event in known.items() if event.get("guilty")} or told
    if not guilty:
        return ()
    first = Contradiction(
        tuple(_result(_step(program, place), place, guilty[place]) for place in sorted(guilty)),
        tuple(_orders(program, guilty)),
    )
    return tuple(dict.fromkeys((first, *_elsewhere(program, first))))[:_MOST]


def _tells(step: Step, event: Event) -> bool:
    """Whether the result of a step says something about names or contents."""
    if KINDS[step.kind].family == "control":
        return False
    return step.kind in LOOKS or step.kind in _EXCLUSIVE or event["errno"] != "ok"


def _step(program: Program, place: Place) -> Step:
    return program.lanes[place[0]].steps[place[1]]


def _result(step: Step, place: Place, event: Event) -> Result:
    told, value = str(event["errno"]), int(event.get("value", 0))
    if told != "ok" or step.kind not in LOOKS:
        return Result(place, told)
    look = step.then if step.then else step
    if look.kind in CONTENT_LOOKS:
        if value & _CLASS != Content.EXACT:
            return Result(place, told, _CLASS, int(Content.EXACT), differs=True)
        return Result(place, told, _ALL_BITS, value)
    if look.kind in ("scandir", "scandir_held", "getxattr"):
        return Result(place, told, _ALL_BITS, value)
    return Result(place, told)


def _orders(program: Program, guilty: Mapping[Place, Event]) -> Iterator[Order]:
    """The orders that were seen between different workers, and do not follow from a meeting of all."""
    for first, then in product(guilty, guilty):
        returned, invoked = guilty[first]["returned_ns"], guilty[then]["invoked_ns"]
        if first[0] == then[0] or returned is None or returned >= invoked:
            continue
        race = all(_step(program, place).kind in _EXCLUSIVE for place in (first, then))
        both_won = race and guilty[first]["errno"] == guilty[then]["errno"]
        if not both_won and _phase(program, first) == _phase(program, then):
            yield Order(first, then)


def _phase(program: Program, place: Place) -> int:
    return sum(step.kind == "barrier" for step in program.lanes[place[0]].steps[: place[1]])


def _elsewhere(program: Program, found: Contradiction) -> Iterator[Contradiction]:
    """The same at equal steps: by other workers, or earlier and later by the same one."""
    lanes = sorted({place[0] for place in found.places})
    for chosen in permutations(range(len(program.lanes)), len(lanes)):
        yield from _moved(program, found, dict(zip(lanes, chosen, strict=True)), 0)
    if len(lanes) == 1:
        for lane, shift in product(range(len(program.lanes)), range(-_MOST, _MOST + 1)):
            yield from _moved(program, found, {lanes[0]: lane}, shift)


def _moved(program: Program, found: Contradiction, lanes: Mapping[int, int], shift: int) -> Iterator[Contradiction]:
    def there(place: Place) -> Place:
        return lanes[place[0]], place[1] + shift

    if all(_equal(program, place, there(place)) for place in found.places):
        results = (replace(result, place=there(result.place)) for result in found.results)
        orders = (replace(order, first=there(order.first), then=there(order.then)) for order in found.orders)
        yield Contradiction(tuple(sorted(results, key=lambda result: result.place)), tuple(orders))


def _equal(program: Program, here: Place, there: Place) -> bool:
    if not 0 <= there[1] < len(program.lanes[there[0]].steps) or _phase(program, here) != _phase(program, there):
        return False
    return _target(_step(program, here)) == _target(_step(program, there))


def _target(step: Step) -> tuple[object, ...]:
    """What a step does to which name; the temporary file behind a publish does not matter."""
    path = "" if step.kind in ("link", "rename", "rename_noreplace") else step.path
    return step.kind, path, step.other, step.names, step.then
