"""Look-ups that missed what was there: the mount's promise decides, and what the application made of the miss."""

from __future__ import annotations

from collections.abc import Iterator

from fsconform.judging.faults.evidence import Scene, few, stale_box, told, weakness
from fsconform.vocabulary.promises import Promise, Strength
from fsconform.vocabulary.workloads import Attribution, Box, Event, InstanceReport, Phase

EXPLAINED = (
    "B chunk_hits", "B read_bytes", "B external_prefix_cache_hits", "B active_promotion_jobs seen above 0",
)  # fmt: skip
_STATES = {
    "clean": ("missed", "missed-ancestor"), "poisoned": ("missed-ancestor",), "poisoned-name": ("missed",),
}  # fmt: skip
"""States of the observer's cache where it had missed the block, or a directory above it; of several the weakest
promise counts."""


class Miss:
    """One block that a request took for absent although it had been published before."""

    def __init__(self, look: Event, publish: Event, primed: Event | None, late_ns: int) -> None:
        self.look, self.publish, self.primed, self.late_ns = look, publish, primed, late_ns


def find_misses(scene: Scene, report: InstanceReport, phase: int = Phase.LOOKUP) -> list[Miss]:
    """Look-ups of one phase that began after the block had its name, beyond the clock error, and missed it."""
    found = []
    for look in report.events:
        if look.phase != phase or look.step != "lookup" or not look.errno:
            continue
        publish = scene.published(look.path, before=look.invoked - 2 * scene.setup.error_ns)
        if publish is None or _removed(scene, look.path, publish, look):
            continue
        primed = scene.missed_before(report, look)
        late = look.invoked - publish.returned - 2 * scene.setup.error_ns
        found.append(Miss(look, publish, primed, late))
    return found


def _removed(scene: Scene, path: str, publish: Event, look: Event) -> bool:
    return any(e.invoked < look.returned and e.returned > publish.invoked
               for e in scene.at(path, "evict", "unlink-block") if not e.errno)  # fmt: skip


def attribute_misses(scene: Scene, report: InstanceReport) -> Iterator[Attribution]:
    """One finding for all misses of the first request, one for those that lasted too long."""
    misses = find_misses(scene, report)
    if not misses:
        return
    promise = visibility_promise(scene, report, misses)
    longest = max((e.returned - e.invoked for e in report.events if e.step == "lookup"), default=0)
    by_box: dict[Box, list[Miss]] = {}
    for miss in misses:
        box = stale_box(promise, miss.late_ns, longest)
        if box:
            by_box.setdefault(box, []).append(miss)
    late = [miss for miss in find_misses(scene, report, Phase.POLL)
            if stale_box(promise, miss.late_ns, longest) is Box.BROKE]  # fmt: skip
    if late and Box.BROKE not in by_box:
        by_box[Box.BROKE] = late
    for box, found in by_box.items():
        yield _attribution(scene, report, box, found, promise)


def visibility_promise(scene: Scene, report: InstanceReport, misses: list[Miss]) -> Promise:
    """What is promised of a look-up in the state in which it found the observer's cache."""
    primed = any(miss.primed is not None for miss in misses)
    direction = scene.direction(misses[0].publish.instance, report.letter)
    promises = [
        scene.promise("visibility.create", direction, publish=scene.setup.publish, state=state,
                      observer=scene.setup.observer, age="fresh")
        for state in (_STATES[scene.setup.reader] if primed else ("cold",))
    ]  # fmt: skip
    return max(promises, key=weakness)


def _attribution(scene: Scene, report: InstanceReport, box: Box, misses: list[Miss], promise: Promise) -> Attribution:
    first = misses[0]
    before = "had asked before the block was stored" if first.primed else "had never asked before"
    seen = _seen(scene, report, misses)
    why = (
        f"{report.letter} {before}; its look-up missed {len(misses)} of {scene.setup.blocks} blocks up to "
        f"{max(miss.late_ns for miss in misses) / 1e9:.3f} s after their {first.publish.step} had returned at "
        f"{first.publish.instance}. Promised: {told(promise)}.{seen}"
    )
    if box is Box.WITHIN:
        why += " The engine asks once and keeps the miss for the life of the request."
    title = f"{len(misses)} published blocks taken for absent"
    events = [e for miss in misses[:2] for e in (miss.primed, miss.publish, miss.look)]
    cure = _cure(scene, promise) if box is Box.WITHIN else ""
    return Attribution(box, title, why, EXPLAINED, few([*events, *_later(scene, report, first)]), "visibility.create",
                       cure, len(misses), bound_s=promise.bound_s if box is Box.WITHIN else 0.0)  # fmt: skip


def _seen(scene: Scene, report: InstanceReport, misses: list[Miss]) -> str:
    """When they became visible."""
    times = [hit.invoked - miss.publish.returned for miss in misses for hit in _later(scene, report, miss) if hit]
    if not times:
        return " None was seen by the end of the watch." if _polled(report) else ""
    never = len(misses) - len(times)
    told_never = f", {never} not by the end of the watch" if never else ""
    return f" Seen {min(times) / 1e9:.3f} to {max(times) / 1e9:.3f} s after it{told_never}."


def _polled(report: InstanceReport) -> bool:
    return any(event.phase == Phase.POLL for event in report.events)


def _later(scene: Scene, report: InstanceReport, miss: Miss) -> list[Event]:
    """The first look that found the block."""
    hits = [e for e in scene.at(miss.look.path, "lookup")
            if e.instance == report.letter and not e.errno and e.invoked > miss.look.invoked]  # fmt: skip
    return hits[:1]


def _cure(scene: Scene, promise: Promise) -> str:
    """What the mount or the application could do, and what was seen to help here."""
    cures = scene.episode.facts.get("cures", ())
    tried = [f"{cure.name} cured {cure.cured} of {cure.trials}{'' if cure.read_only else ' (with side effects)'}"
             for cure in cures if cure.cured]  # fmt: skip
    told_tried = ""
    if cures:
        untouched = f"untouched {cures[0].control_visible} of {cures[0].control_trials}"
        needed = cures[0].control_visible < cures[0].control_trials
        none = f"no look cured it ({untouched})" if needed else f"none was needed any more ({untouched} were visible)"
        helped = f"{', '.join(tried)}; {untouched}" if tried else none
        told_tried = f"; tried on this mount right before the look-up: {helped}"
    return _general_cure(promise) + told_tried


def _general_cure(promise: Promise) -> str:
    if promise.strength is Strength.WITHIN and promise.bound and promise.bound.seconds:
        return f"a mount with {promise.bound.name} = 0 s, or a look-up that is repeated after {promise.bound_s:g} s"
    return "a look-up that is repeated"
