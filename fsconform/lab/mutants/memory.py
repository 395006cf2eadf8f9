"""What mutants keep in mind: values that are forgotten after a while, and names that look-ups do not find meanwhile."""

from __future__ import annotations

import errno
import time
from typing import Any, Generic, TypeVar

from fsconform.lab.calls import Call, Client, RefusalError
from fsconform.lab.inodes import Handle, Inode
from fsconform.lab.model import FOREVER_S, Lab
from fsconform.lab.store import Store

Key = tuple[int, bytes]
"""Parent and name."""
K = TypeVar("K")
V = TypeVar("V")


class Memory(Generic[K, V]):
    """Values by key, each for its own time."""

    def __init__(self, lab: Lab) -> None:
        self._kept: dict[K, tuple[V, float]] = {}
        self._lock = lab.store.lock
        lab.periodic.append(self._forget_expired)

    def keep(self, key: K, value: V, seconds: float = FOREVER_S) -> None:
        """In place of what was kept under this key."""
        with self._lock:
            self._kept[key] = (value, time.monotonic() + seconds)

    def get(self, key: K) -> V | None:
        """None where nothing is kept, or not any more."""
        value, until = self._kept.get(key, (None, 0.0))
        return value if until > time.monotonic() else None

    def drop(self, key: K) -> None:
        """Forget it now."""
        with self._lock:
            self._kept.pop(key, None)

    def _forget_expired(self, now: float) -> None:
        with self._lock:
            for key in [key for key, (_, until) in self._kept.items() if until < now]:
                del self._kept[key]


class Curtain:
    """Names that look-ups do not find for a while; every other operation does."""

    def __init__(self, lab: Lab) -> None:
        self._store, self._lookup = lab.store, lab.operations.lookup
        self._hidden: Memory[Key, Client | None] = Memory(lab)
        lab.operations.lookup = self._overlook

    def hide(self, key: Key, seconds: float = FOREVER_S, but_from: Client | None = None) -> None:
        """`but_from`: who goes on seeing it."""
        # Something must be kept even where nobody is spared.
        self._hidden.keep(key, but_from or _NOBODY, seconds)

    def show(self, key: Key) -> None:
        """At once."""
        self._hidden.drop(key)

    def _overlook(self, call: Call, parent: int, name: bytes) -> Inode:
        with self._store.lock:
            sees = self._hidden.get((parent, name))
            if sees is not None and sees is not call.client:
                raise RefusalError(errno.ENOENT)
            return self._lookup(call, parent, name)


_NOBODY = Client(-1)


def give_back(store: Store, made: Any) -> None:
    """Return what an operation handed out, where the caller is to be told something else."""
    with store.lock:
        if isinstance(made, tuple):
            made, handle = made
            if isinstance(handle, Handle):
                store.close_handle(handle)
        if isinstance(made, Inode):
            store.forget(made.number, 1)
