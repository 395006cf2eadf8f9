"""The record of a run: everything a report is made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fsconform.vocabulary.applications import ApplicationVerdict
from fsconform.vocabulary.environments import SiteEnvironment
from fsconform.vocabulary.findings import SearchSummary
from fsconform.vocabulary.histories import RoundHistory
from fsconform.vocabulary.sites import Site
from fsconform.vocabulary.trials import TrialResult
from fsconform.vocabulary.verdicts import EXIT_INTERRUPTED, CellResult, Verdict, exit_status, overall


@dataclass(frozen=True, slots=True)
class Capability:
    """Whether one call works at one site: `works`, an errno name, or `unknown`."""

    feature: str
    site: str
    result: str


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One finished (or interrupted) run."""

    run_id: str
    version: str
    started: str
    """ISO 8601, UTC."""
    duration_s: float
    budget: str
    seed: int
    profile: str
    profile_title: str
    model_note: str
    """What a reader must know about a filesystem that is a model of another; empty else."""
    sites: tuple[Site, ...]
    topologies: Mapping[str, str]
    """Direction -> topology."""
    capabilities: tuple[Capability, ...]
    cells: tuple[CellResult, ...]
    search: SearchSummary
    command: str
    """How to repeat the run."""
    interrupted: bool = False
    inconclusive: str = ""
    """Why the whole run cannot be conclusive (one client only), empty else."""
    how_to: str = ""
    """What would make it conclusive."""
    left_behind: tuple[str, ...] = ()
    """What could not be removed."""
    incidents: tuple[str, ...] = ()
    """Hung steps, lost workers, refused clean-ups: one line each."""
    operations: int = 0
    blind_spots: tuple[str, ...] = ()
    """What these sites cannot show."""
    bounds: tuple[str, ...] = ()
    """The bounds in force, one line each with their origin."""
    applications: tuple[ApplicationVerdict, ...] = ()
    """What all this means for real stores."""
    histories: Mapping[str, RoundHistory] = field(default_factory=dict)
    """Cell id -> history of a violated cell."""
    trials: Mapping[str, tuple[TrialResult, ...]] = field(default_factory=dict)
    """Cell id -> all trials of a violated cell about latency."""
    environments: tuple[SiteEnvironment, ...] = ()
    """What stood around the sites, of those that answered."""
    profile_texts: Mapping[str, str] = field(default_factory=dict)
    """File name -> text of the profile in force and of those it extends."""

    @property
    def verdict(self) -> Verdict:
        """Over all cells and promised findings of the search."""
        verdicts = [result.verdict for result in self.cells]
        verdicts += [Verdict.VIOLATED for finding in self.search.findings if finding.promised]
        if Verdict.VIOLATED not in verdicts and self.inconclusive:
            return Verdict.INCONCLUSIVE
        return overall(verdicts)

    @property
    def exit_status(self) -> int:
        """The exit status that `fsconform run` ends with."""
        return EXIT_INTERRUPTED if self.interrupted else exit_status(self.verdict)
