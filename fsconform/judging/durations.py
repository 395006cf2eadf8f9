"""Durations as text with a unit: `5 s`, `250 ms`."""

from __future__ import annotations

import math
import re

UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
"""Unit -> seconds."""
_LONG_NAMES = {
    "s": ("sec", "secs", "second", "seconds"),
    "ms": ("msec", "msecs", "millisecond", "milliseconds", "milli", "millis"),
    "us": ("usec", "usecs", "microsecond", "microseconds", "µs", "μs"),
    "ns": ("nsec", "nsecs", "nanosecond", "nanoseconds"),
    "min": ("m", "mins", "minute", "minutes"),
    "h": ("hr", "hrs", "hour", "hours"),
}
_DURATION = re.compile(r"(\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)\s*([^\W\d_]*)\Z")


class DurationError(ValueError):
    """Why a text is no duration, with what would be one."""


def parse_duration(text: str, unit: str = "") -> float:
    """Seconds of `5 s`, `250 ms`, `1.5 min`. A figure without a unit has `unit`.

    Raises DurationError for anything else; a figure without any unit included.
    """
    match = _DURATION.match(text.strip())
    if match is None:
        raise DurationError(f"{text!r} is no duration; write a figure and a unit, like '5 s' or '250 ms'")
    figure, found = match.group(1), match.group(2) or unit
    if not found:
        raise DurationError(f"{text!r} has no unit; write '{figure} s' or '{figure} ms'")
    if found not in UNITS:
        raise DurationError(f"unknown unit {found!r} in {text!r}; {_nearest_unit(found)}")
    seconds = float(figure) * UNITS[found]
    if not math.isfinite(seconds):
        raise DurationError(f"{text!r} is too long")
    return seconds


def format_duration(seconds: float) -> str:
    """`5 s`, `250 ms`: what `parse_duration` reads back."""
    if seconds == 0 or seconds >= 1:
        return f"{seconds:g} s"
    return f"{seconds * 1e3:g} ms"


def _nearest_unit(word: str) -> str:
    meant = next((unit for unit, names in _LONG_NAMES.items() if word.lower() in names), None)
    return f"did you mean {meant!r}?" if meant else f"known: {', '.join(UNITS)}"
