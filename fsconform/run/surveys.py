"""What was found out about the sites before anything is judged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fsconform.vocabulary.records import Capability
from fsconform.vocabulary.sites import Site, Topology, topology_of

Owner = tuple[int, int]
"""uid and gid."""


@dataclass(frozen=True, slots=True)
class Handshake:
    """What one site could do with the mark that another one made."""

    direction: str
    """`a-b`: a made the mark, b saw it."""
    waited_s: float
    """From the announcement until b saw it (resolution: some ms)."""
    made_as: Owner
    """Whose the mark is, as a sees it."""
    seen_as: Owner
    """Whose it is, as b sees it."""
    replaced: str
    """`works` or an errno name; empty where b can only observe."""
    removed: str
    """`works` or an errno name; empty where b can only observe."""


@dataclass(frozen=True, slots=True)
class RunDirectory:
    """The run's own directory: made by one site, seen by all."""

    run_id: str
    maker: str
    """Letter of the site that made it."""
    paths: Mapping[str, str]
    """Letter -> its absolute path there."""


@dataclass(frozen=True, slots=True)
class Survey:
    """The sites of a run, how they relate and what they offer."""

    sites: tuple[Site, ...]
    directory: RunDirectory
    handshakes: tuple[Handshake, ...]
    capabilities: tuple[Capability, ...]
    warnings: tuple[str, ...]
    blind_spots: tuple[str, ...]
    """What these sites cannot show."""

    @property
    def topologies(self) -> dict[str, Topology]:
        """Direction -> topology, of every ordered pair (`a-a` where there is one site only)."""
        return topologies(self.sites)

    @property
    def one_client(self) -> bool:
        """Whether all sites are one client of the filesystem."""
        return set(self.topologies.values()) == {Topology.PROCESS}

    def site(self, letter: str) -> Site:
        """The site of a letter. Raises KeyError."""
        return {site.letter: site for site in self.sites}[letter]


def topologies(sites: tuple[Site, ...]) -> dict[str, Topology]:
    """Direction -> topology, of every ordered pair (`a-a` where there is one site only)."""
    if len(sites) == 1:
        return {f"{sites[0].letter}-{sites[0].letter}": Topology.PROCESS}
    return {
        f"{first.letter}-{second.letter}": topology_of(first, second)
        for first in sites
        for second in sites
        if first is not second
    }
