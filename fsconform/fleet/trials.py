"""Trials of latency experiments, in the background: one acting worker, one observing worker."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from fsconform.fleet.clocks import Clock
from fsconform.fleet.rooms import Room, Rooms
from fsconform.fleet.worker_handle import Worker, WorkerError, WorkerLost
from fsconform.vocabulary.errnos import name_of
from fsconform.vocabulary.histories import Ints
from fsconform.vocabulary.steps import Step
from fsconform.vocabulary.trials import Trial, TrialResult

ACT_NUMBERS, OBSERVE_NUMBERS = 3, 12
"""Numbers per trial in the rows of `worker.acting` and `worker.observing`."""
_jobs = itertools.count(1)


class PendingTrials:
    """Trials under way. `result` gives one record per trial, in the order given."""

    def __init__(
        self,
        rooms: Rooms,
        actor: Worker,
        observer: Worker,
        trials: Sequence[Trial],
        settle_s: float,
        gap_s: float,
        step_deadline_s: float,
        ready: threading.Barrier | None,
        incident: Callable[[str], None],
    ) -> None:
        self._rooms, self._actor, self._observer = rooms, actor, observer
        self._trials = tuple(trials)
        self._settle_s, self._gap_ns, self._step_deadline_s = settle_s, int(gap_s * 1e9), step_deadline_s
        self._ready = ready
        self._incident = incident
        self._job = next(_jobs)
        self._lost = ""
        self._halted = threading.Event()
        self._acted: Any = None
        self._observed: Any = None
        self._failure: BaseException | None = None
        self.phase = "seeding"
        """What it is doing: seeding, acquainting, settling, observing, done."""
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def done(self) -> bool:
        """Whether the results are there."""
        return not self._thread.is_alive()

    def join(self, deadline_s: float) -> None:
        """Wait until it is done, at most `deadline_s`."""
        self._thread.join(deadline_s)

    def halt(self) -> None:
        """Do not begin what was not begun (the page's halt word stops what runs)."""
        self._halted.set()
        if self._ready is not None:
            self._ready.abort()

    def result(self, deadline_s: float) -> list[TrialResult]:
        """Wait for the results. Raises TimeoutError where they are not there in time, seconds."""
        self._thread.join(deadline_s)
        if self._thread.is_alive():
            raise TimeoutError(f"trials still {self.phase} after {deadline_s:g} s")
        if self._failure is not None:
            raise self._failure
        clocks = (self._actor.clock, self._observer.clock)
        return _results(self._trials, self._acted, self._observed, self._lost, clocks)

    def _run(self) -> None:
        try:
            both = (self._actor, self._observer)
            with self._rooms.open(both) as room:
                self._rooms.switchboard.gauge(both)
                self._perform(room)
                self._rooms.switchboard.gauge(both)
        except BaseException as failure:
            self._failure = failure
        finally:
            if self._ready is not None and self.phase in ("seeding", "acquainting"):
                self._ready.abort()
            if self._acted is None or self._observed is None:
                self._forget()
            self.phase = "done"

    def _forget(self) -> None:
        """Have the workers close what they hold for trials that will not come."""
        for worker, name in ((self._actor, "forget acts"), (self._observer, "forget subjects")):
            with suppress(WorkerLost, WorkerError):
                worker.call(name, self._job, deadline_s=5.0)

    def _perform(self, room: Room) -> None:
        longest_s = max((max(trial.until_ns, trial.give_up_ns) for trial in self._trials), default=0) / 1e9
        patience_s = 600.0 + longest_s
        place, opposite = (tuple(room.place(lane, patience_s, lanes=1)) for lane in (0, 1))
        seeds = tuple((_wires(t.seed), _wires(t.change), t.moment) for t in self._trials)
        if not self._alone(self._actor, "seed", (place, self._job, self._actor.root, seeds)):
            return
        self.phase = "acquainting"
        subjects = tuple(map(_observer_wire, self._trials))
        if not self._alone(self._observer, "acquaint", (opposite, self._job, self._observer.root, subjects)):
            return
        if self._ready is not None:
            try:
                self._ready.wait(patience_s)
            except threading.BrokenBarrierError:
                self._lost = "halted" if self._halted.is_set() else "another batch of this window was lost"
                return
        self.phase = "settling"
        if self._halted.wait(self._settle_s):
            self._lost = "halted"
            return
        self.phase = "observing"
        # Not before the settling: what is begun here is watched by the workers' own deadlines.
        deadline_s = patience_s + len(self._trials) * self._step_deadline_s
        acting = threading.Thread(target=self._act, args=(room, place, deadline_s), daemon=True)
        acting.start()
        self._observed = self._together(
            room, self._observer, "observe", (opposite, self._job, self._gap_ns), deadline_s
        )
        acting.join()

    def _act(self, room: Room, place: tuple[Any, ...], deadline_s: float) -> None:
        self._acted = self._together(room, self._actor, "act", (place, self._job), deadline_s)

    def _alone(self, worker: Worker, name: str, arguments: tuple[Any, ...]) -> bool:
        """One message to one worker; whether the trials can go on."""
        if self._halted.is_set():
            self._lost = "halted"
            return False
        try:
            serial = worker.begin(name, arguments, self._step_deadline_s)
            worker.finish(serial, 600.0 + self._step_deadline_s * len(self._trials))
        except WorkerLost as loss:
            self._lose(loss.reason)
        except WorkerError as error:
            if self._halted.is_set():  # it was told to stop in the middle
                self._lost = "halted"
            else:
                self._lose(f"{worker} could not {name}: {error.gist}")
        return not self._lost

    def _together(self, room: Room, worker: Worker, name: str, arguments: tuple[Any, ...], deadline_s: float) -> Any:
        """One worker's part of the timed phase: its answer, or what it had finished when it was lost."""
        try:
            return worker.finish(worker.begin(name, arguments, self._step_deadline_s), deadline_s)
        except WorkerLost as loss:
            room.abort()
            self._lose(loss.reason if loss.report is None else f"{loss.reason}, {loss.report[2]}")
            return loss.report
        except WorkerError as error:
            room.abort()
            self._lose(f"{worker} could not {name}: {error}")
            return None

    def _lose(self, reason: str) -> None:
        self._lost = self._lost or reason
        self._incident(f"{reason} (while {self.phase})")


def _wires(steps: Sequence[Step]) -> tuple[tuple[Any, ...], ...]:
    return tuple(step.to_wire() for step in steps)


def _observer_wire(trial: Trial) -> tuple[Any, ...]:
    want = (trial.want.errno, trial.want.mask, trial.want.value, trial.want.unsound)
    shot = -1 if trial.single_shot_ns is None else trial.single_shot_ns
    return (
        trial.look.to_wire(), want, _wires(trial.acquaint), _wires(trial.prime), _wires(trial.before_look),
        _wires(trial.after), trial.tight_ns, trial.until_ns, max(trial.give_up_ns, trial.until_ns), shot,
    )  # fmt: skip


def _results(
    trials: Sequence[Trial], acted: Any, observed: Any, lost: str, clocks: tuple[Clock, Clock]
) -> list[TrialResult]:
    count = len(trials)
    acts = _rows(acted[0] if acted else None, count, (-1, -1, 0))
    looks = _rows(observed[0] if observed else None, count, (-1, -1, 0, 0, -1, -1, -1, 0, 0, 0, 0, 0))
    others: dict[int, list[tuple[int, int]]] = {}
    for number, code, times in observed[1] if observed else ():
        others.setdefault(number, []).append((code, times))
    seeds = {number: f"seed step {step}: {name_of(code)}" for number, step, code in (acted[1] if acted else ())}
    reason = lost or (observed[2] if observed else "") or (acted[2] if acted else "")
    return [
        _on_our_clock(_result(trial, acts[k], looks[k], tuple(others.get(k, ())), seeds.get(k, ""), reason), *clocks)
        for k, trial in enumerate(trials)
    ]


_ACTED = ("change_invoked", "change_returned")
_OBSERVED = ("prime_invoked", "prime_returned", "last_miss", "first_hit", "last_look")


def _on_our_clock(result: TrialResult, acting: Clock, observing: Clock) -> TrialResult:
    """The stamps of one trial on our clock, with the error between its two sites: none where they share a clock."""
    if acting.exact and observing.exact:
        return result
    times = {
        name: value for name in (*_ACTED, *_OBSERVED) if (value := getattr(result, name)) is not None
    }  # fmt: skip
    if acting is observing:
        shifts = [acting.shift(_array(times.values()))] * 2
        error, faults = 0, []
    else:
        shifts = [
            clock.shift(_array(times[name] for name in names if name in times))
            for clock, names in ((acting, _ACTED), (observing, _OBSERVED))
        ]
        error, faults = sum(shift.error for shift in shifts), [shift.fault for shift in shifts if shift.fault]
    moved: dict[str, Any] = {name: shifts[name in _OBSERVED].of(value) for name, value in times.items()}
    return replace(result, **moved, error_ns=error, clock_fault="; ".join(faults))


def _array(stamps: Iterable[int]) -> Ints:
    return np.array(list(stamps), dtype=np.int64)


def _rows(data: bytes | None, count: int, nothing: tuple[int, ...]) -> list[tuple[int, ...]]:
    if data is None:
        return [nothing] * count
    return [tuple(map(int, row)) for row in np.frombuffer(data, dtype=np.int64).reshape(count, len(nothing))]


def _result(
    trial: Trial,
    act: tuple[int, ...],
    look: tuple[int, ...],
    others: tuple[tuple[int, int], ...],
    seed: str,
    reason: str,
) -> TrialResult:
    """`lost` where the trial was not finished: no change, or looks that ended before its time."""
    last_look, looks = look[6], look[7]
    finished = act[1] >= 0 and looks > 0
    if finished and reason and trial.single_shot_ns is None:
        finished = last_look - act[1] >= trial.until_ns
    return TrialResult(
        trial=trial,
        change_invoked=_stamp(act[0]), change_returned=_stamp(act[1]), change_errno=act[2],
        prime_invoked=_stamp(look[0]), prime_returned=_stamp(look[1]), prime_errno=look[2], prime_value=look[3],
        last_miss=_stamp(look[4]), first_hit=_stamp(look[5]), last_look=_stamp(last_look), looks=looks,
        flickers=look[8], longest_fill_ns=look[9], others=others, value=look[10], detail=look[11],
        lost="" if finished or act[2] else (seed or reason),
    )  # fmt: skip


def _stamp(number: int) -> int | None:
    return None if number < 0 else number
