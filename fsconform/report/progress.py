"""Live progress: what is being waited for, and for how long yet."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import IO, TYPE_CHECKING, Protocol

from fsconform.report.escaping import visible

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as Bars

EVERY_S = 10.0
"""Seconds between the lines of an output that is no terminal."""


class Progress(Protocol):
    """Told by a run what it does. Methods may be called from any thread, as often as wanted, and never raise."""

    def phase(self, text: str) -> None:
        """A new part of the run begins: `checking the sites`."""

    def waiting(self, what: str, elapsed_s: float, total_s: float) -> None:
        """The run waits for something; `total_s` is 0 where nobody knows how long."""

    def done(self) -> None:
        """The run is over; nothing is shown any more."""


class SilentProgress:
    """Shows nothing."""

    def phase(self, text: str) -> None:
        """Nothing."""

    def waiting(self, what: str, elapsed_s: float, total_s: float) -> None:
        """Nothing."""

    def done(self) -> None:
        """Nothing."""


class PlainProgress:
    """One line per phase, and one about every ten seconds while something is waited for."""

    def __init__(self, stream: IO[str], every_s: float = EVERY_S, now: Callable[[], float] = time.monotonic) -> None:
        self._stream, self._every_s, self._now = stream, every_s, now
        self._last = now()
        self._lock = threading.Lock()

    def phase(self, text: str) -> None:
        """Print the phase."""
        with self._lock:
            self._say(text)

    def waiting(self, what: str, elapsed_s: float, total_s: float) -> None:
        """Print the line if the last one is old enough."""
        with self._lock:
            if self._now() - self._last >= self._every_s:
                self._say(f"  {what}: {_share(elapsed_s, total_s)}")

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
        self._phase = ""
        self._lock = threading.Lock()

    def phase(self, text: str) -> None:
        """Show the phase; a bar appears when something is waited for."""
        with self._lock:
            self._phase = text
            self._show("", 0.0, 0.0)

    def waiting(self, what: str, elapsed_s: float, total_s: float) -> None:
        """Show what is waited for, with a bar."""
        with self._lock:
            self._show(what, elapsed_s, total_s)

    def done(self) -> None:
        """Take the line away."""
        with self._lock:
            bars, self._bars = self._bars, None
            if bars is not None:
                bars.stop()

    def _show(self, what: str, elapsed_s: float, total_s: float) -> None:
        if self._bars is None:
            self._bars = _new_bars(self._console)
            self._bars.add_task("", total=None, share="")
            self._bars.start()
        text = ", ".join(filter(None, (visible(self._phase), visible(what))))
        share = _share(elapsed_s, total_s) if what else ""
        # A task without a total pulses: nobody knows how long.
        total = total_s if total_s > 0 else None
        self._bars.update(
            self._bars.task_ids[0], description=text, completed=min(elapsed_s, total_s), total=total, share=share
        )


def _new_bars(console: Console) -> Bars:
    from rich.progress import BarColumn, SpinnerColumn, TextColumn
    from rich.progress import Progress as Bars

    return Bars(
        SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(bar_width=20),
        TextColumn("{task.fields[share]}", markup=False), console=console, transient=True, refresh_per_second=5,
    )  # fmt: skip


def _share(elapsed_s: float, total_s: float) -> str:
    return f"{elapsed_s:.0f} of {total_s:.0f} s" if total_s > 0 else f"{elapsed_s:.0f} s"


def progress_on(console: Console | None) -> Progress:
    """Live on a terminal, lines on another output, silent for None."""
    if console is None:
        return SilentProgress()
    if console.is_terminal:
        return LiveProgress(console)
    return PlainProgress(console.file)
