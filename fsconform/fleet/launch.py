"""Starting workers: one execnet gateway each, made in parallel, every one with a deadline."""

from __future__ import annotations

import itertools
import signal
import threading
import time
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from fsconform.fleet.launchers import Launched, command
from fsconform.fleet.source import joined_source
from fsconform.vocabulary.errors import CannotTestError
from fsconform.vocabulary.sites import SiteSpec

AT_ONCE = 5
"""How many workers may be on their way to one host: sshd refuses some beyond 10 (sshd_config(5), MaxStartups)."""
_ENDING_S = 1.0
_HINTS = (
    ("permission denied", "ssh may not ask for a password: have a key accepted there (ssh-copy-id), or an agent"),
    ("host key verification", "connect once by hand, so that ssh knows the host's key"),
    ("host key is known", "connect once by hand, so that ssh knows the host's key"),
    ("could not resolve", "see whether the name is right"),
    ("connection refused", "see whether sshd runs there"),
    ("no route to host", "see whether the host is up and reachable"),
    ("timed out", "see whether the host is up and reachable"),
    ("python", "name one of 3.9 or later there: FSCONFORM_REMOTE_PYTHON for ssh sites, the last word of exec="),
)
"""What to do about what a launcher said."""
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


class _Attempt:
    """One worker on its way, on a thread of its own."""

    def __init__(self, launch: Launch, turn: threading.Semaphore, deadline_s: float) -> None:
        self.launch = launch
        self.contact: Contact | None = None
        self.error: BaseException | None = None
        self._launched: Launched | None = None
        self._turn, self._deadline_s = turn, deadline_s
        self.thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        try:
            with self._turn:
                self.contact = self._make()
        except BaseException as error:
            self.error = error

    def _make(self) -> Contact:
        # Children inherit the mask: the terminal's interrupt never reaches a worker that is still starting.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        launch, group = self.launch, _group()
        self._launched = Launched(command(launch.spec, launch.python), group.execmodel)
        gateway = _bootstrap(self._launched, group)
        channel = gateway.remote_exec(joined_source(launch.modules))
        _serial, word, pid, python, _executable = channel.receive(timeout=self._deadline_s)
        if word != "hello":
            raise RuntimeError(f"unexpected greeting {word!r}")
        return Contact(launch, gateway, channel, pid, python)

    def give_up(self) -> None:
        """End what is still on its way."""
        if self.contact is not None:
            abandon(self.contact.gateway)
        if self._launched is not None:
            self._launched.kill()

    def reason(self, deadline_s: float) -> str:
        """Why there is no worker, in words."""
        launched, error = self._launched, self.error
        if isinstance(error, FileNotFoundError) and launched is None:
            return f"{error.filename or command(self.launch.spec)[0]}: command not found here"
        if launched is None:
            return f"{type(error).__name__} {error}".strip() if error else f"no answer within {deadline_s:g} s"
        if error is None or type(error).__name__ == "TimeoutError":  # execnet has one of its own
            said = launched.last_words()
            return f"no answer within {deadline_s:g} s" + (f" ({said})" if said else "")
        with suppress(Exception):
            launched.popen.wait(_ENDING_S)
        said, status = launched.last_words(), launched.popen.returncode
        if not isinstance(error, RuntimeError) and (said or status):
            return said + (f" (exit status {status})" if status else "") if said else f"exit status {status}"
        if status == 0 and not isinstance(error, RuntimeError):
            return "it ended at once, without a word"
        return str(error) or type(error).__name__


def contact_all(launches: Sequence[Launch], deadline_s: float = 30.0) -> list[Contact]:
    """Start all workers at the same time. Raises CannotTestError, naming the site, where one does not answer.

    Those of one launcher and target wait for their turn, `AT_ONCE` at a time; `deadline_s` counts for each turn.
    """
    turns: dict[tuple[str, str], threading.Semaphore] = defaultdict(lambda: threading.Semaphore(AT_ONCE))
    places = [(launch.spec.launcher, launch.spec.target) for launch in launches]
    attempts = [
        _Attempt(launch, turns[place] if launch.spec.launcher == "ssh" else threading.Semaphore(), deadline_s)
        for launch, place in zip(launches, places, strict=True)
    ]
    for attempt in attempts:
        attempt.thread.start()
    longest = max((places.count(place) for place in places if place[0] == "ssh"), default=1)
    end = time.monotonic() + deadline_s * max(1, -(-longest // AT_ONCE))
    for attempt in attempts:
        attempt.thread.join(max(0.0, end - time.monotonic()))
    contacts = [attempt.contact for attempt in attempts if attempt.contact is not None]
    if len(contacts) == len(launches):
        return contacts
    failed = next(attempt for attempt in attempts if attempt.contact is None)
    why = failed.reason(deadline_s)
    for attempt in attempts:
        attempt.give_up()
    hint = next((f"; {what}" for word, what in _HINTS if word in why.lower()), "")
    raise CannotTestError(f"site {failed.launch.spec.text!r}: no worker could be started there: {why}{hint}")


def _bootstrap(launched: Launched, group: Any) -> Any:
    """An execnet gateway over a launcher's streams. Raises EOFError where nothing answers."""
    import execnet
    from execnet import gateway_bootstrap

    spec = execnet.XSpec("popen//python=launched")  # bootstrapped by source text, not by importing execnet there
    spec.id = f"worker-{next(_numbers)}"
    spec.execmodel = "thread"
    try:
        gateway = gateway_bootstrap.bootstrap(launched, spec)
    except AssertionError:
        raise RuntimeError("something answers there, but it is no Python interpreter") from None
    gateway.spec = spec
    group._register(gateway)
    return gateway


def _group() -> Any:
    """A group of its own per worker: execnet's clean-up at exit must not wait for a worker that cannot die."""
    import execnet

    return execnet.Group()


def abandon(gateway: Any) -> None:
    """Close a gateway without waiting for its process, and keep execnet from waiting for it at exit."""
    group = gateway._group
    gateway.exit()
    group._gateways_to_join.clear()
