"""Questions to workers before and after the window, with failures told in the user's terms."""

from __future__ import annotations

from typing import Any, Protocol

from fsconform.vocabulary.errors import CannotTestError, FsconformError
from fsconform.vocabulary.sites import SiteSpec

CALL_DEADLINE_S = 10.0


class Asker(Protocol):
    """Whoever can have a worker call a function of `fleet/worker/inquiries.py`: `fleet.Fleet`."""

    def call(self, worker: Any, name: str, *arguments: Any, deadline_s: float) -> Any:
        """The result. Raises WorkerLost, WorkerError."""


def ask(
    fleet: Asker, worker: Any, spec: SiteSpec, name: str, *arguments: Any, deadline_s: float = CALL_DEADLINE_S
) -> Any:
    """The answer of one worker. Raises CannotTestError where it does not answer, FsconformError for a fault of ours."""
    from fsconform.fleet.worker_handle import WorkerError, WorkerLost

    try:
        return fleet.call(worker, name, *arguments, deadline_s=deadline_s)
    except WorkerLost as error:
        after = f" after {deadline_s:g} s" if error.hung else ""
        raise CannotTestError(
            f"site {spec.text!r}: no answer to {name.replace('_', ' ')} at {spec.path}{after}: {error}; "
            "see whether the filesystem's server runs and answers there"
        ) from error
    except WorkerError as error:
        if error.errno:
            raise CannotTestError(f"site {spec.text!r}: {name.replace('_', ' ')}: {error}") from error
        raise FsconformError(f"site {spec.text!r}: {name} failed there: {error}") from error
