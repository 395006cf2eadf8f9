"""Calls made in a child process with a deadline: the only way to touch a filesystem that may never answer.

A thread cannot be abandoned and a fork of a threaded process may deadlock; a fresh interpreter running one small
standard-library module of `fleet/worker` can be killed, and left behind where even that does not help (state D).
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

START_DEADLINE_S = 30.0
"""How long a child may take until its interpreter runs; says nothing about the filesystem."""
_ENDING_S = 0.3
_BOOT = """
import json, os, runpy, sys
module, function, arguments = sys.argv[1:]
def say(kind, value):
    sys.stdout.write(json.dumps([kind, value]) + "\\n")
    sys.stdout.flush()
def tell(word):
    say("step", word)
call = runpy.run_path(module)[function]
say("step", "")
say("result", call(*json.loads(arguments), tell))
os._exit(0)
"""
_abandoned: list[subprocess.Popen[bytes]] = []
"""Children that did not even end when killed; kept so that nobody waits for them."""


@dataclass(frozen=True, slots=True)
class Stuck:
    """A call that did not return in time, and what the kernel says of the process that makes it."""

    step: str
    """The last call it said it was about to make."""
    seconds: float
    pid: int
    state: str
    """Letter of /proc/PID/stat (`D`: cannot even be killed), empty where unknown."""
    wchan: str
    """Where in the kernel it sleeps; empty where the kernel does not tell."""
    syscall: str
    """Number of the system call it is in; empty where the kernel does not tell."""
    ended: bool
    """Whether it could be killed."""

    def __str__(self) -> str:
        """`no answer to stat for 5 s (request_wait_answer; system call 4; child 123 killed)`."""
        call = f"system call {self.syscall}" if self.syscall else ""
        fate = f"child {self.pid} " + ("killed" if self.ended else f"abandoned in state {self.state or '?'}")
        known = "; ".join(filter(None, (self.wchan, call, fate)))
        return f"no answer to {self.step or 'its first call'} for {self.seconds:g} s ({known})"


class ChildFailedError(RuntimeError):
    """The child ended without a result: a fault of ours, or of the interpreter there."""


def call_in_child(module: ModuleType, function: str, arguments: list[Any], deadline_s: float) -> Any | Stuck:
    """`module.function(*arguments, tell)` in a fresh interpreter: its result, or Stuck.

    `module` imports the standard library only; arguments and result are JSON values. `deadline_s` runs from the
    moment the function is called and anew from each step that the function tells. The child has a session of its
    own, so Ctrl-C does not reach it. Raises ChildFailedError.
    """
    command = [sys.executable, "-P", "-c", _BOOT, str(module.__file__), function, json.dumps(arguments)]
    child = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd="/",
        start_new_session=True,
    )  # fmt: skip
    try:
        return _await_result(child, deadline_s)
    finally:
        _end(child)


def _await_result(child: subprocess.Popen[bytes], deadline_s: float) -> Any | Stuck:
    assert child.stdout is not None
    out = child.stdout.fileno()
    poll = select.poll()
    poll.register(out, select.POLLIN)
    end, limit_s, step, pending = time.monotonic() + START_DEADLINE_S, START_DEADLINE_S, "start of the interpreter", b""
    while True:
        if not poll.poll(max(0.0, end - time.monotonic()) * 1000):
            return _describe(child, step, limit_s)
        chunk = os.read(out, 1 << 16)
        if not chunk:
            raise ChildFailedError(_last_words(child))
        *lines, pending = (pending + chunk).split(b"\n")
        for line in lines:
            kind, value = json.loads(line)
            if kind == "result":
                return value
            step, limit_s = value, deadline_s
            end = time.monotonic() + deadline_s


def _describe(child: subprocess.Popen[bytes], step: str, seconds: float) -> Stuck:
    process = Path("/proc") / str(child.pid)
    state = _proc_text(process / "stat").rpartition(")")[2].split()[:1]
    wchan = _proc_text(process / "wchan").strip("0\n ")
    syscall = _proc_text(process / "syscall").split()[:1]
    ended = _end(child)
    return Stuck(step, seconds, child.pid, "".join(state), wchan, "".join(syscall), ended)


def _proc_text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def _last_words(child: subprocess.Popen[bytes]) -> str:
    assert child.stderr is not None
    code = child.wait()
    lines = child.stderr.read().decode(errors="replace").strip().splitlines()
    return f"a child process ended with status {code}: {lines[-1] if lines else 'no message'}"


def _end(child: subprocess.Popen[bytes]) -> bool:
    for pipe in (child.stdout, child.stderr):
        if pipe is not None and child.poll() is None:
            pipe.close()
    if child.poll() is None:
        child.send_signal(signal.SIGKILL)
    try:
        child.wait(_ENDING_S)
    except subprocess.TimeoutExpired:
        if child not in _abandoned:
            _abandoned.append(child)
        return False
    for pipe in (child.stdout, child.stderr):
        if pipe is not None:
            pipe.close()
    return True
