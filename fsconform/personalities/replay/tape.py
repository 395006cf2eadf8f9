"""Recorded calls: every operation an event with step name, thread, phase and block, kept as columns.

The step name is what an engine's log loses: it names the destination, whichever call failed.
"""

from __future__ import annotations

import threading
import time
from array import array
from typing import Any, Callable

COLUMNS = ("phase", "block", "step", "path", "invoked", "returned", "errno", "value")
NO_BLOCK = -1
INF = 1 << 62
HUNG = -1
"""As `vocabulary.errnos.HUNG`."""
_clock = time.monotonic_ns


class Gate:
    """A place where a thread is held, right before one call on one block."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self.opened = threading.Event()

    def hold(self) -> None:
        """Called by the thread that came here."""
        self.reached.set()
        self.opened.wait()


class Trace:
    """What all threads of an instance did. `phase` is the number that events get."""

    def __init__(self) -> None:
        self.phase = 0
        self.tapes: "list[Tape]" = []
        self.gates: "dict[tuple[str, int], Gate]" = {}
        self.hooks: "dict[str, Callable[[Tape], None]]" = {}
        """Step -> what a thread does right before such a call."""
        self._lock = threading.Lock()

    def tape(self, thread: str) -> "Tape":
        """A tape for one thread."""
        tape = Tape(self, thread)
        with self._lock:
            self.tapes.append(tape)
        return tape

    def hold(self, step: str, block: int) -> Gate:
        """Hold whoever comes to this call."""
        gate = self.gates[step, block] = Gate()
        return gate

    def overdue(self, deadline_s: float) -> bool:
        """Whether any call has been running for longer than its deadline."""
        latest = _clock() - int(deadline_s * 1e9)
        return any(running is not None and running[0] < latest for running in [tape.running for tape in self.tapes])

    def to_wire(self) -> "list[tuple[str, list[str], list[str], tuple[bytes, ...]]]":
        """Per thread: its name, its step names and paths, and its columns."""
        return [tape.to_wire() for tape in list(self.tapes)]


class Tape:
    """The calls of one thread. Only that thread writes."""

    def __init__(self, trace: Trace, thread: str) -> None:
        self.thread = thread
        self.block = NO_BLOCK
        self.reserved: "int | None" = None
        """The suffix that was drawn for the task in hand."""
        self.running: "tuple[int, str, str, int] | None" = None
        """The call that has not returned yet: invoked, step, path, block."""
        self._trace = trace
        self._steps: "dict[str, int]" = {}
        self._paths: "dict[str, int]" = {}
        self._columns = [array("q") for _ in COLUMNS]

    def call(self, step: str, path: str, function: "Callable[..., Any]", *arguments: Any) -> Any:
        """Make one call and record it. An OSError is raised again, with the step in its `step`."""
        gates = self._trace.gates
        if gates:
            gate = gates.get((step, self.block))
            if gate is not None:
                gate.hold()
        hook = self._trace.hooks.get(step)
        if hook is not None:
            hook(self)
        invoked = _clock()
        self.running = (invoked, step, path, self.block)
        try:
            value = function(*arguments)
        except OSError as error:
            self._add(invoked, step, path, _clock(), error.errno or 0, 0)
            error.step = step  # type: ignore[attr-defined]
            raise
        finally:
            self.running = None
        self._add(invoked, step, path, _clock(), 0, value if isinstance(value, int) else 0)
        return value

    def _add(self, invoked: int, step: str, path: str, returned: int, errno: int, value: int) -> None:
        step_number = self._steps.setdefault(step, len(self._steps))
        path_number = self._paths.setdefault(path, len(self._paths))
        row = (self._trace.phase, self.block, step_number, path_number, invoked, returned, errno, value)
        for place, number in enumerate(row):
            self._columns[place].append(number)

    def to_wire(self) -> "tuple[str, list[str], list[str], tuple[bytes, ...]]":
        """As `Trace.to_wire`; a call that has not returned is HUNG."""
        length = min(map(len, self._columns))
        columns = [array("q", column[:length]) for column in self._columns]
        steps, paths, running = dict(self._steps), dict(self._paths), self.running
        if running is not None:
            invoked, step, path, block = running
            numbers = (steps.setdefault(step, len(steps)), paths.setdefault(path, len(paths)))
            for place, number in enumerate((self._trace.phase, block, *numbers, invoked, INF, HUNG, 0)):
                columns[place].append(number)
        return self.thread, list(steps), list(paths), tuple(column.tobytes() for column in columns)
