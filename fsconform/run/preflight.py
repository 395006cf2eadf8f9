"""Before any verdict: facts of each site, refusals, the run's directory, the handshake, capabilities."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from fsconform.fleet.worker.capabilities import FEATURES
from fsconform.judging.profiles import Profile, match_profile
from fsconform.run import introductions, refusals, remarks
from fsconform.run.asking import Asker, ask
from fsconform.run.children import ChildFailedError, Stuck
from fsconform.run.directory import new_run_id, remove
from fsconform.run.first_contact import CONTACT_DEADLINE_S, Facts, contact
from fsconform.run.introductions import Company
from fsconform.run.progress import Progress, Silent
from fsconform.run.surveys import RunDirectory, Survey
from fsconform.vocabulary.errors import CannotTestError
from fsconform.vocabulary.records import Capability
from fsconform.vocabulary.sites import LETTERS, Mount, Site, SiteSpec

UNKNOWN_WAIT_S = 60.0
"""How long a mark is waited for where no profile fits: acdirmax of nfs(5), the longest default of a shared one."""
WAIT_SLACK_S = 2.0
INITIAL_TIME_NAMESPACE = "time:[4026531834]"
"""The one whose clock is the kernel's own (PROC_TIME_INIT_INO, linux/proc_ns.h)."""
SMALLEST_BYTES, SMALLEST_FILES = 1 << 20, 100
"""What even the survey wants free."""


def first_contact(specs: Sequence[SiteSpec], deadline_s: float = CONTACT_DEADLINE_S) -> tuple[SiteSpec, ...]:
    """Touch every local site, in a child with a deadline, before any worker is launched there.

    Returns the sites with absolute paths: workers and children do not share our working directory. Raises
    CannotTestError for every path that cannot be tested (run/refusals). Leaves nothing behind.
    """
    resolved, specs = [], absolute(specs)
    for spec in specs:
        refusals.refuse_path(spec)
        resolved.append(spec.path if spec.launcher != "local" else _greeted(spec, deadline_s)["resolved"])
    refusals.refuse_repetition(specs, resolved)
    return specs


def absolute(specs: Sequence[SiteSpec]) -> tuple[SiteSpec, ...]:
    """The sites with local paths made absolute, as words only: nothing is touched."""
    return tuple(
        replace(spec, path=os.path.abspath(spec.path)) if spec.launcher == "local" and spec.path else spec
        for spec in specs
    )


def _greeted(spec: SiteSpec, deadline_s: float) -> Facts:
    try:
        facts = contact(spec.path, deadline_s)
    except ChildFailedError as error:
        raise CannotTestError(f"site {spec.text!r}: first contact failed: {error}") from error
    if isinstance(facts, Stuck):
        refusals.refuse_stuck(spec, facts)
    refusals.refuse_facts(spec, facts)
    return facts


def survey(
    fleet: Asker,
    workers: Sequence[Any],
    specs: Sequence[SiteSpec],
    profile: Profile | None = None,
    progress: Progress | None = None,
    run_id: str = "",
) -> Survey:
    """Facts, handshake and capabilities of the sites; `workers` has one worker per spec, `lab=` specs are resolved.

    Leaves the run's directory behind for the run (`directory.remove`), or nothing where it raises: CannotTestError
    for whatever cannot be tested. A mark is waited for as long as the profile's longest bound (None: of the one that
    fits the mounts, else 60 s) and 2 s.
    """
    progress = progress or Silent()
    progress.phase("asking each site what it is")
    sites = read_sites(fleet, workers, absolute(specs))
    refusals.refuse_unwritable(sites)
    refusals.refuse_full(sites, SMALLEST_BYTES, SMALLEST_FILES)
    by_letter = {site.letter: worker for site, worker in zip(sites, workers, strict=True)}
    company = Company(fleet, sites, by_letter, longest_wait_s(sites, profile), progress)
    directory, able = introductions.make_directory(company, run_id or new_run_id())
    try:
        return _survey_in(replace(company, sites=able), directory, sites)
    except BaseException as error:
        removal = remove(fleet, by_letter, sites, directory)
        if removal.left_behind and isinstance(error, CannotTestError):
            raise CannotTestError(f"{error}; left behind: {'; '.join(removal.left_behind)}") from error
        raise


def read_sites(fleet: Asker, workers: Sequence[Any], specs: Sequence[SiteSpec]) -> tuple[Site, ...]:
    """The facts of every site, lettered a, b, ... in the order given. Raises CannotTestError as run/refusals says."""
    sites = []
    for letter, spec, worker in zip(LETTERS, specs, workers, strict=False):
        facts = ask(fleet, worker, spec, "site_facts", spec.path, deadline_s=CONTACT_DEADLINE_S)
        refusals.refuse_facts(spec, facts)
        site = replace(site_from(letter, spec, facts), booted_ns=_booted(worker, facts))
        sites.append((site, facts["resolved"]))
    refusals.refuse_repetition(specs, [resolved for _, resolved in sites])
    return tuple(site for site, _ in sites)


def _booted(worker: Any, facts: Facts) -> tuple[int, int] | None:
    """When the site's kernel began to count; None where its clock is that of a time namespace, or not known."""
    if facts["time_namespace"] not in ("", INITIAL_TIME_NAMESPACE):
        return None
    booted: tuple[int, int] | None = worker.booted_ns
    return booted


def site_from(letter: str, spec: SiteSpec, facts: Mapping[str, Any]) -> Site:
    """The record of a site from the facts its worker read."""
    mount = facts["mount"]
    return Site(
        letter=letter, spec=spec, path=facts["path"], host=facts["host"], boot_id=facts["boot_id"],
        time_namespace=facts["time_namespace"], kernel=facts["kernel"], python=facts["python"], uid=facts["uid"],
        gid=facts["gid"],
        mount=Mount(
            mount["device"], mount["point"], mount["fstype"], mount["source"], mount["options"], mount["root"]
        ),
        read_only=facts["read_only"] or not facts["writable"], free_bytes=facts["free_bytes"],
        free_files=facts["free_files"], client_options=tuple(sorted(facts["client_options"].items())),
    )  # fmt: skip


def longest_wait_s(sites: Sequence[Site], profile: Profile | None) -> float:
    """How long a site may rightly take to see what another one made, and slack. Seconds."""
    if profile is None:
        with suppress(CannotTestError):  # sites of different kinds: the handshake tells what they share
            profile = match_profile(sites)
    if profile is None:
        return UNKNOWN_WAIT_S + WAIT_SLACK_S
    bounds = [bound.seconds for site in sites for bound in profile.bounds(site)]
    return max(bounds, default=0.0) + WAIT_SLACK_S


def _survey_in(company: Company, directory: RunDirectory, before: Sequence[Site]) -> Survey:
    company.progress.phase("letting the sites meet")
    shakes, sites = introductions.meet(company, directory)
    company.progress.phase("asking what the filesystem offers")
    return Survey(
        sites=sites,
        directory=directory,
        handshakes=shakes,
        capabilities=_capabilities(company, directory, sites),
        warnings=remarks.warnings(before, sites, shakes),
        blind_spots=remarks.blind_spots(sites),
    )


def _capabilities(company: Company, directory: RunDirectory, sites: Sequence[Site]) -> tuple[Capability, ...]:
    found = []
    for site in sites:
        if site.read_only:
            found += [Capability(feature, site.letter, "unknown") for feature in FEATURES]
        else:
            answers = company.ask(site, "probe_capabilities", directory.paths[site.letter], f"capability.{site.letter}")
            found += [Capability(feature, site.letter, result) for feature, result in answers.items()]
    return tuple(found)
