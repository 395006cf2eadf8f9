"""What makes a missed block visible on this very mount: each cure on fresh names, beside untouched ones."""

from __future__ import annotations

import secrets
from collections.abc import Mapping

from fsconform.fleet.fleet import Fleet
from fsconform.personalities.catalogue import Personality
from fsconform.probes.cures import cure_trials
from fsconform.probes.latency import observe
from fsconform.probes.visibility import make_trial
from fsconform.run.workload.parties import Party
from fsconform.vocabulary.cells import make_cell
from fsconform.vocabulary.observations import Cure
from fsconform.vocabulary.trials import Trial

_STATES = {"poisoned": "missed-ancestor", "poisoned-name": "missed"}
_PUBLISHES = ("rename", "link")
_DEADLINE_S = 60.0


def try_cures(fleet: Fleet, store: Personality, parties: Mapping[str, Party], reader: str) -> tuple[Cure, ...]:
    """Every cure that makes sense for the store's look-up in this state; none where the state has no trials."""
    if reader not in _STATES or store.publish not in _PUBLISHES:
        return ()
    first, second = parties["A"].worker, parties["B"].worker
    salt = secrets.token_hex(8)
    cell = make_cell(
        "visibility.create", f"{first.letter}-{second.letter}", publish=store.publish, state=_STATES[reader],
        observer=store.observer, age="fresh",
    )  # fmt: skip

    def make(number: int) -> Trial:
        return make_trial(cell, number, f"cure.{salt}.{number}", salt)

    pending = fleet.start_trials(first, second, cure_trials(make, 0))
    return observe(pending.result(_DEADLINE_S)).cures
