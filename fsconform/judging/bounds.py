"""Bounds: the N of `within N s`, read from the mount, computed from its options, or assumed."""

from __future__ import annotations

from dataclasses import dataclass, replace

from fsconform.judging.durations import UNITS, DurationError, parse_duration
from fsconform.judging.tables import Table
from fsconform.vocabulary.errors import CannotTestError
from fsconform.vocabulary.promises import Bound, BoundOrigin
from fsconform.vocabulary.sites import Site

KEYS = ("default", "client_option", "source_option", "mount_option", "unit", "source")
FIXED = "fixed"
"""Name of a bound that a promise states as a figure of its own."""


@dataclass(frozen=True, slots=True)
class BoundRule:
    """How one named bound is found at a site: what the mount says of itself, its options, else a default."""

    name: str
    default_s: float
    source: str
    client_option: str = ""
    source_option: str = ""
    """Word of a mount source that tells its settings, `NAME,word=value` (the emulated filesystems)."""
    mount_option: str = ""
    unit: str = "s"
    """Unit of a figure that the mount gives without one."""

    def at(self, site: Site) -> Bound:
        """The bound in force at one site. Raises CannotTestError where the mount says something that is no duration."""
        places = (
            (self.client_option, site.client_option(self.client_option), BoundOrigin.READ, ""),
            (self.source_option, replace(site.mount, options=site.mount.source).option(self.source_option),
             BoundOrigin.READ, " in the source of the mount"),
            (self.mount_option, site.mount.option(self.mount_option), BoundOrigin.COMPUTED, " in the mount options"),
        )  # fmt: skip
        for option, told, origin, where in places:
            if option and told is not None:
                return Bound(self.name, self._seconds(told, option, site), origin, option + where)
        return self.assumed()

    def assumed(self) -> Bound:
        """The bound where nothing can be read from a mount."""
        return Bound(self.name, self.default_s, BoundOrigin.ASSUMED, f"default: {self.source}")

    def _seconds(self, told: str, option: str, site: Site) -> float:
        try:
            return parse_duration(told, self.unit)
        except DurationError as error:
            raise CannotTestError(
                f"site {site.letter} ({site.path}): {option} cannot be used as the bound {self.name!r}: {error}"
            ) from None


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
        table.text("mount_option", ""),
        unit,
    )
