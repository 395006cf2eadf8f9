"""Live progress: what is being waited for, and for how long yet."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING

from fsconform.report.escaping import visible
from fsconform.run.progress import Progress

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as Bars

EVERY_S = 10.0
"""Seconds between the lines about one wait, on an output that is no terminal."""
PHASE_S = 2.0
"""Phases that follow the last line faster than this are not told there."""


class PlainProgress:
    """A line per phase that is not over at once, and one about every ten seconds while something is waited for."""

    def __init__(self, stream: IO[str], every_s: float = EVERY_S, now: Callable[[], float] = time.monotonic) -> None:
        self._stream, self._every_s, self._now = stream, every_s, now
        self._last = -math.inf
        self._lock = threading.Lock()

    def phase(self, text: str) -> None:
        """Print the phase, unless the last line is younger than two seconds."""
        with self._lock:
            if self._now() - self._last >= PHASE_S:
                self._say(text)

    def waiting(self, what: str, elapsed_s: float, total_s: float) -> None:
        """Print the line if the last one is old enough."""
        with self._lock:
            if self._now() - self._last >= self._every_s:
                self._say(f"waiting for {what}: {_share(elapsed_s, total_s)}")

    def done(self) -> None:
        """Nothing: lines stay."""

    def _say(self, text: str) -> None:
        self._last = self._now()
        try:
            encoding = getattr(self._stream, "encoding", None) or "ascii"
            self._stream.write(visible(text).encode(encoding, "replace").decode(encoding) + "\n")
            self._stream.flush()
        except (OSError, ValueError):  # a closed pipe must not end a run
            pass


class LiveProgress:
    """One line at the bottom of a terminal, gone when the run is over."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bars: Bars | None = None
        self._lock = threading.Lock()

    def phase(self, text: str) -> None:
        """Show the phase; a bar appears when something is waited for."""
        with self._lock:
            self._show(text, 0.0, 0.0, "")

    def waiting(self, what: str, elapsed_s: float, total_s: float) -> None:
        """Show what is waited for, with a bar."""
        with self._lock:
            self._show(f"waiting for {what}", elapsed_s, total_s, _share(elapsed_s, total_s))

    def done(self) -> None:
        """Take the line away."""
        with self._lock:
            bars, self._bars = self._bars, None
            if bars is not None:
                bars.stop()

    def _show(self, text: str, elapsed_s: float, total_s: float, share: str) -> None:
        if self._bars is None:
            self._bars = _new_bars(self._console)
            self._bars.add_task(visible(text), total=None, share="")
            self._bars.start()
        # A task without a total pulses: nobody knows how long.
        self._bars.update(
            self._bars.task_ids[0], description=visible(text), completed=min(elapsed_s, total_s),
            total=total_s if total_s > 0 else None, share=share,
        )  # fmt: skip


def _new_bars(console: Console) -> Bars:
    from rich.progress import BarColumn, SpinnerColumn, TextColumn
    from rich.progress import Progress as Bars

    return Bars(
        SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(bar_width=20),
        TextColumn("{task.fields[share]}", markup=False), console=console, transient=True, refresh_per_second=5,
    )  # fmt: skip


def _share(elapsed_s: float, total_s: float) -> str:
    if total_s <= 0:
        return f"{elapsed_s:.0f} s"
    return (
        f"{elapsed_s:.0f} of {total_s:.0f} s" if elapsed_s <= total_s else f"{elapsed_s:.0f} s, {total_s:.0f} planned"
    )


@contextmanager
def live_progress(console: Console | None = None) -> Iterator[Progress]:
    """Live on a terminal, lines on another output; standard error where None, so that the report stands alone."""
    from rich.console import Console

    out = console or Console(stderr=True)
    progress = LiveProgress(out) if out.is_terminal else PlainProgress(out.file)
    try:
        yield progress
    finally:
        progress.done()
