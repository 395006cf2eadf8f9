"""Findings that need a program of their own: what two sites do, and how often the surprise was met.

Every function takes a stage and gives (times met, times tried, what else was seen). Names lie in directories of their
own, made by the program, which then rest for longer than a tick of the server (10 ms).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median
from typing import NamedTuple

from bench.findings.stage import Stage
from fsconform.vocabulary.blocks import PAGE, Content, block_key
from fsconform.vocabulary.errnos import OK
from fsconform.vocabulary.histories import RoundHistory
from fsconform.vocabulary.steps import Step

BARRIER = Step("barrier")
REST, BETWEEN = Step("sleep", arg=60_000_000), Step("sleep", arg=20_000_000)
REFRESH_AFTER_NS = 300_000_000
HIDDEN_FOR_NS = 3_000_000_000
"""Three times the attribute timeout of the lab it is tried in."""
KEY = block_key("findings", "block")


class Seen(NamedTuple):
    """What one program showed."""

    met: int
    tried: int
    more: str = ""


def publish(path: str, version: int = 0, fd: int = 0) -> list[Step]:
    """Make a file of one page and close it."""
    return [Step("excl_create", path, fd=fd), Step("write", fd=fd, key=KEY, size=PAGE, version=version),
            Step("close", fd=fd)]  # fmt: skip


def rewrite(path: str, version: int) -> list[Step]:
    """Write the page of an existing file anew."""
    return [Step("open", path), Step("write", key=KEY, size=PAGE, version=version), Step("close")]


def results(history: RoundHistory, lane: int, kind: str) -> list[int]:
    """errno of all steps of a kind, in order."""
    steps = history.program.lanes[lane].steps
    return [int(history.lanes[lane].errno[0, k]) for k, step in enumerate(steps) if step.kind == kind]


def hide_behind_tick(stage: Stage, names: int = 20) -> Seen:
    """A creates the temporary file, B misses the name, A renames: all within one tick of the server."""
    there, tops = stage.elsewhere, [str(number) for number in range(names)]
    steps = [REST]
    for top in tops:
        steps += [*publish(f"{top}/temporary"), Step("stat", f"{there}/{top}/name"),
                  Step("rename", f"{top}/temporary", f"{top}/name"), BETWEEN]  # fmt: skip
    steps.append(Step("sleep", arg=HIDDEN_FOR_NS))
    steps += [Step("stat", f"{there}/{top}/name") for top in tops]
    steps += [Step("open_read", f"{there}/{top}/name", key=KEY, size=PAGE) for top in tops]
    for top in tops:
        steps += [Step("scandir", f"{there}/{top}"), Step("stat", f"{there}/{top}/name")]
    history = stage.perform(steps, directories=tuple(tops))
    stats, opens = results(history, 0, "stat"), results(history, 0, "open_read")
    hidden = [number for number in range(names) if stats[names + number] != OK]
    opened = sum(opens[number] == OK for number in hidden)
    cured = sum(stats[2 * names + number] == OK for number in hidden)
    return Seen(len(hidden), names, f"of these open found {opened}, a fresh listing cured {cured}")


def rewrite_within_tick(stage: Stage, files: int = 30, pause_ns: int = 0) -> Seen:
    """A writes a file, B reads it, A writes it again at the same length within one tick, B opens and reads it anew."""
    steps = [REST]
    for number in range(files):
        read = Step("open_read", f"{stage.elsewhere}/{number}", key=KEY, version=2)
        pause = (Step("sleep", arg=pause_ns),) if pause_ns else ()
        steps += [*publish(str(number), version=1), read, *pause, *rewrite(str(number), 2), read, BETWEEN]
    history = stage.perform(steps)
    at = [k for k, step in enumerate(history.program.lanes[0].steps) if step.kind == "open_read"][1::2]
    values = [int(history.lanes[0].value[0, k]) for k in at]
    return Seen(sum(value & 0xFF == int(Content.EXACT) and value >> 8 == 1 for value in values), files)


def rewrite_after_tick(stage: Stage, files: int = 30) -> Seen:
    """The same, with 30 ms between the two writes."""
    return rewrite_within_tick(stage, files, 30_000_000)


def wait_for_delegation(stage: Stage, files: int = 20) -> Seen:
    """A opens files for writing, of which B holds every second one open for reading."""
    made = [step for number in range(files) for step in publish(str(number))]
    held = [Step("open", str(number), arg=1, fd=1 + number) for number in range(0, files, 2)]
    opened = [step for number in range(files) for step in (Step("open", str(number)), Step("close"))]
    history = stage.perform([*made, BARRIER, BARRIER, *opened, BARRIER],
                            [BARRIER, *held, REST, BARRIER, BARRIER])  # fmt: skip
    lane = history.lanes[0]
    at = [k for k, step in enumerate(history.program.lanes[0].steps) if step.kind == "open"]
    took = [int(lane.returned[0, k] - lane.invoked[0, k]) / 1e6 for k in at]
    slow = sum(ms > 50 for ms in took[::2])
    return Seen(slow, len(took[::2]), f"open took {median(took[::2]):.1f} ms (median) where B holds the file, "
                f"{median(took[1::2]):.1f} ms where nobody does")  # fmt: skip


def open_removed_name(stage: Stage, names: int = 20) -> Seen:
    """B knows the names; A, which has the files open, removes them; B opens them by name."""
    made = [step for number in range(names)
            for step in (*publish(str(number)), Step("open", str(number), arg=1, fd=1 + number))]  # fmt: skip
    removed = [Step("unlink", str(number)) for number in range(names)]
    reads = [Step("open_read", str(number), key=KEY, size=PAGE) for number in range(names)]
    history = stage.perform([*made, BARRIER, BARRIER, *removed, BARRIER], [BARRIER, *reads, BARRIER, BARRIER, *reads])
    after = results(history, 1, "open_read")[names:]
    return Seen(sum(number == OK for number in after), names)


def rename_over_open_file(stage: Stage, names: int = 60) -> Seen:
    """A, which has the old file open, renames a new one over it; B asks the server for the name all the time."""
    acting: list[Step] = []
    observing: list[Step] = []
    looks = 40
    for number in range(names):
        name = f"{number}/name"
        acting += [*publish(name), Step("open", name, arg=1, fd=1), *publish(f"{number}/new"), BARRIER,
                   Step("sleep", arg=1_000_000), Step("rename", f"{number}/new", name), Step("close", fd=1),
                   BARRIER]  # fmt: skip
        observing += [BARRIER, *(Step("stat", name) for _ in range(looks)), BARRIER]
    history = stage.perform(acting, observing, tuple(map(str, range(names))))
    stats = results(history, 1, "stat")
    gaps = sum(any(stats[number * looks : (number + 1) * looks]) for number in range(names))
    return Seen(gaps, names)


REFRESHERS: dict[str, Callable[[str], Sequence[Step]]] = {
    "nothing": lambda top: (),
    "listing the directory": lambda top: (Step("scandir", f"{top}/sub"),),
    "listing its parent": lambda top: (Step("scandir", top),),
    "opening the directory": lambda top: (Step("fsync_dir", f"{top}/sub"),),
    "creating a file in it": lambda top: (Step("excl_create", f"{top}/sub/own", fd=9), Step("close", fd=9)),
    "stat of another missing name": lambda top: (Step("stat", f"{top}/sub/missing"),),
    "open of another missing name": lambda top: (Step("open_fstat", f"{top}/sub/missing"),),
    "stat of the directory": lambda top: (Step("stat", f"{top}/sub"),),
    "open of another file in it": lambda top: (Step("open_fstat", f"{top}/sub/other"),),
}
"""What a reader may do near a name that it missed, by what one would call it."""


def refresh_by_accident(stage: Stage, names: int = 5) -> Seen:
    """B misses a name, A publishes it, B does something else nearby 0.3 s later: is the name there then?"""
    words = list(REFRESHERS)
    tops = [f"{which}-{number}" for which in range(len(words)) for number in range(names)]
    acting = [step for top in tops for step in (*publish(f"{top}/sub/temporary"), *publish(f"{top}/sub/other"))]
    observing: list[Step] = []
    acting, observing = [*acting, REST, BARRIER], [REST, BARRIER]
    for top in tops:
        observing += [Step("stat", f"{top}/sub/name"), BARRIER, BARRIER]
        acting += [BARRIER, Step("rename", f"{top}/sub/temporary", f"{top}/sub/name"), BARRIER]
    observing.append(Step("sleep", arg=REFRESH_AFTER_NS))
    for which, word in enumerate(words):
        for number in range(names):
            top = f"{which}-{number}"
            observing += [*REFRESHERS[word](top), Step("access", f"{top}/sub/name")]
    history = stage.perform(acting, observing, tuple(f"{top}/sub" for top in tops))
    found = results(history, 1, "access")
    counts = {word: sum(told == OK for told in found[k * names : (k + 1) * names]) for k, word in enumerate(words)}
    more = "; ".join(f"{word} {count} of {names}" for word, count in counts.items())
    return Seen(sum(counts.values()) - counts["nothing"], names * (len(words) - 1), more)
