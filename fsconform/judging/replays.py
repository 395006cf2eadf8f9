"""What replays mean for the stores that were replayed: their own flaws, else the worst that happened to them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fsconform.judging.applications import Application, load_applications
from fsconform.vocabulary.applications import DESIGN, REPLAYED, SEVERITY, ApplicationVerdict, Safety
from fsconform.vocabulary.workloads import Attribution, Box, EpisodeResult

_HARMLESS = frozenset({"v4", "v6", "v9", "v10"})
"""Variants that provoke failures of jobs on purpose: only what damages data counts there."""
_COLLIDING, _EARLY = "colliding-tmp", "llmd"
_OTHERS = {"v2": _COLLIDING, "v3": _COLLIDING, "v7": _EARLY}
"""Variants in which the engine works as another store does: equal suffixes, names that are given too early."""
_Case = tuple[Attribution, EpisodeResult]


def judge_replays(name: str, results: Sequence[EpisodeResult]) -> tuple[ApplicationVerdict, ...]:
    """One verdict per store: of the one that was replayed, and of those that variants stand for."""
    stores = {entry.name: entry for entry in load_applications()}
    played: dict[str, list[EpisodeResult]] = {}
    for result in results:
        if not result.skipped:
            played.setdefault(_store_of(name, result), []).append(result)
    return tuple(_judge(stores[store], found) for store, found in played.items() if store in stores)


def _store_of(name: str, result: EpisodeResult) -> str:
    setup = result.episode.setup
    return _OTHERS.get(setup.variant, _COLLIDING if setup.suffixes == "equal" else name)


def _judge(store: Application, results: Sequence[EpisodeResult]) -> ApplicationVerdict:
    cases = [(finding, result) for result in results for finding in result.attributions]
    worst = max(cases, key=lambda case: (SEVERITY.index(_safety(*case)), case[0].bound_s), default=None)
    if store.flaws and (worst is None or SEVERITY.index(_safety(*worst)) <= SEVERITY.index(store.flaws[0].safety)):
        return _flawed(store, cases)
    if worst is None or _safety(*worst) is Safety.SAFE:
        labels = ", ".join(dict.fromkeys(result.episode.setup.label for result in results))
        why = f"nothing went wrong in the replays ({labels})"
        return ApplicationVerdict(store.name, store.title, Safety.SAFE, 0.0, "", why, "", REPLAYED)
    finding, safety = worst[0], _safety(*worst)
    return ApplicationVerdict(
        store.name, store.title, safety, finding.bound_s if safety is Safety.SAFE_WITHIN else 0.0,
        finding.property_id, _told(*worst), finding.cure, REPLAYED,
    )  # fmt: skip


def _flawed(store: Application, cases: Iterable[_Case]) -> ApplicationVerdict:
    """Its own flaw decides, whatever the filesystem does; a replay in which it showed is evidence of it."""
    flaw = store.flaws[0]
    shown = next((case for case in cases if case[0].box is Box.APPLICATION), None)
    why = f"{flaw.why}; seen: {_told(*shown)}" if shown else flaw.why
    return ApplicationVerdict(store.name, store.title, flaw.safety, 0.0, "", why, flaw.cure,
                              REPLAYED if shown else DESIGN)  # fmt: skip


def _told(finding: Attribution, result: EpisodeResult) -> str:
    return f"{finding.title} ({result.episode.setup.label})"


def _safety(finding: Attribution, result: EpisodeResult) -> Safety:
    """What one finding means for the store. What is configured wrongly, or not seen, says nothing of it."""
    early = _store_of("", result) == _EARLY
    if (finding.urgent and not early) or "for a block" in finding.title:
        return Safety.UNSAFE  # readers of llm-d's connector delete nothing
    if finding.box in (Box.CONFIGURATION, Box.GAP):
        return Safety.SAFE
    if finding.bound_s:
        return Safety.SAFE_WITHIN
    if result.episode.setup.variant in _HARMLESS and finding.box is not Box.BROKE:
        return Safety.SAFE
    return Safety.WASTES_WORK
