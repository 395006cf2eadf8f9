"""`fsconform workload`: its options, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

REPORTS = Path("reports")


def workload(
    name: Annotated[str, typer.Argument(help="vllm-fs-tier, or a store: vllm-c, vllm-py, llmd, fixed-tmp, in-place, "
                                             "link-publish, colliding-tmp, lock-then-fill.")],
    sites: Annotated[list[str], typer.Argument(help="One to three sites: of A, of B, of the evictor and cleaner.")],
    variants: Annotated[str, typer.Option(help="base, v1 ... v10, several with commas, or all.")] = "base",
    readers: Annotated[str, typer.Option(help="clean, poisoned, poisoned-name, with commas, or all: what B asked "
                                              "before.")] = "clean,poisoned",
    engine: Annotated[str, typer.Option(help="Of vllm-fs-tier: c or py.")] = "c",
    profile: Annotated[str | None, typer.Option(help="Hold against this profile (name or file).")] = None,
    blocks: Annotated[int, typer.Option(help="How many blocks.")] = 67,
    block_size: Annotated[str, typer.Option(help="Bytes, or with k, m, g; several are crossed with all else, as are "
                                                 "--threads, --tasks, --io: 64k,8m.")] = "8m",
    tokens: Annotated[int, typer.Option(help="Tokens per block.")] = 64,
    jobs: Annotated[str, typer.Option(help="Blocks of each store job.")] = "32,32,3",
    threads: Annotated[str, typer.Option(help="Threads that move blocks: in all, or those that prefer loads + those "
                                              "that prefer stores; 1,32 or 16+16.")] = "32",
    slots: Annotated[int, typer.Option(help="Primary slots of an instance.")] = 1280,
    tick: Annotated[float, typer.Option(help="Seconds of one engine step.")] = 0.01,
    gauge: Annotated[float, typer.Option(help="Seconds between two samples of the gauge.")] = 0.02,
    tasks: Annotated[str, typer.Option(help="A task per job, per block, or split over the threads: job, block, "
                                            "split.")] = "job",
    io: Annotated[str, typer.Option(help="auto (by a probe file), direct, buffered.")] = "auto",
    suffixes: Annotated[str, typer.Option(help="Of temporary names: unique, or equal on all instances.")] = "unique",
    hash_seed: Annotated[str, typer.Option(help="The seed string of all names (PYTHONHASHSEED).")] = "123",
    hash_seed_b: Annotated[str, typer.Option(help="B's, where it differs.")] = "",
    faithful: Annotated[bool, typer.Option(help="Unlink blocks after short reads, as vLLM does.")] = False,
    deadline: Annotated[float, typer.Option(help="Seconds after which a call counts as hung.")] = 120.0,
    watch: Annotated[float | None, typer.Option(help="Seconds to look for what a request missed (default: the longest "
                                                     "bound that is promised).")] = None,
    rounds: Annotated[int, typer.Option(help="Rounds of v8.")] = 1000,
    loop: Annotated[float, typer.Option(help="Seconds of reading in a loop (v4, v5).")] = 5.0,
    hang: Annotated[float, typer.Option(help="Seconds for which the server is stopped (v10).")] = 30.0,
    hang_pid: Annotated[int, typer.Option(help="Process to stop in v10, where the site is no lab.")] = 0,
    report: Annotated[Path | None, typer.Option(help="Directory for the report (default: below ./reports).")] = None,
) -> int:  # fmt: skip
    """Replay what an inference engine does with a shared tier, and say whose fault every failure is. Ends with 0 where
    the filesystem kept its promises (the application may still have failed), 1 where it broke one, else as run."""
    from fsconform.report.places import refuse_place
    from fsconform.report.progress import live_progress
    from fsconform.report.workload_console import print_workload
    from fsconform.report.workload_files import write_workload
    from fsconform.report.writing import directory_named
    from fsconform.run.workload.conduct import conduct_workload
    from fsconform.run.workload.options import (
        IO,
        READERS,
        TASKS,
        VARIANTS,
        WorkloadOptions,
        parse_counts,
        parse_sizes,
        parse_threads,
        parse_words,
    )

    refuse_place(report or REPORTS, sites, f"--report {report}" if report else f"./{REPORTS}")
    options = WorkloadOptions(
        name, tuple(sites), parse_words(variants, VARIANTS), parse_words(readers, READERS), engine, profile, blocks,
        parse_sizes(block_size), tokens, parse_counts(jobs), parse_threads(threads), slots, tick, gauge,
        parse_words(tasks, TASKS), parse_words(io, IO), suffixes, hash_seed, hash_seed_b, faithful, deadline, watch,
        rounds, loop, hang, hang_pid,
    )  # fmt: skip
    with live_progress() as progress:
        record = conduct_workload(options, progress)
    where = report or directory_named(record.started, f"workload-{record.personality}", REPORTS)
    print_workload(record, write_workload(record, where))
    return record.exit_status
