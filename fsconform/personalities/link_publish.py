"""git's loose objects (object-file.c, finalize_object_file): a temporary file published by link(2) and unlink(2).

EEXIST from link means that the object is there: objects of one name are equal. Filesystems without hard links are
served by rename after a stat of the final name.
"""

from __future__ import annotations

import errno
import os
from typing import Type

from fsconform.personalities.protocol import Protocol, WholeRead
from fsconform.personalities.replay.files import EXCLUSIVE, Files


class LinkPublish(WholeRead):
    """stat, touch; exclusive temp, write, fsync, close, link, unlink; other errors than EEXIST: stat, rename."""

    def temporary(self, path: str, suffix: int) -> str:
        """`tmp_obj_XXXXXX` in the directory of the object."""
        return "{}/tmp_obj_{:06x}".format(os.path.dirname(path), suffix & 0xFFFFFFFFFF)

    def store(self, files: Files, path: str, view: "memoryview[int]", suffix: int) -> int:
        """write_loose_object: a known object is only freshened."""
        if files.exists("exists", path):
            self._freshen(files, path)
            return 0
        files.make_parents(path)
        temporary = self.temporary(path, suffix)
        descriptor = files.open("open-temp", temporary, EXCLUSIVE, 0o444)
        try:
            files.write_all(temporary, descriptor, view)
            files.fsync(temporary, descriptor)
        finally:
            files.close("close", temporary, descriptor)
        return self._publish(files, temporary, path, len(view))

    def _freshen(self, files: Files, path: str) -> None:
        try:
            files.touch(path)
        except OSError:
            pass

    def _publish(self, files: Files, temporary: str, path: str, size: int) -> int:
        try:
            files.link(temporary, path)
        except OSError as error:
            if error.errno != errno.EEXIST and not files.exists("stat-dest", path):
                files.rename(temporary, path)
                return size
            files.unlink_quietly("unlink-temp", temporary)
            return 0
        files.unlink_quietly("unlink-temp", temporary)
        return size


PROTOCOL: "Type[Protocol]" = LinkPublish
