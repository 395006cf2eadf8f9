"""Writes docs/seed-case.md: the two-instance story on a local filesystem, an emulated 3FS and NFS, with its numbers.

python -m bench.seed_page [--directory DIR] [--output FILE] [--only NAME]...
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from fsconform.report.numbers import bytes_text
from fsconform.run.progress import Silent
from fsconform.run.workload.conduct import conduct_workload
from fsconform.run.workload.options import TIER, WorkloadOptions
from fsconform.vocabulary.errnos import name_of
from fsconform.vocabulary.errors import CannotTestError
from fsconform.vocabulary.workload_records import WorkloadRecord
from fsconform.vocabulary.workloads import EpisodeResult, Phase

READERS = ("clean", "poisoned", "poisoned-name")
READER_WORDS = {
    "clean": "no",
    "poisoned": "yes, before any directory was there",
    "poisoned-name": "yes, when the directories were there",
}
FULL, SMALL = 8 << 20, 256 << 10
HEAD = """\
# Two engines on one shared directory: whose fault was it?

Made by `make seed-case`; every number below was measured by it.

Two vLLM engines share one tier of type `fs`. A stores a prefix of 67 blocks, B asks for it a little later:
`chunk_queries` and `lookup_async_delay_seconds` move, `active_promotion_jobs` stays 0, B computes everything again,
and once a log line says `[Errno 17] File exists: .../<sha256>.bin`. On another network filesystem all 67 blocks come
back. The replay makes the same calls from the same threads, and keeps the step of every call.

"""
LOOKUPS = """\
## Why a look-up can look successful and nothing comes back

`chunk_queries` counts resolved questions and `lookup_async_delay_seconds` times them: both move on a miss, too. Only
`chunk_hits` and `read_bytes` show a hit. Whether B hits depends on what B asked *before*:

| filesystem | B asked before | ago | chunk_queries | chunk_hits | read_bytes | external hits | seen after | verdict |
|---|---|---:|---:|---:|---:|---:|---:|---|
"""
AFTER_LOOKUPS = """\

A client that was told "no such file" may go on saying so: for 3FS `negative_timeout` (5 s), for NFS until the
attributes of the directory expire (`acdirmin` to `acdirmax`, 30 to 60 s). That is promised and kept. The engine asks
once per block and request and keeps the answer for the life of the request: *filesystem within its promise,
application assumes more*. A missing ancestor directory is enough: one cached miss hides all 67 blocks. A miss that is
older than its bound does no harm any more.

"""
CURES = """\
What helped right before the look-up, each on names of its own beside untouched ones:

| filesystem | B asked before | cure | cured | untouched |
|---|---|---|---:|---:|
"""
GAUGES = """\
## Why the gauge stays 0

`active_promotion_jobs` counts jobs in flight at this moment and is refreshed once per engine step: 0 before and after
a request is normal. Sampled every 20 ms during the request (B had not asked before):

| filesystem | bytes promoted | samples above 0 | peak | the job lasted |
|---|---:|---:|---:|---:|
"""
AFTER_GAUGES = """\

All samples 0 with `read_bytes` above 0 is an *observation gap*. A scrape every 15 s hardly ever sees a job that
lasts a second. All samples 0, hits above 0 and no job started would be a hit without promotion.

"""
COLLISIONS = """\
## Where Errno 17 comes from

The engine's log names the destination, whichever call failed. Both instances store the same 67 blocks at the same
time, each block a task of its own:

| filesystem | engine | suffixes of temporary names | A: blocks that failed | B: blocks that failed | where |
|---|---|---|---:|---:|---|
"""
AFTER_COLLISIONS = """\

`EEXIST` is the right answer of `open(O_CREAT|O_EXCL)` where another instance has the same temporary name. The engine
draws the suffix from Python's global `random`, once per thread; engines with equal seeds draw equal numbers (the
first `randint(0, 2**63 - 1)` after `random.seed(0)` is 7106521602475165645). In Python mode the loser also removes
the winner's file, whose rename then fails with ENOENT. So: *application*. With unique suffixes no block fails; an
EEXIST there would be the filesystem's.

"""


@dataclass(frozen=True, slots=True)
class Place:
    """One filesystem of the page."""

    name: str
    title: str
    site: str
    size: int
    """Bytes of a block."""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Told:
    """What was measured at one place."""

    place: Place
    story: WorkloadRecord
    races: dict[tuple[str, str], WorkloadRecord]
    """(engine, suffixes) -> both instances storing at once."""


def places(directory: str) -> list[Place]:
    """What the page is about."""
    small = f"blocks of {bytes_text(SMALL)}: the guests have little memory"
    return [
        Place("local", "a local directory", directory, FULL),
        Place("3fs-fuse", "the emulated 3FS, two mounts", "lab=3fs-fuse", FULL, "a model of the 3FS sources, not 3FS"),
        Place("nfs4.2", "NFSv4.2, kernel server and two client hosts", "lab=nfs4.2", SMALL, small),
    ]


def measure(place: Place) -> Told:
    """All replays of one place. Raises CannotTestError where it cannot be had here."""
    story = conduct_workload(WorkloadOptions(TIER, (place.site,), readers=READERS, sizes=(place.size,)), Silent())
    races = {}
    for engine in ("c", "py"):
        for suffixes, variant in (("unique", "v1"), ("equal", "v2")):
            options = WorkloadOptions(
                TIER, (place.site,), (variant,), ("clean",), engine, sizes=(place.size,), tasks=("block",)
            )
            races[engine, suffixes] = conduct_workload(options, Silent())
    return Told(place, story, races)


def page(found: Sequence[Told]) -> Iterator[str]:
    """The lines of the page."""
    yield from _head()
    yield from _lookups(found)
    yield from _gauges(found)
    yield from _collisions(found)
    yield from _commands(found)


def _head() -> Iterator[str]:
    yield from HEAD.splitlines()


def _lookups(found: Sequence[Told]) -> Iterator[str]:
    yield from LOOKUPS.splitlines()
    for told in found:
        for result in told.story.results:
            yield _lookup_row(told.place, result)
    yield from AFTER_LOOKUPS.splitlines()
    yield from _cures(found)


def _lookup_row(place: Place, result: EpisodeResult) -> str:
    second = result.episode.instance("B")
    assert second is not None
    asked = second.request
    boxes = [finding.box.value for finding in result.attributions if finding.property_id]
    cells = (
        place.title, READER_WORDS[result.episode.setup.reader], _age(result), f"{asked.get('chunk_queries:1:fs', 0):,}",
        f"{asked.get('chunk_hits:1:fs', 0):,}", f"{asked.get('read_bytes', 0):,}",
        f"{asked.get('external_prefix_cache_hits', 0):,}", _visible_after(result), ", ".join(boxes) or "as expected",
    )  # fmt: skip
    return f"| {' | '.join(cells)} |"


def _age(result: EpisodeResult) -> str:
    """From the last look of B before anything was stored to its request: the age of what its client remembers."""
    looks = [e for e in result.episode.events() if e.instance == "B" and e.step == "lookup"]
    before = [e.invoked for e in looks if e.phase == Phase.COLD]
    request = [e.invoked for e in looks if e.phase == Phase.LOOKUP]
    return f"{(request[0] - before[-1]) / 1e9:.1f} s" if before and request else ""


def _visible_after(result: EpisodeResult) -> str:
    """From the rename until B's look-up found the block, the longest of all."""
    renames = {e.path: e.returned for e in result.episode.events() if e.step == "rename" and not e.errno}
    hits: dict[str, int] = {}
    for event in result.episode.events():
        if event.instance == "B" and event.step == "lookup" and not event.errno and event.path in renames:
            hits.setdefault(event.path, event.invoked)
    late = [hit - renames[path] for path, hit in hits.items()]
    missed = any(e.phase == Phase.LOOKUP and e.errno for e in result.episode.events() if e.step == "lookup")
    return f"{max(late) / 1e9:.1f} s" if missed and late else "at once" if late else "never"


def _cures(found: Sequence[Told]) -> Iterator[str]:
    rows = [(told.place, result, cure) for told in found for result in told.story.results
            for cure in result.episode.facts.get("cures", ())]  # fmt: skip
    if not rows:
        return
    yield from CURES.splitlines()
    for place, result, cure in rows:
        asked = READER_WORDS[result.episode.setup.reader]
        untouched = f"{cure.control_visible} of {cure.control_trials}"
        yield f"| {place.title} | {asked} | {cure.name} | {cure.cured} of {cure.trials} | {untouched} |"
    yield ""


def _gauges(found: Sequence[Told]) -> Iterator[str]:
    yield from GAUGES.splitlines()
    for told in found:
        second = told.story.results[0].episode.instance("B")
        assert second is not None
        above = [sample for sample in second.samples if sample[1]]
        lasted = max(second.times.get("read_time", (0,)), default=0) / 1e9
        yield (
            f"| {told.place.title} | {second.request.get('read_bytes', 0):,} | {len(above)} of {len(second.samples)} "
            f"| {max((sample[1] for sample in above), default=0)} | {lasted:.2f} s |"
        )
    yield from AFTER_GAUGES.splitlines()


def _collisions(found: Sequence[Told]) -> Iterator[str]:
    yield from COLLISIONS.splitlines()
    for told in found:
        for (engine, suffixes), record in told.races.items():
            for result in record.results:
                failed = [_failed(result, letter) for letter in "AB"]
                steps = sorted({word for words in failed for word in words})
                cells = (
                    told.place.title,
                    engine,
                    suffixes,
                    *(f"{len(words)} of 67" for words in failed),
                    "; ".join(steps),
                )
                yield f"| {' | '.join(cells)} |"
    yield from AFTER_COLLISIONS.splitlines()


def _failed(result: EpisodeResult, letter: str) -> list[str]:
    report = result.episode.instance(letter)
    assert report is not None
    return [f"{name_of(outcome.errno)} at {outcome.step}" for job in report.jobs if job.kind == "store"
            for outcome in job.outcomes if outcome.step]  # fmt: skip


def _commands(found: Sequence[Told]) -> Iterator[str]:
    yield "## The commands"
    yield ""
    yield "```sh"
    for told in found:
        yield f"# {told.place.title}{f' ({told.place.note})' if told.place.note else ''}"
        yield _shown(told.story.command, told.place)
        yield _shown(told.races["c", "equal"].command, told.place)
    yield "```"
    yield ""
    yield "Filesystems and times of these runs:"
    yield ""
    for told in found:
        site = told.story.sites[0]
        seconds = told.story.results[0].episode.seconds
        times = f"store {seconds['store']:.2f} s, promotion {seconds['promote']:.2f} s"
        yield (
            f"- {told.place.title}: {site.mount.fstype}, kernel {site.kernel}, {bytes_text(told.place.size)} per block,"
            f" {times}, exit status {told.story.exit_status}"
        )


def _shown(command: str, place: Place) -> str:
    return command.replace(place.site, "/path/on/ext4") if place.name == "local" else command


def main() -> int:
    """Measure, write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--directory", help="where the local directory is made (default: the temporary directory)")
    parser.add_argument("--output", default="docs/seed-case.md")
    parser.add_argument("--only", action="append", help="only this place: local, 3fs-fuse, nfs4.2")
    arguments = parser.parse_args()
    root = tempfile.mkdtemp(prefix="fsconform-seed-case-", dir=arguments.directory)
    found = []
    try:
        for place in places(root):
            if arguments.only and place.name not in arguments.only:
                continue
            try:
                found.append(measure(place))
            except CannotTestError as error:
                print(f"{place.title}: left out: {error}", file=sys.stderr)
    finally:
        shutil.rmtree(root, ignore_errors=True)
    if not found:
        return 2
    Path(arguments.output).write_text("\n".join(page(found)) + "\n", encoding="utf-8")
    print(f"written: {arguments.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
