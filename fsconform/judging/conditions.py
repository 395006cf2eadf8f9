"""The `when` of a promise: what a condition can ask of the sites of a cell."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from fsconform.judging.mount_options import find_option
from fsconform.judging.tables import Table
from fsconform.judging.verifiers import verifiers_differ
from fsconform.vocabulary.sites import Site, Topology, topology_of

_KEYS = ("fstype", "kernel_below", "option", "clients", "verifiers")
_KERNEL = re.compile(r"\d+(\.\d+){0,2}\Z")
ONE, UNKNOWN = "one", "unknown"
"""The only values of `clients` and `verifiers`: the other case is what promises without a condition are about."""


class Host(NamedTuple):
    """What a condition can ask of a site, and of the company it is in."""

    fstype: str
    kernel: tuple[int, ...]
    options: str = ""
    one_client: bool = False
    """All sites of the cell are one client of the filesystem."""
    verifiers_differ: bool = True
    """No two sites of the cell can use the same verifier (judging/verifiers.py)."""


@dataclass(frozen=True, slots=True)
class Condition:
    """`when = { fstype = [...], kernel_below = "6.6", ... }`: all of it must hold at one of the sites of the cell."""

    fstypes: tuple[str, ...] = ()
    kernel_below: tuple[int, ...] = ()
    options: tuple[str, ...] = ()
    """Mount options, any of which must be there."""
    one_client: bool = False
    verifiers_unknown: bool = False

    def holds(self, hosts: Iterable[Host]) -> bool:
        """Whether one of the hosts fulfils it."""
        return any(
            (not self.fstypes or host.fstype in self.fstypes)
            and (not self.kernel_below or host.kernel < self.kernel_below)
            and (not self.options or find_option(host.options, self.options) is not None)
            and (not self.one_client or host.one_client)
            and (not self.verifiers_unknown or not host.verifiers_differ)
            for host in hosts
        )

    def __str__(self) -> str:
        """`tmpfs, kernel below 6.6`."""
        words = ["/".join(self.fstypes)] if self.fstypes else []
        if self.kernel_below:
            words.append("kernel below " + ".".join(map(str, self.kernel_below)))
        words += [f"option {' or '.join(self.options)}"] if self.options else []
        words += ["one client"] if self.one_client else []
        words += ["verifiers of the clients unknown"] if self.verifiers_unknown else []
        return ", ".join(words)


def hosts_of(sites: Sequence[Site]) -> tuple[Host, ...]:
    """The sites of one cell as conditions see them."""
    alone = all(topology_of(sites[0], site) is Topology.PROCESS for site in sites)
    differ = verifiers_differ(sites)
    return tuple(
        Host(site.mount.fstype, kernel_version(site.kernel), site.mount.options, alone, differ) for site in sites
    )


def kernel_version(text: str) -> tuple[int, ...]:
    """`6.1.0-13-amd64` -> (6, 1, 0); (0,) where it does not begin with a figure."""
    found = re.match(r"\d+(\.\d+)*", text)
    return tuple(int(part) for part in found.group().split(".")) if found else (0,)


def read_condition(table: Table) -> Condition | None:
    """The `when` of a table, None where it has none. Raises CannotTestError for everything that is wrong with it."""
    if "when" not in table:
        return None
    when = table.table("when", _KEYS)
    if not when.names():
        raise table.error("when", f"is empty; name one or more of {', '.join(_KEYS)}")
    kernel = when.text("kernel_below", "")
    if kernel and not _KERNEL.match(kernel):
        raise when.error("kernel_below", f'{kernel!r} is no kernel version; write it like "6.6"')
    return Condition(
        when.words("fstype"), kernel_version(kernel) if kernel else (), when.words("option"),
        _holds_word(when, "clients", ONE), _holds_word(when, "verifiers", UNKNOWN),
    )  # fmt: skip


def _holds_word(when: Table, key: str, word: str) -> bool:
    return key in when and when.choice(key, f"value of {key}", [word]) == word
