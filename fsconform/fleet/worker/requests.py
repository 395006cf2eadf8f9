"""The message loop of a worker, and the table of functions that the controller may call by name.

Other modules of this folder register theirs: `@function("mkdirs")`. Arguments and results are builtins.
A request is (serial, name, arguments, deadline_s); an answer (serial, "done", result), (serial, "failed", errno,
text) for an OSError, (serial, "raised", traceback) for anything else, and (serial, "hung", where, report) before
the watchdog ends the worker: no progress (a finished step, or `watchdog.beat`) for deadline_s seconds.
"""

from __future__ import annotations

import gc
import os
import resource
import signal
import sys
import traceback
from contextlib import suppress
from typing import Any, Callable, TypeVar

from fsconform.fleet.worker import barrier, line
from fsconform.fleet.worker.watchdog import Watchdog

FUNCTIONS: "dict[str, Callable[..., Any]]" = {}
GUEST_MEMORY = "/dev/mmapper"
"""What User-Mode Linux calls memory that it shares with its host (arch/um/drivers/mmapper_kern.c)."""
_F = TypeVar("_F", bound=Callable[..., Any])


def function(name: str) -> "Callable[[_F], _F]":
    """Make a function callable by name."""

    def register(target: _F) -> _F:
        FUNCTIONS[name] = target
        return target

    return register


class _NoWatchdog:
    """Stands in where the functions are called without a message loop (tests)."""

    def begin(self, *_arguments: Any, **_named: Any) -> None:
        """Nobody watches."""

    def end(self) -> None:
        """Nobody watches."""


class Current:
    """The job in hand, for functions that report their progress to the watchdog."""

    deadline_s = 30.0
    watchdog: Any = _NoWatchdog()


def serve(channel: Any) -> None:
    """Answer requests until the channel closes or `None` comes. Called by the joined source, in the main thread."""
    _settle_down()
    serial = 0

    def tell(message: Any) -> None:
        channel.send((serial, *message))

    Current.watchdog = Watchdog(channel.gateway._io.infile.fileno(), tell, line.LINE.silent)
    channel.send((0, "hello", os.getpid(), sys.version.split()[0], sys.executable))
    while True:
        request = channel.receive()
        if request is None:
            return
        serial, name, arguments, Current.deadline_s = request
        Current.watchdog.begin(Current.deadline_s)
        gc.disable()  # no pauses in what is timed
        answer = perform(name, arguments)
        gc.enable()
        Current.watchdog.end()
        tell(answer)


def perform(name: str, arguments: "tuple[Any, ...]") -> "tuple[Any, ...]":
    """Call one function of the table; what it raised becomes an answer."""
    try:
        return "done", FUNCTIONS[name](*arguments)
    except OSError as error:
        return "failed", error.errno or 0, str(error)
    except Exception:
        return "raised", traceback.format_exc()


def _settle_down() -> None:
    """A session of our own, deaf to the terminal's interrupt, away from every mount, with room for descriptors."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(OSError):  # already the leader of one (ssh, setsid as launcher)
        os.setsid()
    os.chdir("/")
    os.umask(0o022)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    gc.freeze()


@function("step back")
def step_back(niceness: int) -> int:
    """Leave the processor to others where they want it (nice(2)); gives the niceness in force."""
    return os.nice(niceness)


@function("attach")
def attach(path: str, token: int, channel: Any) -> "tuple[bool, str, str]":
    """Open the line, and map the page of shared words at `path`, told from other files by its token.

    Gives (whether the page is there, boot_id, time namespace): what tells hosts and clocks apart.
    """
    line.LINE.open(channel)
    return any(barrier.PAGE.attach(place, token) for place in (path, GUEST_MEMORY)), *whereabouts()


def whereabouts() -> "tuple[str, str]":
    """boot_id and time namespace of this process; empty where /proc does not tell."""
    boot, namespace = "", ""
    with suppress(OSError), open("/proc/sys/kernel/random/boot_id") as file:
        boot = file.read().strip()
    with suppress(OSError):
        namespace = os.readlink("/proc/self/ns/time")
    return boot, namespace
