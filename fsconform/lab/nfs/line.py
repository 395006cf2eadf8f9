"""The keeper's end of a guest's serial line."""

from __future__ import annotations

import json
import select
import socket
import time
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from fsconform.lab.nfs import frames

CALL_S = 15.0
NUDGE_S = 0.2
"""A frame without ACK for this long: its reader may have missed the wake-up."""
CALL = 0
"""The stream of calls; workers have streams from 1 on."""


class GuestError(Exception):
    """A guest is gone, does not answer in time, or a call failed there."""


class SilentError(GuestError):
    """A guest does not answer in time."""


class Line:
    """Frames to and from one guest. `take` gets every frame that belongs to a worker's stream."""

    def __init__(
        self,
        end: socket.socket,
        directory: Path,
        alive: Callable[[], bool],
        take: Callable[[int, int, bytes], None],
    ) -> None:
        """`directory`: the one that the guest sees as its own. `alive`: whether its kernel still runs."""
        end.setblocking(False)
        self.end = end
        self._alive = alive
        self._files = frames.Files(str(directory), "to-guest-")
        self._take = take
        self._reader = frames.Reader()
        self._queue: deque[bytes] = deque()
        self._sent_at: float | None = None
        """When the frame was sent whose ACK is waited for."""
        self._results: deque[dict[str, Any]] = deque()

    def send(self, kind: int, stream: int, payload: bytes = b"") -> None:
        """Queue a frame; data of any length. Raises GuestError where the guest is gone."""
        if kind == frames.DATA and len(payload) >= frames.BULK:
            self._queue.append(frames.pack(frames.FILE, stream, self._files.put(payload)))
        elif kind == frames.DATA:
            self._queue.extend(frames.pack(kind, stream, piece) for piece in frames.pieces(payload))
        else:
            self._queue.append(frames.pack(kind, stream, payload))
        self._flush()

    def read(self) -> None:
        """Take what has arrived. Raises GuestError where the guest is gone."""
        try:
            data = self.end.recv(1 << 16)
        except BlockingIOError:
            return
        except OSError as error:
            raise GuestError(f"its line broke: {error}") from None
        if not data:
            raise GuestError("it ended")
        for kind, stream, payload in self._reader.feed(data):
            if kind == frames.ACK:
                self._sent_at = None
            elif kind == frames.FILE:
                self._take(frames.DATA, stream, self._files.take(payload))
            elif kind == frames.RESULT:
                self._results.append(json.loads(payload))
            else:
                self._take(kind, stream, payload)
        self._flush()

    def tend(self) -> None:
        """Wake the guest's reader where an ACK is overdue; to be called now and then.

        Raises GuestError where its kernel is gone: what is left of it may keep the line open.
        """
        if not self._alive():
            raise GuestError("it ended")
        if self._sent_at is not None and time.monotonic() - self._sent_at > NUDGE_S:
            self._sent_at = time.monotonic()
            self._write(frames.pack(frames.NUDGE, 0))

    def call(self, name: str, arguments: Mapping[str, str | int], deadline_s: float = CALL_S) -> Any:
        """Call a function of the guest (`guest/calls.py`). Raises GuestError."""
        self.ask(name, arguments)
        return self.result(deadline_s)

    def ask(self, name: str, arguments: Mapping[str, str | int]) -> None:
        """Begin a call; its answer is to be taken with `result`. Raises GuestError."""
        self.send(frames.CALL, CALL, json.dumps({"call": name, **arguments}).encode())

    def result(self, deadline_s: float) -> Any:
        """The next answer; the first one says that the guest is up. Raises GuestError."""
        end = time.monotonic() + deadline_s
        while not self._results:
            left = end - time.monotonic()
            if left <= 0:
                raise SilentError(f"no answer within {deadline_s:g} s")
            select.select([self.end], [], [], min(left, NUDGE_S))
            self.read()
            self.tend()
        answer = self._results.popleft()
        if answer["error"]:
            raise GuestError(answer["error"])
        return answer["value"]

    def _flush(self) -> None:
        if self._sent_at is None and self._queue:
            self._sent_at = time.monotonic()
            self._write(self._queue.popleft())

    def _write(self, data: bytes) -> None:
        try:
            self.end.sendall(data)  # at most one frame is under way: there is room
        except OSError as error:
            raise GuestError(f"its line broke: {error}") from None
