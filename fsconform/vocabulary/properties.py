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
        "size.exact",
        "A wrote a file of an odd length and closed it: is the first length that B sees exact?",
        "lengths rounded to blocks or pages: readers take padding for data, or refuse a complete block",
        f"{_POSIX} write(), stat() st_size; s3fs-fuse issue 320; mar-file-system/marfs issue 140",
    ),
    Property(
        "exclusive.winner",
        "Several contenders create one free name exclusively: does exactly one win?",
        "two writers both believe they own a block, or nobody does and all wait",
        f"{_POSIX} open() O_EXCL, link(), mkdir()",
    ),
    Property(
        "exclusive.winner-in-step",
        "Contenders on hosts that booted in step, whose creates can carry one verifier: does exactly one win?",
        "both writers own the block, for as long as the machines run: clients started together by one orchestrator",
        "RFC 1813 section 3.3.8; Linux fs/nfs/nfs3proc.c nfs3_proc_create",
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
        "atomic.held-reader",
        "A replaces a file that B has open: does B's descriptor go on showing the old file, whole?",
        "ESTALE in the middle of a read: a rank dies and the others wait for it",
        f"{_POSIX} rename() (the file is kept while it is open); cvmfs/cvmfs pull request 559",
    ),
    Property(
        "content.complete",
        "Is a freshly published name complete at its first open?",
        "readers get zeros, fragments or another block's bytes",
        f"{_POSIX} rename(), link(); Herlihy & Wing 1990",
    ),
    Property(
        "content.unaligned",
        "A wrote a block in unaligned pieces, out of order, and closed it: does B read every byte?",
        "lost updates inside partly written pages: right length, wrong bytes",
        f"{_POSIX} write(); vitalif/vitastor issue 116",
    ),
    Property(
        "content.neighbours",
        "Two sites write neighbouring unaligned ranges of one file: are nobody's bytes lost?",
        "whoever writes back whole pages puts old bytes over those of its neighbour",
        f"{_POSIX} write(); nfs(5) noalignwrite",
    ),
    Property(
        "content.rewrite",
        "A overwrote a file in place with as many bytes: from when on does B read them?",
        "old bytes, or a mixture of old and new ones, under a length that tells nothing",
        f"{_POSIX} write(); nfs(5) close-to-open",
    ),
    Property(
        "content.tail",
        "While A lets a file grow, does B never read bytes that A did not write?",
        "runs of NUL bytes at the tail are taken for data",
        f"{_POSIX} write(); moosefs/moosefs issue 471; logstash-input-file pull request 190",
    ),
    Property(
        "content.copy-range",
        "A copied a block with copy_file_range: does B read all of it?",
        "copies made inside the server are short or empty, and nobody reads them back",
        "copy_file_range(2)",
    ),
    Property(
        "content.source-reuse",
        "A renamed a temporary file to its block and uses the temporary name again: has every name its own bytes?",
        "the next block under a fixed temporary name overwrites, or hides, the one just published",
        f"{_POSIX} rename(); jingkaihe/matchlock issue 81",
    ),
    Property(
        "unlink.held-reader",
        "A removes a file that B has open: does B's descriptor go on showing it, whole?",
        "a block that is evicted while it is loaded ends in ESTALE, or reads as a short file without any error",
        f"{_POSIX} unlink() (the file is kept while it is open); 3FS docs/design_notes.md",
    ),
    Property(
        "link.identity",
        "Are two names of one file the same file for B: one inode number, one content?",
        "tools that tell files apart by inode copy a block twice, or take two blocks for one",
        f"{_POSIX} link(), <sys/stat.h> st_ino",
    ),
    Property(
        "link.count",
        "Does st_nlink say how many names a file has, after link and after unlink?",
        "lock files by link cannot tell a lost answer from a lost race (open(2) NOTES)",
        f"{_POSIX} link(), unlink(); open(2) O_EXCL",
    ),
    Property(
        "append.atomic",
        "Two sites append to one file at the same time: is every record there, once and whole?",
        "log lines and index entries overwrite one another",
        f"{_POSIX} write() O_APPEND; open(2) O_APPEND (NFS)",
    ),
    Property(
        "mmap.held-reader",
        "A replaces or removes a file that B has mapped: does the mapping go on showing the old file?",
        "SIGBUS, which no caller can catch as an error, in whoever maps shared objects or weights",
        f"{_POSIX} mmap(); llvm/llvm-project pull request 220936",
    ),
    Property(
        "mmap.truncate",
        "A cuts a file that B has mapped: are the pages beyond the new end gone, and those before it as they were?",
        "readers of a mapping go on with bytes that the file no longer has",
        f"{_POSIX} mmap() (SIGBUS beyond the end)",
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
