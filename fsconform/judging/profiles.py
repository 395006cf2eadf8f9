"""Profiles: what one kind of filesystem promises, as data with sources (docs/profiles.md)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

import fsconform
from fsconform.judging.bounds import FIXED, BoundRule, read_bounds
from fsconform.judging.conditions import Host, hosts_of
from fsconform.judging.mount_options import find_option
from fsconform.judging.retransmission import KEYS as RETRANSMISSION_KEYS
from fsconform.judging.retransmission import Retransmission, read_retransmission
from fsconform.judging.rules import KEYS as RULE_KEYS
from fsconform.judging.rules import Rule, inherit, read_rule, strongest
from fsconform.judging.tables import Table, read_toml
from fsconform.vocabulary.cells import ALL_SITES, Cell
from fsconform.vocabulary.errors import CannotTestError, unknown
from fsconform.vocabulary.promises import Bound, BoundOrigin, Promise, Strength
from fsconform.vocabulary.properties import PROPERTIES
from fsconform.vocabulary.sites import Site

_KEYS = ("profile", "match", "retransmit_ambiguous", "bounds", "promise")
_PROFILE_KEYS = ("name", "title", "extends", "model", "shared", "second_client")
_RETRANSMISSION = "retransmit_ambiguous"


@dataclass(frozen=True, slots=True)
class Profile:
    """One profile. `shared`: whether clients other than this one can change the filesystem."""

    file: str
    name: str
    title: str
    model: str
    """What a reader must know where the promises are a model, not a measurement; empty else."""
    shared: bool
    second_client: str
    """How to add a second client, one sentence; empty where none is needed."""
    fstypes: tuple[str, ...]
    sources: tuple[str, ...]
    """Patterns (`*`, `?`, `[...]`) of the source in mountinfo."""
    options: tuple[str, ...]
    """Mount options of which a mount must have one; empty: any mount."""
    retransmission: Retransmission
    bound_rules: Mapping[str, BoundRule]
    rules: tuple[Rule, ...]

    def matches(self, site: Site) -> bool:
        """Whether a mount is of this kind: by its fstype or its source, and by its options where some are named."""
        fits = any(fnmatchcase(site.mount.fstype, pattern) for pattern in self.fstypes) or any(
            fnmatchcase(site.mount.source, pattern) for pattern in self.sources
        )
        return fits and (not self.options or find_option(site.mount.options, self.options) is not None)

    def retransmit_ambiguous(self, sites: Sequence[Site]) -> frozenset[str]:
        """Step kinds whose EEXIST or ENOENT leaves open, on these mounts, whether the call took effect."""
        return self.retransmission.ambiguous_among(sites)

    def bounds(self, site: Site) -> list[Bound]:
        """The bounds in force at one site. Raises CannotTestError where the mount gives one that is no duration."""
        return [rule.at(site) for rule in self.bound_rules.values()]

    def promise(self, cell: Cell, observer: Site, *others: Site) -> Promise:
        """What is promised of one cell. `others` are the acting site, or all further sites that take part.

        Bounds are the observer's; where all sites observe alike, the longest of theirs. Raises CannotTestError for
        a property that is not in the catalogue, a cell without a promise, and one with two.
        """
        if cell.property_id not in PROPERTIES:
            raise unknown("property", cell.property_id, PROPERTIES)
        sites = (observer, *others)
        rule = self._rule(cell, hosts_of(sites))
        claim, bound = rule.claim, None
        if claim.strength is Strength.WITHIN:
            observers = sites if cell.observing == ALL_SITES else sites[:1]
            bound = max((self._bound(rule, site) for site in observers), key=lambda found: found.seconds)
        return Promise(claim.strength, rule.evidence, rule.source, bound, claim.errnos, claim.slack_s, rule.note)

    def promise_among(self, cell: Cell, sites: Sequence[Site]) -> Promise:
        """The promise of a cell whose direction names sites by their letters. Raises as `promise`."""
        if cell.observing == ALL_SITES:
            return self.promise(cell, *sites)
        by_letter = {site.letter: site for site in sites}
        for letter in (cell.observing, cell.acting):
            if letter not in by_letter:
                raise unknown("site", letter, by_letter, cell.id)
        return self.promise(cell, by_letter[cell.observing], by_letter[cell.acting])

    def longest_bound(self, cells: Iterable[Cell], sites: Sequence[Site]) -> float:
        """The longest bound that is promised of any of the cells, seconds; 0 where none is."""
        return max((self.promise_among(cell, sites).bound_s for cell in cells), default=0.0)

    def _rule(self, cell: Cell, hosts: Sequence[Host]) -> Rule:
        found = strongest(self.rules, cell.property_id, dict(cell.axes), hosts)
        if not found:
            raise CannotTestError(f"{self.file}: no promise covers {cell.id}; add a [[promise]] for {cell.property_id}")
        if len(found) > 1:
            places = " and ".join(rule.place for rule in found)
            raise CannotTestError(f"{self.file}: {places} both speak of {cell.id} and name equally many axes")
        return found[0]

    def _bound(self, rule: Rule, site: Site) -> Bound:
        if rule.claim.fixed_s is not None:
            return Bound(FIXED, rule.claim.fixed_s, BoundOrigin.ASSUMED, "stated by the promise")
        return self.bound_rules[rule.claim.bound].at(site)


def shipped_profiles() -> tuple[str, ...]:
    """Names of the profiles that come with fsconform."""
    return tuple(sorted(path.stem for path in _shelf().glob("*.toml") if path.stem != "applications"))


def load_profile(name_or_path: str) -> Profile:
    """A shipped profile by its name, or one of your own by its path (it has a `/` or ends with `.toml`).

    Raises CannotTestError, naming file, key, what is wrong and the nearest known word.
    """
    return _load(name_or_path, ())


def _load(name_or_path: str, extending: tuple[str, ...]) -> Profile:
    """`extending`: the files that are being read because each extends the next."""
    if "/" in name_or_path or name_or_path.endswith(".toml"):
        path = Path(name_or_path)
    elif extending and (beside := Path(extending[-1]).parent / f"{name_or_path}.toml").is_file():
        path = beside
    elif name_or_path in shipped_profiles():
        path = _shelf() / f"{name_or_path}.toml"
    else:
        raise unknown("profile", name_or_path, shipped_profiles(), f"{extending[-1]}: extends" if extending else "")
    if str(path) in extending:
        raise CannotTestError(f"{extending[0]}: profile.extends: profiles extend each other in a circle")
    return _read_profile(read_toml(path, _KEYS), (*extending, str(path)))


def match_profile(sites: Sequence[Site]) -> Profile | None:
    """The shipped profile that fits every site, None where none does.

    Raises CannotTestError where sites fit different profiles.
    """
    profiles = [load_profile(name) for name in shipped_profiles()]
    fitting = {site.letter: [profile for profile in profiles if profile.matches(site)] for site in sites}
    names = {tuple(profile.name for profile in found) for found in fitting.values()}
    if len(names) == 1 and len(next(iter(names))) <= 1:
        return next(iter(fitting.values()))[0] if names != {()} else None
    found = "; ".join(
        f"site {site.letter} ({site.mount.fstype}, {site.mount.source}) fits "
        + (" and ".join(profile.name for profile in fitting[site.letter]) or "none")
        for site in sites
    )
    raise CannotTestError(f"no one profile fits all sites: {found}; choose one with --profile")


def choose_profile(name_or_path: str | None, sites: Sequence[Site]) -> Profile:
    """The profile that was asked for, else the one that fits the mounts. Raises CannotTestError where none does."""
    if name_or_path:
        return load_profile(name_or_path)
    profile = match_profile(sites)
    if profile is None:
        kinds = ", ".join(dict.fromkeys(site.mount.fstype for site in sites))
        raise CannotTestError(
            f"no profile is known for {kinds}; choose what to hold it against with --profile: "
            f"{', '.join(shipped_profiles())}, or a file of your own (docs/profiles.md)"
        )
    return profile


def _shelf() -> Path:
    """Where the profiles are: inside the package (wheel), or beside it (checkout)."""
    package = Path(fsconform.__file__).parent
    inside = package / "profiles"
    return inside if inside.is_dir() else package.parent / "profiles"


def _read_profile(table: Table, extending: tuple[str, ...]) -> Profile:
    if "profile" not in table:
        raise table.error("", "the table [profile] is missing")
    head = table.table("profile", _PROFILE_KEYS)
    base = _load(head.text("extends"), extending) if "extends" in head else None
    shared = head.flag("shared")
    match = table.table("match", ("fstype", "source", "option"))
    bounds = {**(base.bound_rules if base else {}), **read_bounds(table.table("bounds", None))}
    own = tuple(read_rule(entry, bounds) for entry in table.tables("promise", RULE_KEYS, "property"))
    rules = inherit(base.rules, base.name, own) if base else own
    if not rules:
        raise table.error("", "promises nothing: it has no [[promise]]")
    return Profile(
        table.file, head.text("name"), head.text("title"), head.text("model", ""), shared,
        head.text("second_client") if shared else head.text("second_client", ""),
        match.words("fstype"), match.words("source"), match.words("option"),
        _read_retransmission(table, base), bounds, rules,
    )  # fmt: skip


def _read_retransmission(table: Table, base: Profile | None) -> Retransmission:
    if _RETRANSMISSION in table:
        return read_retransmission(table.table(_RETRANSMISSION, RETRANSMISSION_KEYS))
    return base.retransmission if base else Retransmission()
