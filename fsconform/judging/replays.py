"""What the replays of a store mean for it: its own flaws, else the worst that happened to it."""

from __future__ import annotations

from collections.abc import Sequence

from fsconform.judging.applications import Application, load_applications
from fsconform.vocabulary.applications import DESIGN, REPLAYED, SEVERITY, ApplicationVerdict, Safety
from fsconform.vocabulary.workloads import Attribution, Box, EpisodeResult

_HARMLESS = frozenset({"v4", "v6", "v9", "v10"})
"""Variants that provoke failures of jobs on purpose: only what damages data counts there."""
_OTHER_STORE = frozenset({"v7"})
"""Variants that replay another store."""


def judge_replays(name: str, results: Sequence[EpisodeResult]) -> tuple[ApplicationVerdict, ...]:
    """One verdict, of the store that was replayed; none where nothing was played."""
    played = [result for result in results if not result.skipped and result.episode.setup.variant not in _OTHER_STORE]
    store = next((entry for entry in load_applications() if entry.name == name), None)
    if store is None or not played:
        return ()
    worst = max(
        ((_safety(finding, result), finding, result) for result in played for finding in result.attributions),
        key=lambda ruling: (SEVERITY.index(ruling[0]), ruling[1].bound_s),
        default=None,
    )
    if store.flaws and (worst is None or SEVERITY.index(worst[0]) <= SEVERITY.index(store.flaws[0].safety)):
        return (_flawed(store),)
    if worst is None or worst[0] is Safety.SAFE:
        labels = ", ".join(dict.fromkeys(result.episode.setup.label for result in played))
        why = f"nothing went wrong in the replays ({labels})"
        return (ApplicationVerdict(store.name, store.title, Safety.SAFE, 0.0, "", why, "", REPLAYED),)
    safety, finding, result = worst
    return (
        ApplicationVerdict(
            store.name, store.title, safety, finding.bound_s if safety is Safety.SAFE_WITHIN else 0.0,
            finding.property_id or finding.title, f"{finding.title} ({result.episode.setup.label})", finding.cure,
            REPLAYED,
        ),
    )  # fmt: skip


def _flawed(store: Application) -> ApplicationVerdict:
    flaw = store.flaws[0]
    return ApplicationVerdict(store.name, store.title, flaw.safety, 0.0, "", flaw.why, flaw.cure, DESIGN)


def _safety(finding: Attribution, result: EpisodeResult) -> Safety:
    """What one finding means for the store. What is configured wrongly, or not seen, says nothing of it."""
    if finding.urgent or "for a block" in finding.title:
        return Safety.UNSAFE
    if finding.box in (Box.CONFIGURATION, Box.GAP):
        return Safety.SAFE
    if finding.bound_s:
        return Safety.SAFE_WITHIN
    if result.episode.setup.variant in _HARMLESS and finding.box is not Box.BROKE:
        return Safety.SAFE
    if result.episode.setup.suffixes == "equal":
        return Safety.UNSAFE if "rename" in finding.title else Safety.WASTES_WORK
    return Safety.WASTES_WORK
