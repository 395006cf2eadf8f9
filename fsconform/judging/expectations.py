"""What a replay must come to on a filesystem that behaves like a local one: names, counters, files."""

from __future__ import annotations

from collections.abc import Iterator

from fsconform.vocabulary.errnos import name_of
from fsconform.vocabulary.workloads import Episode, Expectation, InstanceReport, JobRecord, Phase

QUERIES, HITS = "chunk_queries:1:fs", "chunk_hits:1:fs"
FAILURES = ("promotion_allocation_failures", "promotion_job_failures", "cascade_job_failures", "short_writes")
NAMES_AGREE = "names agree"
GAUGE = "B active_promotion_jobs seen above 0"
MISSES_COME = "B hits of the first request"
LISTED = ("base", "v1")
"""Variants of which the whole story is expected."""


def expectations(episode: Episode) -> tuple[Expectation, ...]:
    """All expectations of an episode, met or not. What a variant provokes on purpose is not among them."""
    if "refused" in episode.facts:
        return tuple(_of_refusal(episode))
    return tuple(_of_story(episode)) if episode.setup.variant in LISTED else tuple(_of_variant(episode))


def _of_refusal(episode: Episode) -> Iterator[Expectation]:
    """Of an episode that could not go on: nothing else is expected of it."""
    scene, number = episode.facts["refused"]
    yield Expectation(f"{scene} was possible", "yes", name_of(number), False)


def _of_story(episode: Episode) -> Iterator[Expectation]:
    setup = episode.setup
    whole = setup.blocks * setup.size
    first, second = episode.instance("A"), episode.instance("B")
    if first is None or second is None:
        return
    yield from _names(first, second)
    both = setup.variant == "v1"
    for report in (first, second) if both else (first,):
        yield _equal(f"{report.letter} write_bytes", whole, _store_bytes(report, setup.size))
    yield from _alive(episode)
    asked = second.request
    if asked:
        queries = setup.blocks * (2 if setup.reader != "clean" else 1)
        yield _equal("B chunk_queries", queries, asked.get(QUERIES, 0))
        yield _equal("B chunk_hits", setup.blocks, asked.get(HITS, 0))
        yield _equal("B read_bytes", whole, asked.get("read_bytes", 0))
        yield _equal("B external_prefix_cache_hits", setup.blocks * setup.tokens, asked["external_prefix_cache_hits"])
    for report in (first, second):
        for name in (*FAILURES, "short_reads", "would_unlink"):
            yield _equal(f"{report.letter} {name}", 0, report.numbers.get(name, 0))
    yield _equal("B blocks with wrong bytes", 0, sum(read.content != 0 for read in second.reads))
    yield from _gauge(second)
    yield from _files(episode, first)


def _of_variant(episode: Episode) -> Iterator[Expectation]:
    yield from _alive(episode)
    reports = [report for report in episode.instances if report.letter in "AB"]
    for report in reports:
        yield _equal(f"{report.letter} would_unlink", 0, report.numbers.get("would_unlink", 0))
        yield _equal(f"{report.letter} blocks with wrong bytes", 0, sum(read.content != 0 for read in report.reads))
    for name, count in episode.facts.get("must be 0", {}).items():
        yield _equal(name, 0, count)
    for report in reports:
        for name in ("cascade_job_failures", "promotion_job_failures"):
            if name not in episode.facts.get("provoked", ()):
                yield _equal(f"{report.letter} {name}", 0, report.numbers.get(name, 0))


def _names(first: InstanceReport, second: InstanceReport) -> Iterator[Expectation]:
    alike = sum(one == other for one, other in zip(first.names, second.names, strict=False))
    yield _equal(NAMES_AGREE, len(first.names), alike)


def _alive(episode: Episode) -> Iterator[Expectation]:
    killed = episode.facts.get("killed", ())
    for report in episode.instances:
        if report.letter not in killed:
            yield Expectation(f"{report.letter} every call returned", "yes", report.lost or "yes", not report.lost)


def _store_bytes(report: InstanceReport, size: int) -> int:
    """write_bytes of phase 2 by vLLM's rule: jobs that succeeded, in full."""
    return sum(len(job.blocks) * size for job in stores(report, Phase.STORE) if job.failure is None)


def stores(report: InstanceReport, phase: Phase) -> tuple[JobRecord, ...]:
    """The store jobs of a phase."""
    return tuple(job for job in report.jobs if job.kind == "store" and job.phase == phase)


def request_samples(report: InstanceReport) -> tuple[tuple[int, int, int], ...]:
    """The samples of the gauge up to the end of the first request: before anybody looked again."""
    later = min((event.invoked for event in report.events if event.phase == Phase.POLL), default=None)
    return tuple(sample for sample in report.samples if later is None or sample[0] < later)


def _gauge(report: InstanceReport) -> Iterator[Expectation]:
    values = [promotions for _, promotions, _ in request_samples(report)]
    above = sum(value > 0 for value in values)
    got = f"{above} of {len(values)} samples, peak {max(values, default=0)}"
    yield Expectation(GAUGE, "some samples", got, above > 0)
    if values:
        edges = f"{values[0]} and {values[-1]}"
        yield Expectation("B active_promotion_jobs before and after", "0 and 0", edges, edges == "0 and 0")


def _files(episode: Episode, first: InstanceReport) -> Iterator[Expectation]:
    setup = episode.setup
    blocks = [(path, size) for path, size in episode.files if path.endswith(".bin")]
    known = set(first.names)
    yield _equal("files: blocks of full length", setup.blocks, sum(size == setup.size for _, size in blocks))
    strangers = sum(path.rpartition("/")[2].removesuffix(".bin") not in known for path, _ in blocks)
    yield _equal("files: blocks under other names", 0, strangers)
    leftovers = [path for path, _ in episode.files if is_temporary(path)]
    yield _equal("files: temporary files left", 0, len(leftovers))
    yield _equal("files: config.json", 1, sum(path.endswith("/config.json") for path, _ in episode.files))


def is_temporary(path: str) -> bool:
    """Whether a path is a temporary name of any store."""
    name = path.rpartition("/")[2]
    return name.endswith((".tmp", ".incomplete")) or name.startswith("tmp_obj_")


def _equal(name: str, expected: int, got: int) -> Expectation:
    return Expectation(name, f"{expected:,}", f"{got:,}", expected == got)
