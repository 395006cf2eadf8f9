"""The stories that can be played, by variant."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from fsconform.judging.faults.evidence import PromiseOf
from fsconform.run.workload import story
from fsconform.run.workload.stage import Stage

__all__ = ["STORIES", "WITH_READERS", "PromiseOf"]

WITH_READERS = ("base", "v1")
"""Variants in which it matters whether B asked before."""
STORIES: Mapping[str, Callable[[Stage], None]] = {"base": story.base}
