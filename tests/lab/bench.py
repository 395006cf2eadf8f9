"""What the tests of the lab share: bringing one up, racing on it, calls that os does not have."""

from __future__ import annotations

import ctypes
import errno
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from fsconform.lab.emulation import Emulation
from fsconform.lab.spec import parse_lab

NOREPLACE, EXCHANGE, WHITEOUT = 1, 2, 4
WAIT_S = 10.0
_libc = ctypes.CDLL(None, use_errno=True)


@contextmanager
def lab(text: str) -> Iterator[tuple[Path, ...]]:
    """The mounts of a running lab."""
    with Emulation(parse_lab(text), start_timeout_s=60) as emulation:
        yield emulation.mounts


def told(action: Callable[[], object]) -> str:
    """`ok`, or the name of the errno."""
    try:
        action()
    except OSError as error:
        return errno.errorcode[error.errno or 0]
    return "ok"


def race(*actions: Callable[[], object]) -> list[str]:
    """Start all together; what each was told."""
    barrier = threading.Barrier(len(actions))
    results = [""] * len(actions)

    def run(number: int) -> None:
        barrier.wait(WAIT_S)
        results[number] = told(actions[number])

    threads = [threading.Thread(target=run, args=(number,)) for number in range(len(actions))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return results


def exclusive(path: Path) -> None:
    """O_EXCL create and close."""
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY))


def publish(path: Path, data: bytes) -> None:
    """Temporary file in the same directory, rename."""
    temporary = path.with_name(f".{path.name}.{threading.get_ident()}.tmp")
    temporary.write_bytes(data)
    temporary.rename(path)


def renameat2(source: Path, target: Path, flags: int) -> None:
    """renameat2(2)."""
    _check(_libc.renameat2(-100, os.fsencode(source), -100, os.fsencode(target), flags))


def fallocate(descriptor: int, mode: int, offset: int, length: int) -> None:
    """fallocate(2) itself: the C library's posix_fallocate writes zeros where it is refused."""
    _check(_libc.fallocate(descriptor, mode, ctypes.c_int64(offset), ctypes.c_int64(length)))


def _check(result: int) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def until(condition: Callable[[], bool], seconds: float = WAIT_S) -> float:
    """How long it took, seconds. Fails the test after `seconds`."""
    start = time.monotonic()
    while not condition():
        assert time.monotonic() - start < seconds, "did not happen in time"
        time.sleep(0.005)
    return time.monotonic() - start


def missing(action: Callable[[], object]) -> bool:
    """Whether a look says ENOENT."""
    return told(action) == "ENOENT"


def share(path: Path, others: Sequence[Path]) -> list[Path]:
    """The same relative path on other mounts; the mount is the part up to the first letter directory."""
    return [other / path.name for other in others]
