"""vLLM's fs tier in Python (vllm/v1/kv_offload/tiering/fs/io.py): the fallback where the C extension is absent.

os.makedirs for every block; any exception removes the temporary file, also where the exclusive open failed because
another writer has it: then that writer's rename fails with ENOENT.
"""

from __future__ import annotations

import os
from typing import Type

from fsconform.personalities.protocol import Protocol, StatLookup
from fsconform.personalities.replay.files import EXCLUSIVE, Files


class VllmPy(StatLookup):
    """stat; makedirs; exclusive temp; one write; close; rename; any error removes the temp. One readv."""

    deletes = True

    def store(self, files: Files, path: str, view: "memoryview[int]", suffix: int) -> int:
        """The sequence of store_block."""
        if files.exists("exists", path):
            return 0
        temporary = self.temporary(path, suffix)
        try:
            files.make_parents(path)
            descriptor = files.open("open-temp", temporary, EXCLUSIVE)
            try:
                files.write_once(temporary, descriptor, view)
            finally:
                files.close("close", temporary, descriptor)
            files.rename(temporary, path)
        except OSError:
            files.unlink_quietly("unlink-temp", temporary)
            raise
        return len(view)

    def load(self, files: Files, path: str, view: "memoryview[int]") -> int:
        """open, one readv, close; a short read unlinks the block."""
        descriptor = files.open("open", path, os.O_RDONLY)
        try:
            count = files.read(path, descriptor, view)
        finally:
            files.close("close-read", path, descriptor)
        if count < len(view) and files.faithful:
            files.unlink_quietly("unlink-block", path)
        return count


PROTOCOL: "Type[Protocol]" = VllmPy
