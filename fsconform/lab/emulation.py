"""Bringing an emulated lab up and down from the controller."""

from __future__ import annotations

import contextlib
import errno
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

import fsconform
from fsconform.lab.mountpoints import detach, emulated_mounts
from fsconform.lab.namespaces import require_fuse
from fsconform.lab.spec import LabSpec
from fsconform.vocabulary.errors import CannotTestError
from fsconform.vocabulary.sites import LETTERS

STOP_S = 5.0
_DEAD = (errno.ENOTCONN, errno.ECONNABORTED)
"""Of a connection that is gone, and of one that goes while a request is under way."""


class Emulation:
    """One lab, mounted at `a`, `b`, ... below a directory (a temporary one where none is given).

    A context manager; `stop` may be called again and again. The server ends and unmounts by itself when this process
    is gone. `inside`: one process per mount, in whose mount namespace it is to be; empty: all here. Raises
    CannotTestError where the lab cannot be mounted.
    """

    def __init__(
        self, spec: LabSpec, directory: Path | None = None, start_timeout_s: float = 30.0, inside: Sequence[int] = ()
    ) -> None:
        self.spec = spec
        self.start_timeout_s = start_timeout_s
        self._given = directory
        self._inside = tuple(inside)
        self._made: list[Path] = []
        self._process: subprocess.Popen[bytes] | None = None
        self._life: int | None = None
        self.mounts: tuple[Path, ...] = ()

    @property
    def pid(self) -> int:
        """Process id of the server. Raises RuntimeError before `start`."""
        if self._process is None:
            raise RuntimeError("the lab is not running")
        return self._process.pid

    def start(self) -> tuple[Path, ...]:
        """Mount, and wait until every mount answers. Returns the mount paths."""
        require_fuse()
        try:
            self._make_directories()
            self._launch()
            self._wait_until_ready()
        except BaseException:
            self.stop()
            raise
        return self.mounts

    def __enter__(self) -> Emulation:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def crash(self) -> None:
        """Let the server lose what it had not stored, and wait until it is up again. Raises CannotTestError."""
        os.kill(self.pid, signal.SIGUSR1)
        text = self._line()
        if text != b"crashed\n":
            raise CannotTestError(f"lab={self.spec.text}: its server did not come up again")

    def stop(self) -> None:
        """Unmount and end the server; remove the directories that `start` made."""
        if self._process is not None:
            _end(self._process)
            self._process = None
            for path in self.mounts:
                detach(path)
        if self._life is not None:
            os.close(self._life)
            self._life = None
        for path in reversed(self._made):
            with contextlib.suppress(OSError):
                path.rmdir()
        self._made.clear()

    def _make_directories(self) -> None:
        if self._given is None:
            directory = Path(tempfile.mkdtemp(prefix="fsconform-lab-")).resolve()
            self._made.append(directory)
        else:
            directory = self._given.resolve()
            self._make(directory)
        paths = [directory / letter for letter in LETTERS[: self.spec.mounts]]
        for path in paths:
            self._clear_dead_mount(path)
            self._make(path)
            if any(path.iterdir()) or path.is_mount():
                raise CannotTestError(f"lab={self.spec.text}: {path} is in use; give an empty or new directory")
        self.mounts = tuple(paths)

    def _clear_dead_mount(self, path: Path) -> None:
        """A mount of ours whose server was killed. statvfs is never answered from a cache."""
        try:
            os.statvfs(path)
        except OSError as error:
            if error.errno in _DEAD and any(point == path for point, _ in emulated_mounts()):
                detach(path)

    def _make(self, path: Path) -> None:
        try:
            path.mkdir()
            self._made.append(path)
        except FileExistsError:
            if not path.is_dir():
                raise CannotTestError(f"lab={self.spec.text}: {path} is not a directory") from None
        except OSError as error:
            raise CannotTestError(f"lab={self.spec.text}: cannot make {path}: {error.strerror}") from None

    def _launch(self) -> None:
        watched, self._life = os.pipe()
        command = [
            sys.executable, "-m", "fsconform.lab.server", "--spec", self.spec.text, "--parent-fd", str(watched),
            "--parent", str(os.getpid()), *(f"--remove={path}" for path in reversed(self._made)),
            *(f"--inside={pid}" for pid in self._inside), *map(str, self.mounts),
        ]  # fmt: skip
        package_root = str(Path(fsconform.__file__).parent.parent)
        path = os.pathsep.join(filter(None, (package_root, os.environ.get("PYTHONPATH", ""))))
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=None, pass_fds=(watched,),
                start_new_session=True, env={**os.environ, "PYTHONPATH": path},
            )  # fmt: skip
        finally:
            os.close(watched)

    def _wait_until_ready(self) -> None:
        text = self._line()
        if text != b"ready\n":
            reason = text.decode(errors="replace").removeprefix("failed: ").strip()
            raise CannotTestError(f"lab={self.spec.text}: {reason}")

    def _line(self) -> bytes:
        """The next line that the server prints."""
        assert self._process is not None and self._process.stdout is not None
        deadline = time.monotonic() + self.start_timeout_s
        text = b""
        while not text.endswith(b"\n"):
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._process.stdout], [], [], left)[0]:
                raise CannotTestError(f"lab={self.spec.text}: not mounted within {self.start_timeout_s:g} s")
            piece = os.read(self._process.stdout.fileno(), 4096)
            if not piece:
                raise CannotTestError(f"lab={self.spec.text}: its server ended at once")
            text += piece
        return text


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ask, then kill. A stopped server is made to go on first."""
    if process.stdout is not None:
        process.stdout.close()
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGCONT)
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(STOP_S)
