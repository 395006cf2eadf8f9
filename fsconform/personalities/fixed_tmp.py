"""LMCache's fs_native backend (csrc/storage_backends/fs/connector.cpp): one fixed temporary name per block.

Two instances write the same temporary file: one truncates what the other has written and is about to rename
(LMCache issue 4991: a published block of half its length, taken for a hit).
"""

from __future__ import annotations

import os
from typing import Type

from fsconform.personalities.protocol import Protocol, WholeRead
from fsconform.personalities.replay.files import CREATE, Files


class FixedTemp(WholeRead):
    """exists; open `<name>.tmp` with O_TRUNC, write loop, close, rename. stat; read loop."""

    def temporary(self, path: str, suffix: int) -> str:
        """The same for everybody."""
        return path + ".tmp"

    def store(self, files: Files, path: str, view: "memoryview[int]", suffix: int) -> int:
        """The sequence of do_single_set."""
        if files.exists("exists", path):
            return 0
        files.make_parents(path)
        temporary = self.temporary(path, suffix)
        descriptor = files.open("open-temp", temporary, CREATE | os.O_TRUNC)
        try:
            files.write_all(temporary, descriptor, view)
        finally:
            files.close("close", temporary, descriptor)
        files.rename(temporary, path)
        return len(view)


PROTOCOL: "Type[Protocol]" = FixedTemp
