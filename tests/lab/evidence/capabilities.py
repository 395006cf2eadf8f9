"""Calls that are refused, locks, and what does not answer."""

from __future__ import annotations

import fcntl
import mmap
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.lab.bench import EXCHANGE, NOREPLACE, exclusive, fallocate, renameat2
from tests.lab.evidence.common import BLOCK, Evidence, refused


def _file(a: Path) -> Path:
    (a / "f").write_bytes(BLOCK)
    return a / "f"


def _map_shared(path: Path) -> None:
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        assert mapped[:] == BLOCK


def _allocate(path: Path) -> None:
    with path.open("r+b") as file:
        fallocate(file.fileno(), 0, 0, 1 << 14)


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _exchange(a: Path) -> None:
    (a / "x").write_text("x")
    (a / "y").write_text("y")
    renameat2(a / "x", a / "y", EXCHANGE)


def _exchange_lost(a: Path, b: Path) -> bool:
    _exchange(a)
    assert (b / "y").read_text() == "x"
    return not (b / "x").exists()


def _granted_to_both(a: Path, b: Path, lock: Callable[..., object]) -> bool:
    exclusive(a / f"lock-{lock.__name__}")
    with (a / f"lock-{lock.__name__}").open("r+b") as one, (b / f"lock-{lock.__name__}").open("r+b") as two:
        lock(one, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return not refused(lambda: lock(two, fcntl.LOCK_EX | fcntl.LOCK_NB), "EAGAIN", "EACCES")


def _flock(a: Path, b: Path) -> bool:
    return _granted_to_both(a, b, fcntl.flock)


def _fcntl(a: Path, b: Path) -> bool:
    return _granted_to_both(a, b, fcntl.lockf)


def _hang(a: Path, b: Path) -> bool:
    (a / "f").write_bytes(BLOCK)
    reader = subprocess.Popen([sys.executable, "-c", "import sys; open(sys.argv[1], 'rb').read()", str(b / "f")])
    try:
        reader.wait(2)
    except subprocess.TimeoutExpired:
        return True
    return False


def _read_direct(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECT)
    try:
        with mmap.mmap(-1, 8192) as buffer:
            os.preadv(descriptor, [buffer], 0)
    finally:
        os.close(descriptor)


def _direct_read_refused(a: Path, b: Path) -> bool:
    os.close(os.open(_file(a), os.O_RDONLY | os.O_DIRECT))
    return refused(lambda: _read_direct(_file(a)), "EINVAL")


def _lock_refused(name: str) -> Evidence:
    def evidence(a: Path, b: Path) -> bool:
        with _file(a).open("r+b") as file:
            shown = refused(lambda: fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB), name)
            assert shown == refused(lambda: fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB), name)
        return shown

    return evidence


_LOCK = "import fcntl, sys; fcntl.flock(open(sys.argv[1], 'r+b'), fcntl.LOCK_EX | fcntl.LOCK_NB)"


def _locks_hang(a: Path, b: Path) -> bool:
    locker = subprocess.Popen([sys.executable, "-c", _LOCK, str(_file(a))])
    try:
        return locker.wait(2) != 0
    except subprocess.TimeoutExpired:
        return True


def _eintr_storm(a: Path, b: Path) -> bool:
    told_so = [refused(lambda: os.chmod(_file(a), 0o600 + number), "EINTR") for number in range(6)]  # noqa: B023
    return any(told_so)


EVIDENCE: dict[str, Evidence] = {
    "no-link": lambda a, b: refused(lambda: os.link(_file(a), a / "g"), "EPERM"),
    "no-rename-noreplace": lambda a, b: refused(lambda: renameat2(_file(a), a / "g", NOREPLACE), "EINVAL"),
    "no-rename-exchange": lambda a, b: refused(lambda: _exchange(a), "EINVAL"),
    "exchange-as-rename": _exchange_lost,
    "no-xattr": lambda a, b: refused(lambda: os.setxattr(_file(a), "user.k", b"v"), "ENOTSUP", "EOPNOTSUPP"),
    "no-o-direct": lambda a, b: refused(lambda: os.open(_file(a), os.O_RDONLY | os.O_DIRECT), "EINVAL"),
    "o-direct-refused-at-read": _direct_read_refused,
    "no-mmap": lambda a, b: refused(lambda: _map_shared(_file(a)), "ENODEV"),
    "no-fallocate": lambda a, b: refused(lambda: _allocate(_file(a)), "ENOTSUP", "EOPNOTSUPP"),
    "no-o-tmpfile": lambda a, b: refused(lambda: os.open(a, os.O_TMPFILE | os.O_RDWR), "ENOTSUP", "EOPNOTSUPP"),
    "no-fsync-dir": lambda a, b: refused(lambda: _sync_directory(a), "EINVAL"),
    "locks-for-all": lambda a, b: _flock(a, b) and _fcntl(a, b),
    "flock-local": _flock,
    "fcntl-local": _fcntl,
    "locks-enolck": _lock_refused("ENOLCK"),
    "locks-enosys": _lock_refused("ENOSYS"),
    "hang": _hang,
    "locks-hang": _locks_hang,
    "eintr-storm": _eintr_storm,
}
