"""The presets of the emulated lab."""

from __future__ import annotations

from dataclasses import dataclass

from fsconform.lab.knobs import Knobs
from fsconform.lab.model import DataPath, Lab, ReadDirPlus, Timeouts
from fsconform.lab.traits import Trait
from fsconform.lab.traits.directories import (
    appends_by_client,
    coarse_times,
    constant_links,
    listings_per_handle,
    shared_nodes,
    shown_configuration,
    untouched_directory_times,
)
from fsconform.lab.traits.lengths import collected_data, published_lengths
from fsconform.lab.traits.refusals import (
    local_locks,
    no_copy_range,
    no_fallocate,
    no_rename_flags,
    no_tmpfile,
    no_xattrs,
)


@dataclass(frozen=True, slots=True)
class Preset:
    """One well-behaved emulated filesystem."""

    name: str
    summary: str
    timeouts: Timeouts
    traits: tuple[Trait, ...] = ()
    options: str = "allow_other,default_permissions"
    """Mount options beside those of the protocol."""
    source: str = ""
    """What it models, and where that is written."""


def cached_data(lab: Lab, knobs: Knobs) -> None:
    """Reads are answered from the client's page cache."""
    lab.session.data_path = DataPath.CACHED


def adaptive_listings(lab: Lab, knobs: Knobs) -> None:
    """READDIRPLUS where the kernel thinks it worth while (libfuse's default)."""
    lab.session.plus = ReadDirPlus.ADAPTIVE


_CATALOGUE = (
    Preset("strict", "all timeouts 0; keeps everything that a local filesystem promises", Timeouts()),
    Preset(
        "fuse-default",
        "the caches of libfuse's high-level interface: entry 1 s, attr 1 s, negative 0; else as strict",
        Timeouts(entry=1.0, attr=1.0, symlink=1.0),
        (cached_data, adaptive_listings),
        source="libfuse include/fuse.h struct fuse_config; doc/mount.fuse3.8",
    ),
    Preset(
        "3fs-fuse",
        "a model of 3FS over FUSE: entry 30 s, attr 30 s, negative 5 s, symlink 5 s; lengths published late",
        Timeouts(entry=30.0, attr=30.0, negative=5.0, symlink=5.0),
        (
            cached_data, no_rename_flags, local_locks, no_xattrs, no_fallocate, no_tmpfile, no_copy_range,
            listings_per_handle, untouched_directory_times, shared_nodes, appends_by_client, coarse_times,
            constant_links, published_lengths, collected_data, shown_configuration,
        ),
        source="deepseek-ai/3FS e2cef822: src/fuse/FuseConfig.h, FuseOps.cc, UserConfig.cc, PioV.cc; src/meta",
    ),
)  # fmt: skip

PRESETS: dict[str, Preset] = {preset.name: preset for preset in _CATALOGUE}
