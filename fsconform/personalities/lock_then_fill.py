"""The Hugging Face hub's download cache (huggingface_hub/file_download.py, utils/_fixes.py WeakFileLock).

A lock per blob, a unique incomplete file that is moved into place, and a relative symbolic link to it. The incomplete
name is unique because flock(2) silently succeeds for everybody on some network filesystems.
"""

from __future__ import annotations

import errno
import fcntl
import os
from typing import Type

from fsconform.personalities.protocol import Protocol, WholeRead
from fsconform.personalities.replay.files import CREATE, Files


class LockThenFill(WholeRead):
    """open and flock `<name>.lock`; exists; unique `.incomplete`, write, close, rename; symlink; unlock."""

    def temporary(self, path: str, suffix: int) -> str:
        """`<blob>.<8 hex>.incomplete`."""
        return "{}.{:08x}.incomplete".format(path, suffix & 0xFFFFFFFF)

    def store(self, files: Files, path: str, view: "memoryview[int]", suffix: int) -> int:
        """hf_hub_download: look again once the lock is held."""
        files.make_parents(path)
        lock = path + ".lock"
        descriptor = files.open_plain("open-lock", lock, os.O_CREAT | os.O_RDWR)
        try:
            files.tape.call("flock", lock, fcntl.flock, descriptor, fcntl.LOCK_EX)
            return self._fill(files, path, view, suffix)
        finally:
            files.close("close-lock", lock, descriptor)

    def _fill(self, files: Files, path: str, view: "memoryview[int]", suffix: int) -> int:
        if files.exists("exists", path):
            return 0
        temporary = self.temporary(path, suffix)
        descriptor = files.open("open-temp", temporary, CREATE | os.O_EXCL)
        try:
            files.write_all(temporary, descriptor, view)
        finally:
            files.close("close", temporary, descriptor)
        files.rename(temporary, path)
        self._point(files, path)
        return len(view)

    def _point(self, files: Files, path: str) -> None:
        try:
            files.symlink(os.path.basename(path), path + ".snapshot")
        except OSError as error:
            if error.errno != errno.EEXIST:
                raise


PROTOCOL: "Type[Protocol]" = LockThenFill
