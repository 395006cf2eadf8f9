"""Calls whose answer can be that of a request sent twice: told EEXIST or ENOENT although they took effect.

A server that lost its record of the first request (a full cache of replies, a restart) performs the second one anew
(RFC 1813 section 4.5; link(2) and rename(2) BUGS). What such a call was told is then neither a failure nor a success:
the evidence decides (is the temporary file gone? whose content is under the name?).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fsconform.judging.conditions import Condition, hosts_of, read_condition
from fsconform.judging.tables import Table
from fsconform.vocabulary.sites import Site

KEYS = ("calls", "when", "source")
CALLS = ("excl_create", "link", "mkdir", "rename", "rename_noreplace", "rmdir", "symlink", "unlink")
"""Step kinds that change names."""


@dataclass(frozen=True, slots=True)
class Retransmission:
    """The `[retransmit_ambiguous]` of a profile."""

    calls: frozenset[str] = frozenset()
    condition: Condition | None = None
    source: str = ""

    def ambiguous_among(self, sites: Sequence[Site]) -> frozenset[str]:
        """Step kinds whose EEXIST or ENOENT, told to the caller itself, leaves open whether the call took effect."""
        if self.condition is not None and not self.condition.holds(hosts_of(sites)):
            return frozenset()
        return self.calls


def read_retransmission(table: Table) -> Retransmission:
    """Raises CannotTestError for everything that is wrong with the table."""
    calls = table.words("calls")
    if not calls:
        raise table.error("", "'calls' is missing")
    for word in calls:
        if word not in CALLS:
            raise table.unknown("calls", "call", word, CALLS)
    return Retransmission(frozenset(calls), read_condition(table), table.text("source"))
