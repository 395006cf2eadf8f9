"""The frames on the serial line between the keeper and a guest. Used on both sides: Python >= 3.9.

A frame is a kind, a stream number, a length and that many bytes. User-Mode Linux can lose the wake-up of a reader after
a flood of more than about 2 KB, so the keeper has at most one frame under way to a guest and waits for its ACK. What is
long goes through a file of the session's directory, which both sides see; the frame is its name.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator

HEADER = struct.Struct(">BHH")
PIECE = 1500
"""Most bytes of one frame: a whole one stays well below 2 KB."""

BULK = 6000
"""Data of at least so many bytes goes through a file."""

OPEN, DATA, FILE, END, EXIT, CALL, RESULT, ACK, NUDGE = range(1, 10)
"""OPEN (to the guest, JSON): start a worker on this stream. DATA: its input or output. FILE:
a file that holds such data, to be removed by the receiver. END: the input is closed; to the
guest: end it. EXIT (JSON): it ended. CALL, RESULT (JSON): a request to the guest and its answer. ACK: the last frame
was read. NUDGE: nothing, only a wake-up."""


def pack(kind: int, stream: int, payload: bytes = b"") -> bytes:
    """The bytes of one frame; `payload` of at most PIECE bytes. Raises ValueError beyond."""
    if len(payload) > PIECE:
        raise ValueError(f"{len(payload)} bytes in one frame; at most {PIECE}")
    return HEADER.pack(kind, stream, len(payload)) + payload


class Files:
    """The files of one direction in a directory that both sides see. Every name is used once: caches cannot lie."""

    def __init__(self, directory: str, prefix: str) -> None:
        self._directory = directory
        self._prefix = prefix
        self._count = 0

    def put(self, data: bytes) -> bytes:
        """Write a file; its name. Raises OSError."""
        self._count += 1
        name = f"{self._prefix}{self._count}"
        with open(os.path.join(self._directory, name), "wb", buffering=0) as file:
            file.write(data)
        return name.encode()

    def take(self, name: bytes) -> bytes:
        """The content of a file of the other side, which is removed. Raises OSError."""
        path = os.path.join(self._directory, name.decode())
        with open(path, "rb", buffering=0) as file:
            data = file.read()
        os.unlink(path)
        return data


def pieces(data: bytes) -> list[bytes]:
    """`data` in pieces that fit a frame; a single empty one where there is none."""
    return [data[start : start + PIECE] for start in range(0, max(1, len(data)), PIECE)]


class Reader:
    """Bytes in any portions in, whole frames out."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> Iterator[tuple[int, int, bytes]]:
        """The frames that are complete now: kind, stream, payload."""
        self._rest += data
        while len(self._rest) >= HEADER.size:
            kind, stream, length = HEADER.unpack_from(self._rest)
            end = HEADER.size + length
            if len(self._rest) < end:
                return
            payload, self._rest = self._rest[HEADER.size : end], self._rest[end:]
            yield kind, stream, payload
