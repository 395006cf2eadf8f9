"""Reading what stands around the sites before the window, and what their kernels counted during it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any

from fsconform.run.asking import Asker, ask
from fsconform.vocabulary.environments import SiteEnvironment, calls_in, counters_in, increase
from fsconform.vocabulary.errors import FsconformError
from fsconform.vocabulary.sites import Site
from fsconform.vocabulary.trials import TrialResult

Facts = Mapping[str, Any]


def read_environments(fleet: Asker, workers: Mapping[str, Any], sites: Sequence[Site]) -> dict[str, Facts]:
    """Letter -> what its worker found. Never raises: whoever does not answer is left out."""
    found = {}
    for site in sites:
        with suppress(FsconformError):
            found[site.letter] = ask(fleet, workers[site.letter], site.spec, "site_environment", site.path)
    return found


def finish_environments(
    fleet: Asker, workers: Mapping[str, Any], sites: Sequence[Site], before: Mapping[str, Facts],
    trials: Collection[Sequence[TrialResult]],
) -> tuple[SiteEnvironment, ...]:  # fmt: skip
    """The environments with what was counted since `before`. Never raises."""
    looks: Counter[str] = Counter()
    for results in trials:
        for result in results:
            looks[result.trial.cell.observing] += result.looks
    return tuple(
        _environment(site.letter, facts, _statistics(fleet, workers.get(site.letter), site, facts), looks[site.letter])
        for site in sites
        if (facts := before.get(site.letter)) is not None
    )


def _statistics(fleet: Asker, worker: Any, site: Site, facts: Facts) -> str:
    """The counters now; empty where there were none before, or nobody answers any more."""
    if worker is None or not facts["statistics"]:
        return ""
    with suppress(FsconformError):
        return str(ask(fleet, worker, site.spec, "mount_statistics", site.path))
    return ""


def _environment(letter: str, facts: Facts, after: str, looks: int) -> SiteEnvironment:
    before = facts["statistics"]
    return SiteEnvironment(
        letter, facts["user"], facts["system"], facts["kernel_version"], facts["mountinfo"], tuple(facts["daemons"]),
        tuple((name, version) for name, version in facts["packages"]), increase(calls_in(before), calls_in(after)),
        looks, increase(counters_in(before), counters_in(after)) or {},
    )  # fmt: skip
