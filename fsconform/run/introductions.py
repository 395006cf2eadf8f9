"""The handshake between sites: do they show one directory, and may each touch what the others make there?

A mark is announced after it exists and waited for up to a bound: an observer may have every right to be late.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Any

from fsconform.fleet.worker import tree
from fsconform.run import refusals
from fsconform.run.asking import Asker, ask
from fsconform.run.progress import Progress
from fsconform.run.surveys import Handshake, RunDirectory
from fsconform.vocabulary.errors import CannotTestError
from fsconform.vocabulary.sites import Site

WORKS = "works"
_SPACE = frozenset({"ENOSPC", "EDQUOT"})
_PERMISSION = frozenset({"EACCES", "EPERM", "EROFS"})
_PLACE = "handshake"
_PAUSES_S = (0.005, 0.02, 0.05, 0.1, 0.25)


@dataclass(frozen=True, slots=True)
class Company:
    """Who meets: the sites, a worker at each, whom to ask, and how long a mark may take to be seen, seconds."""

    fleet: Asker
    sites: tuple[Site, ...]
    workers: Mapping[str, Any]
    """Letter -> worker."""
    wait_s: float
    progress: Progress

    def ask(self, site: Site, name: str, *arguments: Any) -> Any:
        """One question to the worker of one site."""
        return ask(self.fleet, self.workers[site.letter], site.spec, name, *arguments)


def make_directory(company: Company, run_id: str) -> tuple[RunDirectory, tuple[Site, ...]]:
    """Have the first site that can make the run's directory; returns it and the sites.

    Sites that should have been able to and were refused come back as read-only. Raises CannotTestError where none can.
    """
    sites = list(company.sites)
    reasons = []
    for place, site in enumerate(sites):
        if site.read_only:
            continue
        made = company.ask(site, "make_run_directory", site.path, run_id, 0o755)
        if made["errno"] == WORKS:
            paths = {each.letter: f"{each.path.rstrip('/')}/{tree.directory_name(run_id)}" for each in sites}
            return RunDirectory(run_id, site.letter, paths), tuple(sites)
        reasons.append(_why_not_made(site, made))
        sites[place] = replace(site, read_only=True)
    raise CannotTestError("no writable site: " + "; ".join(reasons))


def _why_not_made(site: Site, made: Mapping[str, str]) -> str:
    text = f"site {site.spec.text!r}: cannot {made['step']} {made['path']}: {made['errno']}"
    if made["errno"] in _SPACE:
        return f"{text}; the filesystem is full or over quota: free space there"
    if made["errno"] in _PERMISSION:
        return f"{text}: no permission for uid {site.uid}; give a directory this user may write (root may be squashed)"
    return f"{text}; see whether files can be created there by hand"


def meet(company: Company, directory: RunDirectory) -> tuple[tuple[Handshake, ...], tuple[Site, ...]]:
    """The whole handshake. Returns what each pair could do, and the sites, those read-only that may not take part.

    Raises CannotTestError for different trees.
    """
    maker = next(site for site in company.sites if site.letter == directory.maker)
    marker = tree.marker_text(directory.run_id)
    for site in company.sites:
        if site is not maker:
            await_mark(company, maker, site, directory.paths[site.letter], tree.MARKER, marker)
    sites, marks = _leave_marks(company, directory)
    shakes = tuple(
        _shake(company, directory, first, second, marks[first.letter])
        for first, second in permutations(sites, 2)
        if first.letter in marks
    )
    return shakes, _demoted(sites, shakes)


def await_mark(company: Company, maker: Site, observer: Site, where: str, name: str, text: str) -> tuple[float, Any]:
    """Look until the observer sees the mark: (seconds waited, the look). Raises CannotTestError for different trees."""
    begin = time.monotonic()
    for pause in _pauses():
        seen = company.ask(observer, "look_at_mark", where, name, text)
        waited = time.monotonic() - begin
        if seen["same"]:
            return waited, seen
        if waited > company.wait_s:
            break
        company.progress.waiting(f"site {observer.letter} to see what site {maker.letter} made", waited, company.wait_s)
        time.sleep(pause)
    last = seen["errno"] if seen["errno"] != WORKS else "another content"
    raise refusals.different_trees(maker, observer, waited, f"last look: {last}")


def _pauses() -> Iterator[float]:
    yield from _PAUSES_S
    while True:
        yield _PAUSES_S[-1]


def _leave_marks(company: Company, directory: RunDirectory) -> tuple[tuple[Site, ...], dict[str, dict[str, Any]]]:
    """Every writable site leaves a mark for each other site; one that is not let becomes read-only."""
    sites, marks = list(company.sites), {}
    for place, site in enumerate(sites):
        if site.read_only:
            continue
        left = [
            company.ask(site, "leave_mark", directory.paths[site.letter], _mark_name(site, other), _mark_text(site))
            for other in (sites if len(sites) == 1 else [each for each in sites if each is not site])
        ]
        refused = next((mark["errno"] for mark in left if mark["errno"] != WORKS), None)
        if refused in _SPACE:
            raise CannotTestError(f"site {site.spec.text!r}: {refused} while making small files; free space there")
        if refused:
            sites[place] = replace(site, read_only=True)
        else:
            marks[site.letter] = left[0]
    return tuple(sites), marks


def _mark_name(maker: Site, other: Site) -> str:
    return f"{_PLACE}.{maker.letter}.{other.letter}"


def _mark_text(maker: Site) -> str:
    return f"fsconform mark of site {maker.letter}\n"


def _shake(company: Company, directory: RunDirectory, maker: Site, other: Site, made: Mapping[str, Any]) -> Handshake:
    where, name, text = directory.paths[other.letter], _mark_name(maker, other), _mark_text(maker)
    waited, seen = await_mark(company, maker, other, where, name, text)
    replaced = removed = ""
    if not other.read_only:
        replaced = company.ask(other, "replace_mark", where, name, _mark_text(other))
        removed = company.ask(other, "remove_mark", where, name)
    return Handshake(
        f"{maker.letter}-{other.letter}", waited, (made["uid"], made["gid"]), (seen["uid"], seen["gid"]),
        replaced, removed,
    )  # fmt: skip


def _demoted(sites: Sequence[Site], shakes: Sequence[Handshake]) -> tuple[Site, ...]:
    barred = {shake.direction[-1] for shake in shakes if {shake.replaced, shake.removed} & _PERMISSION}
    return tuple(replace(site, read_only=True) if site.letter in barred else site for site in sites)
