"""vLLM's fs tier through its C extension (csrc/fs_io.cpp; store and load since pull request 49152).

One access(2) is the whole index and the whole deduplication; the temporary name is `<dest>_<random>.tmp`, the random
number drawn once per thread; any error of a store is reported under the destination's name.
"""

from __future__ import annotations

import errno
import os
from typing import Type

from fsconform.personalities.protocol import Protocol
from fsconform.personalities.replay.files import EXCLUSIVE, Files


class VllmC(Protocol):
    """access; stat, mkdir where missing; exclusive temp; one write; close; rename. One read; short: unlink."""

    deletes = True

    def lookup(self, files: Files, path: str) -> bool:
        """access(2); any error is absent."""
        try:
            files.access("lookup", path)
        except OSError:
            return False
        return True

    def store(self, files: Files, path: str, view: "memoryview[int]", suffix: int) -> int:
        """The sequence of store_block; a temporary file that was opened is removed after every later error."""
        if self._present(files, path):
            return 0
        self._make_directories(files, os.path.dirname(path))
        temporary = self.temporary(path, suffix)
        descriptor = files.open("open-temp", temporary, EXCLUSIVE)
        try:
            try:
                files.write_once(temporary, descriptor, view)
            finally:
                files.close("close", temporary, descriptor)
            files.rename(temporary, path)
        except OSError:
            files.unlink_quietly("unlink-temp", temporary)
            raise
        return len(view)

    def _present(self, files: Files, path: str) -> bool:
        try:
            files.access("exists", path)
        except OSError:
            return False
        return True

    def _make_directories(self, files: Files, path: str) -> None:
        """std::filesystem::create_directories: stat upward until something is there, then mkdir downward."""
        missing = []
        while path and not files.is_directory("stat-dir", path):
            missing.append(path)
            path = os.path.dirname(path)
        for directory in reversed(missing):
            try:
                files.mkdir(directory)
            except OSError as error:
                if error.errno != errno.EEXIST or not files.is_directory("stat-dir", directory):
                    raise

    def load(self, files: Files, path: str, view: "memoryview[int]") -> int:
        """open, one read, close; a short read unlinks the block (vllm/v1/kv_offload/tiering/fs, pull request 49328)."""
        descriptor = files.open("open", path, os.O_RDONLY)
        try:
            count = files.read(path, descriptor, view)
        finally:
            files.close("close-read", path, descriptor)
        if count < len(view) and files.faithful:
            files.unlink_quietly("unlink-block", path)
        return count


PROTOCOL: "Type[Protocol]" = VllmC
