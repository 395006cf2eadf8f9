"""The process that keeps one NFS lab: it owns the guests and joins relays to their workers.

    python -m fsconform.lab.nfs.keeper SPEC PARENT_FD

When the guests are up it prints one line of JSON: the path of its socket and the sites. It ends, with all guests, its
directory removed, when the other end of PARENT_FD is closed or on SIGTERM. Whoever connects to the socket sends one
line of JSON and gets one back: {"worker": letter, "code": text} makes the connection the standard input and output of
a new worker, {"mount": text} mounts anew as another specification says.
"""

from __future__ import annotations

import json
import select
import shutil
import signal
import socket
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

from fsconform.lab.nfs import frames
from fsconform.lab.nfs.cluster import Client, Cluster
from fsconform.lab.nfs.guests import Guest
from fsconform.lab.nfs.line import NUDGE_S, GuestError
from fsconform.lab.nfs.spec import parse_nfs
from fsconform.vocabulary.errors import CannotTestError

_PORTION = 1 << 20
_LONGEST_DIRECTORY = 60
"""The path of a Unix socket has at most 107 bytes (unix(7))."""


class Connection:
    """One relay, or one request."""

    def __init__(self, end: socket.socket) -> None:
        end.setblocking(False)
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _PORTION)
        self.end = end
        self.request = b""
        """What has come before the end of the first line."""
        self.client: Client | None = None
        self.stream = 0
        self.output = b""
        self.open = True
        """Whether its input may still come."""
        self.over = False
        """Whether it is to be closed once `output` is written."""

    def write(self) -> None:
        """Pass on as much output as the socket takes."""
        while self.output:
            try:
                self.output = self.output[self.end.send(self.output) :]
            except BlockingIOError:
                return
            except OSError:  # nobody reads any more
                self.output = b""


class Keeper:
    """The loop between relays and guests."""

    def __init__(self, text: str, session: Path, parent: int) -> None:
        self._cluster = Cluster(parse_nfs(text), session, self._take)
        self._parent = parent
        self._session = session
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._connections: dict[int, Connection] = {}
        self._streams: dict[tuple[str, int], Connection] = {}
        self._last_stream = 0
        self._gone: set[str] = set()

    def run(self) -> None:
        """Boot, say so, serve. Raises CannotTestError where the lab does not come up."""
        path = str(self._session / "keeper")
        self._listener.bind(path)
        self._listener.listen(64)
        self._listener.setblocking(False)
        self._cluster.start()
        print(json.dumps({"socket": path, "sites": self._sites()}), flush=True)
        while self._serve_once():
            pass

    def stop(self) -> None:
        """End all guests."""
        self._cluster.stop()

    def _sites(self) -> list[tuple[str, str]]:
        return [(client.letter, client.path) for client in self._cluster.clients]

    def _serve_once(self) -> bool:
        """Whether to go on: false once the parent is gone."""
        poller = select.poll()
        poller.register(self._parent, 0)
        poller.register(self._listener, select.POLLIN)
        guests = {guest.line.end.fileno(): guest for guest in self._cluster.guests if guest.name not in self._gone}
        for descriptor in guests:
            poller.register(descriptor, select.POLLIN)
        for descriptor, connection in self._connections.items():
            wanted = (select.POLLIN if connection.open else 0) | (select.POLLOUT if connection.output else 0)
            poller.register(descriptor, wanted)
        for descriptor, event in poller.poll(NUDGE_S * 1000):
            if descriptor == self._parent:
                return False
            if descriptor == self._listener.fileno():
                self._accept()
            elif descriptor in guests:
                self._attempt(guests[descriptor], guests[descriptor].line.read)
            elif descriptor in self._connections:
                self._move(self._connections[descriptor], event)
        for guest in guests.values():
            self._attempt(guest, guest.line.tend)
        self._close_finished()
        return True

    def _accept(self) -> None:
        end, _ = self._listener.accept()
        self._connections[end.fileno()] = Connection(end)

    def _attempt(self, guest: Guest, act: Any, *arguments: Any) -> None:
        """Speak with a guest; where it is gone its workers are gone."""
        if guest.name in self._gone:
            return
        try:
            act(*arguments)
        except GuestError as error:
            self._gone.add(guest.name)
            guest.end()
            print("fsconform:", guest.blame(str(error)), file=sys.stderr, flush=True)
            for (name, _), connection in self._streams.items():
                if name == guest.name:
                    connection.over = True

    def _move(self, connection: Connection, event: int) -> None:
        connection.write()
        if event & select.POLLHUP and not connection.open:
            connection.over = True
        if not connection.open:
            return
        try:
            data = connection.end.recv(_PORTION)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if connection.client is None:
            self._begin(connection, data)
        elif data:
            self._send(connection, frames.DATA, data)
        else:
            connection.open = False
            self._send(connection, frames.END)

    def _send(self, connection: Connection, kind: int, data: bytes = b"") -> None:
        assert connection.client is not None
        guest = connection.client.guest
        self._attempt(guest, guest.line.send, kind, connection.stream, data)

    def _begin(self, connection: Connection, data: bytes) -> None:
        """The first line of a connection says what it is for."""
        connection.request += data
        line, newline, rest = connection.request.partition(b"\n")
        if not newline:
            connection.over = connection.over or not data
            return
        answer = self._answer(connection, json.loads(line))
        connection.output += json.dumps(answer).encode() + b"\n"
        connection.write()
        if connection.client is None:
            connection.open, connection.over = False, True
        elif rest:
            self._send(connection, frames.DATA, rest)

    def _answer(self, connection: Connection, request: dict[str, Any]) -> dict[str, Any]:
        try:
            if "mount" in request:
                self._cluster.mount(parse_nfs(request["mount"]))
                return {"error": "", "sites": self._sites()}
            return {"error": self._start_worker(connection, request["worker"], request["code"])}
        except CannotTestError as error:
            return {"error": str(error)}

    def _start_worker(self, connection: Connection, letter: str, code: str) -> str:
        client = next((client for client in self._cluster.clients if client.letter == letter), None)
        if client is None or client.guest.name in self._gone:
            return f"there is no guest for site {letter}"
        self._last_stream = self._last_stream % 65535 + 1
        connection.client, connection.stream = client, self._last_stream
        self._streams[client.guest.name, connection.stream] = connection
        message = json.dumps({"namespace": client.namespace, "code": code}).encode()
        self._send(connection, frames.OPEN, message)
        return ""

    def _take(self, guest: Guest, kind: int, stream: int, payload: bytes) -> None:
        """A frame of a worker."""
        connection = self._streams.get((guest.name, stream))
        if connection is None:
            return
        if kind == frames.DATA:
            connection.output += payload
            connection.write()
        elif kind == frames.EXIT:
            connection.over = True
            error = json.loads(payload)["error"]
            if error:
                print("fsconform:", guest.blame(error), file=sys.stderr, flush=True)

    def _close_finished(self) -> None:
        for descriptor, connection in list(self._connections.items()):
            if connection.over and not connection.output:
                if connection.client is not None:
                    if connection.open:
                        self._send(connection, frames.END)
                    self._streams.pop((connection.client.guest.name, connection.stream), None)
                connection.end.close()
                del self._connections[descriptor]


def _session_directory() -> Path:
    parent = tempfile.gettempdir()
    fits = len(parent) <= _LONGEST_DIRECTORY and not any(c.isspace() for c in parent)
    return Path(tempfile.mkdtemp(prefix="fsconform-nfs-", dir=parent if fits else "/tmp"))


def _stop(_number: int, _frame: FrameType | None) -> None:
    raise SystemExit


def main(text: str, parent: int) -> None:
    """Keep the lab that `text` means until the other end of descriptor `parent` is closed."""
    signal.signal(signal.SIGTERM, _stop)
    session = _session_directory()
    keeper = Keeper(text, session, parent)
    try:
        keeper.run()
    except CannotTestError as error:
        print(json.dumps({"error": str(error)}), flush=True)
    except GuestError as error:
        print(json.dumps({"error": f"lab={text}: {error}"}), flush=True)
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        keeper.stop()
        with suppress(OSError):
            shutil.rmtree(session)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
