"""Mutants of what clients' kernels may keep: timeouts longer than what is promised, and a server that believes in
misses of its own."""

from __future__ import annotations

import errno
from dataclasses import replace
from typing import Any

from fsconform.lab.calls import Call, RefusalError
from fsconform.lab.inodes import Inode
from fsconform.lab.knobs import Knobs
from fsconform.lab.model import FOREVER_S, Lab, Timeouts
from fsconform.lab.mutants.memory import Key, Memory
from fsconform.lab.mutants.registry import mutant

_LATE_FACTOR = 1.2


@mutant(
    "negative-forever",
    "a mount that once missed a name misses it for ever",
    "juicefs issue 6302; ydb-platform/nbs issue 579: negative entries that never end",
    ("visibility.create",),
    also={"atomic.order": "whoever missed the new name of a rename finds neither once the old one is gone"},
)
def negative_forever(lab: Lab, knobs: Knobs) -> None:
    """By the timeout that the client's kernel is given, so that exclusive creates are not affected."""
    lab.timeouts = replace(lab.timeouts, negative=FOREVER_S)


@mutant(
    "negative-after-eexist",
    "for `ttl` after a miss a mount goes on missing the name, although its own create was told EEXIST since",
    "juicefs pull request 6302; deepseek-ai/DeepEP issue 683; NVIDIA-NeMo/Automodel pull request 3686",
    ("visibility.create", "exclusive.loser-sees"),
    also={"atomic.order": "whoever missed the new name of a rename finds neither once the old one is gone"},
)
def negative_after_eexist(lab: Lab, knobs: Knobs) -> None:
    """The server answers ENOENT: Linux drops its own negative entry at EEXIST since 6.6 (fs/fuse/dir.c)."""
    operations = lab.operations
    lookup = operations.lookup
    missed: Memory[tuple[int, Key], bool] = Memory(lab)

    def believe(call: Call, parent: int, name: bytes) -> Inode:
        seen = (call.client.number, (parent, name))
        if missed.get(seen):
            raise RefusalError(errno.ENOENT)
        try:
            return lookup(call, parent, name)
        except RefusalError as refusal:
            if refusal.errno == errno.ENOENT and knobs.strikes(call, seen):
                missed.keep(seen, True, knobs.ttl)
            raise

    def forgetting(field: str, key_of: Any) -> None:
        inner = getattr(operations, field)

        def make(call: Call, *arguments: Any) -> Any:
            made = inner(call, *arguments)
            missed.drop((call.client.number, key_of(arguments)))
            return made

        setattr(operations, field, make)

    for field in ("create", "make_node", "make_directory", "make_symlink"):
        forgetting(field, lambda arguments: arguments[:2])
    forgetting("link", lambda arguments: arguments[1:3])
    forgetting("rename", lambda arguments: arguments[2:4])
    operations.lookup = believe


@mutant(
    "stale-entry",
    "a mount that knows a name keeps it for `ttl` after another one removed or replaced it",
    "fs/fuse/dir.c fuse_dentry_revalidate: entry_timeout is never cut short by other clients",
    ("visibility.unlink", "visibility.replace"),
)
def stale_entry(lab: Lab, knobs: Knobs) -> None:
    """By the timeout that the client's kernel is given: both properties hang on the one cache."""
    lab.timeouts = replace(lab.timeouts, entry=knobs.ttl)


@mutant(
    "attributes-kept",
    "a mount trusts the attributes of an open file for `ttl`: fstat gives the old length, stat the new one",
    "Alibaba Cloud NAS faq 54393: a reader that holds the file sees appended data up to 30 s late",
    ("size.grow",),
)
def attributes_kept(lab: Lab, knobs: Knobs) -> None:
    """By the timeout that the client's kernel is given."""
    lab.timeouts = replace(lab.timeouts, attr=knobs.ttl)


@mutant(
    "cached-for-ever",
    "what a mount has seen of a name and a file it trusts for ever",
    "arighi/virtme-ng pull request 340: virtiofs cache=always",
    ("visibility.unlink", "visibility.replace", "size.grow"),
)
def cached_for_ever(lab: Lab, knobs: Knobs) -> None:
    """Misses are not kept."""
    lab.timeouts = Timeouts(entry=FOREVER_S, attr=FOREVER_S, symlink=FOREVER_S)


@mutant(
    "stale-past-bound",
    "entries and attributes are trusted 1.2 times as long as the mount says",
    "libfuse doc/mount.fuse3.8 entry_timeout, attr_timeout: a bound that is nearly kept must convict",
    ("visibility.unlink", "visibility.replace", "size.grow"),
    against=("fuse-default,entry=0.5,attr=0.5", "fuse-default"),
)
def stale_past_bound(lab: Lab, knobs: Knobs) -> None:
    """In a lab whose profile allows a bound."""
    timeouts = lab.timeouts
    lab.timeouts = replace(
        timeouts, entry=timeouts.entry * _LATE_FACTOR, attr=timeouts.attr * _LATE_FACTOR,
        negative=timeouts.negative * _LATE_FACTOR, symlink=timeouts.symlink * _LATE_FACTOR,
    )  # fmt: skip
