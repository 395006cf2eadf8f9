"""Locks of one inode: flock(2) and POSIX record locks, shared by all clients of the emulated server."""

from __future__ import annotations

from dataclasses import dataclass

READ, WRITE, UNLOCK = 0, 1, 2
"""F_RDLCK, F_WRLCK, F_UNLCK."""
END = (1 << 63) - 1
Owner = tuple[int, int]
"""Client number and the kernel's lock owner."""


@dataclass(frozen=True, slots=True)
class Lock:
    """A lock, or a wish for one; `start` and `end` are inclusive byte offsets (the whole range for flock)."""

    owner: Owner
    kind: int
    start: int = 0
    end: int = END
    pid: int = 0
    is_flock: bool = False
    handle: int = 0

    def conflicts(self, other: Lock) -> bool:
        """Whether both cannot be held at once."""
        return (
            self.owner != other.owner
            and WRITE in (self.kind, other.kind)
            and self.start <= other.end
            and other.start <= self.end
        )


class LockTable:
    """The locks held on one inode. Not thread-safe: the caller holds the store's lock."""

    __slots__ = ("flocks", "records")

    def __init__(self) -> None:
        self.flocks: list[Lock] = []
        self.records: list[Lock] = []

    def conflict(self, wish: Lock) -> Lock | None:
        """A held lock that forbids the wish."""
        held = self.flocks if wish.is_flock else self.records
        return next((lock for lock in held if lock.conflicts(wish)), None)

    def apply(self, wish: Lock) -> None:
        """Set or clear without asking; the owner's older locks make room as fcntl(2) says."""
        if wish.is_flock:
            self.flocks = [lock for lock in self.flocks if lock.owner != wish.owner]
            if wish.kind != UNLOCK:
                self.flocks.append(wish)
            return
        kept: list[Lock] = []
        for lock in self.records:
            kept += [lock] if lock.owner != wish.owner else _remainder(lock, wish)
        if wish.kind != UNLOCK:
            kept.append(wish)
        self.records = kept

    def drop(self, owner: Owner, is_flock: bool) -> None:
        """Forget every lock of an owner."""
        self.apply(Lock(owner, UNLOCK, is_flock=is_flock))


def _remainder(lock: Lock, cut: Lock) -> list[Lock]:
    """What is left of a lock once the range of `cut` is taken out."""
    if lock.end < cut.start or cut.end < lock.start:
        return [lock]
    left = [(lock.start, cut.start - 1)] if lock.start < cut.start else []
    right = [(cut.end + 1, lock.end)] if cut.end < lock.end else []
    return [Lock(lock.owner, lock.kind, start, end, lock.pid) for start, end in left + right]
