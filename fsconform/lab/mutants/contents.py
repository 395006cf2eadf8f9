"""Mutants of content: for a moment after a rename the file reads wrong."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from fsconform.lab.calls import Call
from fsconform.lab.inodes import Handle
from fsconform.lab.knobs import Knobs
from fsconform.lab.model import Lab
from fsconform.lab.mutants.registry import mutant

_PAGE = 4096
_BREAKS = ("content.complete", "atomic.content")
_ALSO = dict.fromkeys(
    ("atomic.held-reader", "unlink.held-reader", "mmap.held-reader", "content.source-reuse"),
    "what is read there was renamed right before",
)
_WINDOW_S = 0.1
_INVERTED = bytes(255 - byte for byte in range(256))


@dataclass(frozen=True, slots=True)
class Publication:
    """What a rename publishes: the name, its bytes, and those it replaces (empty where there were none)."""

    name: bytes
    data: bytes
    replaced: bytes


Spoil = Callable[[Publication], bytes]
"""The wrong bytes."""


def _spoil_publications(lab: Lab, knobs: Knobs, spoil: Spoil) -> None:
    """Serve wrong bytes to every read from the moment of a plain rename until `window` after it has returned.

    Links and RENAME_NOREPLACE publish whole files, so that what losers of a contest read stays right.
    """
    rename, read, store = lab.operations.rename, lab.operations.read, lab.store
    wrong: dict[int, tuple[bytes, float]] = {}

    def publish(call: Call, parent: int, name: bytes, new_parent: int, new_name: bytes, flags: int) -> None:
        number = store.directory(parent).get(name)
        if flags or number is None or not knobs.strikes(call):
            rename(call, parent, name, new_parent, new_name, flags)
            return
        with store.lock:
            inode = store.inodes[number]
            old = store.inodes.get(store.directory(new_parent).get(new_name, -1))
            bad = spoil(Publication(new_name, bytes(inode.data), bytes(old.data) if old else b""))
            wrong[number] = (bad, float("inf"))
        try:
            rename(call, parent, name, new_parent, new_name, flags)
        finally:
            with store.lock:
                wrong[number] = (bad, time.monotonic() + knobs.window)

    def read_wrong(call: Call, handle: Handle, offset: int, size: int, flags: int) -> bytes:
        bad, until = wrong.get(handle.inode.number, (b"", 0.0))
        if until > time.monotonic():
            return bad[offset : offset + size]
        return read(call, handle, offset, size, flags)

    def forget_expired(now: float) -> None:
        with store.lock:
            for gone in [key for key, (_, until) in wrong.items() if until < now]:
                del wrong[gone]

    lab.periodic.append(forget_expired)
    lab.operations.rename, lab.operations.read = publish, read_wrong


@mutant(
    "zero-after-publish",
    "for 100 ms after a rename the file reads as zeros of the right length",
    "ext4 delayed allocation, zeros after rename without fsync (Linux Documentation/filesystems/ext4, auto_da_alloc)",
    _BREAKS,
    _ALSO,
    window=_WINDOW_S,
    racy=True,
)
def zero_after_publish(lab: Lab, knobs: Knobs) -> None:
    """All pages."""
    _spoil_publications(lab, knobs, lambda publication: bytes(len(publication.data)))


@mutant(
    "short-after-publish",
    "for 100 ms after a rename only the first half of the file can be read",
    "bazelbuild/bazel issue 17428: partial blobs under a content hash name",
    _BREAKS,
    _ALSO,
    window=_WINDOW_S,
    racy=True,
)
def short_after_publish(lab: Lab, knobs: Knobs) -> None:
    """Its length is told right."""
    _spoil_publications(lab, knobs, lambda publication: publication.data[: len(publication.data) // 2])


@mutant(
    "torn-after-publish",
    "for 100 ms after a rename the second half of the file is the replaced version's, or garbage",
    "POSIX rename(): the name refers to the old or to the new file",
    _BREAKS,
    _ALSO,
    window=_WINDOW_S,
    racy=True,
)
def torn_after_publish(lab: Lab, knobs: Knobs) -> None:
    """Where nothing of that length was replaced, the second half has every bit inverted."""

    def tear(publication: Publication) -> bytes:
        data, half = publication.data, len(publication.data) // 2
        if len(publication.replaced) == len(data) and publication.replaced[half:] != data[half:]:
            return data[:half] + publication.replaced[half:]
        return data[:half] + data[half:].translate(_INVERTED)

    _spoil_publications(lab, knobs, tear)


def _second_page(data: bytes, page: bytes) -> bytes:
    """A file of several pages with another second page."""
    return data[:_PAGE] + page + data[2 * _PAGE :] if len(data) >= 2 * _PAGE else data


@mutant(
    "zero-page",
    "for 100 ms after a rename one page of the file reads as zeros",
    "vllm-project/vllm issue 54363: right length, wrong bytes; git-for-windows/git pull request 3492",
    _BREAKS,
    _ALSO,
    window=_WINDOW_S,
    racy=True,
)
def zero_page(lab: Lab, knobs: Knobs) -> None:
    """The second one."""
    _spoil_publications(lab, knobs, lambda publication: _second_page(publication.data, bytes(_PAGE)))


@mutant(
    "stale-page",
    "for 100 ms after a rename over a file one page is still the replaced version's",
    "bersler/OpenLogReplicator issue 218; Alluxio/alluxio issue 16793: a page of the version before",
    ("atomic.content",),
    window=_WINDOW_S,
    racy=True,
)
def stale_page(lab: Lab, knobs: Knobs) -> None:
    """Where a version of the same length was replaced."""

    def keep(publication: Publication) -> bytes:
        same = len(publication.replaced) == len(publication.data)
        return _second_page(publication.data, publication.replaced[_PAGE : 2 * _PAGE]) if same else publication.data

    _spoil_publications(lab, knobs, keep)


@mutant(
    "foreign-page",
    "for 100 ms after a rename the first page of the file is a page of another file",
    "a page of another block under the right name and length is what a mixed-up chunk or extent gives",
    _BREAKS,
    _ALSO,
    window=_WINDOW_S,
    racy=True,
)
def foreign_page(lab: Lab, knobs: Knobs) -> None:
    """The page comes from what was published last under another name; where there is none, from the file's own end."""
    last: dict[bytes, bytes] = {}

    def mix(publication: Publication) -> bytes:
        data = publication.data
        strangers = [page for name, page in last.items() if name != publication.name and page != data[:_PAGE]]
        if len(data) >= _PAGE:
            last.pop(publication.name, None)
            last[publication.name] = data[:_PAGE]
            while len(last) > 2:
                del last[next(iter(last))]
        page = strangers[-1] if strangers else data[-_PAGE:]
        return page + data[_PAGE:] if len(data) >= _PAGE == len(page) else data

    _spoil_publications(lab, knobs, mix)
