"""One guest of User-Mode Linux: its process, its console, its end."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import fsconform
from fsconform.lab.nfs import registers
from fsconform.lab.nfs.requirements import KERNEL, find_program, guest_python

_FAST_BOOT = (
    "quiet", "loglevel=4", "pty.legacy_count=0",
    "initcall_blacklist=raid6_select_algo,init_zswap,init_btrfs_fs,init_jfs_fs",
)  # fmt: skip
"""Leaves out what a guest does not need: it boots in 0.4 instead of 1.9 s."""
_INIT = """
import sys
sys.path.insert(0, {root!r})
from fsconform.lab.nfs.guest.agent import main
main({session!r})
"""
_END_S = 3.0
_LAST_LINES = 12


@dataclass(frozen=True, slots=True)
class Server:
    """What a guest exports."""

    fs: str
    threads: int = 8


@dataclass(frozen=True, slots=True)
class Config:
    """What a guest is; `guest/system.py` reads it."""

    name: str
    interfaces: Sequence[tuple[str, str]] = ()
    """Device and address with prefix length."""
    routes: Sequence[str] = ()
    """What ip-route(8) is to add."""
    namespaces: Sequence[tuple[str, str]] = ()
    """Name of each and the route inside."""
    server: Server | None = None
    equal_pids: bool = False
    """Whether its n-th worker has the same pid as the n-th of every other such guest."""
    mebibytes: int = 192
    page: str = ""
    """A file of this host that the guest maps as shared memory."""
    disk: str = field(default="", compare=False)


class Machine:
    """A guest's kernel as a process of the host; `line` is our end of its serial line.

    It ends by itself when our end of the line is closed, for whatever reason.
    """

    def __init__(self, config: Config, directory: Path, memory: str, cables: Sequence[socket.socket] = ()) -> None:
        """Boot it. `directory`: its part of the session; `cables`: one socket per interface, closed here.

        Raises OSError.
        """
        directory.mkdir(parents=True)
        (directory / "config.json").write_text(json.dumps(asdict(config)))
        root = str(Path(fsconform.__file__).resolve().parent.parent)
        (directory / "init.py").write_text(_INIT.format(root=root, session=str(directory)))
        self.config = config
        self._console = directory / "console"
        self.line, serial = socket.socketpair()
        command = _command(config, directory, serial, cables)
        with open(self._console, "wb") as console:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=console, stderr=console, start_new_session=True,
                env={**os.environ, "TMPDIR": memory}, pass_fds=[serial.fileno(), *(end.fileno() for end in cables)],
                preexec_fn=registers.hide_extended_state if registers.too_large() else None,
            )  # fmt: skip
        for end in (serial, *cables):
            end.close()

    def alive(self) -> bool:
        """Whether its kernel still runs."""
        return self.process.poll() is None

    def last_lines(self) -> str:
        """The end of its console."""
        try:
            lines = self._console.read_text(errors="replace").strip().splitlines()
        except OSError:
            lines = []
        return "\n".join(f"  {line}" for line in lines[-_LAST_LINES:]) or "  (its console is empty)"

    def end(self, grace_s: float = _END_S) -> None:
        """Wait `grace_s` until it has ended by itself, then kill it with its helper processes."""
        self.line.close()
        try:
            self.process.wait(grace_s)
        except subprocess.TimeoutExpired:
            self.process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(_END_S)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(_END_S)


def _command(config: Config, directory: Path, serial: socket.socket, cables: Sequence[socket.socket]) -> Sequence[str]:
    """The kernel's command line: what stands before `--` is for the kernel, the rest for its first process."""
    words = [
        find_program(KERNEL) or KERNEL, f"mem={config.mebibytes}M", f"umid={config.name}", f"uml_dir={directory}/",
        "rootfstype=hostfs", "rootflags=/", "ro", f"init={guest_python()}", "con=null", "con0=null,fd:1", "ssl=null",
        f"ssl0=fd:{serial.fileno()}", *_FAST_BOOT,
    ]  # fmt: skip
    words += [f"vec{number}:transport=fd,fd={end.fileno()},vec=0" for number, end in enumerate(cables)]
    words += [f"ubd0={config.disk}"] if config.disk else []
    words += [f"iomem=mmapper,{config.page}"] if config.page else []
    words += registers.WITHOUT_AVX if registers.too_large() else ()
    return [*words, "--", "-I", "-S", "-B", f"{directory}/init.py"]
