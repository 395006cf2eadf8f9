"""The calls that stores make, by their roles, on paths relative to the shared root; all recorded on a tape."""

from __future__ import annotations

import errno
import os
from typing import Any

from fsconform.fleet.worker import calls
from fsconform.personalities.replay.tape import Tape

CREATE = os.O_CREAT | os.O_WRONLY
EXCLUSIVE = CREATE | os.O_EXCL | os.O_TRUNC


class Files:
    """The filesystem as one thread of a store uses it. Every method raises OSError with the step in `step`."""

    def __init__(self, tape: Tape, root: str, direct: bool = False, faithful: bool = False) -> None:
        self.tape = tape
        self.direct = direct
        """Whether block files are opened with O_DIRECT."""
        self.faithful = faithful
        """Whether a reader deletes what it takes for damaged, as the store does; otherwise that is only counted."""
        self._root = root

    def _at(self, path: str) -> str:
        return self._root + "/" + path

    def access(self, step: str, path: str) -> None:
        """access(2) with F_OK."""
        self.tape.call(step, path, calls.access, self._at(path))

    def stat(self, step: str, path: str) -> os.stat_result:
        """stat(2)."""
        return self.tape.call(step, path, os.stat, self._at(path))  # type: ignore[no-any-return]

    def exists(self, step: str, path: str) -> bool:
        """Whether stat(2) finds it, as os.path.exists: any error is no."""
        try:
            self.stat(step, path)
        except OSError:
            return False
        return True

    def is_directory(self, step: str, path: str) -> bool:
        """As os.path.isdir."""
        try:
            return os.path.stat.S_ISDIR(self.stat(step, path).st_mode)  # type: ignore[attr-defined,no-any-return]
        except OSError:
            return False

    def mkdir(self, path: str) -> None:
        """mkdir(2)."""
        self.tape.call("mkdir", path, os.mkdir, self._at(path), 0o777)

    def make_parents(self, path: str) -> None:
        """The directories above a path as os.makedirs(exist_ok=True) makes them (CPython Lib/os.py).

        For directories that exist: stat of the grandparent, mkdir that fails with EEXIST, stat of the parent.
        """
        self._makedirs(os.path.dirname(path))

    def _makedirs(self, path: str) -> None:
        above = os.path.dirname(path)
        if above and not self.exists("stat-dir", above):
            try:
                self._makedirs(above)
            except FileExistsError:
                pass
        try:
            self.mkdir(path)
        except OSError:
            if not self.is_directory("stat-dir", path):
                raise

    def open(self, step: str, path: str, flags: int, mode: int = 0o644) -> int:
        """open(2), with O_DIRECT where block files are opened so. Returns the descriptor."""
        flags |= os.O_DIRECT if self.direct else 0
        return self.tape.call(step, path, os.open, self._at(path), flags, mode)  # type: ignore[no-any-return]

    def open_plain(self, step: str, path: str, flags: int, mode: int = 0o644) -> int:
        """open(2) of a file that is no block: never O_DIRECT."""
        return self.tape.call(step, path, os.open, self._at(path), flags, mode)  # type: ignore[no-any-return]

    def write(self, path: str, descriptor: int, view: Any) -> int:
        """One write(2); returns what it wrote."""
        return self.tape.call("write", path, os.write, descriptor, view)  # type: ignore[no-any-return]

    def write_once(self, path: str, descriptor: int, view: "memoryview[int]") -> None:
        """One write(2) that must take everything: less is EIO, as in vLLM (csrc/fs_io.cpp)."""
        if self.write(path, descriptor, view) != len(view):
            error = OSError(errno.EIO, os.strerror(errno.EIO))
            error.step = "write"  # type: ignore[attr-defined]
            raise error

    def write_all(self, path: str, descriptor: int, view: "memoryview[int]", piece: int = 1 << 30) -> None:
        """write(2) until everything is written, at most `piece` bytes at once."""
        done = 0
        while done < len(view):
            done += self.write(path, descriptor, view[done : done + piece])

    def read(self, path: str, descriptor: int, view: "memoryview[int]") -> int:
        """One readv(2) into a buffer; returns what it read."""
        return self.tape.call("read", path, os.readv, descriptor, [view])  # type: ignore[no-any-return]

    def read_all(self, path: str, descriptor: int, view: "memoryview[int]") -> int:
        """readv(2) until the buffer is full or the file ends."""
        done = 0
        while done < len(view):
            count = self.read(path, descriptor, view[done:])
            if not count:
                break
            done += count
        return done

    def close(self, step: str, path: str, descriptor: int) -> None:
        """close(2)."""
        self.tape.call(step, path, os.close, descriptor)

    def size_of(self, path: str, descriptor: int) -> int:
        """The length that fstat(2) tells, bytes."""
        return self.tape.call("fstat", path, _size, descriptor)  # type: ignore[no-any-return]

    def seek_end(self, path: str, descriptor: int) -> int:
        """The length that lseek(2) to the end tells, bytes."""
        return self.tape.call("seek", path, os.lseek, descriptor, 0, os.SEEK_END)  # type: ignore[no-any-return]

    def rename(self, path: str, target: str) -> None:
        """rename(2), recorded under its target."""
        self.tape.call("rename", target, os.rename, self._at(path), self._at(target))

    def link(self, path: str, target: str) -> None:
        """link(2), recorded under its target."""
        self.tape.call("link", target, os.link, self._at(path), self._at(target))

    def symlink(self, text: str, path: str) -> None:
        """symlink(2)."""
        self.tape.call("symlink", path, os.symlink, text, self._at(path))

    def unlink(self, step: str, path: str) -> None:
        """unlink(2)."""
        self.tape.call(step, path, os.unlink, self._at(path))

    def unlink_quietly(self, step: str, path: str) -> None:
        """unlink(2), whatever it answers."""
        try:
            self.unlink(step, path)
        except OSError:
            pass

    def rmdir(self, path: str) -> None:
        """rmdir(2)."""
        self.tape.call("rmdir", path, os.rmdir, self._at(path))

    def touch(self, path: str) -> None:
        """utimensat(2): both times now."""
        self.tape.call("utime", path, os.utime, self._at(path))

    def fsync(self, path: str, descriptor: int) -> None:
        """fsync(2)."""
        self.tape.call("fsync", path, os.fsync, descriptor)

    def listing(self, path: str) -> "list[str]":
        """The names in a directory."""
        return self.tape.call("list", path, os.listdir, self._at(path))  # type: ignore[no-any-return]


def _size(descriptor: int) -> int:
    return os.fstat(descriptor).st_size
