"""One emulated host: a mount of its own, with threads that read requests from /dev/fuse and answer them."""

from __future__ import annotations

import errno
import os
import sys
import threading
import traceback
from contextlib import suppress
from pathlib import Path

from fsconform.lab.calls import Call, Client, RefusalError
from fsconform.lab.model import Lab
from fsconform.lab.mountpoints import detach, mount_fuse, within
from fsconform.lab.protocol import IN_HEADER, OUT_HEADER
from fsconform.lab.requests.dispatch import Dispatcher
from fsconform.lab.requests.sessions import MAX_WRITE

THREADS = 4
MOST_THREADS = 64
_TRY_AGAIN = (errno.EINTR, errno.EAGAIN, errno.ENOENT)


class Mount(Client):
    """A client of the lab. `serve` returns at once; the mount is usable when it has returned.

    `inside`: the process in whose mount namespace it is mounted; None: here. Raises OSError where /dev/fuse cannot be
    opened or mounted.
    """

    def __init__(self, lab: Lab, number: int, path: Path, source: str, options: str, inside: int | None = None) -> None:
        super().__init__(number)
        self.path = path
        self._inside = inside
        self.server = Dispatcher(lab)
        self.stopping = threading.Event()
        self._threads = self._pausing = 0
        self._count = threading.Lock()
        self.device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        within(inside, lambda: mount_fuse(self.device, path, source, options))

    def serve(self) -> None:
        """Start answering."""
        for _ in range(THREADS):
            self._start_thread()

    def touch(self) -> None:
        """Wait until it answers. Raises OSError."""
        within(self._inside, lambda: os.stat(self.path))

    def stop(self) -> None:
        """Unmount; what is still open there answers ENOTCONN once this process has ended."""
        self.stopping.set()
        with suppress(OSError):  # a namespace that is gone took its mounts along
            within(self._inside, lambda: detach(self.path))

    def pause(self, seconds: float, wake: threading.Event | None = None) -> None:
        """A thread that sleeps is replaced, so that other requests go on."""
        with self._count:
            self._pausing += 1
            short = self._threads - self._pausing < THREADS and self._threads < MOST_THREADS
        if short:
            self._start_thread()
        (wake or self.stopping).wait(seconds)
        with self._count:
            self._pausing -= 1

    def _start_thread(self) -> None:
        with self._count:
            self._threads += 1
        threading.Thread(target=self._loop, daemon=True, name=f"client {self.number}").start()

    def _loop(self) -> None:
        buffer = bytearray(MAX_WRITE + 8192)
        view = memoryview(buffer)
        while True:
            try:
                length = os.readv(self.device, [buffer])
            except OSError as error:
                if error.errno in _TRY_AGAIN:
                    continue
                return  # ENODEV: unmounted
            if length == 0:
                return
            self._answer_request(view, length)

    def _answer_request(self, view: memoryview, length: int) -> None:
        _, opcode, unique, node, uid, gid, pid, _, _ = IN_HEADER.unpack_from(view)
        handler = self.server.find(opcode)
        if handler is None:
            self._send(unique, errno.ENOSYS, b"")
            return
        try:
            reply = handler(self.server, Call(self, uid, gid, pid, unique), node, view[IN_HEADER.size : length])
        except RefusalError as refusal:
            self._send(unique, refusal.errno, b"")
        except Exception:  # a fault of the emulation must neither hang the caller nor end the thread
            traceback.print_exc(file=sys.stderr)
            self._send(unique, errno.EIO, b"")
        else:
            if reply is not None:
                self._send(unique, 0, reply)

    def answer(self, unique: int, errno: int) -> None:
        """Answer a request whose handler left it open."""
        self._send(unique, errno, b"")

    def _send(self, unique: int, number: int, body: bytes) -> None:
        try:
            os.writev(self.device, [OUT_HEADER.pack(OUT_HEADER.size + len(body), -number, unique), body])
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ENODEV):  # the caller has gone, or the mount has
                raise
