"""Sites brought up for one finding, with one worker each, and a directory of its own that is removed at the end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from fsconform.fleet.fleet import Fleet, Worker
from fsconform.fleet.launch import Launch
from fsconform.run.directory import remove
from fsconform.run.labs import mounted, parse_sites
from fsconform.run.preflight import first_contact, survey
from fsconform.vocabulary.histories import RoundHistory
from fsconform.vocabulary.programs import Lane, Program
from fsconform.vocabulary.sites import LETTERS
from fsconform.vocabulary.steps import Step


@dataclass(slots=True)
class Stage:
    """Two sites, ready to perform."""

    fleet: Fleet
    workers: Mapping[str, Worker]
    performed: int = 0

    def perform(
        self, acting: Sequence[Step], observing: Sequence[Step] = (), directories: tuple[str, ...] = ()
    ) -> RoundHistory:
        """One round of a program at site a, and at site b where that has steps of its own."""
        lanes = (Lane("a", tuple(acting)), *([Lane("b", tuple(observing))] if observing else []))
        program = Program(lanes, directories)
        workers = [self.workers[lane.site] for lane in lanes]
        history = self.fleet.run_rounds(program, workers, self._base, 1, deadline_s=300.0)
        self.performed += 1
        return history

    @property
    def elsewhere(self) -> str:
        """Where site b has the directory of the next round. In a lab of one kernel a worker at site a can look there,
        too: no meeting of two workers is as quick as a tick."""
        return f"{self.workers['b'].root}/{self._base}/0"

    @property
    def _base(self) -> str:
        return f"finding/{self.performed}"


@contextmanager
def stage(site: str) -> Iterator[Stage]:
    """The sites that `site` stands for, surveyed. Raises CannotTestError where they cannot be had here."""
    with mounted(parse_sites([site])) as specs, Fleet() as fleet:
        specs = first_contact(specs)
        scouts = fleet.launch([Launch(spec, letter) for letter, spec in zip(LETTERS, specs, strict=False)])
        by_letter = {worker.letter: worker for worker in scouts}
        found = survey(fleet, scouts, specs)
        for worker in scouts:
            worker.root = found.directory.paths[worker.letter]
        try:
            yield Stage(fleet, by_letter)
        finally:
            remove(fleet, by_letter, found.sites, found.directory)
