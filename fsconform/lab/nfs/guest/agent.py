"""The first process of a guest: sets it up, then serves the serial line until the keeper ends it or is gone."""

from __future__ import annotations

import json
import os
import select
import signal
import time
import traceback
import tty
from contextlib import suppress
from typing import Any

from fsconform.lab.nfs import frames
from fsconform.lab.nfs.guest import kernel, processes, system
from fsconform.lab.nfs.guest.calls import Calls, HaltError

_LINE = "/dev/ttyS0"
_FIRST_PID, _PIDS_EACH = 512, 64
"""Where guests are to give equal pids: those of their workers, with room for each worker's threads."""
_END_S = 1.0
"""How long a worker may take to end once its input is closed."""


class Agent:
    """Streams of workers and calls of the keeper over one serial line."""

    def __init__(self, line: int, calls: Calls) -> None:
        self._line = line
        self._calls = calls
        self._reader = frames.Reader()
        self._started = 0
        self._files = frames.Files(system.SESSION, "from-guest-")
        self._processes: dict[int, processes.Process] = {}
        self._ends: dict[int, float] = {}
        """Stream -> when its worker is killed, having been asked to end."""
        self._silent: set[int] = set()
        """Streams whose worker has closed its output."""
        self._woken, self._wake = os.pipe()
        for descriptor in (self._woken, self._wake):
            os.set_blocking(descriptor, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)

    def serve(self) -> None:
        """Until HALT, or until the other end of the line is closed."""
        while True:
            for descriptor, event in self._poller().poll(self._patience_ms()):
                if descriptor == self._line:
                    self._read_line()
                elif descriptor == self._woken:
                    with suppress(BlockingIOError):
                        os.read(self._woken, 4096)
                else:
                    self._move(descriptor, event)
            self._reap()
            self._kill_overdue()

    def send(self, kind: int, stream: int, payload: bytes = b"") -> None:
        """Write one frame; blocks while the line is full. Raises OSError where nobody reads any more."""
        data = frames.pack(kind, stream, payload)
        while data:
            data = data[os.write(self._line, data) :]

    def _poller(self) -> select.poll:
        poller = select.poll()
        poller.register(self._line, select.POLLIN)
        poller.register(self._woken, select.POLLIN)
        for stream, process in self._processes.items():
            if stream not in self._silent:
                poller.register(process.stdout, select.POLLIN)
            if process.waiting:
                poller.register(process.stdin, select.POLLOUT)
        return poller

    def _patience_ms(self) -> float | None:
        if not self._ends:
            return None
        return max(0.0, min(self._ends.values()) - time.monotonic()) * 1000 + 1

    def _read_line(self) -> None:
        data = os.read(self._line, 4096)
        if not data:
            raise HaltError("nobody is at the other end of the line")
        for kind, stream, payload in self._reader.feed(data):
            if kind != frames.NUDGE:
                self.send(frames.ACK, stream)
                self._take(kind, stream, payload)

    def _take(self, kind: int, stream: int, payload: bytes) -> None:
        process = self._processes.get(stream)
        if kind == frames.CALL:
            self.send(frames.RESULT, stream, self._calls.perform(payload))
        elif kind == frames.OPEN:
            self._open(stream, json.loads(payload))
        elif kind in (frames.DATA, frames.FILE):
            data = self._files.take(payload) if kind == frames.FILE else payload
            if process is not None:
                process.waiting += data
                process.write()
        elif process is not None and kind == frames.END:
            process.ending = True
            process.write()
            self._ends[stream] = time.monotonic() + _END_S

    def _open(self, stream: int, request: dict[str, Any]) -> None:
        if self._calls.config["equal_pids"]:
            processes.advance_pids(_FIRST_PID + _PIDS_EACH * self._started)
        self._started += 1
        try:
            namespace = self._calls.namespaces[request["namespace"]] if request["namespace"] else None
            self._processes[stream] = processes.start(request["code"], namespace)
        except (OSError, KeyError) as error:
            text = f"{type(error).__name__}: {error}"
            self.send(frames.EXIT, stream, json.dumps({"status": 1, "error": text}).encode())

    def _move(self, descriptor: int, event: int) -> None:
        for stream, process in self._processes.items():
            if descriptor == process.stdin:
                process.write()
            elif descriptor == process.stdout:
                self._pass_output(stream, process)

    def _pass_output(self, stream: int, process: processes.Process) -> bool:
        """One portion of output; whether there may be more."""
        try:
            data = os.read(process.stdout, processes.PIPE_BYTES)
        except BlockingIOError:
            return False
        if not data:
            self._silent.add(stream)
            return False
        if len(data) >= frames.BULK:
            self.send(frames.FILE, stream, self._files.put(data))
            return True
        for piece in frames.pieces(data):
            self.send(frames.DATA, stream, piece)
        return True

    def _reap(self) -> None:
        """Collect whoever ended; the first process inherits orphans as well."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            for stream, process in list(self._processes.items()):
                if process.pid == pid:
                    self._close(stream, process, status)

    def _close(self, stream: int, process: processes.Process, status: int) -> None:
        while self._pass_output(stream, process):
            pass
        process.close_input()
        os.close(process.stdout)
        del self._processes[stream]
        self._silent.discard(stream)
        self._ends.pop(stream, None)
        code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status)
        self.send(frames.EXIT, stream, json.dumps({"status": code, "error": ""}).encode())

    def _kill_overdue(self) -> None:
        now = time.monotonic()
        for stream in [stream for stream, end in self._ends.items() if end <= now]:
            del self._ends[stream]
            if stream in self._processes:
                self._processes[stream].kill()


def main(session: str) -> None:
    """Be the first process of the guest whose directory of the session is `session`."""
    if os.getpid() != 1 or not os.path.isdir(f"/usr/lib/uml/modules/{os.uname().release}"):
        raise SystemExit("this is the first process of a guest of User-Mode Linux, and nothing else")
    try:
        _live(session)
    except (HaltError, SystemExit, OSError) as error:
        print("ending:", repr(error), flush=True)
    except BaseException:
        traceback.print_exc()
    finally:
        kernel.power_off()


def _live(session: str) -> None:
    os.environ.update(PATH="/usr/sbin:/usr/bin:/sbin:/bin", HOME="/tmp", LANG="C.UTF-8")
    system.mount_base(session)
    line = os.open(_LINE, os.O_RDWR | os.O_NOCTTY)
    tty.setraw(line)
    with open(system.SESSION + "/config.json") as file:
        agent = Agent(line, Calls(json.load(file)))
    agent.send(frames.RESULT, 0, json.dumps({"value": None, "error": ""}).encode())
    agent.serve()
