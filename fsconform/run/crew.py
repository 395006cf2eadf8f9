"""The crew of a run: which worker does what at which site.

Every direction, and every part of a large one, has an acting and an observing worker of its own, so that all run at
the same time and a sweep is never held up by a change. Races and the search have workers of their own at every site.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fsconform.fleet.fleet import Fleet, Worker
from fsconform.fleet.launch import Launch
from fsconform.run.plan import BatchKey
from fsconform.vocabulary.programs import Program
from fsconform.vocabulary.sites import Site

CONTENDERS = 4
"""The widest race of the table."""


@dataclass(slots=True)
class Crew:
    """Workers by task. `racers[letter]` are the workers of one site for races and the search."""

    pairs: dict[BatchKey, tuple[Worker, Worker]]
    """Batch of latency trials -> (acting worker, observing worker)."""
    racers: dict[str, list[Worker]]
    scouts: dict[str, Worker]
    """One worker of each site for questions and clean-up."""

    def lanes(self, program: Program) -> list[Worker]:
        """A racer for each lane of a program, each racer once."""
        taken: dict[str, int] = defaultdict(int)
        chosen = []
        for lane in program.lanes:
            chosen.append(self.racers[lane.site][taken[lane.site]])
            taken[lane.site] += 1
        return chosen

    def replace(self, old: Worker, new: Worker) -> None:
        """Put a new worker where a lost one was."""
        for team in self.racers.values():
            team[:] = [new if worker is old else worker for worker in team]
        self.pairs = {
            key: (new if actor is old else actor, new if observer is old else observer)
            for key, (actor, observer) in self.pairs.items()
        }
        self.scouts = {letter: new if worker is old else worker for letter, worker in self.scouts.items()}

    def mend(self, fleet: Fleet, program: Program, lost: Iterable[int]) -> None:
        """Put new workers where a program's lanes lost theirs."""
        team = self.lanes(program)
        for lane in lost:
            self.replace(team[lane], fleet.replace(team[lane]))

    def impatient(self) -> list[Worker]:
        """Workers that always have something to do, and whose work may wait a little."""
        return [*self.scouts.values(), *(worker for team in self.racers.values() for worker in team)]

    def everybody(self) -> list[Worker]:
        """All workers, each once."""
        found = [*self.scouts.values(), *(worker for team in self.racers.values() for worker in team)]
        found += [worker for pair in self.pairs.values() for worker in pair]
        return list(dict.fromkeys(found))


def racers_per_site(letters: Sequence[str], programs: Iterable[Program] = ()) -> dict[str, int]:
    """How many racers each site needs: the widest race spread over the sites, and every lane of every program."""
    needed = {letter: max(2, -(-CONTENDERS // len(letters))) for letter in letters}
    for program in programs:
        for letter in letters:
            lanes = sum(lane.site == letter for lane in program.lanes)
            needed[letter] = max(needed.get(letter, 0), lanes)
    return needed


def hire(fleet: Fleet, sites: Sequence[Site], scouts: dict[str, Worker], batches: Iterable[BatchKey],
         racers: dict[str, int]) -> Crew:  # fmt: skip
    """Launch everybody but the scouts, in parallel. Raises CannotTestError where a launcher fails."""
    by_letter = {site.letter: site for site in sites}
    wanted = list(dict.fromkeys(batches))
    launches = [Launch(by_letter[letter].spec, letter) for letter, count in racers.items() for _ in range(count)]
    for direction, _, _ in wanted:
        for letter in (direction[0], direction[-1]):
            launches.append(Launch(by_letter[letter].spec, letter))
    workers = iter(fleet.launch(launches))
    teams = {letter: [next(workers) for _ in range(count)] for letter, count in racers.items()}
    pairs = {key: (next(workers), next(workers)) for key in wanted}
    return Crew(pairs, teams, dict(scouts))
