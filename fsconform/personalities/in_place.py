"""Mooncake's file-per-key store (mooncake-store/src/storage_backend.cpp, posix_file.cpp): no temporary name at all.

The name exists from the first moment, its contents later; whoever looks in between takes a fragment for a block.
"""

from __future__ import annotations

import os
from typing import Type

from fsconform.personalities.protocol import Protocol, WholeRead
from fsconform.personalities.replay.files import CREATE, Files


class InPlace(WholeRead):
    """open the final name with O_CREAT|O_TRUNC, write loop, close; unlink after an error. stat; read loop."""

    def temporary(self, path: str, suffix: int) -> str:
        """The final name itself."""
        return path

    def store(self, files: Files, path: str, view: "memoryview[int]", suffix: int) -> int:
        """The sequence of StoreObject."""
        files.make_parents(path)
        descriptor = files.open("open-final", path, CREATE | os.O_TRUNC)
        try:
            files.write_all(path, descriptor, view)
        except OSError:
            files.unlink_quietly("unlink-block", path)
            raise
        finally:
            files.close("close", path, descriptor)
        return len(view)


PROTOCOL: "Type[Protocol]" = InPlace
