"""What the controller asks of an instance. One instance lives in a worker at a time; arguments and results are
builtins. Everything that may take long runs on the scheduler's thread, while the main thread minds the deadline of
every single call: one that has not returned in time ends the worker, with what was recorded until then."""

from __future__ import annotations

import os
import threading
import time
from typing import Any, Callable, Optional, Sequence

from fsconform.fleet.worker.barrier import Place
from fsconform.fleet.worker.line import open_meeting
from fsconform.fleet.worker.requests import Current, function
from fsconform.fleet.worker.watchdog import beat
from fsconform.personalities.replay import scenes
from fsconform.personalities.replay.contest import Contest
from fsconform.personalities.replay.memory import forget_peak, peak_bytes
from fsconform.personalities.replay.settings import Settings
from fsconform.personalities.replay.tier import Tier

_GRACE_S = 5.0
"""How long after a missed deadline the watchdog waits."""
_LOOK_S = 0.02


class Scheduler:
    """The scheduler's thread of an instance, with the phase it is in."""

    def __init__(self, tier: Tier) -> None:
        self.tier = tier
        self._thread: Optional[threading.Thread] = None
        self._result: Any = None
        self._error: Optional[BaseException] = None

    def begin(self, phase: int, action: "Callable[[], Any]") -> None:
        """Start a phase. Raises RuntimeError while another one runs."""
        if self._thread is not None:
            raise RuntimeError("the instance is busy")
        self.tier.trace.phase = phase
        self.tier.stopping.clear()
        self._result = self._error = None

        def perform() -> None:
            try:
                self._result = action()
            except BaseException as error:
                self._error = error

        self._thread = threading.Thread(target=perform, daemon=True)
        self._thread.start()

    def finish(self) -> Any:
        """Wait for the end of the phase; its result, or what it raised."""
        thread, trace = self._thread, self.tier.trace
        assert thread is not None
        Current.watchdog.begin(_GRACE_S, None, lambda: report(final=False))
        while thread.is_alive():
            thread.join(_LOOK_S)
            if not trace.overdue(self.tier.settings.deadline_s):
                beat()
        self._thread = None
        if self._error is not None:
            raise self._error
        return self._result


class Stage:
    """The instance of this worker."""

    scheduler: Optional[Scheduler] = None


def _scheduler() -> Scheduler:
    if Stage.scheduler is None:
        raise RuntimeError("no instance was opened")
    return Stage.scheduler


@function("replay open")
def open_instance(values: "dict[str, Any]", filled: bool) -> "list[str]":
    """Make an instance, its buffers filled with its blocks or cleared; the names of its blocks.

    Instance A also makes the shared root, which an administrator has made before any engine starts.
    """
    close_instance()
    forget_peak()
    if values["letter"] == "A":
        os.makedirs(values["root"], exist_ok=True)
    tier = Tier(Settings.from_wire(values))
    if filled:
        tier.fill()
    else:
        tier.clear()
    Stage.scheduler = Scheduler(tier)
    return [digest.hex() for digest in tier.digests]


@function("replay fill")
def fill(filled: bool) -> None:
    """The buffers filled with the blocks they are for, or cleared."""
    tier = _scheduler().tier
    if filled:
        tier.fill()
    else:
        tier.clear()


@function("replay numbers")
def numbers() -> "dict[str, int]":
    """The counters as they are now."""
    return dict(_scheduler().tier.counters.numbers)


@function("replay close")
def close_instance() -> None:
    """End the instance, if there is one."""
    if Stage.scheduler is not None:
        Stage.scheduler.tier.close()
    Stage.scheduler = None


@function("replay begin")
def begin(phase: int, scene: str, *arguments: Any) -> None:
    """Start a scene in the background."""
    scheduler = _scheduler()
    scheduler.begin(phase, lambda: scenes.SCENES[scene](scheduler.tier, *arguments))


@function("replay finish")
def finish() -> Any:
    """Wait for the scene that was begun."""
    return _scheduler().finish()


@function("replay perform")
def perform(phase: int, scene: str, *arguments: Any) -> Any:
    """A scene from beginning to end."""
    begin(phase, scene, *arguments)
    return finish()


@function("replay contest")
def contest(phase: int, place: "Sequence[Any]", side: int) -> None:
    """Store everything, block by block in step with another instance."""
    scheduler = _scheduler()
    match = Contest(scheduler.tier, open_meeting(Place(*place)), side)
    scheduler.begin(phase, match.store)
    finish()


@function("replay hold")
def hold(step: str, block: int) -> None:
    """Hold the thread that comes to this call on this block."""
    _scheduler().tier.trace.hold(step, block)


@function("replay await hold")
def await_hold(step: str, block: int, seconds: float) -> bool:
    """Wait until a thread is held there; False where none came in time."""
    gate = _scheduler().tier.trace.gates[step, block]
    end = time.monotonic() + seconds
    while not gate.reached.wait(_LOOK_S):
        beat()
        if time.monotonic() > end:
            return False
    return True


@function("replay release")
def release() -> None:
    """Let all held threads go on."""
    gates = _scheduler().tier.trace.gates
    for gate in list(gates.values()):
        gate.opened.set()
    gates.clear()


@function("replay stop")
def stop() -> None:
    """Have a scene that goes on by itself end soon."""
    _scheduler().tier.stopping.set()


@function("replay verify")
def verify() -> "list[tuple[int, int, int, int]]":
    """(block, class of content, whose, length) of what the last load brought. Outside all timing."""
    found = _scheduler().tier.verify()
    beat()
    return found


@function("replay report")
def report(final: bool = True) -> "dict[str, Any]":
    """Everything the instance recorded; `final` ends its sampler first."""
    tier = _scheduler().tier
    if final:
        tier.gauges.close()
    samples, changes = tier.gauges.to_wire()
    return {
        "letter": tier.settings.letter,
        "pid": os.getpid(),
        "direct": tier.direct,
        "peak_bytes": peak_bytes(),
        "names": [digest.hex() for digest in tier.digests],
        "counters": tier.counters.to_wire(),
        "samples": samples,
        "changes": changes,
        "suffixes": {thread: str(number) for thread, number in tier.suffixes.drawn().items()},
        "jobs": [
            (phase, kind, job.number, job.blocks, job.failure,
             [(o.block, o.errno, o.step, o.length) for o in list(job.outcomes.values())])
            for phase, kind, job in tier.jobs
        ],
        "tapes": tier.trace.to_wire(),
    }  # fmt: skip
