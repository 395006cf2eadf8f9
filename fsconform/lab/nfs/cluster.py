"""The guests of one lab: booted apart or in step, set up, mounted."""

from __future__ import annotations

import itertools
import socket
import subprocess
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from fsconform.judging.verifiers import CONTEST_NS
from fsconform.lab.nfs.cables import Cable, Cables
from fsconform.lab.nfs.guests import FrozenError, Guest, Take
from fsconform.lab.nfs.machines import Config, Machine, Server
from fsconform.lab.nfs.requirements import find_program, memory_directory
from fsconform.lab.nfs.spec import NfsSpec
from fsconform.vocabulary.errors import CannotTestError

BOOT_S, SET_UP_S = 20.0, 30.0
"""How long a guest may take to boot, and to become what it is."""
AGREE_S = 100.0
"""How long clients are booted again until they are apart, or in step."""
SERVER_MEBIBYTES = {"tmpfs": 3072, "ext4": 768}
"""By what it exports. Memory that is not used is not taken from the host."""
CLIENT_MEBIBYTES = 256
SERVER_ADDRESS = "10.77.255.1"
_EVERYWHERE = ("lo", f"{SERVER_ADDRESS}/32")
"""All clients reach the server by one address: their mounts differ in nothing that is not theirs."""
_DISK_BYTES = 8 << 30
PAGE, PAGE_BYTES = "page", 1 << 18
"""Name and size of the memory that guests share with this host."""
_STAGGER_S = 2.1
APART_NS, IN_STEP_NS = CONTEST_NS + 10_000_000, 4_000_000
"""An NFS client makes the verifier of an exclusive create of its kernel's ticks (10 ms) since boot and the caller's pid
(Linux fs/nfs/nfs3proc.c, nfs3_proc_create; fs/nfs/nfs4proc.c, nfs4_opendata_alloc). Clients that booted further apart
than any contest is long have different ones; such that booted within IN_STEP_NS share them most of the time."""
_STARTS = 3
"""A guest of User-Mode Linux 6.1 freezes while it is set up now and then (3 of some 700 boots on a busy machine, none
once the clients were mounted): then all are booted again."""


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


class Cluster:
    """All guests of a lab. `take` gets the frames of workers' streams."""

    def __init__(self, spec: NfsSpec, session: Path, take: Take) -> None:
        self.spec = spec
        self.clients: list[Client] = []
        self._session = session
        self._page = _make_page(session)
        self._take = take
        self._guests: list[Guest] = []
        self._numbers = itertools.count()
        self._mounted = False
        self._cables: Cables | None = None

    @property
    def guests(self) -> tuple[Guest, ...]:
        """All guests, the server first."""
        return tuple(self._guests)

    def start(self) -> None:
        """Boot, set up, mount. Raises CannotTestError where a guest does not come up."""
        for left in reversed(range(_STARTS)):
            try:
                self._come_up()
                return
            except FrozenError:
                if not left:
                    raise
                self.stop()

    def mount(self, spec: NfsSpec) -> None:
        """Mount for every client as `spec` says; what was mounted before is unmounted first.

        Raises CannotTestError where the guest's kernel refuses.
        """
        for client in self.clients:
            if self._mounted:
                client.guest.call("unmount", at=client.path)
            client.guest.call(
                "mount", at=client.path, version=spec.version, options=_options(spec), server=SERVER_ADDRESS,
                me=client.address, namespace=client.namespace,
            )  # fmt: skip
        self._mounted = True

    def stop(self) -> None:
        """End all guests: clients first, so that nobody waits for the server."""
        for guest in self._guests:
            guest.halt()
        for guest in reversed(self._guests):
            guest.end()
        self._guests, self.clients, self._mounted = [], [], False
        if self._cables is not None:
            self._cables.close()
            self._cables = None

    def first_ticks_ns(self) -> list[int]:
        """When the ticks of each client's kernel began to count, as ns of our CLOCK_MONOTONIC, in order."""
        return sorted(client.guest.first_tick_ns() for client in self.clients)

    def _come_up(self) -> None:
        if self.spec.one_kernel:
            self._boot_namespaces()
        else:
            self._boot_hosts()
        for guest in self._guests:
            guest.ask("set_up")
        for guest in self._guests:
            guest.answer("did not come up", SET_UP_S)
            guest.set_wall_clock()
        self.mount(self.spec)

    def _boot_namespaces(self) -> None:
        namespaces = [(letter, _route(number)) for number, letter in enumerate(self.spec.letters)]
        guest = self._launch(self._server("nfs", [_EVERYWHERE], namespaces))
        guest.answer("did not boot", BOOT_S)
        self.clients = [Client(letter, guest, letter, _address(k)) for k, letter in enumerate(self.spec.letters)]

    def _boot_hosts(self) -> None:
        self._cables = Cables(self.spec.mounts)
        interfaces = [(f"vec{number}", f"10.77.{number}.1/24") for number in range(self.spec.mounts)]
        ours = [cable.ends[0].dup() for cable in self._cables]
        server = self._launch(self._server("nfs-server", [_EVERYWHERE, *interfaces]), *ours)
        server.answer("did not boot", BOOT_S)
        deadline = time.monotonic() + AGREE_S
        while not self._boot_clients(self._cables):
            if time.monotonic() > deadline:
                how = "in step" if self.spec.collide else "apart"
                raise CannotTestError(
                    f"lab={self.spec.text}: the clients did not boot {how} within {AGREE_S:g} s; "
                    "try again when this machine is less busy"
                )
            for client in self.clients:
                self._guests.remove(client.guest)
                client.guest.end(0.0)
        self._cables.watch()

    def _boot_clients(self, cables: Iterable[Cable]) -> bool:
        """Boot all clients; whether their ticks are as far apart as they should be."""
        self.clients = []
        for number, (letter, cable) in enumerate(zip(self.spec.letters, cables, strict=True)):
            if number and not self.spec.collide:
                time.sleep(_STAGGER_S)
            config = Config(
                f"nfs-{letter}", [("vec0", f"{_address(number)}/24")], [_route(number)],
                equal_pids=self.spec.collide, mebibytes=CLIENT_MEBIBYTES, page=self._page,
            )  # fmt: skip
            self.clients.append(Client(letter, self._launch(config, cable.ends[1].dup()), "", _address(number)))
        for client in self.clients:
            client.guest.answer("did not boot", BOOT_S)
        gaps = [later - earlier for earlier, later in itertools.pairwise(self.first_ticks_ns())]
        return all(gap <= IN_STEP_NS if self.spec.collide else gap >= APART_NS for gap in gaps)

    def _server(
        self, name: str, interfaces: Sequence[tuple[str, str]], namespaces: Sequence[tuple[str, str]] = ()
    ) -> Config:
        return Config(
            name, interfaces, namespaces=namespaces, server=Server(self.spec.fs),
            mebibytes=SERVER_MEBIBYTES[self.spec.fs], page=self._page, disk=self._make_disk(),
        )  # fmt: skip

    def _launch(self, config: Config, *cables: socket.socket) -> Guest:
        needed = (SERVER_MEBIBYTES[self.spec.fs] + CLIENT_MEBIBYTES * self.spec.mounts) << 20
        directory = self._session / f"{next(self._numbers)}-{config.name}"
        try:
            machine = Machine(config, directory, memory_directory(needed), cables)
        except OSError as error:
            raise CannotTestError(f"lab={self.spec.text}: guest {config.name} cannot be started: {error}") from None
        guest = Guest(f"lab={self.spec.text}", machine, directory, self._take)
        self._guests.append(guest)
        return guest

    def _make_disk(self) -> str:
        if self.spec.fs == "tmpfs":
            return ""
        path = self._session / f"{next(self._numbers)}-disk"
        with open(path, "wb") as file:
            file.truncate(_DISK_BYTES)
        command = [find_program("mke2fs") or "mke2fs", "-q", "-t", self.spec.fs, "-F", str(path)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise CannotTestError(f"lab={self.spec.text}: mke2fs: {done.stderr.strip()}")
        return str(path)


def _make_page(session: Path) -> str:
    """The file that all guests share with this host: where their workers meet."""
    path = session / PAGE
    with open(path, "wb") as file:
        file.truncate(PAGE_BYTES)
    return str(path)


def _address(number: int) -> str:
    return f"10.77.{number}.2"


def _route(number: int) -> str:
    """To the server and nowhere else: what asks for other hosts is to fail at once."""
    return f"{SERVER_ADDRESS}/32 via 10.77.{number}.1"


def _options(spec: NfsSpec) -> str:
    """Its mount options. Clients of one kernel share one lock manager, which has no daemons in their namespaces."""
    local = "nolock" if spec.one_kernel and spec.version == "3" else ""
    return ",".join(filter(None, (local, spec.options)))
