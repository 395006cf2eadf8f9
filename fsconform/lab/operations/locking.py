"""Locks between clients, with waiting that keeps no server thread busy."""

from __future__ import annotations

import errno
import threading
import time
from collections import deque
from dataclasses import dataclass

from fsconform.lab.calls import Call, RefusalError
from fsconform.lab.inodes import Inode
from fsconform.lab.locks import UNLOCK, Lock, LockTable
from fsconform.lab.store import Store

RELEASE_GRACE_S = 0.02
"""RELEASE arrives after close(2) has returned; a try that meets such a holder waits this long for it."""


@dataclass(slots=True)
class _Waiter:
    call: Call
    inode: Inode
    wish: Lock


class LockOperations:
    """SETLK, SETLKW, GETLK. Wishes that must wait are answered by one thread of their own."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.waiting: list[_Waiter] = []
        self._early: deque[tuple[int, int]] = deque(maxlen=64)
        """Interrupts that overtook their request."""
        self._thread: threading.Thread | None = None

    def set(self, call: Call, number: int, wish: Lock, wait: bool) -> bool:
        """True: done. False: the answer comes later. Raises EAGAIN where it is not to wait."""
        store = self.store
        with store.lock:
            inode = store.inode(number)
            table = inode.locks = inode.locks or LockTable()
            if wish.kind == UNLOCK or table.conflict(wish) is None:
                table.apply(wish)
                store.changed.notify_all()
                return True
            if wait:
                self._park(_Waiter(call, inode, wish))
                return False
            if self._wait_for_release(table, wish):
                table.apply(wish)
                return True
        raise RefusalError(errno.EAGAIN)

    def _wait_for_release(self, table: LockTable, wish: Lock) -> bool:
        """Whether a holder that is being closed made room in time."""
        deadline = time.monotonic() + RELEASE_GRACE_S
        while (holder := table.conflict(wish)) is not None:
            handle = self.store.handles.get(holder.handle)
            left = deadline - time.monotonic()
            if not wish.is_flock or handle is None or not handle.closing or left <= 0:
                return False
            self.store.changed.wait(left)
        return True

    def test(self, call: Call, number: int, wish: Lock) -> Lock | None:
        """The lock that is in the way."""
        with self.store.lock:
            table = self.store.inode(number).locks
            return None if table is None else table.conflict(wish)

    def interrupt(self, call: Call, unique: int) -> None:
        """A signal came while a wish waited."""
        with self.store.lock:
            for waiter in self.waiting:
                if waiter.call.unique == unique and waiter.call.client is call.client:
                    self.waiting.remove(waiter)
                    waiter.call.client.answer(unique, errno.EINTR)
                    return
            self._early.append((call.client.number, unique))

    def _park(self, waiter: _Waiter) -> None:
        if (waiter.call.client.number, waiter.call.unique) in self._early:
            raise RefusalError(errno.EINTR)
        self.waiting.append(waiter)
        if self._thread is None:
            self._thread = threading.Thread(target=self._serve, daemon=True, name="locks")
            self._thread.start()

    def _serve(self) -> None:
        with self.store.lock:
            while True:
                for waiter in list(self.waiting):
                    table = waiter.inode.locks
                    assert table is not None
                    if table.conflict(waiter.wish) is None:
                        table.apply(waiter.wish)
                        self.waiting.remove(waiter)
                        waiter.call.client.answer(waiter.call.unique, 0)
                self.store.changed.wait()
