"""What only some variants measure."""

from __future__ import annotations

from collections.abc import Iterator

from fsconform.judging.faults.evidence import Scene
from fsconform.vocabulary.workloads import Attribution


def attribute_variant(scene: Scene) -> Iterator[Attribution]:
    """Findings from the facts of a variant."""
    return iter(())
