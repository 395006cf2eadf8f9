"""What a store does with the filesystem: look a block up, store it, load it."""

from __future__ import annotations

import os

from fsconform.personalities.replay.files import Files


class Protocol:
    """One store. `temp` of a path is drawn with the suffix of the thread."""

    seeded = False
    """Whether all instances draw the same suffixes by design."""
    deletes = False
    """Whether a reader deletes a block that it reads short."""

    def temporary(self, path: str, suffix: int) -> str:
        """The name under which a block is written before it is published."""
        return "{}_{}.tmp".format(path, suffix)

    def lookup(self, files: Files, path: str) -> bool:
        """Whether the store takes a block for present."""
        raise NotImplementedError

    def store(self, files: Files, path: str, view: "memoryview[int]", suffix: int) -> int:
        """Bytes written; 0 where the block was there already. Raises OSError."""
        raise NotImplementedError

    def load(self, files: Files, path: str, view: "memoryview[int]") -> int:
        """Bytes read; fewer than the buffer where the file ended early. Raises OSError."""
        raise NotImplementedError


class StatLookup(Protocol):
    """A store that takes a block for present when stat(2) finds it."""

    def lookup(self, files: Files, path: str) -> bool:
        """os.path.exists."""
        return files.exists("lookup", path)


class WholeRead(StatLookup):
    """A store that also loads by reads to the end of the file."""

    def load(self, files: Files, path: str, view: "memoryview[int]") -> int:
        """open, read to the end, close."""
        descriptor = files.open("open", path, os.O_RDONLY)
        try:
            return files.read_all(path, descriptor, view)
        finally:
            files.close("close-read", path, descriptor)
