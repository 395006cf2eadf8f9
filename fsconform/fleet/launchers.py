"""Launchers: the command whose standard input and output are a worker's, whatever lies between."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
import weakref
from contextlib import suppress
from typing import Any

from fsconform.vocabulary.sites import SiteSpec

OLDEST_PYTHON = (3, 9)
REMOTE_PYTHON = "python3"
PYTHON_VARIABLE = "FSCONFORM_REMOTE_PYTHON"
"""Of the environment: the interpreter at `ssh=` sites, where it is another one."""
SSH = ("ssh", "-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-o", "ServerAliveInterval=5",
       "-o", "ServerAliveCountMax=3")  # fmt: skip
"""Never asks, never waits for ever, and ends 20 s after its link went down (ssh_config(5))."""
_ISOLATED = ("-I", "-S", "-u", "-c")
"""No environment, no site packages: a worker needs the standard library only and must not pick up others'."""
BOOTSTRAP = (
    f"import sys;sys.version_info<{OLDEST_PYTHON} and sys.exit('Python {OLDEST_PYTHON[0]}.{OLDEST_PYTHON[1]} or later "
    "is needed there, this is '+sys.version.split()[0]);exec(eval(sys.stdin.readline()))"
)
"""What the interpreter runs first; the rest comes over its standard input (execnet)."""
_LAST_BYTES = 4000


def command(spec: SiteSpec, python: str = "") -> list[str]:
    """Program and arguments. `python`: interpreter there (empty: the controller's own, or `python3` over ssh)."""
    if spec.launcher == "ssh":
        interpreter = python or os.environ.get(PYTHON_VARIABLE) or REMOTE_PYTHON
        there = shlex.join([*shlex.split(interpreter), *_ISOLATED, BOOTSTRAP])
        return [*SSH, *shlex.split(spec.target), there]
    if spec.launcher == "exec":
        return [*shlex.split(spec.target), *_ISOLATED, BOOTSTRAP]
    return [python or sys.executable, *_ISOLATED, BOOTSTRAP]


class Launched:
    """A launcher that runs: the byte streams that execnet wants, and the process behind them.

    Raises OSError where the command cannot be started.
    """

    def __init__(self, arguments: list[str], execmodel: Any) -> None:
        self.execmodel = execmodel
        self._words = tempfile.TemporaryFile()  # noqa: SIM115 - as long as somebody may ask for them
        weakref.finalize(self, self._words.close)
        self.popen = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._words)
        assert self.popen.stdin is not None and self.popen.stdout is not None
        self.outfile, self.infile = self.popen.stdin, self.popen.stdout

    def read(self, numbytes: int) -> bytes:
        """Exactly so many bytes. Raises EOFError."""
        data = self.infile.read(numbytes)
        if len(data) < numbytes:
            raise EOFError(f"expected {numbytes} bytes, got {len(data)}")
        return data

    def write(self, data: bytes) -> None:
        """All bytes. Raises OSError, ValueError."""
        self.outfile.write(data)
        self.outfile.flush()

    def close_read(self) -> None:
        """Hear no more."""
        self.infile.close()

    def close_write(self) -> None:
        """Say no more: what ends a worker."""
        self.outfile.close()

    def wait(self) -> int | None:
        """Its exit status."""
        return self.popen.wait()

    def kill(self) -> None:
        """SIGKILL."""
        with suppress(OSError):
            self.popen.kill()

    def last_words(self) -> str:
        """The last line it wrote to its standard error, empty where there is none."""
        end = os.fstat(self._words.fileno()).st_size
        text = os.pread(self._words.fileno(), _LAST_BYTES, max(0, end - _LAST_BYTES)).decode(errors="replace")
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        return lines[-1][:300] if lines else ""
