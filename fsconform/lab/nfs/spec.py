"""What a `lab=` site of the NFS lab says: `nfs3|nfs4.0|nfs4.1|nfs4.2[,key[=value]...]`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fsconform.vocabulary.errors import CannotTestError, unknown
from fsconform.vocabulary.sites import LETTERS

MOST_MOUNTS = 6
VERSIONS = {"nfs3": "3", "nfs4.0": "4.0", "nfs4.1": "4.1", "nfs4.2": "4.2"}
SUMMARIES = {
    name: f"NFS version {version}: the kernel's server and clients in guests of User-Mode Linux"
    for name, version in VERSIONS.items()
}
FILESYSTEMS = ("ext4", "tmpfs")
LOOKUP_CACHES = ("all", "none", "pos", "positive")


@dataclass(frozen=True, slots=True)
class NfsSpec:
    """An NFS lab as the user asked for it. `text` is what stood behind `lab=`."""

    text: str
    version: str
    """`3`, `4.0`, `4.1`, `4.2`."""
    options: str = ""
    """Mount options of every client, as nfs(5) spells them."""
    fs: str = "tmpfs"
    """What the server exports."""
    one_kernel: bool = False
    """One guest, a network and UTS namespace per client; else a guest for the server and one per client."""
    collide: bool = False
    """Boot the clients in step, so that the verifiers of their exclusive creates can be equal."""
    mounts: int = 2

    @property
    def letters(self) -> str:
        """One letter per client."""
        return LETTERS[: self.mounts]


def is_nfs(text: str) -> bool:
    """Whether what stands behind `lab=` means this lab."""
    return text.partition(",")[0].strip().startswith("nfs")


def parse_nfs(text: str) -> NfsSpec:
    """Read `NAME[,key[=value]...]`. Raises CannotTestError for an unknown name or key, or a wrong value."""
    name, *words = [word.strip() for word in text.split(",")]
    if name not in VERSIONS:
        raise unknown("lab", name, VERSIONS, f"lab={text}")
    settings: dict[str, str] = {}
    for word in filter(None, words):
        key, equals, value = word.partition("=")
        if key not in (*_BARE, *_VALUED):
            raise unknown("key", key, (*_BARE, *_VALUED), f"lab={text}")
        if (key in _BARE) == bool(equals):
            example = key if key in _BARE else f"{key}={_EXAMPLES[key]}"
            raise CannotTestError(f"lab={text}: write {example}")
        if key in _VALUED and not _VALUED[key](value):
            raise CannotTestError(f"lab={text}: {word}: {_MEANINGS[key]}")
        settings[key] = value
    return _spec(text, VERSIONS[name], settings)


def _spec(text: str, version: str, settings: dict[str, str]) -> NfsSpec:
    options = [f"{key}={value}" if value else key for key, value in settings.items() if key in _OPTIONS]
    spec = NfsSpec(
        text, version, ",".join(options), settings.get("fs", "tmpfs"), "one-kernel" in settings, "collide" in settings,
        int(settings.get("mounts", 2)),
    )  # fmt: skip
    if spec.collide and spec.one_kernel:
        raise CannotTestError(f"lab={text}: clients of one kernel have different pids: their verifiers never collide")
    return spec


def _whole(most: int, least: int = 0) -> Callable[[str], bool]:
    return lambda value: value.isdigit() and least <= int(value) <= most


def _among(choices: tuple[str, ...]) -> Callable[[str], bool]:
    return lambda value: value in choices


_TIMES = ("actimeo", "acregmin", "acregmax", "acdirmin", "acdirmax")
_BARE = ("noac", "nocto", "one-kernel", "collide")
_OPTIONS = (*_TIMES, "lookupcache", "noac", "nocto")
_VALUED: dict[str, Callable[[str], bool]] = {
    **dict.fromkeys(_TIMES, _whole(86400)), "lookupcache": _among(LOOKUP_CACHES), "fs": _among(FILESYSTEMS),
    "mounts": _whole(MOST_MOUNTS, 1),
}  # fmt: skip
_EXAMPLES = {**dict.fromkeys(_TIMES, "1"), "lookupcache": "none", "fs": "ext4", "mounts": "2"}
_MEANINGS = {
    **dict.fromkeys(_TIMES, "whole seconds, 0 to 86400"),
    "lookupcache": f"one of {', '.join(LOOKUP_CACHES)}",
    "fs": f"one of {', '.join(FILESYSTEMS)}",
    "mounts": f"a number of clients, 1 to {MOST_MOUNTS}",
}
