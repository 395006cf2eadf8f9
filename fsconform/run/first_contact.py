"""First contact: the first time a path under test is touched is in a child with a deadline."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fsconform.run.children import Stuck, call_in_child

CONTACT_DEADLINE_S = 5.0
Facts = Mapping[str, Any]
"""The dict of `fleet/worker/facts.py`, `site_facts`."""


def contact(path: str, deadline_s: float = CONTACT_DEADLINE_S) -> Facts | Stuck:
    """What a local path says of itself, or the call that has not been answered for `deadline_s` seconds.

    This process itself never touches `path`. Raises ChildFailedError.
    """
    from fsconform.fleet.worker import facts

    answer: Facts | Stuck = call_in_child(facts, "site_facts", [path], deadline_s)
    return answer
