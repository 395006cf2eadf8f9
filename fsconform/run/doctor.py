"""`fsconform doctor`: what sites are, how they relate, what they offer, and what they cannot show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fsconform.fleet.worker.facts import UNKNOWN_FREE
from fsconform.judging.profiles import Profile, match_profile
from fsconform.run.directory import Removal, remove
from fsconform.run.preflight import first_contact, survey
from fsconform.run.progress import Progress
from fsconform.run.second_clients import second_client
from fsconform.run.surveys import Survey
from fsconform.vocabulary.errors import CannotTestError
from fsconform.vocabulary.sites import LETTERS, Site, SiteSpec


@dataclass(frozen=True, slots=True)
class Examination:
    """What the doctor found."""

    survey: Survey
    profile: str
    """Name and title of the profile that fits the mounts, or why none does."""
    model: str
    """What a reader must know where the profile is a model; empty else."""
    bounds: tuple[str, ...]
    """The bounds that the options imply, one line each: `a: negative 5 s (read: usr.negative_timeout)`."""
    how_to: str
    """How to add a second client; empty where there are two or none is needed."""
    removal: Removal
    """What became of the directory in which the sites met."""


def examine(texts: Sequence[str], progress: Progress | None = None) -> Examination:
    """Look at sites as the user wrote them, `lab=` included. Raises CannotTestError as run/preflight says."""
    from fsconform.run.labs import mounted, parse_sites

    with mounted(parse_sites(texts)) as specs:
        return examine_sites(specs, progress)


def examine_sites(specs: Sequence[SiteSpec], progress: Progress | None = None) -> Examination:
    """Look at sites with every lab resolved."""
    from fsconform.fleet.fleet import Fleet
    from fsconform.fleet.launch import Launch

    specs = first_contact(specs)
    with Fleet() as fleet:
        workers = fleet.launch([Launch(spec, letter) for letter, spec in zip(LETTERS, specs, strict=False)])
        found = survey(fleet, workers, specs, progress=progress)
        removal = remove(fleet, dict(zip(LETTERS, workers, strict=False)), found.sites, found.directory)
    return conclude(found, removal)


def conclude(found: Survey, removal: Removal) -> Examination:
    """What follows from a survey: profile, bounds, how to add a client."""
    profile, title = _fitting(found.sites)
    how_to = ""
    if found.one_client and (profile is None or profile.shared):
        how_to = (profile.second_client if profile else "") or second_client(found.sites[0])
    return Examination(
        found, title, profile.model if profile else "", bound_lines(profile, found.sites), how_to, removal
    )


def bound_lines(profile: Profile | None, sites: Sequence[Site]) -> tuple[str, ...]:
    """The bounds in force at each site, one line each, with where the figure comes from."""
    if profile is None:
        return ()
    return tuple(
        f"{site.letter}: {bound.name} {bound.seconds:g} s ({bound.origin.value}: {bound.note or 'no note'})"
        for site in sites
        for bound in profile.bounds(site)
    )


def _fitting(sites: Sequence[Site]) -> tuple[Profile | None, str]:
    try:
        profile = match_profile(sites)
    except CannotTestError as error:
        return None, str(error)
    if profile is None:
        kinds = ", ".join(dict.fromkeys(site.mount.fstype for site in sites))
        return None, f"none fits {kinds}; choose one with --profile"
    return profile, f"{profile.name}: {profile.title}"


def print_examination(found: Examination) -> None:
    """The findings as a page of text on standard output."""
    from rich.console import Console

    console = Console(highlight=False, markup=False, soft_wrap=True)
    for line in lines_of(found):
        console.print(line, style="bold" if line and not line.startswith(" ") else None)


def lines_of(found: Examination) -> Iterator[str]:
    """The findings as plain lines: headings at the margin, everything else indented."""
    seen = found.survey
    for site in seen.sites:
        yield f"site {site.letter}: {site.spec.text}"
        yield from (f"  {line}" for line in site_lines(site))
    yield "how they relate"
    yield from (f"  {line}" for line in _relations(seen))
    yield "what the filesystem offers"
    yield from (f"  {line}" for line in _offers(seen))
    yield f"profile {found.profile}"
    if found.model:
        yield f"  {found.model}"
    yield from (f"  {line}" for line in found.bounds)
    for heading, lines in (
        ("to be aware of", seen.warnings),
        ("what these sites cannot show", seen.blind_spots),
        ("how to add a second client", (found.how_to,) if found.how_to else ()),
        ("left behind", found.removal.left_behind),
    ):
        if lines:
            yield heading
            yield from (f"  {line}" for line in lines)


def site_lines(site: Site) -> Iterator[str]:
    """The facts of one site."""
    mount = site.mount
    yield f"{site.path} on {mount.fstype} from {mount.source or '(no source)'}, mounted at {mount.point}"
    yield f"options {mount.options}"
    if site.client_options:
        yield "client  " + ", ".join(f"{name}={value}" for name, value in site.client_options)
    yield f"host {site.host}, kernel {site.kernel}, boot {site.boot_id}, device {mount.device}"
    access = "can only observe" if site.read_only else "writable"
    yield f"python {site.python}, uid {site.uid}, gid {site.gid}, {access}"
    free = "not told" if site.free_bytes >= UNKNOWN_FREE else f"{site.free_bytes / (1 << 30):.1f} GiB"
    files = "" if site.free_files >= UNKNOWN_FREE else f", {site.free_files} files"
    yield f"free {free}{files}"


def _relations(seen: Survey) -> Iterator[str]:
    shakes = {shake.direction: shake for shake in seen.handshakes}
    words = {"process": "one client", "mount": "two clients of one kernel", "host": "two hosts"}
    for direction, topology in seen.topologies.items():
        text = f"{direction}: {topology.value} ({words[topology.value]})"
        shake = shakes.get(direction)
        if shake:
            text += f", seen after {shake.waited_s * 1000:.0f} ms"
            text += f", replace {shake.replaced}, remove {shake.removed}" if shake.replaced else ", looked at only"
        yield text


def _offers(seen: Survey) -> Iterator[str]:
    results: dict[str, dict[str, str]] = {}
    for capability in seen.capabilities:
        results.setdefault(capability.feature, {})[capability.site] = capability.result
    for feature, by_site in results.items():
        told = set(by_site.values())
        yield f"{feature:17} " + (
            told.pop() if len(told) == 1 else ", ".join(f"{site} {word}" for site, word in by_site.items())
        )
