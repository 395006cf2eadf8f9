"""Stores that failed: the errno is traced to its step, whatever name the engine's log gives.

EEXIST comes from three places. From the exclusive open of the temporary name: the application's, if anybody else
used that name. From mkdir, with a stat that does not find the directory: the filesystem's. From rename over an
existing name: the filesystem's, too (POSIX rename() replaces).
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator

from fsconform.judging.faults.evidence import Scene, few, promised_box, told
from fsconform.vocabulary.errnos import HUNG, name_of
from fsconform.vocabulary.workloads import Attribution, Box, Event, InstanceReport, JobRecord

ROOM = (errno.ENOSPC, errno.EDQUOT)
PERMISSION = (errno.EACCES, errno.EPERM, errno.EROFS)
_EXPLAINS = (
    "{} write_bytes", "{} cascade_job_failures", "{} short_writes", "files: blocks of full length",
    "files: temporary files left", "B chunk_hits", "B read_bytes", "B external_prefix_cache_hits",
)  # fmt: skip
Fault = tuple[Box, str, str, str, str, list[Event | None]]
"""Box, title, why, property, cure, events."""


def attribute_stores(scene: Scene, report: InstanceReport) -> Iterator[Attribution]:
    """One finding per kind of failure of an instance's store jobs."""
    faults: dict[tuple[Box, str], list[tuple[Fault, JobRecord]]] = {}
    for job in report.jobs:
        for outcome in job.outcomes if job.kind == "store" else ():
            if outcome.step:
                event = _failed(report, job.phase, outcome.block, outcome.step, outcome.errno)
                fault = _fault(scene, report, event, outcome.errno, outcome.step)
                faults.setdefault(fault[:2], []).append((fault, job))
    for (box, title), found in faults.items():
        _, _, why, property_id, cure, _ = found[0][0]
        events = few([event for fault, _ in found[:3] for event in fault[5]])
        lost = sum(len(job.blocks) - len(job.outcomes) for job in {job.number: job for _, job in found}.values())
        rest = f" {lost} further blocks of these jobs were not tried: a job stops at its first error." if lost else ""
        explains = tuple(name.format(report.letter) for name in _EXPLAINS)
        yield Attribution(box, f"{report.letter}: {title}", why + rest, explains, events, property_id, cure, len(found))


def _failed(report: InstanceReport, phase: int, block: int, step: str, number: int) -> Event | None:
    found = [e for e in report.events if (e.phase, e.block, e.step, e.errno) == (phase, block, step, number)]
    return found[0] if found else None


def _fault(scene: Scene, report: InstanceReport, event: Event | None, number: int, step: str) -> Fault:
    word = name_of(number)
    if number in ROOM or (number == errno.EIO and step == "write" and _room_ran_out(scene)):
        return (Box.CONFIGURATION, f"no room ({word} at {step})", "The filesystem or a quota was full.", "",
                "give it room", [event])  # fmt: skip
    if event is None:
        return _unseen(report, number, step)
    if number in PERMISSION:
        return (Box.CONFIGURATION, f"{word} at {step}", "This user may not do that there (owner, squash, read-only).",
                "", "equal uids and a writable directory at both sites", [event])  # fmt: skip
    if number == errno.EINVAL and step in ("open-temp", "write", "open-final"):
        return (Box.CONFIGURATION, f"EINVAL at {step}", "The filesystem refuses O_DIRECT here.", "capability.o-direct",
                "buffered I/O, or the probe (auto)", [event])  # fmt: skip
    judge = _JUDGES.get((number, step))
    if judge:
        return judge(scene, event)
    return (Box.BROKE, f"{word} at {step}", f"{step} failed with {word}, which nothing that was done explains.", "",
            "", [event])  # fmt: skip


def _unseen(report: InstanceReport, number: int, step: str) -> Fault:
    """A short write has no errno of its own; a call that never returned has no event of its own."""
    if number == errno.EIO and step == "write":
        shorts = [e for e in report.events if e.step == "write" and not e.errno]
        return (Box.BROKE, "short write", "One write(2) of a block took less than all of it though there was room.",
                "", "", [*shorts[-1:]])  # fmt: skip
    if number == HUNG:
        return Box.BROKE, f"{step} did not return", "A call passed its deadline.", "", "", []
    return Box.GAP, f"{name_of(number)} at {step}", "The event of this failure was not recorded.", "", "", []


def _room_ran_out(scene: Scene) -> bool:
    return scene.setup.variant == "v9" or any(event.errno in ROOM for event in scene.episode.events())


def others_on(scene: Scene, event: Event, path: str, *steps: str) -> list[Event]:
    """Successful calls of anybody else on a path that began before `event` returned."""
    return [e for e in scene.at(path, *steps) if not e.errno and e.invoked < event.returned
            and (e.instance, e.thread) != (event.instance, event.thread)]  # fmt: skip


def _temp_exists(scene: Scene, event: Event) -> Fault:
    others = others_on(scene, event, event.path, "open-temp")
    if others:
        other = others[-1]
        when = "before it was killed" if other.instance in scene.episode.facts.get("killed", ()) else "at the same time"
        why = (
            f"The temporary name of {event.instance} ({event.path.rpartition('/')[2][-28:]}) was in use: "
            f"{other.instance} had opened it {when}. O_EXCL must answer EEXIST then (POSIX open()). Equal suffixes "
            "come from equal seeds: the engine draws them from Python's global random, once per thread. The log names "
            "the destination, which need not exist."
        )
        cure = "a suffix from the system's randomness (secrets, uuid4), or host and process in the name"
        return Box.APPLICATION, "EEXIST at the temporary file", why, "", cure, [other, event]
    direction = scene.direction(event.instance, event.instance)
    promise = scene.promise("exclusive.success-told", direction, publish="excl", state="cold", contenders="2")
    why = (
        "Nobody else ever opened this temporary name, so the creation that succeeded was its own, executed twice or "
        f"answered wrongly. Promised: {told(promise)}."
    )
    return promised_box(promise), "EEXIST at a unique temporary file", why, "exclusive.success-told", "", [event]


def _directory_exists(scene: Scene, event: Event) -> Fault:
    looks = [e for e in scene.of_thread(event) if e.path == event.path and e.invoked >= event.returned][:1]
    makers = others_on(scene, event, event.path, "mkdir")
    removals = _cleaned(scene, looks[0], event.path) if looks else []
    if removals:
        return _cleaned_away(event, "EEXIST at mkdir", [event, *removals[-1:], *looks])
    primed = [e for e in scene.at(event.path, "stat-dir") if e.instance == event.instance and e.errno
              and e.invoked < event.invoked][-1:]  # fmt: skip
    direction = scene.direction(makers[-1].instance if makers else event.instance, event.instance)
    promise = scene.promise("exclusive.loser-sees", direction, publish="mkdir", state="missed" if primed else "cold",
                            contenders="2")  # fmt: skip
    why = (
        "mkdir said that the directory exists and the stat right after it did not find it: a cached miss outlived the "
        f"answer. Promised: {told(promise)}."
    )
    events: list[Event | None] = [*primed, *makers[-1:], event, *looks]
    return promised_box(promise), "EEXIST at mkdir", why, "exclusive.loser-sees", "", events


def _no_replace(scene: Scene, event: Event) -> Fault:
    others = [e for e in scene.at(event.path, "rename") if not e.errno]
    why = "rename(2) over an existing file replaces it; EEXIST is for directories only (POSIX rename(), rename(2))."
    return Box.BROKE, "EEXIST at rename", why, "atomic.presence", "", [*others[:1], event]


def _temp_gone(scene: Scene, event: Event) -> Fault:
    temporary = _temporary_of(scene, event)
    path = temporary.path if temporary else ""
    others = others_on(scene, event, path, "unlink-temp", "open-temp")
    if temporary and others:
        why = (
            f"{others[-1].instance} used the same temporary name ({others[-1].step}) before {event.instance} could "
            "rename it: two writers with one name, one of which takes it away."
        )
        cure = "a suffix from the system's randomness; remove a temporary file only where the open succeeded"
        return (Box.APPLICATION, "ENOENT at rename, the temporary file is gone", why, "", cure,
                [temporary, *others, event])  # fmt: skip
    why = "The temporary file had been made and closed by the same thread, and nobody removed it."
    return Box.BROKE, "ENOENT at rename", why, "visibility.create", "", [temporary, event]


def _temporary_of(scene: Scene, event: Event) -> Event | None:
    opened = [e for e in scene.of_thread(event) if e.step == "open-temp" and e.block == event.block and not e.errno
              and e.invoked < event.invoked]  # fmt: skip
    return opened[-1] if opened else None


def _parent_gone(scene: Scene, event: Event) -> Fault:
    """A name could not be made because its directory, or one above it, was not there."""
    what = "the temporary file" if event.step == "open-temp" else event.step
    parents = list(_above(event.path))
    removals = [e for path in parents for e in _cleaned(scene, event, path)]
    made = [e for e in scene.of_thread(event) if e.block == event.block and e.path == parents[0]
            and e.step in ("mkdir", "stat-dir") and not e.errno and e.invoked < event.invoked][-1:]  # fmt: skip
    if removals:
        return _cleaned_away(event, f"ENOENT at {what}", [*made, *removals[-1:], event])
    makers = [e for e in scene.at(parents[0], "mkdir") if not e.errno][:1]
    direction = scene.direction(makers[0].instance if makers else event.instance, event.instance)
    promise = scene.promise("exclusive.loser-sees", direction, publish="mkdir", state="cold", contenders="2")
    why = f"The directory was there by its own answers, but a name in it could not be made. Promised: {told(promise)}."
    return (promised_box(promise), f"ENOENT at {what} in a directory that exists", why,
            "exclusive.loser-sees", "", [*makers, *made, event])  # fmt: skip


def _cleaned_away(event: Event, title: str, events: list[Event | None]) -> Fault:
    why = f"A cleaner removed an empty directory while {event.step} relied on it; the engine does not try again."
    cure = "repeat makedirs and open on ENOENT, or a cleaner that leaves young directories alone"
    return Box.APPLICATION, f"{title}, the directory was cleaned away", why, "", cure, events


def _cleaned(scene: Scene, event: Event, path: str) -> list[Event]:
    """Removals of a directory by others that began before `event` returned, unless it was surely made anew since."""
    made = [e for e in scene.at(path, "mkdir") if not e.errno and e.returned < event.invoked]
    since = made[-1].invoked if made else 0
    return [e for e in others_on(scene, event, path, "rmdir") if e.returned > since]


def _above(path: str) -> Iterator[str]:
    """The directories above a path, the nearest first."""
    while path:
        path = path.rpartition("/")[0]
        yield path


_JUDGES: dict[tuple[int, str], Callable[[Scene, Event], Fault]] = {
    (errno.EEXIST, "open-temp"): _temp_exists,
    (errno.EEXIST, "mkdir"): _directory_exists,
    (errno.EEXIST, "rename"): _no_replace,
    (errno.ENOENT, "rename"): _temp_gone,
    (errno.ENOENT, "link"): _temp_gone,
    **{(errno.ENOENT, step): _parent_gone for step in ("mkdir", "open-temp", "open-final", "open-lock", "symlink")},
}
