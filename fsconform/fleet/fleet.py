"""The fleet: all workers of a run, and the jobs they do."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Any

from fsconform.fleet.clocks import Clock
from fsconform.fleet.launch import Contact, Launch, abandon, contact_all
from fsconform.fleet.page import Page
from fsconform.fleet.pulse import Pulse
from fsconform.fleet.rooms import Rooms
from fsconform.fleet.rounds import RoundsJob
from fsconform.fleet.switchboard import Switchboard
from fsconform.fleet.trials import PendingTrials
from fsconform.fleet.worker.barrier import Place
from fsconform.fleet.worker.requests import whereabouts
from fsconform.fleet.worker_handle import SiteLost, Worker, WorkerError, WorkerLost
from fsconform.vocabulary.errors import CannotTestError
from fsconform.vocabulary.histories import RoundHistory
from fsconform.vocabulary.programs import Program
from fsconform.vocabulary.trials import Trial

__all__ = ["Fleet", "Launch", "PendingTrials", "SiteLost", "Worker", "WorkerError", "WorkerLost"]
_DEATH_S = 1.0
_IDLE_S = 30.0
REPLACEMENT_S = 20.0
"""How long a new worker may take where there was one already."""
ANSWER_S = 10.0
"""How long the filesystem may take to answer a worker that replaces one which hung or died there."""
FIRST_PINGS = 8
"""With which a new worker's clock is compared with ours."""


class Fleet:
    """Workers of a run; a context manager that leaves none behind.

    Each worker does one job at a time, different workers work in parallel; all methods may be called from any thread.
    """

    def __init__(self) -> None:
        self.workers: list[Worker] = []
        self.incidents: list[str] = []
        """One line per hung step, lost worker, failed job."""
        self.abandoned: list[str] = []
        """Workers that could not be ended (uninterruptible in the kernel)."""
        self.lost_sites: dict[str, str] = {}
        """Letter -> `site b lost at 12.3 s`, of sites at which no worker can be had any more."""
        self._began_ns = time.monotonic_ns()
        self._page = Page()
        self._switchboard = Switchboard()
        self._rooms = Rooms(self._page, self._switchboard)
        self._clocks: dict[tuple[str, str], Clock] = {whereabouts(): Clock("this host", exact=True)}
        """By (boot_id, time namespace)."""
        self._pulse: Pulse | None = None
        self._pending: list[PendingTrials] = []
        self._lock = threading.Lock()
        self._stopped = False

    def __enter__(self) -> Fleet:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    def launch(self, launches: Sequence[Launch], deadline_s: float = 30.0) -> list[Worker]:
        """Start workers at the same time. Raises CannotTestError, naming the site, where one does not answer."""
        self._share_memory(launches)
        return [self._enlist(contact) for contact in contact_all(launches, deadline_s)]

    def _share_memory(self, launches: Sequence[Launch]) -> None:
        """Before the first worker: use the page that guests of a lab share with this host, where there is one."""
        memory = next((launch.spec.memory for launch in launches if launch.spec.memory), "")
        if not memory or self.workers:
            return
        with suppress(OSError):  # in use: they meet through the controller
            page = Page(memory)
            self._page.close()
            self._page, self._rooms = page, Rooms(page, self._switchboard)

    def _enlist(self, contact: Contact) -> Worker:
        with self._lock:
            number = len(self.workers)
            worker = Worker(contact.launch, number, contact.gateway, contact.channel, contact.pid, contact.python)
            self.workers.append(worker)
        line = contact.gateway.newchannel()
        shares, *where = worker.call("attach", self._page.path, self._page.token, line)
        worker.shares_page, worker.host = shares, where[0]
        self._switchboard.connect(worker, line, self._page.halts)
        self._set_clock(worker, (where[0], where[1]))
        return worker

    def _set_clock(self, worker: Worker, key: tuple[str, str]) -> None:
        """Find out which clock a worker has: one per kernel and time namespace, ours is exact.

        Where no shared memory proves that it is our kernel, its messages must agree: clones of a virtual machine
        have one boot_id and two clocks.
        """
        known = self._clocks.get(key) if key[0] else None
        if not (worker.shares_page and known and known.exact):
            self._switchboard.gauge([worker], FIRST_PINGS)
            shift = worker.clock.latest()
            if known is None:
                known = self._clocks[key] = worker.clock
            elif known.exact and abs(shift.offset) > shift.error:
                known = worker.clock
        worker.clock = known
        if worker.distant:
            self._switchboard.promise(worker)
        with self._lock:
            if worker.distant and self._pulse is None:
                self._pulse = Pulse(self._switchboard, lambda: tuple(self.workers))

    def call(self, worker: Worker, name: str, *arguments: Any, deadline_s: float = 30.0) -> Any:
        """Call a function registered at the worker (`fleet.worker.requests`); arguments and result are builtins.

        It must end within `deadline_s`. Raises WorkerLost, WorkerError.
        """
        try:
            return worker.call(name, *arguments, deadline_s=deadline_s)
        except WorkerLost as loss:
            self.incidents.append(f"{loss.reason}, asked to {name!r}")
            raise

    @contextmanager
    def meeting(self, workers: Sequence[Worker], patience_s: float = 30.0) -> Iterator[list[Place]]:
        """Where these workers meet for the time of one job of their own, in their order."""
        with self._rooms.open(workers) as room:
            yield [room.place(lane, patience_s) for lane in range(len(workers))]

    def run_rounds(
        self,
        program: Program,
        workers: Sequence[Worker],
        base: str,
        rounds: int,
        deadline_s: float = 120.0,
        step_deadline_s: float = 30.0,
    ) -> RoundHistory:
        """Perform a program `rounds` times, one worker per lane, in the directories `base`/0, `base`/1, ...

        `base` is relative to each worker's root; the first lane's worker makes it and the program's directories.
        Stamps are ns on the controller's clock. A hung step is HUNG and its lane in `lost`; a halted or aborted job
        has the rounds that were begun. Raises ValueError where lanes and workers differ in number.
        """
        if len(program.lanes) != len(workers):
            raise ValueError(f"{len(program.lanes)} lanes, {len(workers)} workers")
        job = RoundsJob(self._rooms, program, workers, base, rounds, deadline_s, step_deadline_s, self.incidents.append)
        return job.run()

    def start_trials(
        self,
        actor: Worker,
        observer: Worker,
        trials: Sequence[Trial],
        settle_s: float = 0.06,
        gap_s: float = 0.01,
        step_deadline_s: float = 30.0,
        ready: threading.Barrier | None = None,
    ) -> PendingTrials:
        """Begin trials and return at once: seeds, acquaints, `settle_s`, then one trial after the other.

        `gap_s`: pause between two sweeps over the pending trials. `ready`: a meeting point between acquainting and
        settling for several calls that share a window, so that no seed disturbs another's primed names.
        """
        pending = PendingTrials(
            self._rooms, actor, observer, trials, settle_s, gap_s, step_deadline_s, ready, self.incidents.append
        )
        with self._lock:
            self._pending.append(pending)
        return pending

    def replace(self, worker: Worker) -> Worker:
        """End a worker and start another one in its place (same site, same root).

        One that cannot be ended is abandoned and named. Raises SiteLost where no new one can be started, and where
        the new one gets no answer at its root: what is hung or dead is not waited for again.
        """
        worker.kill()
        worker.lost = worker.lost or f"{worker} was replaced"
        self._part_with(worker, _DEATH_S)
        if worker.letter in self.lost_sites:
            raise SiteLost(self.lost_sites[worker.letter])
        try:
            successor = self.launch([worker.launch], REPLACEMENT_S)[0]
        except CannotTestError as error:
            raise SiteLost(self._lose_site(worker, str(error))) from error
        successor.root = worker.root
        silence = self._silence_at_root(successor) if successor.root else ""
        if silence:
            raise SiteLost(self._lose_site(successor, silence))
        return successor

    def _silence_at_root(self, worker: Worker) -> str:
        """Why its root cannot be looked at; empty where it can."""
        try:
            facts = self.call(worker, "site_facts", worker.root, deadline_s=ANSWER_S)
        except (WorkerLost, WorkerError) as error:
            return str(error)
        return f"{facts['failed']} {worker.root}: {facts['errno']}" if facts["errno"] else ""

    def notice_lost_sites(self) -> None:
        """Note sites of which every worker is gone, though nobody tried to replace one."""
        for letter in {worker.letter for worker in self.workers} - set(self.lost_sites):
            there = [worker for worker in self.workers if worker.letter == letter]
            for worker in there:
                worker.notice()
            if all(worker.lost for worker in there):
                last = max(there, key=lambda worker: worker.heard_ns)
                self._lose_site(last, last.lost)

    def _lose_site(self, worker: Worker, why: str) -> str:
        """Lost is a site when its last message came, not when that was noticed."""
        heard_ns = max(other.heard_ns for other in (worker, *self.workers) if other.letter == worker.letter)
        at_ns = heard_ns if worker.distant else time.monotonic_ns()
        reason = f"site {worker.letter} lost at {(at_ns - self._began_ns) / 1e9:.1f} s"
        self.lost_sites[worker.letter] = reason
        self.incidents.append(f"{reason}: {why}")
        return reason

    def halt(self) -> None:
        """Ask running jobs to stop soon: they return what they have."""
        self._rooms.halt()
        with self._lock:
            for pending in self._pending:
                pending.halt()

    def release(self, kept: Collection[Worker], grace_s: float = 2.0) -> None:
        """Stop all jobs and end all workers but these, which are waited for until they are idle (30 s at most)."""
        self.halt()
        leaving = [worker for worker in self.workers if worker not in kept]
        for worker in leaving:
            worker.dismiss()
        end = time.monotonic() + grace_s
        for worker in leaving:
            if not worker.ended(max(0.0, end - time.monotonic())):
                worker.kill()
        for worker in leaving:
            self._part_with(worker, _DEATH_S)
        end = time.monotonic() + _IDLE_S
        for worker in kept:
            worker.idle(0.0 if worker.lost else max(0.0, end - time.monotonic()))

    def stop(self, grace_s: float = 2.0) -> None:
        """End all workers: idle ones by themselves, the others by SIGKILL after `grace_s`."""
        if self._stopped:
            return
        self._stopped = True
        if self._pulse is not None:
            self._pulse.stop()
        self.release((), grace_s)
        for pending in self._pending:
            pending.join(_DEATH_S)
        if all(pending.done() for pending in self._pending):
            self._page.close()

    def _part_with(self, worker: Worker, deadline_s: float) -> None:
        if not worker.ended(deadline_s):
            self.abandoned.append(f"{worker}: state {worker.state()}, {worker.lost or 'did not end'}")
        abandon(worker.gateway)
        with self._lock:
            if worker in self.workers:
                self.workers.remove(worker)
