"""One request as the operations see it: who asks, and how to refuse."""

from __future__ import annotations

import threading


class RefusalError(Exception):
    """The operation fails with this errno."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.errno = number


class Client:
    """One emulated host. `number` counts from 0 in the order of the mounts."""

    def __init__(self, number: int) -> None:
        self.number = number

    def pause(self, seconds: float, wake: threading.Event | None = None) -> None:
        """Hold the answer to the current request back for so long, or until `wake` is set, without keeping other
        requests waiting."""
        raise NotImplementedError

    def answer(self, unique: int, errno: int) -> None:
        """Answer a request that was left open."""
        raise NotImplementedError


class Call:
    """The caller of one operation."""

    __slots__ = ("client", "gid", "pid", "uid", "unique")

    def __init__(self, client: Client, uid: int, gid: int, pid: int, unique: int) -> None:
        self.client, self.uid, self.gid, self.pid, self.unique = client, uid, gid, pid, unique
