"""Whose fault it was: every failed expectation of a replay in one of five boxes, with the events that prove it."""

from __future__ import annotations

from collections.abc import Iterator

from fsconform.judging.expectations import expectations
from fsconform.judging.faults.evidence import PromiseOf, Scene
from fsconform.judging.faults.loads import attribute_loads
from fsconform.judging.faults.lookups import attribute_misses
from fsconform.judging.faults.observing import (
    NOTES,
    attribute_gauge,
    attribute_hang,
    attribute_names,
    attribute_refusal,
)
from fsconform.judging.faults.stores import attribute_stores
from fsconform.judging.faults.variants import attribute_variant
from fsconform.vocabulary.workloads import Attribution, Box, Episode, EpisodeResult, Expectation

_ORDER = tuple(Box)


def judge_episode(episode: Episode, promise_of: PromiseOf) -> EpisodeResult:
    """Expectations, findings (what destroys good data first, then the filesystem's, then the rest), and notes."""
    expected = expectations(episode)
    found = list(_findings(Scene(episode, promise_of)))
    found += _unexplained(expected, found)
    ranked = sorted(found, key=lambda finding: (not finding.urgent, _ORDER.index(finding.box)))
    return EpisodeResult(episode, expected, tuple(ranked), NOTES if episode.instance("B") else ())


def _findings(scene: Scene) -> Iterator[Attribution]:
    first, second = scene.episode.instance("A"), scene.episode.instance("B")
    for report in scene.episode.instances:
        yield from attribute_hang(scene, report)
        yield from attribute_stores(scene, report)
        yield from attribute_loads(scene, report)
    if first and second:
        yield from attribute_names(scene, first, second)
        yield from attribute_misses(scene, second)
        yield from attribute_gauge(scene, second)
    yield from attribute_refusal(scene)
    yield from attribute_variant(scene)


def _unexplained(expected: tuple[Expectation, ...], found: list[Attribution]) -> list[Attribution]:
    """Nothing is left without a box: what no recorded event explains is a gap of the observation."""
    explained = {name for finding in found for name in finding.explains}
    return [
        Attribution(Box.GAP, f"not explained: {entry.name}", f"Expected {entry.expected}, got {entry.got}; no recorded "
                    "event explains it.", (entry.name,), ())
        for entry in expected
        if not entry.met and entry.name not in explained
    ]  # fmt: skip
