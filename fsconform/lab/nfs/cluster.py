"""The guests of one lab: booted, told apart, mounted."""

from __future__ import annotations

import contextlib
import itertools
import socket
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fsconform.lab.nfs import frames
from fsconform.lab.nfs.line import GuestError, Line, SilentError
from fsconform.lab.nfs.machines import Config, Machine, Server
from fsconform.lab.nfs.requirements import find_program, memory_directory
from fsconform.lab.nfs.spec import NfsSpec
from fsconform.vocabulary.errors import CannotTestError

BOOT_S = 30.0
"""How long a guest may take until it is up."""
SERVER_MEBIBYTES, CLIENT_MEBIBYTES = 768, 256
SERVER_ADDRESS = "10.77.255.1"
_EVERYWHERE = ("lo", f"{SERVER_ADDRESS}/32")
"""All clients reach the server by one address: their mounts differ in nothing that is not theirs."""
_DISK_BYTES = 512 << 20
_STAGGER_S = 0.15
APART_NS, IN_STEP_NS = 50_000_000, 5_000_000
"""An NFS client makes the verifier of an exclusive create of its kernel's ticks (10 ms) since boot and the caller's pid
(Linux fs/nfs/nfs3proc.c, nfs3_proc_create; fs/nfs/nfs4proc.c, nfs4_opendata_alloc). Clients that booted at least
APART_NS apart have different ones; such that booted within IN_STEP_NS share them at least half of the time."""
_ATTEMPTS = 20
_STARTS = 3
"""A guest of User-Mode Linux 6.1 freezes while it is set up now and then (3 of some 500 boots on a busy machine, none
once the clients were mounted): it is booted again."""
Take = Callable[["Guest", int, int, bytes], None]


@dataclass(slots=True)
class Guest:
    """A guest and the line to it."""

    machine: Machine
    line: Line

    @property
    def name(self) -> str:
        """What it is called, and its host name."""
        return self.machine.config.name


@dataclass(frozen=True, slots=True)
class Client:
    """Where one site's workers run."""

    letter: str
    guest: Guest
    namespace: str
    address: str

    @property
    def path(self) -> str:
        """Where the export is mounted."""
        return f"/mnt/{self.letter}"


class FrozenError(CannotTestError):
    """A guest does not answer any more."""


class Cluster:
    """All guests of a lab. `take` gets the frames of workers' streams."""

    def __init__(self, spec: NfsSpec, session: Path, take: Take) -> None:
        self.spec = spec
        self.clients: list[Client] = []
        self._session = session
        self._take = take
        self._guests: list[Guest] = []
        self._boots = 0
        self._mounted = False

    @property
    def guests(self) -> tuple[Guest, ...]:
        """All guests, the server first."""
        return tuple(self._guests)

    def start(self) -> None:
        """Boot, set the clocks, mount. Raises CannotTestError where a guest does not come up."""
        for left in reversed(range(_STARTS)):
            try:
                self._come_up()
                return
            except FrozenError:
                if not left:
                    raise
                self.stop()

    def _come_up(self) -> None:
        for _ in range(_ATTEMPTS):
            self._boot()
            if self._verifiers_fit():
                self.mount(self.spec)
                return
            self.stop()
        how = "in step" if self.spec.collide else "apart"
        raise CannotTestError(f"lab={self.spec.text}: {_ATTEMPTS} times the clients did not boot {how}; try again")

    def mount(self, spec: NfsSpec) -> None:
        """Mount for every client as `spec` says; what was mounted before is unmounted first.

        Raises CannotTestError where the guest's kernel refuses.
        """
        for client in self.clients:
            if self._mounted:
                self._call(client.guest, "unmount", at=client.path)
            self._call(
                client.guest, "mount", at=client.path, version=spec.version, options=_options(spec),
                server=SERVER_ADDRESS, me=client.address, namespace=client.namespace,
            )  # fmt: skip
        self._mounted = True

    def stop(self) -> None:
        """End all guests: clients first, so that nobody waits for the server."""
        for guest in self._guests:
            with contextlib.suppress(GuestError):
                guest.line.send(frames.CALL, 0, b'{"call": "halt"}')
        for guest in reversed(self._guests):
            guest.machine.end()
        self._guests, self.clients, self._mounted = [], [], False

    def blame(self, guest: Guest, what: str) -> str:
        """A message about one guest, with the end of its console."""
        return (
            f"lab={self.spec.text}: guest {guest.name}: {what}; "
            f"the last lines of its console:\n{guest.machine.last_lines()}"
        )

    def _boot(self) -> None:
        self._boots += 1
        server = Server(self.spec.fs)
        disk = self._make_disk()
        if self.spec.one_kernel:
            config = Config(
                "nfs", [_EVERYWHERE], namespaces=self.spec.letters, server=server, mebibytes=SERVER_MEBIBYTES, disk=disk
            )
            guest = self._launch(config)
            self.clients = [
                Client(letter, guest, letter, f"10.77.{number}.2") for number, letter in enumerate(self.spec.letters)
            ]
        else:
            self._boot_hosts(server, disk)
        for guest in self._guests:
            self._await(guest)

    def _boot_hosts(self, server: Server, disk: str) -> None:
        cables = [socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM) for _ in self.spec.letters]
        for end in sum(cables, ()):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        interfaces = [_EVERYWHERE, *((f"vec{number}", f"10.77.{number}.1/24") for number in range(len(cables)))]
        config = Config("nfs-server", interfaces, server=server, mebibytes=SERVER_MEBIBYTES, disk=disk)
        self._launch(config, *(first for first, _ in cables))
        for number, (letter, (_, end)) in enumerate(zip(self.spec.letters, cables, strict=True)):
            if number and not self.spec.collide:
                time.sleep(_STAGGER_S)
            config = Config(
                f"nfs-{letter}", [("vec0", f"10.77.{number}.2/24")], [f"default via 10.77.{number}.1"],
                mebibytes=CLIENT_MEBIBYTES,
            )  # fmt: skip
            guest = self._launch(config, end)
            self.clients.append(Client(letter, guest, "", f"10.77.{number}.2"))

    def _launch(self, config: Config, *cables: socket.socket) -> Guest:
        needed = (SERVER_MEBIBYTES + CLIENT_MEBIBYTES * self.spec.mounts) << 20
        directory = self._session / f"{self._boots}-{config.name}"
        try:
            machine = Machine(config, directory, memory_directory(needed), cables)
        except OSError as error:
            raise CannotTestError(f"lab={self.spec.text}: guest {config.name} cannot be started: {error}") from None
        guest = Guest(machine, Line(machine.line, directory, machine.alive, lambda *frame: self._take(guest, *frame)))
        self._guests.append(guest)
        return guest

    def _make_disk(self) -> str:
        if self.spec.fs == "tmpfs":
            return ""
        path = self._session / f"{self._boots}-disk"
        with open(path, "wb") as file:
            file.truncate(_DISK_BYTES)
        command = [find_program("mke2fs") or "mke2fs", "-q", "-t", self.spec.fs, "-F", str(path)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise CannotTestError(f"lab={self.spec.text}: mke2fs: {done.stderr.strip()}")
        return str(path)

    def _await(self, guest: Guest) -> None:
        try:
            guest.line.result(BOOT_S)
        except GuestError as error:
            raise self._failure(guest, f"did not come up: {error}", error) from None
        self._set_wall_clock(guest)

    def _call(self, guest: Guest, name: str, **arguments: str | int) -> Any:
        try:
            return guest.line.call(name, arguments)
        except GuestError as error:
            raise self._failure(guest, f"{name}: {error}", error) from None

    def _failure(self, guest: Guest, what: str, error: GuestError) -> CannotTestError:
        kind = FrozenError if isinstance(error, SilentError) else CannotTestError
        return kind(self.blame(guest, what))

    def _offset_ns(self, guest: Guest) -> int:
        """Its CLOCK_MONOTONIC minus ours, by the fastest of some exchanges; it does not drift."""
        exchanges: list[tuple[int, int]] = []
        for _ in range(9):
            before = time.monotonic_ns()
            clocks = self._call(guest, "clock")
            after = time.monotonic_ns()
            exchanges.append((after - before, clocks[0] - (before + after) // 2))
        return min(exchanges)[1]

    def _set_wall_clock(self, guest: Guest) -> None:
        offset = self._offset_ns(guest)
        self._call(guest, "set_clock", wall_minus_monotonic_ns=time.time_ns() - time.monotonic_ns() - offset)

    def clocks_ns(self) -> list[int]:
        """CLOCK_MONOTONIC of each client's kernel minus ours, in order."""
        kernels = {client.guest.name: client.guest for client in self.clients}
        return sorted(self._offset_ns(guest) for guest in kernels.values())

    def _verifiers_fit(self) -> bool:
        gaps = [later - earlier for earlier, later in itertools.pairwise(self.clocks_ns())]
        return all(gap <= IN_STEP_NS if self.spec.collide else gap >= APART_NS for gap in gaps)


def _options(spec: NfsSpec) -> str:
    """Its mount options. Clients of one kernel share one lock manager, which has no daemons in their namespaces."""
    local = "nolock" if spec.one_kernel and spec.version == "3" else ""
    return ",".join(filter(None, (local, spec.options)))
