"""One worker as the controller sees it: requests, answers, deadlines, and what became of its process."""

from __future__ import annotations

import re
import threading
import time
from contextlib import suppress
from typing import Any

from fsconform.fleet.clocks import Clock
from fsconform.fleet.launch import Launch
from fsconform.vocabulary.errors import CannotTestError, FsconformError

GRACE_S = 3.0
"""How much longer than its deadline an answer is waited for (the worker's own watchdog speaks first), seconds."""
GONE_S = 0.5
"""How long to wait for the exit status of a worker whose stream ended, seconds."""


class WorkerLost(FsconformError):  # noqa: N818 - the state of a worker
    """A worker hung, was killed or went away. `reason` says so in one line; `report` is what it finished before."""

    def __init__(self, reason: str, hung: bool = False, report: Any = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.hung = hung
        self.report = report


class SiteLost(CannotTestError):  # noqa: N818 - the state of a site
    """No worker can be had at a site any more. `reason`: `site b lost at 12.3 s`."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class WorkerError(FsconformError):
    """A function failed at the worker: `errno` is 0 where it was no OSError (then the text is its traceback)."""

    def __init__(self, text: str, errno: int = 0) -> None:
        super().__init__(text)
        self.errno = errno

    @property
    def gist(self) -> str:
        """The last line: what was raised, without where."""
        return str(self).rstrip().rpartition("\n")[2]


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
        self.shares_page = False
        """Whether it meets others through the page of shared words (same host)."""
        self.host = ""
        """boot_id of its kernel; empty where that is not known."""
        self.clock = Clock(f"site {launch.letter}")
        """What its stamps are made with."""
        self.line: Any = None
        """The channel by which it meets others where they share no page, and by which clocks are compared."""
        self.heard_ns = time.monotonic_ns()
        """When its last message on the line came."""
        self.answers = 0
        """How many pings it has answered."""
        self.hushed = False
        """Whether it is being timed: nothing is said to it that may wait."""
        self.lost = ""
        """Why it is gone; empty while it lives."""
        self.gateway = gateway
        self._channel = channel
        self._busy = threading.Lock()
        self._serial = 0

    def __str__(self) -> str:
        return f"worker {self.number} (pid {self.pid}) at site {self.letter}"

    @property
    def distant(self) -> bool:
        """Whether there is a launcher or a clock between it and us, of which we must make sure now and then."""
        return self.launch.spec.launcher != "local" or not self.clock.exact

    @property
    def booted_ns(self) -> tuple[int, int] | None:
        """When its clock read 0, ns on ours, as (earliest, latest); None where that is not known."""
        return self.clock.zero()

    def begin(self, name: str, arguments: tuple[Any, ...], step_deadline_s: float) -> int:
        """Send a request; its answer must be taken with `finish`. Raises WorkerLost; RuntimeError while busy."""
        if self.lost:
            raise WorkerLost(self.lost)
        if not self._busy.acquire(blocking=False):
            raise RuntimeError(f"{self} is busy with another job")
        self._serial += 1
        try:
            self._channel.send((self._serial, name, arguments, step_deadline_s))
        except BaseException as error:
            self._busy.release()
            if isinstance(error, OSError):
                raise self._gone(error) from error
            raise
        return self._serial

    def finish(self, serial: int, deadline_s: float) -> Any:
        """The answer to a request. Raises WorkerLost, WorkerError.

        A worker that does not answer is ended a grace period after the deadline.
        """
        try:
            return self.poll(serial, deadline_s + GRACE_S)
        except TimeoutError:
            raise self.give_up(deadline_s) from None

    def poll(self, serial: int, timeout_s: float) -> Any:
        """The answer to a request, if it comes in time. Raises TimeoutError, WorkerLost, WorkerError."""
        try:
            answer = self._answer(serial, timeout_s)
        except TimeoutError:
            raise
        except BaseException:
            self.drop()
            raise
        self.drop()
        return self._result(answer)

    def drop(self) -> None:
        """Nobody waits for the answer to the last request any more: it will be passed over."""
        if self._busy.locked():
            self._busy.release()

    def give_up(self, deadline_s: float) -> WorkerLost:
        """End a worker that has not answered within its deadline."""
        self.kill()
        self.lost = f"{self} did not answer within {deadline_s:g} s and was ended"
        self.drop()
        return WorkerLost(self.lost, hung=True)

    def call(self, name: str, *arguments: Any, deadline_s: float = 30.0) -> Any:
        """Call one function, which must end within `deadline_s`. Raises WorkerLost, WorkerError."""
        return self.finish(self.begin(name, arguments, deadline_s), deadline_s)

    def _answer(self, serial: int, deadline_s: float) -> tuple[Any, ...]:
        """The next answer to a request; those to requests that nobody waits for any more are dropped."""
        end = time.monotonic() + deadline_s
        try:
            while True:
                answer = tuple(self._channel.receive(timeout=max(0.0, end - time.monotonic())))
                if answer[0] == serial:
                    return answer
        except self._channel.TimeoutError:
            raise TimeoutError from None
        except (EOFError, OSError, self._channel.RemoteError) as error:
            raise self._gone(error) from error

    def _result(self, answer: tuple[Any, ...]) -> Any:
        kind, *rest = answer[1:]
        if kind == "done":
            return rest[0]
        if kind == "hung":
            self.lost = f"{self} hung {_place(rest[0])}"
            raise WorkerLost(self.lost, hung=True, report=rest[1])
        if kind == "failed":
            raise WorkerError(rest[1], rest[0])
        raise WorkerError(f"{self}: {rest[0]}")

    def _gone(self, error: BaseException) -> WorkerLost:
        if not self.lost:
            self.ended(GONE_S)
            status = self._process.returncode
            how = f"ended by signal {-status}" if status is not None and status < 0 else type(error).__name__
            said = self.gateway._io.last_words() if self.launch.spec.launcher != "local" else ""
            self.lost = f"{self} went away ({said or how})"
        return WorkerLost(self.lost)

    def notice(self) -> None:
        """Note that it is gone where its launcher has ended without anybody waiting for an answer."""
        if not self.lost and self._process.poll() is not None:
            self._gone(EOFError())

    def idle(self, deadline_s: float) -> bool:
        """Wait until it does nothing; whether it came to that in time."""
        if not self._busy.acquire(timeout=deadline_s):
            return False
        self._busy.release()
        return True

    @property
    def _process(self) -> Any:
        """The child that runs the worker, or its launcher (ssh, the command of an `exec=` site)."""
        return self.gateway._io.popen

    def kill(self) -> None:
        """End the process at once; where it is not our child it ends by itself when its input closes."""
        with suppress(OSError):
            self._process.kill()
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
        """The letter of its state in /proc (proc_pid_stat(5)), empty where it is gone."""
        if self._process.poll() is not None:
            return ""
        try:
            with open(f"/proc/{self._process.pid}/stat") as file:
                return file.read().rpartition(")")[2].split()[0]
        except OSError:
            return ""

    def ended(self, deadline_s: float) -> bool:
        """Wait until the process is gone."""
        end = time.monotonic() + deadline_s
        while self.state():
            if time.monotonic() > end:
                return False
            time.sleep(0.02)
        return True


def _place(where: dict[str, str]) -> str:
    """Where in the kernel, in words: the innermost functions of the stack if it was readable, else wchan."""
    functions = re.findall(r"(\w[\w.]*)\+0x", where["stack"])
    inside = " < ".join(functions[:4]) or where["wchan"].strip("0") or "unknown"
    return f"in state {where['state']} in the kernel: {inside}, system call {where['syscall']}"
