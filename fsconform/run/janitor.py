"""Removes what finished experiments made while the window is still open, in the background.

Only below the directories of experiments and searches, which are no ancestors of a name that is being waited for. What
cannot be removed is left to the removal of the whole run directory, which names what stays.
"""

from __future__ import annotations

import queue
import threading

from fsconform.fleet.fleet import Fleet, Worker
from fsconform.vocabulary.errors import FsconformError

REMOVAL_S = 20.0


class Janitor:
    """A thread with a worker of its own. `close` hardly waits: what is left goes with the whole directory."""

    def __init__(self, fleet: Fleet, worker: Worker, run_id: str) -> None:
        self._fleet, self._worker, self._run_id = fleet, worker, run_id
        self._finished: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._closing = False
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def remove(self, inside: str) -> None:
        """Have a finished directory (relative to the run's) removed soon."""
        self._finished.put(inside)

    def close(self) -> None:
        """Begin no further removal."""
        self._closing = True
        self._finished.put(None)
        self._thread.join(1.0)

    def _work(self) -> None:
        while (inside := self._finished.get()) is not None and not self._closing:
            try:
                self._fleet.call(
                    self._worker, "remove_finished", self._worker.root, self._run_id, inside, REMOVAL_S,
                    deadline_s=REMOVAL_S + 10.0,
                )  # fmt: skip
            except FsconformError:  # told by the fleet as an incident; the run's own removal tries again
                return
