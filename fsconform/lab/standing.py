"""A lab that stays up until it is told to end: `fsconform lab up`."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

from fsconform.lab.emulation import Emulation
from fsconform.lab.nfs.spec import is_nfs
from fsconform.lab.spec import parse_lab
from fsconform.vocabulary.errors import CannotTestError

_ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def keep_up(text: str, directory: Path, tell: Callable[[str], None]) -> None:
    """Mount the lab below `directory`, say where, and wait for a signal; then unmount.

    Raises CannotTestError where it cannot be mounted.
    """
    if is_nfs(text):
        raise CannotTestError(
            f"lab={text}: its mounts are inside guests, not below a directory: fsconform run lab={text}"
        )
    # Blocked before anything is mounted, so that no signal can come in between and leave mounts behind.
    signal.pthread_sigmask(signal.SIG_BLOCK, _ENDINGS)
    with Emulation(parse_lab(text), directory) as emulation:
        for path in emulation.mounts:
            tell(f"mounted {path}")
        if os.environ.get("FSCONFORM_NAMESPACE"):
            tell(f"inside a user namespace; enter it: nsenter --user --mount --preserve-credentials -t {os.getpid()}")
        first, *others = (str(path) for path in emulation.mounts)
        tell(f"try: fsconform run {first}" + "".join(f" --site {path}" for path in others))
        tell("Ctrl-C unmounts it")
        signal.sigwait(_ENDINGS)
