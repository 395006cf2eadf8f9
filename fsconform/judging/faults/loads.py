"""Loads that failed or brought wrong bytes, and short reads, which an engine answers by deleting the block."""

from __future__ import annotations

import errno
from collections.abc import Iterator

from fsconform.judging.faults.evidence import PUBLISHES, Scene, few, promised_box, told
from fsconform.judging.faults.stores import others_on
from fsconform.vocabulary.blocks import Content
from fsconform.vocabulary.errnos import name_of
from fsconform.vocabulary.workloads import Attribution, Box, Event, InstanceReport

_GONE = (errno.ENOENT, errno.ESTALE)
_EXPLAINS = (
    "{} read_bytes", "{} external_prefix_cache_hits", "{} promotion_job_failures", "{} short_reads",
    "{} would_unlink", "{} blocks with wrong bytes", "files: blocks of full length",
)  # fmt: skip
Fault = tuple[Box, str, str, str, list[Event | None]]
"""Box, title, why, property, events."""


def attribute_loads(scene: Scene, report: InstanceReport) -> Iterator[Attribution]:
    """One finding per kind of failure of an instance's load jobs, and of wrong contents."""
    faults: dict[tuple[Box, str], list[Fault]] = {}
    for job in report.jobs:
        for outcome in job.outcomes if job.kind == "load" else ():
            if outcome.step == "read" and not outcome.errno:
                fault = _short(scene, report, job.phase, outcome.block, outcome.length)
            elif outcome.step:
                fault = _refused(scene, report, job.phase, outcome.block, outcome.errno, outcome.step)
            else:
                continue
            faults.setdefault(fault[:2], []).append(fault)
    for read in report.reads:
        if read.content not in (Content.EXACT, Content.SHORT):
            fault = _wrong(scene, report, read.block, Content(read.content), read.whose)
            faults.setdefault(fault[:2], []).append(fault)
    explains = tuple(name.format(report.letter) for name in _EXPLAINS)
    for (box, title), found in faults.items():
        events = few([event for fault in found[:3] for event in fault[4]])
        yield Attribution(box, f"{report.letter}: {title}", found[0][2], explains, events, found[0][3], "",
                          len(found), "would be unlinked" in title)  # fmt: skip


def _opened(report: InstanceReport, phase: int, block: int) -> Event | None:
    found = [e for e in report.events if (e.phase, e.block, e.step) == (phase, block, "open")]
    return found[-1] if found else None


def _last_read(report: InstanceReport, phase: int, block: int) -> Event | None:
    found = [e for e in report.events if (e.phase, e.block, e.step) == (phase, block, "read")]
    return found[-1] if found else None


def _refused(scene: Scene, report: InstanceReport, phase: int, block: int, number: int, step: str) -> Fault:
    opened, word = _opened(report, phase, block), name_of(number)
    looked = [e for e in report.events if e.step == "lookup" and e.block == block and not e.errno][-1:]
    removals = _removals(scene, opened) if opened else []
    if number in _GONE and removals:
        why = "The block was removed after it had been looked up; a hit is no lease, the engine recomputes."
        return Box.APPLICATION, f"{word} at {step} of an evicted block", why, "", [*looked, *removals[-1:], opened]
    if number in _GONE:
        promise = scene.promise("atomic.presence", "all", observer="open_read", size="8m")
        why = f"The look-up found the block, nobody removed it, and {step} did not find it. Promised: {told(promise)}."
        return promised_box(promise), f"{word} at {step}", why, "atomic.presence", [*looked, opened]
    if number == errno.EINVAL:
        why = "The filesystem refuses O_DIRECT here."
        return Box.CONFIGURATION, f"EINVAL at {step}", why, "capability.o-direct", [opened]
    why = f"{step} failed with {word}, which nothing that was done explains."
    return Box.BROKE, f"{word} at {step}", why, "", [opened, _last_read(report, phase, block)]


def _removals(scene: Scene, opened: Event) -> list[Event]:
    """Removals of a block that may have preceded its opening and that no later publish undid."""
    published = [e for e in scene.at(opened.path, *PUBLISHES) if not e.errno and e.returned < opened.invoked]
    since = published[-1].invoked if published else 0
    return [e for e in others_on(scene, opened, opened.path, "evict", "unlink-block") if e.returned > since]


def _short(scene: Scene, report: InstanceReport, phase: int, block: int, length: int) -> Fault:
    end = ": would be unlinked" if scene.setup.deletes else ""
    title = f"short read of {'a block' if _spoilt(scene, report, block) else 'a good block'}{end}"
    box, why, property_id, events = _incomplete(scene, report, phase, block)
    told_length = f"{length:,} of {scene.setup.size:,} bytes read."
    if scene.setup.deletes:
        told_length += " The engine deletes what it reads short: that destroys the block for everybody."
    return box, title, f"{told_length} {why}", property_id, events


def _spoilt(scene: Scene, report: InstanceReport, block: int) -> bool:
    """Whether the file itself was short in the end."""
    name = report.names[block]
    sizes = [size for path, size in scene.episode.files if path.endswith(f"{name}.bin")]
    return bool(sizes) and sizes[0] != scene.setup.size


def _wrong(scene: Scene, report: InstanceReport, block: int, content: Content, whose: int) -> Fault:
    phases = [job.phase for job in report.jobs if job.kind == "load" and block in job.blocks]
    box, why, property_id, events = _incomplete(scene, report, phases[-1] if phases else 0, block)
    what = {
        Content.ZERO: "pages of zeros", Content.FOREIGN: f"pages of block {whose}", Content.TORN: "pages of no block",
        Content.LONG: "more bytes than the block has",
    }[content]  # fmt: skip
    return box, f"{what} read for a block", why, property_id, events


def _incomplete(
    scene: Scene, report: InstanceReport, phase: int, block: int
) -> tuple[Box, str, str, list[Event | None]]:
    """Why a block that was found was not whole."""
    opened, read = _opened(report, phase, block), _last_read(report, phase, block)
    path = opened.path if opened else ""
    publish, whole = scene.published(path), scene.whole_since(path)
    writers = _rival_writers(scene, publish)
    if writers:
        why = "Two writers had the same file open: one emptied or filled what the other was publishing."
        return Box.APPLICATION, why, "", [*writers, publish, opened, read]
    if opened and (whole is None or opened.invoked < whole + 2 * scene.setup.error_ns):
        why = "It was read before its writer had closed it: the store gives a block its name before its contents."
        return Box.APPLICATION, why, "", [publish, opened, read]
    if scene.setup.publish in ("rename", "link", "noreplace"):
        axes = {"publish": scene.setup.publish, "observer": "open_read", "size": "8m"}
    else:
        axes = {"publish": "excl", "observer": "open_read", "size": "8m"}
    actor = publish.instance if publish else report.letter
    promise = scene.promise("content.complete", scene.direction(actor, report.letter), **axes)
    why = f"It had been written, closed and published before it was opened. Promised: {told(promise)}."
    return promised_box(promise), why, "content.complete", [publish, opened, read]


def _rival_writers(scene: Scene, publish: Event | None) -> list[Event]:
    """Others that opened the same file for writing before it had its name (or at any time: in place)."""
    if publish is None:
        return []
    if publish.step == "open-final":
        return [e for e in scene.at(publish.path, "open-final") if not e.errno and e is not publish][:1]
    opened = [e for e in scene.of_thread(publish) if e.step == "open-temp" and e.block == publish.block]
    return others_on(scene, publish, opened[-1].path, "open-temp")[:1] if opened else []
