"""Verifiers of exclusive creates over NFS: whether two clients can use the same one.

The server takes a second create with the verifier of the first for its retransmission and answers success (RFC 1813
section 3.3.8, RFC 8881 section 18.16.3). Linux makes it of the tick count since boot and of the caller's pid
(fs/nfs/nfs3proc.c nfs3_proc_create, fs/nfs/nfs4proc.c nfs4_do_open). Processes of one kernel never share a pid;
clients of two kernels can share both where they booted in step.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from fsconform.vocabulary.sites import Site

CONTEST_NS = 2_000_000_000
"""How far apart the calls of one contest may be: uptimes that differ by more cannot give one tick count twice."""
IN_STEP_NS = 20_000_000
"""Two ticks of the slowest usual clock (100 Hz): uptimes that differ by less give one tick count again and again."""


def booted_in_step(sites: Sequence[Site]) -> bool:
    """Whether two of these sites are known to be on kernels that booted at the same moment."""
    return any(_in_step(first, second) for first, second in combinations(sites, 2))


def _in_step(first: Site, second: Site) -> bool:
    if first.boot_id == second.boot_id or first.booted_ns is None or second.booted_ns is None:
        return False
    latest = max(first.booted_ns[1], second.booted_ns[1])
    earliest = min(first.booted_ns[0], second.booted_ns[0])
    return latest - earliest < IN_STEP_NS


def verifiers_differ(sites: Sequence[Site]) -> bool:
    """Whether no two of these sites can use the same verifier in one contest. False where nobody knows."""
    return all(_differ(first, second) for first, second in combinations(sites, 2))


def _differ(first: Site, second: Site) -> bool:
    if first.boot_id == second.boot_id:
        return True
    if first.booted_ns is None or second.booted_ns is None:
        return False
    return max(first.booted_ns[0], second.booted_ns[0]) - min(first.booted_ns[1], second.booted_ns[1]) > CONTEST_NS
