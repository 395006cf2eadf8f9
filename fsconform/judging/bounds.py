"""Bounds: the N of `within N s`, read from the mount, computed from its options, or assumed."""

from __future__ import annotations

from dataclasses import dataclass, replace

from fsconform.judging.durations import UNITS, DurationError, format_duration, parse_duration
from fsconform.judging.mount_options import find_option
from fsconform.judging.tables import Table
from fsconform.vocabulary.errors import CannotTestError
from fsconform.vocabulary.promises import Bound, BoundOrigin
from fsconform.vocabulary.sites import Site

KEYS = (
    "default", "client_option", "source_option", "mount_option", "unit", "zero_with", "zero_without", "expected",
    "source",
)  # fmt: skip
FIXED = "fixed"
"""Name of a bound that a promise states as a figure of its own."""
_IN_OPTIONS, _IN_SOURCE = " in the mount options", " in the source of the mount"


@dataclass(frozen=True, slots=True)
class Expectation:
    """A figure below the bound that users will usually meet: told beside it, never judged."""

    default_s: float
    where: str
    """When it is met, in words: `in a directory that changed lately`."""
    mount_options: tuple[str, ...] = ()

    def seconds(self, site: Site | None, unit: str) -> float:
        """The figure, as the mount's options have it."""
        options = [site.mount.option(option) for option in self.mount_options] if site else []
        found = next((text for text in options if text is not None), None)
        return self.default_s if found is None else parse_duration(found, unit)


@dataclass(frozen=True, slots=True)
class BoundRule:
    """How one named bound is found at a site: what the mount says of itself, its options, else a default."""

    name: str
    default_s: float
    source: str
    client_option: str = ""
    source_option: str = ""
    """Word of a mount source that tells its settings, `NAME,word=value` (the emulated filesystems)."""
    mount_options: tuple[str, ...] = ()
    """The first that the mount has counts."""
    unit: str = "s"
    """Unit of a figure that the mount gives without one."""
    zero_with: tuple[str, ...] = ()
    """Mount options with any of which nothing is cached, so that the bound is 0 s."""
    zero_without: tuple[str, ...] = ()
    """Mount options without all of which nothing is cached."""
    expected: Expectation | None = None

    def at(self, site: Site) -> Bound:
        """The bound in force at one site. Raises CannotTestError where the mount says something that is no duration."""
        why = self._why_zero(site)
        if why:
            return Bound(self.name, 0.0, BoundOrigin.COMPUTED, why)
        try:
            return self._noted(self._found(site), site)
        except DurationError as error:
            raise CannotTestError(f"site {site.letter} ({site.path}): {error}") from None

    def assumed(self) -> Bound:
        """The bound where nothing can be read from a mount."""
        return self._noted(Bound(self.name, self.default_s, BoundOrigin.ASSUMED, f"default: {self.source}"), None)

    def _why_zero(self, site: Site) -> str:
        found = find_option(site.mount.options, self.zero_with)
        if found:
            return found + _IN_OPTIONS
        if self.zero_without and not find_option(site.mount.options, self.zero_without):
            return f"no {' or '.join(self.zero_without)}{_IN_OPTIONS}"
        return ""

    def _found(self, site: Site) -> Bound:
        said = replace(site.mount, options=site.mount.source)
        places = [
            (self.client_option, site.client_option(self.client_option), BoundOrigin.READ, ""),
            (self.source_option, said.option(self.source_option), BoundOrigin.READ, _IN_SOURCE),
            *((option, site.mount.option(option), BoundOrigin.COMPUTED, _IN_OPTIONS) for option in self.mount_options),
        ]
        for option, told, origin, where in places:
            if option and told is not None:
                try:
                    return Bound(self.name, parse_duration(told, self.unit), origin, option + where)
                except DurationError as error:
                    raise DurationError(f"{option} cannot be used as the bound {self.name!r}: {error}") from None
        return Bound(self.name, self.default_s, BoundOrigin.ASSUMED, f"default: {self.source}")

    def _noted(self, bound: Bound, site: Site | None) -> Bound:
        """With the figure that is usually met, where it says more than the bound."""
        if self.expected is None:
            return bound
        usual_s = self.expected.seconds(site, self.unit)
        if usual_s >= bound.seconds:
            return bound
        told = f"usually {format_duration(usual_s)} {self.expected.where}"
        return replace(bound, note=f"{bound.note}; {told}", usual_s=usual_s)


def read_bounds(table: Table) -> dict[str, BoundRule]:
    """The `[bounds]` of a profile by name. Raises CannotTestError for everything that is wrong with them."""
    return {name: _read_bound(name, table.table(name, KEYS)) for name in table.names()}


def _read_bound(name: str, table: Table) -> BoundRule:
    if not name[:1].isalpha():
        raise table.error("", "the name of a bound begins with a letter")
    unit = table.choice("unit", "unit", UNITS) if "unit" in table else "s"
    return BoundRule(
        name,
        table.duration("default"),
        table.text("source"),
        table.text("client_option", ""),
        table.text("source_option", ""),
        table.words("mount_option"),
        unit,
        table.words("zero_with"),
        table.words("zero_without"),
        _read_expectation(table),
    )


def _read_expectation(table: Table) -> Expectation | None:
    if "expected" not in table:
        return None
    expected = table.table("expected", ("default", "mount_option", "where"))
    return Expectation(expected.duration("default"), expected.text("where"), expected.words("mount_option"))
