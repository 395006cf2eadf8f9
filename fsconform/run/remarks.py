"""What a reader must know about a set of sites: oddities that may spoil a verdict, and what they cannot show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from fsconform.run.second_clients import LOCAL_FSTYPES
from fsconform.run.surveys import Handshake, topologies
from fsconform.vocabulary.sites import Site, Topology

_PER_MOUNT = frozenset({"addr", "clientaddr", "fd", "rw", "ro", "user_id", "group_id", "mountport", "port"})
"""Options that differ between equal mounts, or are told otherwise."""
_ACCESS_TIMES = frozenset({"relatime", "noatime", "strictatime", "nodiratime", "lazytime", "nosuid", "nodev", "noexec"})


def warnings(before: Sequence[Site], sites: Sequence[Site], shakes: Sequence[Handshake]) -> tuple[str, ...]:
    """One line each. `before`: the sites before the handshake, to tell which of them turned out to be read-only."""
    found = [
        *_barred(before, sites, shakes),
        *_squashed(sites, shakes),
        *_refused(shakes, sites),
        *_different(sites),
        *_clocks(sites),
        *_unmounted(sites),
    ]
    return tuple(dict.fromkeys(found))


def _barred(before: Sequence[Site], sites: Sequence[Site], shakes: Sequence[Handshake]) -> Iterator[str]:
    for was, site in zip(before, sites, strict=True):
        if was.read_only:
            why = "mounted read-only" if site.mount.option("ro") is not None else f"not writable for uid {site.uid}"
            yield f"site {site.letter} can only observe: {why}"
        elif site.read_only:
            words = sorted({w for s in shakes if s.direction[-1] == site.letter for w in (s.replaced, s.removed) if w})
            why = f" ({', '.join(words)})" if words else ""
            yield (
                f"site {site.letter} (uid {site.uid}) can only observe: it may not make, replace or remove files where "
                f"the others do{why}; run all sites as one user, or see the squash options of the export"
            )


def _squashed(sites: Sequence[Site], shakes: Sequence[Handshake]) -> Iterator[str]:
    by_letter = {site.letter: site for site in sites}
    for shake in shakes:
        maker = by_letter[shake.direction[0]]
        if shake.made_as[0] != maker.uid:
            yield (
                f"files that site {maker.letter} makes as uid {maker.uid} belong to uid {shake.made_as[0]}: "
                "the server maps users (root_squash, all_squash, idmap)"
            )
        if shake.seen_as != shake.made_as:
            yield (
                f"site {shake.direction[-1]} sees files of site {maker.letter} as owned by "
                f"{shake.seen_as[0]}:{shake.seen_as[1]}, not {shake.made_as[0]}:{shake.made_as[1]}"
            )
    users = {site.uid for site in sites if not site.read_only}
    if len(users) > 1:
        yield f"the sites run as different users (uid {', '.join(map(str, sorted(users)))})"


def _refused(shakes: Sequence[Handshake], sites: Sequence[Site]) -> Iterator[str]:
    read_only = {site.letter for site in sites if site.read_only}
    for shake in shakes:
        maker, other = shake.direction[0], shake.direction[-1]
        for act, word in (("replace", shake.replaced), ("remove", shake.removed)):
            if word not in ("", "works") and other not in read_only:
                yield f"site {other} could not {act} a file of site {maker}: {word}"


def _different(sites: Sequence[Site]) -> Iterator[str]:
    for first, second in combinations(sites, 2):
        pair = f"{first.letter} and {second.letter}"
        if first.mount.fstype != second.mount.fstype:
            yield f"sites {pair} are of different kinds: {first.mount.fstype}, {second.mount.fstype}"
            continue
        words = sorted(_options(first) ^ _options(second))
        if words:
            yield f"options differ between sites {pair}: {', '.join(words)}"
        told = sorted(set(first.client_options) ^ set(second.client_options))
        if told:
            yield f"the clients of sites {pair} are set differently: {', '.join(f'{k}={v}' for k, v in told)}"


def _options(site: Site) -> set[str]:
    words = site.mount.options.split(",")
    return {w for w in words if w.partition("=")[0] not in _PER_MOUNT and w not in _ACCESS_TIMES}


def _clocks(sites: Sequence[Site]) -> Iterator[str]:
    for first, second in combinations(sites, 2):
        if first.boot_id == second.boot_id and first.time_namespace != second.time_namespace:
            yield (
                f"sites {first.letter} and {second.letter} are one host in different time namespaces: "
                "their clocks are compared as those of two hosts"
            )


def _unmounted(sites: Sequence[Site]) -> Iterator[str]:
    for site in sites:
        if site.mount.point == "/" and site.path.startswith(("/mnt/", "/media/")):
            yield (
                f"site {site.letter}: {site.path} lies on the root filesystem ({site.mount.fstype}); "
                "is the filesystem to test mounted there?"
            )


def blind_spots(sites: Sequence[Site]) -> tuple[str, ...]:
    """What these sites cannot show, whatever is measured."""
    found = set(topologies(tuple(sites)).values())
    spots = []
    shared = any(site.mount.fstype not in LOCAL_FSTYPES for site in sites)
    if shared and found == {Topology.PROCESS}:
        spots.append("visibility between clients: all workers share the caches of one client")
    if shared and Topology.HOST not in found:
        spots.append("two hosts: clocks that differ, a partitioned network, a client that crashes or loses its lease")
    if found == {Topology.MOUNT} and all(site.mount.fstype.startswith("nfs") for site in sites):
        spots.append("two NFS hosts: mounts of one kernel share a client id, so delegations are not recalled")
    spots += [f"what site {site.letter} makes: it can only observe" for site in sites if site.read_only]
    if len({site.uid for site in sites}) == 1:
        spots.append(f"permissions between users: all sites run as uid {sites[0].uid}")
    spots.append("durability: nothing loses power here")
    return tuple(spots)
