"""Cables between guests: socket pairs that carry Ethernet frames, watched so that no guest sleeps over one.

A guest of User-Mode Linux learns of a frame by a signal. When one is lost and the socket has filled up meanwhile, no
later frame can be queued, so no later signal comes: the network of that guest stands still for good (Linux
arch/um/drivers/vector_kern.c, vector_net_open, knows of it at the start of a guest only). So this process keeps both
ends, and where frames wait for longer than a live guest leaves them, sends the first of them once more: that is a
new signal, and nothing is lost.
"""

from __future__ import annotations

import fcntl
import socket
import struct
import termios
import threading
from collections.abc import Iterator
from contextlib import suppress

LOOK_S, PATIENCE = 0.1, 3
"""How often cables are looked at, and after how many looks that found frames waiting a guest is nudged."""
LONGEST_FRAME = 1 << 16
_BUFFER_BYTES = 1 << 20


class Cable:
    """One cable. Packets that queue by bytes: sockets of datagrams hold 10 of them on usual kernels."""

    def __init__(self) -> None:
        self.ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        """The server's and the client's."""
        for end in self.ends:
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER_BYTES)
        self._waited = [0, 0]

    def look(self) -> None:
        """Nudge the guest at either end that has left frames waiting since several looks."""
        for which, end in enumerate(self.ends):
            self._waited[which] = self._waited[which] + 1 if _waiting_bytes(end) else 0
            if self._waited[which] >= PATIENCE:
                self._waited[which] = 0
                _nudge(end, self.ends[1 - which])

    def close(self) -> None:
        """Our copies of both ends."""
        for end in self.ends:
            end.close()


def _waiting_bytes(end: socket.socket) -> int:
    answer = fcntl.ioctl(end.fileno(), termios.FIONREAD, bytes(4))
    return int(struct.unpack("i", answer)[0])


def _nudge(end: socket.socket, other: socket.socket) -> None:
    """Send the first waiting frame anew."""
    with suppress(OSError):  # the guest has just taken it, or the cable is full once more: the next look tries again
        frame = end.recv(LONGEST_FRAME, socket.MSG_DONTWAIT)
        other.send(frame, socket.MSG_DONTWAIT)


class Cables:
    """All cables of a lab, watched by a thread from `watch` to `close`."""

    def __init__(self, count: int) -> None:
        self._cables = [Cable() for _ in range(count)]
        self._over = threading.Event()
        self._watcher = threading.Thread(target=self._watch, name="cables", daemon=True)

    def __iter__(self) -> Iterator[Cable]:
        return iter(self._cables)

    def watch(self) -> None:
        """From now on."""
        self._watcher.start()

    def close(self) -> None:
        """No more: the guests are gone."""
        self._over.set()
        if self._watcher.ident is not None:
            self._watcher.join()
        for cable in self._cables:
            cable.close()

    def _watch(self) -> None:
        while not self._over.wait(LOOK_S):
            for cable in self._cables:
                cable.look()
