"""What the caller of a request is doing: the FUSE protocol does not say with which intent a name is looked up.

The kernel looks a name up anew before an exclusive open, and answers EEXIST by itself where it is there; a server that
wants to lie to exclusive opens only must tell their look-ups from those of stat. proc_pid_syscall(5)
shows the system call in which the caller waits.
"""

from __future__ import annotations

import os
import platform

_OPENS = {
    "x86_64": {2: 1, 257: 2},  # open, openat: position of the flags
    "aarch64": {56: 2},
}.get(platform.machine(), {})


def opens_exclusively(tid: int) -> bool:
    """Whether a thread waits in open(O_CREAT|O_EXCL). False where that cannot be read."""
    try:
        with open(f"/proc/{tid}/syscall") as file:
            words = file.read().split()
        position = _OPENS[int(words[0])]
        flags = int(words[1 + position], 16)
    except (OSError, ValueError, KeyError, IndexError):
        return False
    return flags & (os.O_CREAT | os.O_EXCL) == os.O_CREAT | os.O_EXCL
