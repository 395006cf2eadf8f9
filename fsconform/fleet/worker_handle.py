"""One worker as the controller sees it: requests, answers, deadlines, and what became of its process."""

from __future__ import annotations

import os
import signal
import threading
import time
from contextlib import suppress
from typing import Any

from fsconform.fleet.launch import Launch
from fsconform.vocabulary.errors import FsconformError

GRACE_S = 3.0
"""How much longer than the worker's own watchdog the controller waits for an answer, seconds."""


class WorkerLost(FsconformError):  # noqa: N818 - the state of a worker
    """A worker hung, was killed or went away. `reason` says so in one line; `report` is what it finished before."""

    def __init__(self, reason: str, hung: bool = False, report: Any = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.hung = hung
        self.report = report


class WorkerError(FsconformError):
    """A function failed at the worker: `errno` is 0 where it was no OSError (then the text is its traceback)."""

    def __init__(self, text: str, errno: int = 0) -> None:
        super().__init__(text)
        self.errno = errno


class Worker:
    """A worker process at one site. It performs one request at a time.

    `root` is the directory there below which relative paths of jobs are meant (mount path and run directory).
    """

    def __init__(self, launch: Launch, number: int, gateway: Any, channel: Any, pid: int, python: str) -> None:
        self.launch = launch
        self.letter = launch.letter
        self.number = number
        self.pid = pid
        self.python = python
        self.root = launch.root
        self.lost = ""
        """Why it is gone; empty while it lives."""
        self.gateway = gateway
        self._channel = channel
        self._busy = threading.Lock()
        self._serial = 0

    def __str__(self) -> str:
        return f"worker {self.number} (pid {self.pid}) at site {self.letter}"

    def begin(self, name: str, arguments: tuple[Any, ...], step_deadline_s: float) -> int:
        """Send a request; its answer must be taken with `finish`. Raises WorkerLost; RuntimeError while busy."""
        if self.lost:
            raise WorkerLost(self.lost)
        if not self._busy.acquire(blocking=False):
            raise RuntimeError(f"{self} is busy with another job")
        self._serial += 1
        try:
            self._channel.send((self._serial, name, arguments, step_deadline_s))
        except OSError as error:
            self._busy.release()
            raise self._gone(error) from error
        return self._serial

    def finish(self, serial: int, deadline_s: float) -> Any:
        """The answer to a request. Raises WorkerLost (the process is ended where it did not answer), WorkerError."""
        end = time.monotonic() + deadline_s
        try:
            while True:
                answer = self._receive(end)
                if answer[0] == serial:
                    return self._result(answer)
        finally:
            self._busy.release()

    def call(self, name: str, *arguments: Any, deadline_s: float = 30.0) -> Any:
        """Call one function; it must show progress at least every `deadline_s` and end within ten times that."""
        return self.finish(self.begin(name, arguments, deadline_s), 10 * deadline_s + GRACE_S)

    def _receive(self, end: float) -> tuple[Any, ...]:
        try:
            return tuple(self._channel.receive(timeout=max(0.0, end - time.monotonic())))
        except self._channel.TimeoutError:
            self.kill()
            self.lost = f"{self} did not answer in time and was ended"
            raise WorkerLost(self.lost, hung=True) from None
        except (EOFError, OSError, self._channel.RemoteError) as error:
            raise self._gone(error) from error

    def _result(self, answer: tuple[Any, ...]) -> Any:
        kind, *rest = answer[1:]
        if kind == "done":
            return rest[0]
        if kind == "hung":
            place, report = rest
            self.lost = f"{self} hung in system call {place['syscall']} ({place['wchan'] or 'no wchan'})"
            raise WorkerLost(self.lost, hung=True, report=report)
        if kind == "failed":
            raise WorkerError(rest[1], rest[0])
        raise WorkerError(str(rest[0]))

    def _gone(self, error: BaseException) -> WorkerLost:
        if not self.lost:
            self.lost = f"{self} went away ({type(error).__name__})"
        return WorkerLost(self.lost)

    @property
    def local(self) -> bool:
        """Whether the process is one of this host that we started ourselves (so that its pid means something)."""
        return self.launch.local

    def kill(self) -> None:
        """End the process at once: SIGKILL here, closing its input elsewhere."""
        if self.local:
            with suppress(ProcessLookupError):
                if self.state() not in ("", "Z"):
                    os.kill(self.pid, signal.SIGKILL)
        self._close_input()

    def dismiss(self) -> None:
        """Ask an idle worker to end by itself."""
        with suppress(OSError):
            self._channel.send(None)
        self._close_input()

    def _close_input(self) -> None:
        with suppress(OSError, ValueError):
            self.gateway._io.close_write()

    def state(self) -> str:
        """The letter of its state in /proc (proc_pid_stat(5)), empty where it is gone or elsewhere."""
        with suppress(OSError):
            self.gateway._io.popen.poll()  # reaps it
        if not self.local or self.gateway._io.popen.returncode is not None:
            return ""
        try:
            with open(f"/proc/{self.pid}/stat") as file:
                return file.read().rpartition(")")[2].split()[0]
        except OSError:
            return ""

    def ended(self, deadline_s: float) -> bool:
        """Wait until the process is gone."""
        end = time.monotonic() + deadline_s
        while self.state() not in ("", "Z"):
            if time.monotonic() > end:
                return False
            time.sleep(0.02)
        return True
