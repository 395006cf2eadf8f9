"""Pings in the background: they keep clocks compared while nothing is timed, and notice links that are down.

A launcher may never say that its link is down (`kubectl exec`, a serial line), and the worker behind it never hears
that we are gone: silence is what both act on.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

from fsconform.fleet.switchboard import Switchboard
from fsconform.fleet.worker_handle import Worker

PERIOD_S = 0.5
HUSHED_S = 3.0
"""How long a worker that is being timed is left alone."""
SILENCE_S = 25.0
"""After which silence a worker is given up; ssh speaks sooner where it can (`launchers.SSH`)."""


class Pulse:
    """A thread that pings all distant workers."""

    def __init__(self, switchboard: Switchboard, workers: Callable[[], Sequence[Worker]]) -> None:
        self._switchboard, self._workers = switchboard, workers
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ping no more."""
        self._stop.set()

    def _beat(self) -> None:
        while not self._stop.wait(PERIOD_S):
            for worker in self._workers():
                if worker.line is not None and worker.distant and not worker.lost:
                    self._visit(worker)

    def _visit(self, worker: Worker) -> None:
        worker.notice()
        silent_s = (time.monotonic_ns() - worker.heard_ns) / 1e9
        if silent_s > SILENCE_S:
            worker.lost = f"{worker} gave no sign of life for {silent_s:.0f} s"
            worker.kill()
        elif not worker.hushed or silent_s > HUSHED_S:
            self._switchboard.ping(worker)
