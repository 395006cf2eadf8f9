"""The record of a workload: everything its report is made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fsconform.vocabulary.applications import ApplicationVerdict
from fsconform.vocabulary.sites import Site
from fsconform.vocabulary.verdicts import EXIT_INCONCLUSIVE, EXIT_INTERRUPTED, EXIT_KEPT, EXIT_VIOLATED
from fsconform.vocabulary.workloads import Box, EpisodeResult


@dataclass(frozen=True, slots=True)
class WorkloadRecord:
    """One finished (or interrupted) workload."""

    name: str
    personality: str
    title: str
    run_id: str
    version: str
    started: str
    """ISO 8601, UTC."""
    duration_s: float
    profile: str
    profile_title: str
    model_note: str
    sites: tuple[Site, ...]
    topologies: Mapping[str, str]
    parts: Mapping[str, str]
    """Instance -> letter of its site."""
    results: tuple[EpisodeResult, ...]
    command: str
    bounds: tuple[str, ...] = ()
    interrupted: bool = False
    inconclusive: str = ""
    how_to: str = ""
    left_behind: tuple[str, ...] = ()
    applications: tuple[ApplicationVerdict, ...] = ()
    """What the replays mean for this store."""
    incidents: tuple[str, ...] = ()
    blind_spots: tuple[str, ...] = ()
    peak_bytes: int = 0
    """The most memory that the controller had."""

    @property
    def exit_status(self) -> int:
        """1 where the filesystem broke a promise, 4 where nothing could be shown, 130 interrupted, else 0."""
        if self.interrupted:
            return EXIT_INTERRUPTED
        played = [result for result in self.results if not result.skipped]
        if any(finding.box is Box.BROKE for result in played for finding in result.attributions):
            return EXIT_VIOLATED
        return EXIT_INCONCLUSIVE if self.inconclusive or not played else EXIT_KEPT
