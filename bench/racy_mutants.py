"""Rare races: every racy mutant at p = 0.05, each of its properties with standard's trials, again and again.

    python -m bench.racy_mutants [--repetitions 100] [--mutant NAME]...

Built for 99 %; at least 95 of 100 repetitions must show the violation. A repetition is as many rounds as `standard`
plans for one cell. The first violation must come within 2 s in the median, and within 60 s always, counted from the
first round of its repetition. Ends with 1 where that is not so.
"""

from __future__ import annotations

import argparse
import itertools
import math
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from fsconform.fleet.fleet import Fleet, Worker
from fsconform.fleet.launch import Launch
from fsconform.lab.emulation import Emulation
from fsconform.lab.mutants import MUTANTS, Mutant
from fsconform.lab.spec import parse_lab
from fsconform.probes.catalogue import experiments
from fsconform.probes.experiment import Experiment
from fsconform.run.selftest import named_cells
from fsconform.run.table import BUDGETS, parse_budget, rows
from fsconform.run.window import join
from fsconform.vocabulary.cells import Cell
from fsconform.vocabulary.histories import RoundHistory
from fsconform.vocabulary.sites import LETTERS, parse_site

P = 0.05
GATE = 0.95
MEDIAN_S, WORST_S = 2.0, 60.0
LETTERS_HERE = LETTERS[:2]


@dataclass(frozen=True, slots=True)
class Result:
    """What the repetitions of one cell came to."""

    caught: int
    repetitions: int
    witness_s: tuple[float, ...]
    """Time to the first violation of each repetition that showed one, seconds."""

    @property
    def good(self) -> bool:
        """Whether the gate is passed."""
        enough = self.caught >= math.ceil(GATE * self.repetitions)
        return enough and median(self.witness_s) <= MEDIAN_S and max(self.witness_s) <= WORST_S


class Bench:
    """Workers at two mounts of one lab, who perform one experiment again and again."""

    def __init__(self, fleet: Fleet, mounts: Sequence[Path], experiment: Experiment) -> None:
        self._fleet, self._mounts, self._experiment = fleet, mounts, experiment
        paths = dict(zip(LETTERS_HERE, map(str, mounts), strict=True))
        lanes = experiment.program.lanes
        launches = [Launch(parse_site(paths[lane.site]), lane.site, paths[lane.site]) for lane in lanes]
        self._crew: list[Worker] = list(fleet.launch(launches))
        self._numbers = itertools.count()

    def repetition(self, count: int) -> RoundHistory:
        """`count` rounds in fresh directories, which are removed again."""
        histories = []
        while count > 0:
            size = min(count, self._experiment.batch)
            base = f"race/{next(self._numbers)}"
            histories.append(self._fleet.run_rounds(self._experiment.program, self._crew, base, size))
            shutil.rmtree(self._mounts[0] / base, ignore_errors=True)
            count -= size
        return join(histories)


def main(arguments: Sequence[str] | None = None) -> int:
    """0 where every racy mutant passes the gate."""
    parser = argparse.ArgumentParser(prog="python -m bench.racy_mutants", description=__doc__)
    parser.add_argument("--repetitions", type=int, default=100)
    parser.add_argument("--mutant", action="append", choices=[m.name for m in MUTANTS.values() if m.racy])
    options = parser.parse_args(arguments)
    good = True
    for mutant in MUTANTS.values():
        if mutant.racy and (not options.mutant or mutant.name in options.mutant):
            for cell in _cells(mutant):
                result = repeat(mutant, cell, options.repetitions)
                print(_line(mutant, cell, result), flush=True)
                good &= result.good
    return 0 if good else 1


def _cells(mutant: Mutant) -> Iterator[Cell]:
    """The first cell of each property that the mutant names."""
    known = {row.cell.id: row.cell for row in rows(BUDGETS[-1], LETTERS_HERE)}
    seen: set[str] = set()
    for cell_id in named_cells(mutant):
        cell = known[cell_id]
        if cell.property_id not in seen:
            seen.add(cell.property_id)
            yield cell


def repeat(mutant: Mutant, cell: Cell, repetitions: int) -> Result:
    """Perform one cell's experiment `repetitions` times with standard's rounds."""
    (experiment,) = experiments([cell], LETTERS_HERE, "racy")
    planned = parse_budget("standard").rounds
    times = []
    with Emulation(parse_lab(f"{mutant.lab},p={P}")) as emulation, Fleet() as fleet:
        bench = Bench(fleet, emulation.mounts, experiment)
        for _ in range(repetitions):
            seen = experiment.observe(cell, bench.repetition(planned))
            if seen.violations and seen.witness:
                times.append(seen.witness.after_ns / 1e9)
    return Result(len(times), repetitions, tuple(times))


def _line(mutant: Mutant, cell: Cell, result: Result) -> str:
    words = f"{'ok ' if result.good else 'BAD'} {mutant.name:28} {cell.id:44} {result.caught} of {result.repetitions}"
    if result.witness_s:
        words += (
            f", first witness {median(result.witness_s):.2f} s in the median, {max(result.witness_s):.2f} s at most"
        )
    return words


if __name__ == "__main__":
    sys.exit(main())
