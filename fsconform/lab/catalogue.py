"""All labs behind one door: which there are, how many clients one has, how it is brought up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from fsconform.lab import spec as emulated
from fsconform.lab.nfs import spec as nfs
from fsconform.lab.presets import PRESETS
from fsconform.vocabulary.errors import unknown
from fsconform.vocabulary.sites import SiteSpec


def count_clients(text: str) -> int:
    """How many sites `lab=text` stands for. Raises CannotTestError where it cannot be read."""
    return nfs.parse_nfs(text).mounts if _is_nfs(text) else emulated.parse_lab(text).mounts


def mounts_here(texts: Sequence[str]) -> bool:
    """Whether any of these sites, as the user wrote them, is a lab that mounts on this host, by FUSE."""
    return any(text.startswith("lab=") and not nfs.is_nfs(text.removeprefix("lab=")) for text in texts)


@contextmanager
def bring_up(text: str) -> Iterator[tuple[SiteSpec, ...]]:
    """The lab, up; its clients as sites. Raises CannotTestError where that is not possible here."""
    if _is_nfs(text):
        from fsconform.lab.nfs.lab import NfsLab

        with NfsLab(nfs.parse_nfs(text)) as lab:
            yield lab.sites
        return
    from fsconform.lab.emulation import Emulation

    with Emulation(emulated.parse_lab(text)) as emulation:
        yield tuple(SiteSpec(f"lab={text}", "local", "", str(path)) for path in emulation.mounts)


def names() -> tuple[tuple[str, str, str], ...]:
    """(`preset`, `real` or `mutant`, name, summary) of everything that `lab list` shows."""
    from fsconform.lab.nfs.requirements import readiness

    ready = readiness()
    real = [("real", name, f"{summary} ({ready})") for name, summary in nfs.SUMMARIES.items()]
    presets = [entry for entry in emulated.names() if entry[0] == "preset"]
    return (*presets, *real, *(entry for entry in emulated.names() if entry[0] != "preset"))


def _is_nfs(text: str) -> bool:
    name = text.partition(",")[0].strip()
    if not nfs.is_nfs(text) and name not in PRESETS:
        raise unknown("lab", name, (*PRESETS, *nfs.VERSIONS), f"lab={text}")
    return nfs.is_nfs(text)
