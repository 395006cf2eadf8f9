"""Correct filesystems stay innocent: whole quick runs, again and again, on a disk and in memory.

Every run has to end with 0: nothing violated, no judged cell inconclusive. Then timeouts given to an emulated client
have to come back within 5 %, also while two busy loops take the processors.

    python -m bench.soak [--runs 20] [--budget quick] [SITE...]

Sites are soaked one after another, each held against the profile that it matches: directories, or labs such as
`lab=nfs3,actimeo=1`. Without any: one directory beside the checkout (on whatever filesystem that is) and one in
/dev/shm, and the timeouts. Exits with 1 where a run did not end with 0 or a timeout did not come back, after printing a
table.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median

from fsconform.run.conduct import conduct
from fsconform.run.options import Options
from fsconform.run.progress import Silent
from fsconform.vocabulary.errors import FsconformError
from fsconform.vocabulary.observations import INF_NS
from fsconform.vocabulary.records import RunRecord
from fsconform.vocabulary.verdicts import CellResult, Verdict

CHECKOUT = Path(__file__).resolve().parents[1]
MEMORY = Path("/dev/shm")
TIMEOUTS_S = (0.5, 1.0, 2.0)
NEGATIVE, ENTRY = "visibility.create/rename/missed/stat/fresh/a-b", "visibility.unlink/known/stat/fresh/a-b"
TOLERANCE = 0.05


def main(arguments: Sequence[str] | None = None) -> int:
    """0 where everything was kept and every timeout came back, else 1."""
    parser = argparse.ArgumentParser(prog="python -m bench.soak", description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=20, help="runs per site")
    parser.add_argument("--budget", default="quick")
    parser.add_argument("sites", nargs="*")
    options = parser.parse_args(arguments)
    if options.sites:
        return 0 if _soak(options.sites, options.runs, options.budget) else 1
    with ExitStack() as stack:
        places = [
            stack.enter_context(tempfile.TemporaryDirectory(prefix=".soak-", dir=CHECKOUT)),
            stack.enter_context(tempfile.TemporaryDirectory(prefix="fsconform-soak-", dir=MEMORY)),
        ]
        calm = _soak(places, options.runs, options.budget)
    _print_row("timeout", "busy loops", "ended", "seconds", "median", "")
    true = [_recover(timeout, loops) for loops in (0, 2) for timeout in TIMEOUTS_S]
    print(f"{sum(true)} of {len(true)} timeouts recovered")
    return 0 if calm and all(true) else 1


def _soak(sites: Sequence[str], runs: int, budget: str) -> bool:
    """So many runs on each site; whether everything was kept each time."""
    _print_row("site", "run", "ended", "seconds", "search", "what was not kept")
    calm = [_run_once(site, number, budget) for site in sites for number in range(1, runs + 1)]
    print(f"{sum(calm)} of {len(calm)} runs kept")
    return all(calm)


def _run_once(site: str, number: int, budget: str) -> bool:
    """One run; whether everything was kept."""

    def told(record: RunRecord) -> tuple[str, str]:
        wrong = [
            f"{result.cell.id}: {result.verdict.value}: {result.judgement.reason}"
            for result in record.cells
            if result.verdict in (Verdict.VIOLATED, Verdict.INCONCLUSIVE)
        ]
        wrong += [f"search: {finding.story}" for finding in record.search.findings if finding.promised]
        wrong += [*record.incidents, *record.left_behind]
        return f"{record.search.rounds} rounds", "; ".join(wrong)

    return _attempt(Options((site,), None, budget), site, str(number), told)


def _recover(timeout: float, loops: int) -> bool:
    """One run on an emulated client; whether its timeouts come back."""
    text = f"lab=fuse-default,negative={timeout},entry={timeout},attr={timeout}"
    options = Options((text,), "fuse-default", "smoke", cell_ids=(NEGATIVE, ENTRY), search=False)

    def told(record: RunRecord) -> tuple[str, str]:
        ages = [_median_age_s(result) for result in record.cells]
        off = [f"{age:.3f} s" for age in ages if not abs(age - timeout) <= TOLERANCE * timeout]
        return " ".join(f"{age:.3f}" for age in ages), "off by more than 5 %: " + ", ".join(off) if off else ""

    with _busy(loops):
        return _attempt(options, f"{timeout} s", str(loops), told, statuses=(0, 4))


def _attempt(
    options: Options,
    subject: str,
    number: str,
    told: Callable[[RunRecord], tuple[str, str]],
    statuses: Sequence[int] = (0,),
) -> bool:
    begun = time.monotonic()
    try:
        record = conduct(options, Silent())
    except FsconformError as error:
        _print_row(subject, number, str(error.status), f"{time.monotonic() - begun:.0f}", "", str(error))
        return False
    figure, wrong = told(record)
    _print_row(subject, number, str(record.exit_status), f"{time.monotonic() - begun:.0f}", figure, wrong)
    return record.exit_status in statuses and not wrong


def _median_age_s(result: CellResult) -> float:
    """At what age of the observer's entry the change showed: the middle of each trial's interval; NaN without any."""
    ages = [
        (trial.since_prime_lo + trial.since_prime_hi) / 2e9
        for trial in result.observation.latency
        if trial.since_prime_lo is not None and trial.since_prime_hi is not None and trial.hi < INF_NS
    ]
    return median(ages) if ages else float("nan")


@contextmanager
def _busy(loops: int) -> Iterator[None]:
    """Meanwhile, so many processes that do nothing but run."""
    processes = [multiprocessing.get_context("spawn").Process(target=_spin, args=(os.getpid(),)) for _ in range(loops)]
    for process in processes:
        process.start()
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.join()


def _spin(parent: int) -> None:
    while os.getppid() == parent:
        for _ in range(1_000_000):
            pass


def _print_row(*columns: str) -> None:
    widths = (40, 10, 6, 8, 14)
    print(" ".join(column.ljust(width) for column, width in zip(columns[:-1], widths, strict=True)), columns[-1],
          flush=True)  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
