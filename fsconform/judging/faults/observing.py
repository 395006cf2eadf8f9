"""What an observer of the engine can be misled by: the gauge, names that do not agree, calls that did not return."""

from __future__ import annotations

from collections.abc import Iterator

from fsconform.judging.expectations import GAUGE, HITS, LISTED, NAMES_AGREE, request_samples
from fsconform.judging.faults.evidence import Scene, few
from fsconform.judging.faults.stores import PERMISSION, ROOM
from fsconform.vocabulary.errnos import name_of
from fsconform.vocabulary.workloads import Attribution, Box, InstanceReport

NOTES = (
    "chunk_queries and lookup_async_delay_seconds move on a miss, too: only chunk_hits and read_bytes show a hit.",
    "active_promotion_jobs counts jobs in flight at this moment, refreshed once per engine step: 0 before and after a"
    " request is normal, and a scrape every 15 s hardly ever sees anything else.",
    "write_bytes follows vLLM's rule: a job that succeeded counts in full, blocks that were there already included;"
    " a failed one counts 0. write_bytes_actual is what was really written.",
)


def attribute_gauge(scene: Scene, report: InstanceReport) -> Iterator[Attribution]:
    """A gauge that was 0 in every sample."""
    samples = request_samples(report) if scene.setup.variant in LISTED else ()
    if not samples or any(promotions for _, promotions, _ in samples):
        return
    seen = report.request or report.numbers
    count = f"0 in all {len(samples)} samples"
    if seen.get("read_bytes", 0) > 0:
        longest = max((after[0] - before[0] for before, after in zip(report.changes, report.changes[1:], strict=False)
                       if before[1] > 0), default=0)  # fmt: skip
        why = (
            f"{count}, one every {scene.setup.gauge_s * 1e3:g} ms, but {seen['read_bytes']:,} bytes were promoted: the "
            f"job lasted {longest / 1e6:.1f} ms. The gauge cannot show it; read_bytes does."
        )
        yield Attribution(Box.GAP, "promotions that no sample of the gauge saw", why, (GAUGE,), ())
    elif seen.get(HITS, 0) > 0 and not seen.get("promotion_jobs_started", 0):
        why = f"{count}, {seen[HITS]} hits and no job started: a hit that was not followed by a promotion."
        yield Attribution(Box.APPLICATION, "hits without promotion", why, (GAUGE, "B read_bytes"), ())


def attribute_names(scene: Scene, first: InstanceReport, second: InstanceReport) -> Iterator[Attribution]:
    """Instances that derive different names for the same tokens."""
    differing = [k for k, (one, other) in enumerate(zip(first.names, second.names, strict=False)) if one != other]
    if not differing:
        return
    there = sum(path.rpartition("/")[2].removesuffix(".bin") in first.names for path, _ in scene.episode.files)
    block = differing[0]
    why = (
        f"{len(differing)} of {len(first.names)} names differ, first of block {block}: {first.names[block]} at "
        f"{first.letter}, {second.names[block]} at {second.letter}; {there} blocks are there under the names of "
        f"{first.letter}. Seed string, hash function, block size and model settings must agree letter by letter."
    )
    looks = [e for e in second.events if e.step == "lookup" and e.block == block][:2]
    stores = [e for e in first.events if e.block == block and e.step == "rename"][:1]
    explains = (
        NAMES_AGREE, "B chunk_hits", "B read_bytes", "B external_prefix_cache_hits", GAUGE, "B write_bytes",
        "files: blocks of full length", "files: blocks under other names",
    )  # fmt: skip
    cure = "the same PYTHONHASHSEED and prefix-caching hash on every instance"
    yield Attribution(Box.CONFIGURATION, "names of blocks do not agree", why, explains, few([*stores, *looks]), "",
                      cure, len(differing))  # fmt: skip


def attribute_hang(scene: Scene, report: InstanceReport) -> Iterator[Attribution]:
    """A call that passed its deadline."""
    if not report.lost or report.letter in scene.episode.facts.get("killed", ()):
        return
    hung = [event for event in report.events if event.errno == -1]
    name = f"{report.letter} every call returned"
    steps = ", ".join(dict.fromkeys(event.step for event in hung)) or "unknown"
    why = f"{report.lost}. Calls that had not returned: {steps}. The engine has no deadline: its threads stay there."
    yield Attribution(Box.BROKE, "a call did not return", why, (name,), few(hung), "liveness", "", max(1, len(hung)))


def attribute_refusal(scene: Scene) -> Iterator[Attribution]:
    """A call outside all jobs that was refused, so that the replay could not go on."""
    if "refused" not in scene.episode.facts:
        return
    told, number = scene.episode.facts["refused"]
    failed = [event for event in scene.episode.events() if event.errno == number][-1:]
    step = f" at {failed[0].step}" if failed else ""
    title, explains = f"{told}: {name_of(number)}{step}", (f"{told} was possible",)
    if number in (*ROOM, *PERMISSION):
        why = "There is no room, or this user may not do that there."
        yield Attribution(Box.CONFIGURATION, title, why, explains, few(failed), "", "room, and a writable directory")
        return
    yield Attribution(Box.BROKE, title, "Nothing that was done explains it.", explains, few(failed))
