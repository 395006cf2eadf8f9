"""A workload in words, for all formats: the sentence, rows of counters, findings, what was skipped."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from fsconform.judging.expectations import QUERIES, request_samples
from fsconform.judging.faults.variants import hang_facts
from fsconform.report.escaping import shorten_keys, visible
from fsconform.report.numbers import bytes_text, count_text, duration_text
from fsconform.report.witnesses import Moment, timeline
from fsconform.vocabulary.observations import Witness
from fsconform.vocabulary.verdicts import EXIT_WORDS
from fsconform.vocabulary.workload_records import WorkloadRecord
from fsconform.vocabulary.workloads import Attribution, Box, EpisodeResult, InstanceReport

_PREFIX = "vllm:kv_offload_tiering_"
COUNTERS = (
    "chunk_queries:0:primary", "chunk_queries:1:fs", "chunk_hits:0:primary", "chunk_hits:1:fs", "read_bytes",
    "write_bytes", "promotion_allocation_failures", "promotion_job_failures", "cascade_job_failures",
)  # fmt: skip
OURS = ("write_bytes_actual", "dedup_skips", "short_reads", "short_writes", "would_unlink", "promotion_jobs_started",
        "cascade_jobs_started")  # fmt: skip


_TASKS = {"job": "job", "block": "block", "split": "thread (split)"}


@dataclass(frozen=True, slots=True)
class Finding:
    """One attribution, told. All texts are printable, one line each."""

    box: Box
    title: str
    why: str
    cure: str
    explains: str
    timeline: tuple[Moment, ...]


def workload_sentence(record: WorkloadRecord) -> str:
    """One sentence: whose fault what was."""
    played = [result for result in record.results if not result.skipped]
    boxes = [box for box in Box if any(f.box is box for result in played for f in result.attributions)]
    failed = sum(not e.met for result in played for e in result.expectations)
    what = f"{visible(record.title)} on {', '.join(dict.fromkeys(visible(s.mount.fstype) for s in record.sites))}"
    if not played:
        told = f"{what}: nothing was played"
    elif not boxes:
        told = f"{what}: everything as expected in {count_text(len(played), 'replay')}"
    else:
        missed = f"{count_text(failed, 'expectation')} not met; " if failed else ""
        told = f"{what}: {_urgent(played)}{missed}found: {', '.join(box.value for box in boxes)}"
    ends = [f"inconclusive: {visible(record.inconclusive)}"] if record.inconclusive and record.exit_status == 4 else []
    ends += [f"interrupted after {record.duration_s:.0f} s"] if record.interrupted else []
    return "; ".join([told, *ends]) + "."


def _urgent(results: list[EpisodeResult]) -> str:
    """What destroys good data is said first of all."""
    found = [finding for result in results for finding in result.attributions if finding.urgent]
    return f"{visible(found[0].title)} ({found[0].count:,}); " if found else ""


def workload_status_line(record: WorkloadRecord) -> str:
    """The last line: `exit status 0 (kept)`."""
    return f"exit status {record.exit_status} ({EXIT_WORDS[record.exit_status]})"


def findings_of(result: EpisodeResult) -> tuple[Finding, ...]:
    """The findings of one episode, as they are ranked."""
    return tuple(_finding(attribution) for attribution in result.attributions)


def _finding(found: Attribution) -> Finding:
    start = found.events[0].invoked if found.events else 0
    witness = Witness({}, tuple(event.to_json(start) for event in found.events), "")
    title = f"{visible(found.title)}{f' ({found.count:,} times)' if found.count > 1 else ''}"
    return Finding(found.box, title, shorten_keys(visible(found.why)), visible(found.cure),
                   ", ".join(map(visible, found.explains)), timeline(witness))  # fmt: skip


def columns_of(result: EpisodeResult) -> tuple[str, ...]:
    """Titles of the columns of counters: every instance that took part. A life that ended has one of its own (A1)."""
    return tuple(f"{report.letter} (its first request)" if report.request else report.letter
                 for report in _reports(result))  # fmt: skip


def _reports(result: EpisodeResult) -> list[InstanceReport]:
    return sorted(result.episode.instances, key=lambda report: report.letter)


def counter_rows(result: EpisodeResult) -> tuple[tuple[str, ...], ...]:
    """Rows of (name, value per column): vLLM's metrics under their names, then ours."""
    reports = _reports(result)
    rows = [(_metric(name), *(_count(report, name) for report in reports)) for name in COUNTERS]
    rows.append((f"{_PREFIX}lookup_async_delay_seconds", *(_delays(report) for report in reports)))
    rows.append((f"{_PREFIX}active_promotion_jobs", *(_gauge(report) for report in reports)))
    rows.append(
        ("vllm:external_prefix_cache_hits", *(_count(report, "external_prefix_cache_hits") for report in reports))
    )
    return (*rows, *((name, *(_count(report, name) for report in reports)) for name in OURS))


def _metric(name: str) -> str:
    base, _, tier = name.partition(":")
    return f'{_PREFIX}{base}{{tier="{tier}"}}' if tier else f"{_PREFIX}{base}"


def _count(report: InstanceReport, name: str) -> str:
    """The counters of B are those right after its first request."""
    if not report.numbers:
        return ""
    return f"{(report.request or report.numbers).get(name, 0):,}"


def _delays(report: InstanceReport) -> str:
    delays = report.times.get("lookup_async_delay", ())
    if report.request:
        delays = delays[: report.request[QUERIES]]
    return f"{len(delays)} values, max {duration_text(max(delays) / 1e9)}" if delays else ""


def _gauge(report: InstanceReport) -> str:
    samples = request_samples(report)
    if not samples:
        return ""
    above = [sample for sample in samples if sample[1]]
    if not above:
        return f"0 in all {len(samples)} samples"
    integral = sum((after[0] - before[0]) * before[1] for before, after in pairwise(samples)) / 1e9
    peak = max(sample[1] for sample in above)
    return f"above 0 in {len(above)} of {len(samples)} samples, peak {peak}, {integral:.2f} job s"


def errno_rows(result: EpisodeResult) -> tuple[tuple[str, ...], ...]:
    """Rows of (`EEXIST at mkdir`, how often per column), what a step is expected to refuse included."""
    from fsconform.vocabulary.errnos import name_of

    letters = [report.letter for report in _reports(result)]
    counts: dict[str, dict[str, int]] = {}
    for event in result.episode.events():
        if event.errno:
            row = counts.setdefault(f"{name_of(event.errno)} at {event.step}", dict.fromkeys(letters, 0))
            row[event.instance] += 1
    return tuple((name, *(f"{count:,}" for count in row.values())) for name, row in sorted(counts.items()))


def story_of(result: EpisodeResult) -> str:
    """The episode in one line: blocks, outcome of the request, times."""
    episode = result.episode
    setup, facts = episode.setup, episode.facts
    words = [f"{setup.blocks} blocks of {bytes_text(setup.size)}", _io(result), count_text(setup.threads, "thread"),
             f"a task per {_TASKS[setup.tasks]}", f"{setup.suffixes} suffixes"]  # fmt: skip
    if "hits" in facts:
        words.append(f"B's first request hit {facts['hits']} of {setup.blocks}")
    if "hits later" in facts:
        words.append(f"a later one {facts['hits later']}")
    words += [f"{name} {duration_text(seconds)}" for name, seconds in episode.seconds.items()]
    return ", ".join(words)


def _io(result: EpisodeResult) -> str:
    direct = {report.direct for report in result.episode.instances if report.letter in "AB"}
    told = "direct I/O" if direct == {True} else "buffered I/O" if direct == {False} else "mixed I/O"
    return f"{told} (by the probe)" if result.episode.setup.io == "auto" else told


def fact_rows(result: EpisodeResult) -> tuple[tuple[str, str], ...]:
    """What a variant measured, beside the counters."""
    facts = result.episode.facts
    rows = {**facts.get("told", {}), **hang_facts(facts, result.episode.events())}
    peaks = [f"{one.letter} {bytes_text(one.peak_bytes)}" for one in _reports(result) if one.peak_bytes]
    if peaks:
        rows["memory at its peak"] = ", ".join(peaks)
    return tuple((visible(str(name)), visible(str(value))) for name, value in rows.items())


def log_lines(result: EpisodeResult, most: int = 4) -> tuple[str, ...]:
    """What the engines' logs would have said."""
    lines = [f"{report.letter}: {line}" for report in result.episode.instances for line in report.log]
    shown = [shorten_keys(visible(line)) for line in lines[:most]]
    return (*shown, f"... and {len(lines) - most} more") if len(lines) > most else tuple(shown)
