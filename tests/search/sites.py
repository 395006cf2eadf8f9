"""Performing programs at real directories through a fleet: what a run does, without the run."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from fsconform.fleet.fleet import Fleet
from fsconform.fleet.launch import Launch
from fsconform.vocabulary.histories import RoundHistory
from fsconform.vocabulary.programs import Program
from fsconform.vocabulary.sites import LETTERS, parse_site


class Performer:
    """Four workers at each of some directories, which are the sites a, b, ..."""

    def __init__(self, fleet: Fleet, directories: Sequence[str]) -> None:
        self.fleet = fleet
        self.sites = tuple(LETTERS[: len(directories)])
        launches = [
            Launch(parse_site(directory), letter, directory)
            for letter, directory in zip(self.sites, directories, strict=True)
            for _ in range(4)
        ]
        self.workers = fleet.launch(launches)
        self._numbers = itertools.count()

    def perform(self, program: Program, rounds: int) -> RoundHistory:
        """R rounds in fresh directories."""
        free = list(self.workers)
        crew = []
        for lane in program.lanes:
            worker = next(worker for worker in free if worker.letter == lane.site)
            free.remove(worker)
            crew.append(worker)
        history = self.fleet.run_rounds(program, crew, f"search-{self.workers[0].pid}/{next(self._numbers)}", rounds)
        assert not history.lost, history.lost
        return history
