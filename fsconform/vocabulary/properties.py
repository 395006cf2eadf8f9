"""The catalogue of properties: public ids, the question each one asks, and what breaks without it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Property:
    """One question with a stable id (`family.word`)."""

    id: str
    question: str
    breaks: str
    """What goes wrong in practice where it is not kept."""
    source: str
    """Where the property is specified or was first reported."""

    @property
    def family(self) -> str:
        """The part of the id before the dot."""
        return self.id.partition(".")[0]


_POSIX = "POSIX.1-2024 XSH"
_CATALOGUE = (
    Property(
        "visibility.create",
        "A published a name: from when on does B see it?",
        "lookups miss blocks that exist; stores recompute or write them again",
        "nfs(5); 3FS src/fuse/FuseConfig.h",
    ),
    Property(
        "visibility.replace",
        "A replaced a name: from when on does B see the new object?",
        "readers act on an old manifest or an old length",
        f"{_POSIX} rename(); nfs(5)",
    ),
    Property(
        "visibility.unlink",
        "A removed a name: from when on is it gone for B?",
        "evicted blocks still count as hits and are read from stale handles",
        f"{_POSIX} unlink(); nfs(5)",
    ),
    Property(
        "size.grow",
        "A appended to a file that B knows: from when on does B see the new length?",
        "short reads of complete blocks; readers that delete what they take for damaged",
        "3FS src/fuse/FuseOps.cc hf3fs_open; nfs(5) close-to-open",
    ),
    Property(
        "exclusive.winner",
        "Several contenders create one free name exclusively: does exactly one win?",
        "two writers both believe they own a block, or nobody does and all wait",
        f"{_POSIX} open() O_EXCL, link(), mkdir()",
    ),
    Property(
        "exclusive.loser-errno",
        "Are all losers of an exclusive create told EEXIST?",
        "stores count a lost race as an I/O failure",
        f"{_POSIX} open() ERRORS",
    ),
    Property(
        "exclusive.over-existing",
        "Does an exclusive create of a published name always fail?",
        "a published block is emptied or replaced",
        f"{_POSIX} open() O_EXCL",
    ),
    Property(
        "exclusive.stale-eexist",
        "Is a removed name free again for an exclusive create?",
        "evicted blocks can never be stored again",
        f"{_POSIX} unlink(), open()",
    ),
    Property(
        "exclusive.success-told",
        "Is the contender whose create took effect told success?",
        "a store waits for a winner that does not know it won",
        "RFC 1813 section 4.5 (duplicate request cache)",
    ),
    Property(
        "exclusive.loser-sees",
        "Told EEXIST by a link, rename or create: can the loser open the name, and is it whole?",
        "EEXIST is taken for a hit and the next open fails",
        "deepseek-ai/DeepEP issue 683; ydb-platform/nbs issue 579",
    ),
    Property(
        "exclusive.plain-create",
        "Does open(O_CREAT) without O_EXCL never answer EEXIST?",
        "idempotent writers fail under contention",
        f"{_POSIX} open(); leil-io/leilfs issue 921",
    ),
    Property(
        "atomic.presence",
        "While a name is replaced by rename, is it there for every look?",
        "a hot block vanishes for a moment and is recomputed",
        f"{_POSIX} rename(); libfuse issue 637",
    ),
    Property(
        "atomic.content",
        "While a name is replaced by rename, is every read one whole version?",
        "torn or empty blocks are taken for data",
        f"{_POSIX} rename()",
    ),
    Property(
        "atomic.order",
        "Of the two names of a rename, is at least one there at every moment?",
        "a crash-safe move loses its file for a moment",
        f"{_POSIX} rename() RATIONALE",
    ),
    Property(
        "content.complete",
        "Is a freshly published name complete at its first open?",
        "readers get zeros, fragments or another block's bytes",
        f"{_POSIX} rename(), link(); Herlihy & Wing 1990",
    ),
    Property("capability.link", "Are hard links supported?", "link publishing cannot run", f"{_POSIX} link()"),
    Property(
        "capability.rename-noreplace",
        "Is RENAME_NOREPLACE supported (asked with a free target)?",
        "exclusive publish by rename cannot run",
        "renameat2(2)",
    ),
    Property(
        "capability.rename-exchange", "Is RENAME_EXCHANGE supported?", "swap publishing cannot run", "renameat2(2)"
    ),
    Property(
        "capability.xattr",
        "Can user extended attributes be set and read back?",
        "checksums in attributes are lost",
        "xattr(7)",
    ),
    Property(
        "capability.flock",
        "Does flock exclude between these sites?",
        "guards around shared files guard nothing",
        "flock(2)",
    ),
    Property(
        "capability.fcntl-lock",
        "Do POSIX record locks exclude between these sites?",
        "guards around shared files guard nothing",
        f"{_POSIX} fcntl()",
    ),
    Property(
        "capability.o-direct", "Can a file be read through O_DIRECT?", "direct engines fall back or fail", "open(2)"
    ),
    Property("capability.mmap", "Can a file be mapped and read?", "mapped readers fail", f"{_POSIX} mmap()"),
    Property(
        "capability.fallocate", "Can space be reserved with fallocate?", "preallocating writers fail", "fallocate(2)"
    ),
    Property(
        "capability.o-tmpfile",
        "Are unnamed temporary files (O_TMPFILE) supported?",
        "publish by O_TMPFILE and link cannot run",
        "open(2)",
    ),
    Property(
        "capability.fsync-dir",
        "Can a directory be fsynced?",
        "durable publish fails",
        f"{_POSIX} fsync(); open(2) NOTES",
    ),
)

PROPERTIES: dict[str, Property] = {entry.id: entry for entry in _CATALOGUE}
FAMILIES: tuple[str, ...] = tuple(dict.fromkeys(entry.family for entry in _CATALOGUE))
