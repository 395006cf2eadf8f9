"""fsconform at the command line, as its users meet it: what it prints, ends with, and leaves behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

COMMAND = (sys.executable, "-m", "fsconform.cli")
ONE_CELL = ("--cell", "capability.link/a-a", "--no-search")
"""The shortest run that measures something at one site."""
WITHOUT_PRIVILEGES = ("setpriv", "--bounding-set=-all", "--inh-caps=-all")
"""As an ordinary user, but one who may read these sources wherever they lie: root without any capability."""


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    status: int
    out: str
    err: str

    @property
    def text(self) -> str:
        return self.out + self.err


def fsconform(*words: str | Path, cwd: Path, prefix: Sequence[str] = (), **env: str) -> Ended:
    """Run a command to its end."""
    done = subprocess.run(
        [*prefix, *COMMAND, *map(str, words)], cwd=cwd, env={**os.environ, **env}, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    return Ended(done.returncode, done.stdout, done.stderr)


def message_of(ended: Ended) -> str:
    """The one message of a command that could not test anything. Fails where it says more, or something else."""
    assert ended.status == 2, ended.text
    assert "Traceback" not in ended.text
    message, last = [line for line in ended.err.splitlines() if not line.startswith("asking ")]
    assert message.startswith("fsconform: ") and last == "exit status 2 (could not test)", ended.err
    assert ended.out == ""
    return message.removeprefix("fsconform: ")


def names_below(directory: Path) -> set[str]:
    """Everything below a directory, without entering mounts that do not answer."""
    return {os.path.join(top, name) for top, below, files in os.walk(directory) for name in (*below, *files)}


def marked_directories(*mounts: Path) -> list[str]:
    """The directories of runs that are still there."""
    return [str(mount / name) for mount in mounts for name in os.listdir(mount) if name.startswith(".fsconform-")]


class Running:
    """A command that still runs, in a session of its own: as a terminal's foreground job. A context manager."""

    def __init__(self, *words: str | Path, cwd: Path, command: Sequence[str] = COMMAND) -> None:
        self._out, self._err = cwd / "stdout", cwd / "stderr"
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self.process = subprocess.Popen(
                [*command, *map(str, words)], cwd=cwd, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                start_new_session=True,
            )  # fmt: skip

    def __enter__(self) -> Running:
        return self

    def __exit__(self, *_: object) -> None:
        for process in (*self.descendants(), psutil.Process(self.process.pid)) if self.process.poll() is None else ():
            process.kill()
        self.process.wait(20)

    def told(self) -> str:
        """Everything printed so far."""
        return self._out.read_text() + self._err.read_text()

    def await_text(self, text: str, seconds: float = 60.0) -> None:
        """Wait until it has printed `text`."""
        await_that(lambda: text in self.told() or self.process.poll() is not None, seconds)
        assert text in self.told(), self.told()

    def descendants(self) -> list[psutil.Process]:
        """Its children, and theirs."""
        try:
            return psutil.Process(self.process.pid).children(recursive=True)
        except psutil.NoSuchProcess:
            return []

    def interrupt(self, number: int = signal.SIGINT) -> None:
        """What a terminal does at Ctrl-C: the signal goes to the whole process group."""
        os.killpg(self.process.pid, number)

    def end(self, seconds: float = 60.0) -> Ended:
        """Wait for the end."""
        status = self.process.wait(seconds)
        return Ended(status, self._out.read_text(), self._err.read_text())


def await_that(condition: Callable[[], bool], seconds: float) -> float:
    """How long it took, seconds. Fails after `seconds`."""
    begun = time.monotonic()
    while not condition():
        assert time.monotonic() - begun < seconds, f"not within {seconds:g} s"
        time.sleep(0.02)
    return time.monotonic() - begun


def alive(processes: Iterable[psutil.Process]) -> list[psutil.Process]:
    """Those that have not ended (a zombie has)."""
    found = []
    for process in processes:
        try:
            if process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except psutil.NoSuchProcess:
            continue
    return found
