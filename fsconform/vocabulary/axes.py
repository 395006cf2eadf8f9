"""The settings a property is asked under: the axes that can make a difference to it, and their values.

Which combinations are cells, and how often each is tried, is the table of the runs; a promise can name any of these.
"""

from __future__ import annotations

from collections.abc import Mapping

from fsconform.vocabulary.cells import AXES

_LOOKS = ("stat", "access", "statx", "open_read", "open_fstat", "open_fstat_read", "scandir")
_AGES = ("fresh", "settled")
_EXCLUSIVE = ("excl", "link", "mkdir", "noreplace", "symlink", "mknod")
_STATES = ("cold", "missed", "known", "ghost")
_CONTENDERS = ("2", "4", "8")
_CONTEST = {"publish": _EXCLUSIVE, "state": _STATES, "contenders": _CONTENDERS}
_READS = ("open_read", "open_fstat_read")
_READERS = (*_READS, "open_direct", "mmap_read")
_ODD_SIZES = ("1b", "4095b", "4097b", "1m+1b")
_HELD = ("read_held", "fstat_held")
_SIZES = ("4k", "64k", "1m", "8m")

PROPERTY_AXES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "visibility.create": {
        "publish": ("rename", "excl", "link", "mkdir", "noreplace", "create", "rename-open", "cross-dir"),
        "state": ("cold", "missed", "missed-ancestor", "listed"),
        "observer": (*_LOOKS, "scandir_held"),
        "age": _AGES,
    },
    "visibility.replace": {
        "publish": ("rename",), "state": ("cold", "known", "held", "listed"), "observer": _LOOKS, "age": _AGES,
        "size": ("same",),
    },
    "visibility.unlink": {
        "state": ("cold", "known", "held", "listed"), "observer": (*_LOOKS, "scandir_held"), "age": _AGES,
    },
    "size.grow": {
        "state": ("cold", "known", "held", "listed"),
        "observer": ("stat", "statx", "open_fstat", "fstat_held"),
        "age": _AGES,
        "after": ("close", "fsync", "fdatasync", "write"),
    },
    "size.exact": {"observer": ("stat", "open_fstat"), "size": _ODD_SIZES},
    "exclusive.winner": _CONTEST,
    "exclusive.winner-in-step": {"publish": ("excl",), "state": ("cold",), "contenders": ("4",)},
    "exclusive.loser-errno": _CONTEST,
    "exclusive.over-existing": _CONTEST,
    "exclusive.stale-eexist": _CONTEST,
    "exclusive.success-told": _CONTEST,
    "exclusive.loser-sees": _CONTEST,
    "exclusive.plain-create": {"publish": ("create",), "state": _STATES, "contenders": _CONTENDERS},
    "atomic.presence": {
        "publish": ("rename", "cross-dir"), "observer": ("stat", "access", *_READS), "size": _SIZES,
    },
    "atomic.content": {"publish": ("rename", "cross-dir"), "observer": _READS, "size": _SIZES},
    "atomic.order": {},
    "atomic.held-reader": {"observer": _HELD},
    "content.complete": {
        "publish": ("rename", "link", "noreplace", "excl", "rename-open", "cross-dir"),
        "observer": _READERS,
        "size": _SIZES,
    },
    "content.unaligned": {"observer": _READERS},
    "content.neighbours": {},
    "content.rewrite": {"state": ("cold", "known", "held"), "observer": (*_READERS, "read_held"), "age": _AGES},
    "content.tail": {},
    "content.copy-range": {"size": _SIZES},
    "content.source-reuse": {"state": ("cold", "known")},
    "unlink.held-reader": {"observer": _HELD},
    "link.identity": {},
    "link.count": {},
    "append.atomic": {},
    "mmap.held-reader": {"publish": ("rename", "unlink")},
    "mmap.truncate": {},
    "capability.link": {},
    "capability.rename-noreplace": {},
    "capability.rename-exchange": {},
    "capability.xattr": {},
    "capability.flock": {},
    "capability.fcntl-lock": {},
    "capability.o-direct": {},
    "capability.mmap": {},
    "capability.fallocate": {},
    "capability.o-tmpfile": {},
    "capability.fsync-dir": {},
}  # fmt: skip
"""Property -> axis -> the values it can have in a cell of that property (a cell may lack an axis)."""

AXIS_VALUES: Mapping[str, tuple[str, ...]] = {
    axis: tuple(dict.fromkeys(value for axes in PROPERTY_AXES.values() for value in axes.get(axis, ())))
    for axis in AXES
    if any(axis in axes for axes in PROPERTY_AXES.values())
}
"""Axis -> all its values."""
