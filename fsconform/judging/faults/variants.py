"""What only some variants measure: reads in a loop, looks right after a publish, an early publish, a hang."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from fsconform.judging.faults.evidence import Scene, few, promised_box, stale_box, told
from fsconform.vocabulary.blocks import Content
from fsconform.vocabulary.promises import Promise
from fsconform.vocabulary.workloads import Attribution, Box, Event

_LOOP = "B reads in a loop that were not whole"
_RACE = "B looks right after a publish that were not whole"


def attribute_variant(scene: Scene) -> Iterator[Attribution]:
    """Findings from the facts of a variant."""
    yield from attribute_two_winners(scene)
    facts = scene.episode.facts
    if "reads" in facts:
        yield from _loop(scene, facts["reads"])
    if "looks" in facts:
        yield from _race(scene, facts["looks"])
    if "between rename and close" in facts:
        yield from _early(scene, facts["between rename and close"], facts["after close"])


def attribute_two_winners(scene: Scene) -> Iterator[Attribution]:
    """Two exclusive creations of one temporary name that both succeeded while the first one was still there."""
    if not scene.setup.exclusive:
        return
    pairs = [pair for path in scene.by_path for pair in _overlapping(scene, path)]
    if not pairs:
        return
    first, second = pairs[0]
    direction = scene.direction(first.instance, second.instance)
    promise = scene.promise("exclusive.winner", direction, publish="excl", state="cold", contenders="2")
    why = (
        f"{first.instance} and {second.instance} both created the same temporary file with O_EXCL and both were told "
        f"success. Promised: {told(promise)}."
    )
    yield Attribution(promised_box(promise), "two winners of one O_EXCL", why, ("files: blocks of another length",),
                      few([first, second]), "exclusive.winner", "", len(pairs), True)  # fmt: skip


def _overlapping(scene: Scene, path: str) -> Iterator[tuple[Event, Event]]:
    opened = [event for event in scene.at(path, "open-temp") if not event.errno]
    margin = 2 * scene.setup.error_ns
    for first, second in pairwise(opened):
        gone = [e.invoked for e in scene.at(path, "unlink-temp") if e.invoked >= first.invoked]
        gone += [e.invoked for e in scene.of_thread(first)
                 if e.step == "rename" and e.block == first.block and e.invoked >= first.invoked]  # fmt: skip
        if first.instance != second.instance and not any(moment < second.returned + margin for moment in gone):
            yield first, second


def _loop(scene: Scene, reads: Mapping[str, int]) -> Iterator[Attribution]:
    wrong = {key: count for key, count in reads.items() if key.startswith("content") and key != "content 0"}
    if not wrong:
        return
    short = sum(count for key, count in wrong.items() if key == f"content {int(Content.SHORT)}")
    direction = scene.direction("A", "B")
    promise = scene.promise("atomic.content", direction, observer="open_read", size="8m")
    kinds = ", ".join(f"{Content(int(key.split()[1])).name.lower()} {count:,}" for key, count in wrong.items())
    why = (
        f"Blocks were removed and republished, each whole, while B read them; {sum(wrong.values()):,} of "
        f"{sum(reads.values()):,} reads were neither whole nor refused ({kinds}). Promised: {told(promise)}."
    )
    box = promised_box(promise) if scene.setup.publish in ("rename", "link") else Box.APPLICATION
    if box is Box.APPLICATION:
        why = f"{why} The store gives a block its name before its contents."
    yield Attribution(box, "reads of a block that is replaced", why, (_LOOP, "B would_unlink"), (), "atomic.content",
                      "", sum(wrong.values()), short > 0)  # fmt: skip


def _race(scene: Scene, looks: tuple[tuple[int, ...], ...]) -> Iterator[Attribution]:
    size, direction = scene.setup.size, scene.direction("A", "B")
    absent = [look for look in looks if look[1]]
    fragments = [look for look in looks if not look[1] and (look[2], look[3], look[4]) != (size, size, 0)]
    for found, property_id, title in (
        (absent, "visibility.create", "a new block could not be opened"),
        (fragments, "content.complete", "a new block was not whole: would be unlinked"),
    ):
        if found:
            yield _raced(scene, found, len(looks), property_id, title, direction)


def _raced(scene: Scene, found: list[tuple[int, ...]], looks: int, property_id: str, title: str,
           direction: str) -> Attribution:  # fmt: skip
    axes = {"observer": "open_read"}
    if property_id == "visibility.create":
        axes |= {"publish": scene.setup.publish, "state": "cold", "age": "fresh"}
    else:
        axes |= {"publish": "excl" if scene.setup.publish == "create" else scene.setup.publish, "size": "8m"}
    promise = scene.promise(property_id, direction, **axes)
    lengths = sorted({look[2] for look in found})
    why = (
        f"{len(found)} of {looks} opens {found[0][0] / 1e6:.2f} ms and more after the rename had returned; lengths "
        f"{', '.join(map(str, lengths[:4]))}. Promised: {told(promise)}."
    )
    return Attribution(promised_box(promise), title, why, (_RACE,), (), property_id, "", len(found),
                       property_id == "content.complete")  # fmt: skip


def _early(scene: Scene, before: tuple[int, ...], after: tuple[int, ...]) -> Iterator[Attribution]:
    size, direction = scene.setup.size, scene.direction("A", "B")
    events = [
        e for e in scene.episode.events() if e.block == 0 and e.step in ("rename", "close", "open", "fstat", "read")
    ]
    if not before[1] and before[3] < size:
        why = (
            f"Between rename and close B saw length {before[2]:,} and read {before[3]:,} of {size:,} bytes. A length "
            "is promised from close (or fsync) on: the connector gives the block its name too early."
        )
        yield Attribution(Box.WITHIN, "published before it was closed", why, (), few(events),
                          "content.complete", "close before rename")  # fmt: skip
    if not after[1] and after[3] < size:
        promise = scene.promise(
            "size.grow", direction, state="known", observer="open_fstat", age="fresh", after="close"
        )
        closed = max((e.returned for e in events if e.step == "close"), default=0)
        opened = max((e.invoked for e in events if e.step == "open"), default=0)  # stamps of looks are the site's own
        box = stale_box(promise, opened - closed - 2 * scene.setup.error_ns, 0) or Box.WITHIN
        why = (
            f"After the close B still read {after[3]:,} of {size:,} bytes: it had looked before, and keeps the length. "
            f"Promised: {told(promise)}."
        )
        yield Attribution(box, "the early look is kept: would be unlinked", why, (), few(events), "size.grow",
                          _size_cure(promise), 1, True, promise.bound_s if box is Box.WITHIN else 0.0)  # fmt: skip


def _size_cure(promise: Promise) -> str:
    return (
        f"close before rename, or a mount with {promise.bound.name} = 0 s" if promise.bound else "close before rename"
    )


def blocked_threads(scene_events: tuple[Event, ...], stopped: tuple[int, int]) -> dict[str, float]:
    """Thread -> seconds of its longest call that overlapped the time in which the server stood still."""
    found: dict[str, float] = {}
    for event in scene_events:
        if event.invoked < stopped[1] and event.returned > stopped[0]:
            key = f"{event.instance}.{event.thread}"
            seconds = (min(event.returned, stopped[1] + 60_000_000_000) - event.invoked) / 1e9
            if seconds > found.get(key, 0.0):
                found[key] = seconds
    return found


def hang_facts(facts: Mapping[str, Any], events: tuple[Event, ...]) -> dict[str, str]:
    """What a hang did, in words: who was blocked for how long, and what came after."""
    from fsconform.vocabulary.errnos import name_of

    if "stopped" not in facts:
        return {}
    stopped = facts["stopped"]
    blocked = {key: seconds for key, seconds in blocked_threads(events, stopped).items()
               if seconds > (stopped[1] - stopped[0]) / 2e9}  # fmt: skip
    later = [
        e for e in events if e.errno and e.returned > stopped[0] and e.step not in ("lookup", "exists", "stat-dir")
    ]
    words = ", ".join(f"{key} {seconds:.2f} s" for key, seconds in sorted(blocked.items()))
    after = ", ".join(f"{e.instance} {e.step} {name_of(e.errno)}" for e in later[:5])
    return {
        "server stood still": f"{(stopped[1] - stopped[0]) / 1e9:.2f} s",
        "blocked": words or "nobody",
        "errors afterwards": after or "none",
    }
