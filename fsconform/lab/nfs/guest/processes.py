"""Starting workers in a guest: a fork of this interpreter is ready ten times sooner than a new one."""

from __future__ import annotations

import fcntl
import os
import signal
import sys
import threading
import traceback
from contextlib import suppress
from typing import NoReturn

from fsconform.lab.nfs.guest.kernel import Namespace

PIPE_BYTES = 1 << 20
"""Size of a worker's pipes: what is long passes in few portions."""
_F_SETPIPE_SZ = 1031


class Process:
    """A worker: its pid and our ends of its standard input and output (non-blocking)."""

    def __init__(self, pid: int, stdin: int, stdout: int) -> None:
        self.pid = pid
        self.stdin = stdin
        self.stdout = stdout
        self.waiting = b""
        """Input that its pipe has no room for yet."""
        self.ending = False
        """Whether its input is to be closed once `waiting` is written."""

    def write(self) -> None:
        """Pass on as much of `waiting` as its pipe takes; close the input where that was the last."""
        while self.waiting and self.stdin >= 0:
            try:
                self.waiting = self.waiting[os.write(self.stdin, self.waiting) :]
            except BlockingIOError:
                return
            except OSError:  # it reads no more
                self.waiting = b""
                self.close_input()
        if self.ending:
            self.close_input()

    def close_input(self) -> None:
        """Close its standard input, which ends a worker."""
        if self.stdin >= 0:
            os.close(self.stdin)
            self.stdin = -1

    def kill(self) -> None:
        """SIGKILL, where it is still there."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)


def advance_pids(target: int) -> None:
    """Use up process ids until the next one is `target`, or is beyond it already."""
    last = 0
    while last < target - 1:
        thread = threading.Thread(target=int)
        thread.start()
        thread.join()
        last = thread.native_id or target


def start(code: str, namespace: Namespace | None) -> Process:
    """A process that runs the Python text `code` as `python -I -S -c` would, inside `namespace` where given."""
    (input_end, stdin), (stdout, output_end) = os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:
        _become_worker(code, namespace, input_end, output_end)
    os.close(input_end)
    os.close(output_end)
    for descriptor in (stdin, stdout):
        os.set_blocking(descriptor, False)
        fcntl.fcntl(descriptor, _F_SETPIPE_SZ, PIPE_BYTES)
    return Process(pid, stdin, stdout)


def _become_worker(code: str, namespace: Namespace | None, input_end: int, output_end: int) -> NoReturn:
    """Leave nothing of the first process: descriptors, signal handlers, session, modules of ours."""
    status = 1
    try:
        if namespace is not None:
            namespace.enter()
        for kind in (signal.SIGCHLD, signal.SIGINT, signal.SIGTERM):
            signal.signal(kind, signal.SIG_DFL)
        signal.set_wakeup_fd(-1)
        os.dup2(input_end, 0)
        os.dup2(output_end, 1)
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))
        os.setsid()
        for name in [name for name in sys.modules if name.partition(".")[0] == "fsconform"]:
            del sys.modules[name]
        del sys.path[0]
        sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
        scope = {"__name__": "__main__", "__builtins__": __builtins__}
        sys.modules["__main__"].__dict__.clear()
        sys.modules["__main__"].__dict__.update(scope)
        exec(code, sys.modules["__main__"].__dict__)
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 0
    except BaseException:
        traceback.print_exc()
    finally:
        with suppress(Exception):
            sys.stdout.flush()
        os._exit(status)
