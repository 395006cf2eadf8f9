"""The llm-d fs connector (llm-d/llm-d-kv-cache, kv_connectors/llmd_fs_backend, file_io.cpp).

Publishes before it closes: the rename happens while the stream is open, so on close-to-open filesystems the name may
appear before the data. A block that is there already is touched.
"""

from __future__ import annotations

import os
from typing import Type

from fsconform.personalities.protocol import Protocol, StatLookup
from fsconform.personalities.replay.files import CREATE, Files

_PIECE = 1 << 20


class Llmd(StatLookup):
    """open for read as existence test, utimensat; create without O_EXCL, 1 MiB writes, rename, close. Tail read."""

    def store(self, files: Files, path: str, view: "memoryview[int]", suffix: int) -> int:
        """The sequence of write_buffer_to_file."""
        if self._touched(files, path):
            return 0
        files.make_parents(path)
        temporary = self.temporary(path, suffix & 0xFFFFFFFF)
        descriptor = files.open("open-temp", temporary, CREATE | os.O_TRUNC)
        try:
            files.write_all(temporary, descriptor, view, _PIECE)
            files.rename(temporary, path)
        except OSError:
            files.unlink_quietly("unlink-temp", temporary)
            raise
        finally:
            files.close("close", temporary, descriptor)
        return len(view)

    def _touched(self, files: Files, path: str) -> bool:
        try:
            descriptor = files.open_plain("exists", path, os.O_RDONLY)
        except OSError:
            return False
        files.close("close-read", path, descriptor)
        try:
            files.touch(path)
        except OSError:
            pass
        return True

    def load(self, files: Files, path: str, view: "memoryview[int]") -> int:
        """open, seek to the end for the size, read the tail; never deletes."""
        descriptor = files.open("open", path, os.O_RDONLY)
        try:
            if files.seek_end(path, descriptor) < len(view):
                return 0
            os.lseek(descriptor, -len(view), os.SEEK_END)
            return files.read_all(path, descriptor, view)
        finally:
            files.close("close-read", path, descriptor)


PROTOCOL: "Type[Protocol]" = Llmd
