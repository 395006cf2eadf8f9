"""A thread that ends this worker: when a step hangs (after telling what hangs where), or when nobody is left to tell.

A process in an uninterruptible system call keeps its pipes open, so the controller acts on the message, never on
the end of the stream. PR_SET_PDEATHSIG is no help: it fires when the launching *thread* ends (prctl(2)).
"""

from __future__ import annotations

import os
import select
import signal
import threading
import time
from typing import Any, Callable, Optional

TICK_S = 0.1

_beats = [0]


def beat() -> None:
    """Count progress of a job that waits or works for long without finishing a step."""
    _beats[0] += 1


def _no_report() -> Any:
    return None


class Job:
    """What the worker is doing. `progress` counts finished steps, `report` gives the finished part of the result."""

    def __init__(self, deadline_s: float, progress: "Optional[Callable[[], int]]", report: "Callable[[], Any]") -> None:
        self.deadline_s = deadline_s
        self.report = report
        self.thread = threading.get_native_id()
        self._progress = progress
        self._mark = -1
        self._since = time.monotonic()

    def stuck(self) -> bool:
        """Whether nothing has moved for longer than the deadline."""
        mark = _beats[0] + (self._progress() if self._progress else 0)
        now = time.monotonic()
        if mark != self._mark:
            self._mark, self._since = mark, now
        return now - self._since > self.deadline_s


class Watchdog:
    """Watches one job at a time and the other end of `input_descriptor`; `alone`: whether that has gone silent."""

    def __init__(
        self, input_descriptor: int, tell: "Callable[[Any], None]", alone: "Callable[[], bool]" = lambda: False
    ) -> None:
        self._input = select.poll()
        self._input.register(input_descriptor, 0)  # POLLHUP and POLLERR come without being asked for
        self._parent = os.getppid()
        self._tell = tell
        self._alone = alone
        self._job: Optional[Job] = None
        threading.Thread(target=self._watch, daemon=True).start()

    def begin(
        self,
        deadline_s: float,
        progress: "Optional[Callable[[], int]]" = None,
        report: "Callable[[], Any]" = _no_report,
    ) -> None:
        """Watch a job that must make progress at least every `deadline_s` seconds."""
        self._job = Job(deadline_s, progress, report)

    def end(self) -> None:
        """The job is done."""
        self._job = None

    def _watch(self) -> None:
        while True:
            time.sleep(TICK_S)
            if self._input.poll(0) or os.getppid() != self._parent or self._alone():
                os.kill(os.getpid(), signal.SIGKILL)
            job = self._job
            if job is not None and job.stuck():
                self._tell(("hung", where(job.thread), job.report()))
                os.kill(os.getpid(), signal.SIGKILL)


def where(thread: int) -> "dict[str, str]":
    """Where in the kernel a thread of this process is: state, wchan, number of the system call, stack if readable."""
    base = "/proc/self/task/{}/".format(thread)
    found = {name: _text(base + name) for name in ("wchan", "syscall", "stack", "stat")}
    state = found.pop("stat").rpartition(")")[2].split()
    found["state"] = state[0] if state else "?"
    found["syscall"] = (found["syscall"].split() or ["?"])[0]
    found["stack"] = "\n".join(found["stack"].splitlines()[:8])
    return found


def _text(path: str) -> str:
    try:
        with open(path) as file:
            return file.read().strip()
    except OSError:
        return ""
