"""The process of an emulated lab: `python -m fsconform.lab.server --spec TEXT --parent-fd N DIR...`.

Mounts the lab at the directories, prints one line `ready`, serves until its parent is gone or it is told to stop
(SIGTERM, SIGINT), then unmounts. SIGUSR1: the server is said to crash, and to come up again.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import gc
import os
import select
import signal
import sys
import threading
import time
from pathlib import Path

from fsconform.lab.mount import Mount
from fsconform.lab.spec import LabSpec, parse_lab
from fsconform.vocabulary.errors import FsconformError

TICK_S = 0.25
FAILED = 2


def main(arguments: list[str] | None = None) -> int:
    """Serve one lab. Returns 0 after a normal end, 2 with one line `failed: REASON` on standard output."""
    options = _options(arguments)
    stop, crash = threading.Event(), threading.Event()
    signal.signal(signal.SIGUSR1, lambda *_: crash.set())
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    try:
        mounts = _bring_up(parse_lab(options.spec), [Path(path) for path in options.directories], options.inside)
    except (OSError, FsconformError) as error:
        print(f"failed: {_reason(error)}", flush=True)
        return FAILED
    print("ready", flush=True)
    try:
        _serve(mounts, stop, crash, options.parent_fd, options.parent)
    finally:
        for mount in mounts:
            mount.stop()
        for directory in options.remove:
            with contextlib.suppress(OSError):
                os.rmdir(directory)
    return 0


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m fsconform.lab.server", description=__doc__)
    parser.add_argument("--spec", required=True)
    parser.add_argument("--parent-fd", type=int, default=-1)
    parser.add_argument("--parent", type=int, default=os.getppid())
    parser.add_argument("--remove", action="append", default=[], help="a directory to remove at the end, if empty")
    parser.add_argument("--inside", type=int, action="append", default=[], help="process, one per directory")
    parser.add_argument("directories", nargs="+")
    return parser.parse_args(arguments)


def _bring_up(spec: LabSpec, directories: list[Path], inside: list[int]) -> list[Mount]:
    lab = spec.build()
    mounts: list[Mount] = []
    try:
        for number, directory in enumerate(directories):
            where = inside[number] if inside else None
            mounts.append(Mount(lab, number, directory, spec.source, spec.preset.options, where))
            mounts[-1].serve()
            mounts[-1].touch()
    except OSError:
        for mount in mounts:
            mount.stop()
        raise
    gc.freeze()
    return mounts


def _reason(error: Exception) -> str:
    if not isinstance(error, OSError):
        return str(error)
    where = error.filename or "/dev/fuse"
    hint = " (module fuse not loaded?)" if error.errno in (errno.ENODEV, errno.ENXIO) else ""
    return f"{where}: {error.strerror}{hint}"


def _serve(mounts: list[Mount], stop: threading.Event, crash: threading.Event, parent_fd: int, parent: int) -> None:
    """Tick, and crash when told to, until told to stop or the parent is gone: its end of the pipe closed, or its
    process id no longer ours.

    PR_SET_PDEATHSIG would not do: it fires when the *thread* that started this process ends (prctl(2)).
    """
    poller = select.poll()
    if parent_fd >= 0:
        poller.register(parent_fd, select.POLLIN)
    lab = mounts[0].server.lab
    while not stop.is_set():
        if crash.is_set():
            crash.clear()
            lab.crash()
            print("crashed", flush=True)
        lab.tick(time.monotonic())
        if poller.poll(TICK_S * 1000) or os.getppid() != parent:
            return


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    os._exit(status)  # threads may still sit in a read of /dev/fuse
