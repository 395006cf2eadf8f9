"""The findings: what happens, why, where that is written, and the command that shows it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bench.findings import programs
from bench.findings.programs import Seen
from bench.findings.stage import Stage

CREATE = "visibility.create/rename/missed"


@dataclass(frozen=True, slots=True)
class Finding:
    """One surprise. Measured by cells of the suite, or by a program of its own where no cell has it."""

    name: str
    title: str
    sequence: str
    cause: str
    source: str
    sites: tuple[str, ...]
    """Where it is met, and where it is not."""
    cells: tuple[str, ...] = ()
    program: Callable[[Stage], Seen] | None = None
    unit: str = "names"

    @property
    def waits(self) -> bool:
        """Whether it is about how long a cache remembers: nothing of it is a race."""
        return any(cell.startswith(("visibility.", "size.")) for cell in self.cells)

    def commands(self) -> list[str]:
        """A shell command for each site."""
        if self.program is not None:
            return [f"python -m bench.findings {self.name} --site {site}" for site in self.sites]
        words = " ".join(f"--cell {cell}" for cell in self.cells)
        return [f"fsconform run --site {site} {words}" for site in self.sites]


FINDINGS = (
    Finding(
        "stale-miss",
        "A name that was missed stays missing for 30 s, also for open",
        "B looks a name up: ENOENT. A renames a complete file there. B looks again.",
        "The client keeps the miss as long as it trusts the attributes of the directory: acdirmin (30 s by default) "
        "where the directory changed lately. `open` asks no earlier than `stat`. A fresh listing of the directory "
        "does.",
        "nfs(5) acdirmin, acdirmax, lookupcache; Linux fs/nfs/dir.c nfs_neg_need_reval",
        ("lab=nfs3", "lab=nfs4.2", "lab=nfs3,lookupcache=pos"),
        (f"{CREATE}/stat/fresh/a-b", f"{CREATE}/open_read/fresh/a-b"),
    ),
    Finding(
        "stale-miss-settled",
        "In a directory that rested it stays missing for up to 60 s",
        "The same in directories that B looked at and nobody changed for longer than acdirmin.",
        "Timeouts adapt: every look that finds the attributes expired and unchanged doubles them, up to acdirmax (60 "
        "s by default). So 30 s measured in a directory that a test has just made says nothing about one that is in "
        "use.",
        "nfs(5) acdirmax; Linux fs/nfs/inode.c nfs_update_inode (attrtimeo)",
        ("lab=nfs3", "lab=nfs4.2"),
        (f"{CREATE}/stat/settled/a-b", f"{CREATE}/open_read/settled/a-b"),
    ),
    Finding(
        "stale-size",
        "Lengths, replaced and removed names are stale for 3 to 60 s by stat, and at once right by open",
        "B knows a file. A appends to it and closes it, replaces it, or removes it. B looks.",
        "Attributes of a file are trusted for acregmin to acregmax (3 to 60 s by default). Only `open` asks for them "
        "(close-to-open); `stat`, and `fstat` of a descriptor that is held, do not.",
        "nfs(5) acregmin, acregmax, Close-to-open cache consistency",
        ("lab=nfs3", "lab=nfs4.2"),
        (
            "size.grow/known/stat/fresh/close/a-b", "size.grow/known/fstat_held/fresh/close/a-b",
            "size.grow/known/open_fstat/fresh/close/a-b", "visibility.replace/rename/known/stat/fresh/a-b",
            "visibility.unlink/known/stat/fresh/a-b",
        ),
    ),
    Finding(
        "held-listing",
        "A directory descriptor that is held shows its old listing for 30 s on NFSv3",
        "B opens a directory and lists it through the descriptor. A adds a name. B rewinds and lists again.",
        "Opening a directory asks for its attributes, rewinding does not: the cached listing is good until they "
        "expire, whatever lookupcache says.",
        "Linux fs/nfs/dir.c nfs_readdir, nfs_revalidate_mapping; nfs(5) acdirmin, acdirmax",
        ("lab=nfs3", "lab=nfs4.2", "lab=nfs3,lookupcache=none"),
        ("visibility.create/rename/listed/scandir_held/fresh/a-b",),
    ),
    Finding(
        "accidental-refresh",
        "What a reader does nearby frees a pending name by accident",
        "B misses a name, A publishes it; 0.3 s later B does something else nearby and looks at the name again.",
        "Whatever makes the client ask for the attributes of the directory, and see that they changed, ends the miss "
        "for every name in it. So one stray listing hides a staleness of 30 s from a test, and cures it in practice.",
        "Linux fs/nfs/dir.c nfs_check_verifier, nfs_lookup_revalidate",
        ("lab=nfs3", "lab=nfs4.2"),
        program=programs.refresh_by_accident,
    ),
    Finding(
        "tick-hidden",
        "NFSv3 hides a rename behind the tick of the server's clock, for good",
        "A creates the temporary file, B misses the final name, A renames: all within one tick of the server.",
        "A client of version 3 knows a change of a directory by its mtime alone. The create and the rename have the "
        "same one, so that nothing seems to have changed when the attributes are asked for again. It outlives every "
        "timeout; the next change of the directory ends it. Version 4 has a change attribute.",
        "RFC 1813 section 2.6 (wcc_data), nfs(5) Directory entry caching; RFC 8881 section 5.8.1.4",
        ("lab=nfs3,actimeo=1,one-kernel", "lab=nfs4.2,actimeo=1,one-kernel"),
        program=programs.hide_behind_tick,
    ),
    Finding(
        "rewrite-within-tick",
        "NFSv3 misses a rewrite of the same length within one tick, with noac too",
        "A writes a file, B reads it; A writes it again at the same length within one tick; B opens and reads it.",
        "Length and mtime are what tells a client of version 3 that its pages are old. Both are equal.",
        "nfs(5) Close-to-open cache consistency; RFC 1813 section 2.5 (fattr3); RFC 8881 section 5.8.1.4",
        ("lab=nfs3,noac,one-kernel", "lab=nfs4.2,noac,one-kernel"),
        program=programs.rewrite_within_tick,
        unit="files",
    ),
    Finding(
        "rewrite-after-tick",
        "The same rewrite 30 ms later is always seen",
        "As before, with 30 ms between the two writes.",
        "The control of the finding above.",
        "as above",
        ("lab=nfs3,noac,one-kernel",),
        program=programs.rewrite_after_tick,
        unit="files",
    ),
    Finding(
        "delegation",
        "A writer waits for the reader's delegation to come back on NFSv4",
        "B holds a file open for reading. A opens it for writing.",
        "The server gave B a read delegation; it has to be recalled and returned before A may write, and tells A to "
        "come again later (NFS4ERR_DELAY), which the client does after 100 ms at first.",
        "RFC 8881 section 10.4; Linux fs/nfs/nfs4proc.c NFS4_POLL_RETRY_MIN",
        ("lab=nfs4.2", "lab=nfs3"),
        program=programs.wait_for_delegation,
        unit="opens took more than 50 ms",
    ),
    Finding(
        "open-after-unlink",
        "NFSv4.1 and later open a name that was removed, while its file lives",
        "B knows a name; A, which has the file open, removes it; B opens the name.",
        "The client opens what it knows by file handle (CLAIM_FH), not by name. The file is still there, renamed to "
        ".nfs…: the open succeeds and reads its contents. With 4.0 and with 3 no such open "
        "succeeded here.",
        "RFC 8881 section 18.16.3 (CLAIM_FH); Linux fs/nfs/nfs4proc.c, fs/nfs/unlink.c (silly rename)",
        ("lab=nfs4.2", "lab=nfs4.0", "lab=nfs3"),
        program=programs.open_removed_name,
    ),
    Finding(
        "rename-gap",
        "A name that is replaced by rename is missing for a moment where the renaming client has the old file open",
        "A has the old file open and renames a new one over it; B asks the server for the name all the time.",
        "The client renames the old file away first (.nfs…), so that its descriptor stays good, then renames the new "
        "one: two calls, and between them there is no such name. Looks miss it then, and an exclusive create succeeds "
        "over a published name; what it made is replaced a moment later. So a loser of EEXIST can miss the name, too.",
        "Linux fs/nfs/dir.c nfs_rename (nfs_sillyrename of the target)",
        ("lab=nfs3,noac", "lab=nfs4.2,noac"),
        program=programs.rename_over_open_file,
    ),
    Finding(
        "two-winners",
        "O_EXCL has two winners where clients booted in step",
        "Contenders on both hosts create one name exclusively; each is told whether it won.",
        "The verifier of an exclusive create is the client's tick count since boot and the pid. Clients that booted "
        "in the same moment can send equal ones at the same time; the server then takes the second create for the "
        "first one sent twice and answers success. Clients that booted apart have one winner each time.",
        "RFC 1813 section 3.3.8, RFC 8881 section 18.16.3; Linux fs/nfs/nfs3proc.c nfs3_proc_create, fs/nfs/nfs4proc.c",
        ("lab=nfs3,collide", "lab=nfs4.0,collide"),
        ("exclusive.winner-in-step/excl/cold/4/all",),
    ),
    Finding(
        "one-winner",
        "and one winner where they did not",
        "The same between clients that booted more than 2 s apart.",
        "The control of the finding above.",
        "as above",
        ("lab=nfs3", "lab=nfs4.0"),
        ("exclusive.winner/excl/cold/4/all",),
    ),
)  # fmt: skip
