"""How each property is measured, in a few sentences: what A and B do, and what counts."""

from __future__ import annotations

from collections.abc import Mapping

MEASURED: Mapping[str, str] = {
    "visibility.create": (
        "B looks at the free name first (`missed`), lists its directory (`listed`), looks at a missing parent "
        "(`missed-ancestor`) or at nothing (`cold`); A publishes the name by one call; B looks again and again. "
        "Counted from the return of the call to the last look that missed and to the first that hit."
    ),
    "visibility.replace": (
        "B looks at the first version (`known`) or at nothing (`cold`); A renames a second one over it; B looks again "
        "and again, for the other length or the other bytes (`same`: both are of one length)."
    ),
    "visibility.unlink": "B looks at the name or lists its directory; A removes it; B looks until it is gone.",
    "size.grow": (
        "B knows a file of one page, by its name or by an open descriptor (`fstat_held`); A adds a page, and the time "
        "counts from the return of its close, fsync, fdatasync or of the write itself (`after`); B looks until it "
        "sees two pages."
    ),
    "size.exact": (
        "A writes 1, 4,095, 4,097 or 1,048,577 bytes and closes; B, which never looked at the name, asks for the "
        "length once."
    ),
    "exclusive.winner": (
        "2, 4 or 8 contenders at all sites create one name at the same moment; only rounds whose calls overlapped "
        "count. What is under the name afterwards says whose call took effect."
    ),
    "exclusive.winner-in-step": (
        "As `exclusive.winner` by O_EXCL, where two kernels are known to have booted within two ticks of each other."
    ),
    "exclusive.loser-errno": "The same contests; what those are told that did not win.",
    "exclusive.over-existing": (
        "A publishes the name by rename; B, which missed it before, knows it or never looked, creates it exclusively."
    ),
    "exclusive.stale-eexist": "B knows the name, A removes it, B creates it exclusively.",
    "exclusive.success-told": (
        "The same contests: is the one whose content stands there among those that were told success?"
    ),
    "exclusive.loser-sees": (
        "The same contests; each loser looks right after it was told EEXIST. Whole is asked only where the name "
        "appears by one call on a closed file (link, rename, symlink)."
    ),
    "exclusive.plain-create": "Contests by open(O_CREAT) without O_EXCL.",
    "atomic.presence": (
        "One writer renames versions over a name, also from another directory (`cross-dir`), while two readers open "
        "it as fast as they can; ENOENT convicts. Rounds in which no read met a rename do not count."
    ),
    "atomic.content": (
        "The same rounds; every read to the end of the file must be one whole version. An older whole version is "
        "stale, not torn."
    ),
    "atomic.order": (
        "A renames a file once while B looks at its old name and then at its new one. Neither convicts, if the look "
        "at the old name came first; both is information."
    ),
    "atomic.held-reader": (
        "B opens the file and asks for its length only; A renames another file over the name; B reads its descriptor "
        "(or asks for the length again). Other bytes, ESTALE, ENOENT or EIO convict."
    ),
    "content.complete": (
        "A publishes a closed block; B, which never looked at the name, opens it at once and watches it for 3 ms: by "
        "read, through O_DIRECT, by a mapping; 64 KiB, 1 MiB, 8 MiB. Every page says which block and page it is. What "
        "B cannot open yet is a question of visibility."
    ),
    "content.unaligned": (
        "A writes 64 KiB in pieces of 3,001 bytes, every second one first, and closes; B reads it. Writes that were "
        "told short or failed convict nobody."
    ),
    "content.neighbours": (
        "A file has its full length; both sites open it, and write strips of 1,701 bytes in turns, at the same time; "
        "both close, then both read."
    ),
    "content.rewrite": (
        "B has read the file (`known`), holds it open (`held`) or never saw it (`cold`); A overwrites both pages in "
        "place and closes; B looks until it reads the new bytes. A mixture, read after the close, is as late as the "
        "old bytes. The changes are more than a tick of the server apart."
    ),
    "content.tail": (
        "A writes 24 KB in pieces of 1,501 bytes; B opens and reads all the time. Each read must be a beginning of "
        "the block, of whatever length; only rounds in which a read met the writes count."
    ),
    "content.copy-range": (
        "A copies a closed block of 64 KiB, 1 MiB or 8 MiB to a new name with copy_file_range and closes; B reads the "
        "copy. Fewer bytes than asked, told as success, convict."
    ),
    "content.source-reuse": (
        "A writes a temporary file, renames it to a block, creates the temporary name exclusively again, and renames "
        "that to a second block; both sites read both. `known`: B had looked at the temporary name before."
    ),
    "unlink.held-reader": "As `atomic.held-reader`, but A removes the name.",
    "link.identity": (
        "A links a second name; both sites ask both names for st_ino, B reads the second one. B looks for the first "
        "time, so nothing comes from its caches."
    ),
    "link.count": (
        "A links a second name and asks for st_nlink, B asks by both names for the first time, A removes the first "
        "name and asks again: 2, 2, 2, 1."
    ),
    "append.atomic": (
        "Two sites open one file with O_APPEND and write 8 records of 1,001 bytes each at the same time; afterwards "
        "both read it. Every record once and whole, and nothing else; only rounds whose writes overlapped count."
    ),
    "mmap.held-reader": (
        "As `atomic.held-reader` and `unlink.held-reader`, but B has the file mapped, and touched no page of it. The "
        "kernel copies the mapping out, so that what would be SIGBUS is EFAULT."
    ),
    "mmap.truncate": (
        "B maps two pages and reads them; A cuts the file to one; B reads the mapping again: one page, then SIGBUS "
        "(EFAULT)."
    ),
    "capability.link": "link, then the second name is read.",
    "capability.rename-noreplace": (
        "A rename to a free name with RENAME_NOREPLACE, then one to a taken name, which must be refused and left alone."
    ),
    "capability.rename-exchange": "Two files are exchanged; both names are read.",
    "capability.xattr": "A user attribute is set and read back.",
    "capability.flock": "A holds an exclusive flock while B tries to take it.",
    "capability.fcntl-lock": "A holds a POSIX record lock while B tries to take it.",
    "capability.o-direct": "A page is read through O_DIRECT.",
    "capability.mmap": "A page is mapped and read.",
    "capability.fallocate": "A page is reserved; the file must have its length.",
    "capability.o-tmpfile": "An unnamed file is made, written and measured; the directory must stay empty.",
    "capability.fsync-dir": "A directory is opened and fsynced.",
}
"""Property -> how it is measured."""
