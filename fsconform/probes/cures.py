"""Besides watching: looks once after a delay, as real stores do, and what cures a stale answer.

A cure is tried on one fresh name each, beside an untouched control of the same age; looking changes things, so none
of these names is watched.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from fsconform.vocabulary.steps import Step
from fsconform.vocabulary.trials import Trial

NAMES_PER_CURE = 4
NAMES_PER_SHOT = 4
CURE_DELAY_NS = 150_000_000
SHOT_DELAYS_S = (0.001, 0.01, 0.1, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)

Make = Callable[[int], Trial]
"""Trial number -> a fresh trial of the cell (own name, own directory)."""


def remedies(trial: Trial) -> dict[str, tuple[Step, ...]]:
    """The cures that make sense for the look of a trial, by name."""
    look = trial.look
    if look.kind in ("scandir", "scandir_held", "mkdir"):
        return {}
    if look.kind == "fstat_held":
        path = trial.seed[-1].path
        return {"reopen": (Step("close"), Step("open", path, arg=1)), "stat": (Step("stat", path),)}
    directory = look.path.rpartition("/")[0]
    found: dict[str, tuple[Step, ...]] = {
        "fresh-listing": (Step("scandir", directory),),
        "statx-force-sync": (Step("statx_force_sync", look.path),),
    }
    if look.kind != "open_read":
        found["open"] = (Step("open_fstat", look.path),)
    return found


def cure_trials(make: Make, first_number: int) -> list[Trial]:
    """Every remedy of the cell on names of their own, and as many controls."""
    example = make(first_number)
    tried: dict[str, tuple[Step, ...]] = remedies(example)
    if not tried:
        return []
    labelled = [("control", ())] + [(f"cure {name}", steps) for name, steps in tried.items()]
    trials = []
    number = first_number
    for label, _ in labelled:
        for _ in range(NAMES_PER_CURE):
            trial = make(number)
            steps = () if label == "control" else remedies(trial)[label.removeprefix("cure ")]
            trials.append(replace(trial, label=label, single_shot_ns=CURE_DELAY_NS, before_look=steps))
            number += 1
    return trials


def shot_trials(make: Make, first_number: int, longest_s: float) -> list[Trial]:
    """Names that are looked at only once, on a grid of delays up to `longest_s` seconds."""
    delays: Sequence[float] = [delay for delay in SHOT_DELAYS_S if delay <= longest_s]
    trials = []
    number = first_number
    for delay in delays:
        for _ in range(NAMES_PER_SHOT):
            trials.append(replace(make(number), label=f"shot {delay:g}", single_shot_ns=int(delay * 1e9)))
            number += 1
    return trials
