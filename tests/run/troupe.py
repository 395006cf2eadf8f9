"""Actors for the tests of preflight: workers in this process that can play other hosts, users and slow caches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fsconform.fleet.worker import inquiries
from fsconform.fleet.worker.requests import FUNCTIONS

assert inquiries


@dataclass
class Actor:
    """A worker. `facts` overrides what its site says; `acts` replaces single functions (given the real one first)."""

    facts: Mapping[str, Any] = field(default_factory=dict)
    acts: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    booted_ns: tuple[int, int] | None = None


class Troupe:
    """Stands in for the fleet: calls the worker's functions in this process."""

    def call(self, worker: Actor, name: str, *arguments: Any, deadline_s: float) -> Any:
        """The result of the worker's function, as this actor plays it."""
        worker.asked.append(name)
        function = FUNCTIONS[name]
        if name in worker.acts:
            return worker.acts[name](function, *arguments)
        result = function(*arguments)
        return {**result, **worker.facts} if name == "site_facts" else result
