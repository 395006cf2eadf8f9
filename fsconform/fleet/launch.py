"""Starting workers: one execnet gateway each, made in parallel, every one with a deadline."""

from __future__ import annotations

import itertools
import signal
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fsconform.fleet.source import joined_source
from fsconform.vocabulary.errors import CannotTestError
from fsconform.vocabulary.sites import SiteSpec

_SSH_OPTIONS = "-o BatchMode=yes -o ConnectTimeout=10"
_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Launch:
    """One worker to be started. `python`: interpreter there (empty: the controller's own; elsewhere `python3`)."""

    spec: SiteSpec
    letter: str
    root: str = ""
    """Directory below which relative paths of its jobs are meant."""
    python: str = ""
    modules: tuple[str, ...] = ()
    """Further modules that go along (`source.joined_source`)."""


@dataclass(frozen=True, slots=True)
class Contact:
    """A worker that answered."""

    launch: Launch
    gateway: Any
    channel: Any
    pid: int
    python: str
    """Version of its interpreter."""


def make_spec(launch: Launch) -> Any:
    """The execnet specification of one worker (an `execnet.XSpec`)."""
    import execnet

    if launch.spec.launcher == "ssh":
        spec = execnet.XSpec("ssh")
        spec.ssh = f"{_SSH_OPTIONS} {launch.spec.target}"
        spec.python = launch.python or "python3"
    else:
        spec = execnet.XSpec("popen")
        # Isolated, without site packages: the worker needs the standard library only and must not pick up others'.
        local = f"'{launch.python or sys.executable}' -I -S"
        spec.python = launch.spec.target if launch.spec.launcher == "exec" else local
    spec.id = f"worker-{next(_numbers)}"
    spec.execmodel = "thread"
    return spec


def contact_all(launches: Sequence[Launch], deadline_s: float = 30.0) -> list[Contact]:
    """Start all workers at the same time. Raises CannotTestError, naming the site, where one does not answer."""
    results: list[Contact | BaseException | None] = [None] * len(launches)

    def run(place: int, launch: Launch) -> None:
        try:
            results[place] = _contact(launch, deadline_s)
        except BaseException as error:
            results[place] = error

    threads = [threading.Thread(target=run, args=(place, launch), daemon=True) for place, launch in enumerate(launches)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(deadline_s)
    contacts = [result for result in results if isinstance(result, Contact)]
    if len(contacts) == len(launches):
        return contacts
    for contact in contacts:
        abandon(contact.gateway)
    launch, failure = next((launches[k], r) for k, r in enumerate(results) if not isinstance(r, Contact))
    why = f"no answer within {deadline_s:g} s" if failure is None else f"{type(failure).__name__} {failure}".strip()
    raise CannotTestError(f"site {launch.spec.text!r}: no worker could be started there: {why}")


def _contact(launch: Launch, deadline_s: float) -> Contact:
    # Children inherit the mask: the terminal's interrupt never reaches a worker that is still starting.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    gateway = _group().makegateway(make_spec(launch))
    channel = gateway.remote_exec(joined_source(launch.modules))
    _serial, word, pid, python, _executable = channel.receive(timeout=deadline_s)
    if word != "hello":
        raise RuntimeError(f"unexpected greeting {word!r}")
    return Contact(launch, gateway, channel, pid, python)


def _group() -> Any:
    """A group of its own per worker: execnet's clean-up at exit must not wait for a worker that cannot die."""
    import execnet

    return execnet.Group()


def abandon(gateway: Any) -> None:
    """Close a gateway without waiting for its process, and keep execnet from waiting for it at exit."""
    group = gateway._group
    gateway.exit()
    group._gateways_to_join.clear()
