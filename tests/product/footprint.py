"""Everything that is changed on a mount from this host, told by the kernel (inotify(7))."""

from __future__ import annotations

import ctypes
import os
import struct
from pathlib import Path

_MODIFY, _ATTRIB, _CLOSE_WRITE, _MOVED_FROM, _MOVED_TO, _CREATE, _DELETE = 0x2, 0x4, 0x8, 0x40, 0x80, 0x100, 0x200
_CHANGES = _MODIFY | _ATTRIB | _CLOSE_WRITE | _MOVED_FROM | _MOVED_TO | _CREATE | _DELETE
_OVERFLOW = 0x4000
_HEADER = struct.Struct("iIII")
_libc = ctypes.CDLL(None, use_errno=True)


class Footprint:
    """Watches every directory that is there now, so that whatever is made, changed or removed goes through one of
    them; what happens inside a directory made later is told by that directory's name only. A context manager.
    """

    def __init__(self, *tops: Path) -> None:
        self._fd = _libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        self._places: dict[int, str] = {}
        for top in tops:
            for place, _, _ in os.walk(top):
                number = _libc.inotify_add_watch(self._fd, os.fsencode(place), _CHANGES)
                assert number >= 0, os.strerror(ctypes.get_errno())
                self._places[number] = place

    def __enter__(self) -> Footprint:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)

    def touched(self) -> set[str]:
        """The paths of everything that was changed since the last call."""
        found = set()
        while data := self._read():
            while data:
                number, mask, _, length = _HEADER.unpack_from(data)
                assert not mask & _OVERFLOW, "more changes than the kernel remembers"
                name = os.fsdecode(data[_HEADER.size : _HEADER.size + length].rstrip(b"\0"))
                found.add(os.path.join(self._places.get(number, "?"), name))
                data = data[_HEADER.size + length :]
        return found

    def _read(self) -> bytes:
        try:
            return os.read(self._fd, 1 << 16)
        except BlockingIOError:
            return b""
