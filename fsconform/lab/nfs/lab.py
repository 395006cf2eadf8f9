"""Bringing an NFS lab up and down from the controller."""

from __future__ import annotations

import contextlib
import json
import os
import select
import shlex
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import fsconform
from fsconform.lab.nfs import relay, requirements
from fsconform.lab.nfs.cluster import PAGE
from fsconform.lab.nfs.spec import NfsSpec, parse_nfs
from fsconform.vocabulary.errors import CannotTestError
from fsconform.vocabulary.sites import SiteSpec

START_S = 180.0
"""How long until all clients are mounted."""
_REMOUNT_S = 30.0
_STOP_S = 15.0


class NfsLab:
    """One NFS lab: a server and its clients, each a site whose workers run inside a guest.

    A context manager; `stop` may be called again and again. All ends by itself when this process is gone.
    """

    def __init__(self, spec: NfsSpec, start_timeout_s: float = START_S) -> None:
        self.spec = spec
        self.sites: tuple[SiteSpec, ...] = ()
        self._start_timeout_s = start_timeout_s
        self._process: subprocess.Popen[bytes] | None = None
        self._life = -1
        self._socket = ""

    @property
    def pid(self) -> int:
        """Process id of the keeper. Raises RuntimeError before `start`."""
        if self._process is None:
            raise RuntimeError("the lab is not running")
        return self._process.pid

    def start(self) -> tuple[SiteSpec, ...]:
        """Boot and mount; the sites, `exec=` ones. Raises CannotTestError where that is not possible here."""
        requirements.require(self.spec)
        try:
            self._launch()
            ready = self._ready()
        except BaseException:
            self.stop()
            raise
        self._socket = ready["socket"]
        self._name_sites(ready)
        return self.sites

    def __enter__(self) -> NfsLab:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def remount(self, text: str) -> tuple[SiteSpec, ...]:
        """Mount with another version or other options on the same guests (10 ms each); no worker may be there.

        Raises CannotTestError where `text` asks for other guests, or the mount is refused.
        """
        spec = parse_nfs(text)
        if _guests(spec) != _guests(self.spec):
            raise CannotTestError(f"lab={text}: needs other guests than lab={self.spec.text}")
        answer = self._ask({"mount": text})
        if answer["error"]:
            raise CannotTestError(answer["error"])
        self.spec = spec
        self._name_sites(answer)
        return self.sites

    def stop(self) -> None:
        """End all guests and remove what they left."""
        if self._life >= 0:
            os.close(self._life)
            self._life = -1
        if self._process is not None:
            assert self._process.stdout is not None
            self._process.stdout.close()
            try:
                self._process.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait(_STOP_S)
            self._process = None

    def _launch(self) -> None:
        watched, self._life = os.pipe()
        package_root = str(Path(fsconform.__file__).parent.parent)
        path = os.pathsep.join(filter(None, (package_root, os.environ.get("PYTHONPATH", ""))))
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "fsconform.lab.nfs.keeper", self.spec.text, str(watched)],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, pass_fds=(watched,), start_new_session=True,
                env={**os.environ, "PYTHONPATH": path},
            )  # fmt: skip
        finally:
            os.close(watched)

    def _ready(self) -> Mapping[str, Any]:
        """What the keeper says when its guests are up."""
        assert self._process is not None and self._process.stdout is not None
        deadline = time.monotonic() + self._start_timeout_s
        text = b""
        while not text.endswith(b"\n"):
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._process.stdout], [], [], left)[0]:
                raise CannotTestError(f"lab={self.spec.text}: not ready within {self._start_timeout_s:g} s")
            piece = os.read(self._process.stdout.fileno(), 1 << 16)
            if not piece:
                raise CannotTestError(f"lab={self.spec.text}: its keeper ended at once")
            text += piece
        ready: Mapping[str, Any] = json.loads(text)
        if "error" in ready:
            raise CannotTestError(ready["error"])
        return ready

    def _name_sites(self, answer: Mapping[str, Any]) -> None:
        """Each client as a site: the command that starts a Python there, and the mount path."""
        sites = []
        for letter, path in answer["sites"]:
            command = shlex.join([sys.executable, "-I", "-S", str(relay.__file__), self._socket, letter])
            memory = str(Path(self._socket).parent / PAGE)
            sites.append(SiteSpec(f"lab={self.spec.text}", "exec", command, path, memory))
        self.sites = tuple(sites)

    def _ask(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """One request to the keeper. Raises CannotTestError where it does not answer."""
        try:
            with contextlib.closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as keeper:
                keeper.settimeout(_REMOUNT_S)
                keeper.connect(self._socket)
                keeper.sendall(json.dumps(request).encode() + b"\n")
                answer: Mapping[str, Any] = json.loads(keeper.makefile().readline())
                return answer
        except (OSError, ValueError) as error:
            raise CannotTestError(f"lab={self.spec.text}: its keeper does not answer: {error}") from None


def _guests(spec: NfsSpec) -> tuple[object, ...]:
    """What cannot be changed without booting."""
    return spec.fs, spec.one_kernel, spec.collide, spec.mounts
