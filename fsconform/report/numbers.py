"""Figures as people read them."""

from __future__ import annotations

_UNITS = ((1e-3, 1e6, "µs"), (1.0, 1e3, "ms"))


def duration_text(seconds: float) -> str:
    """Three significant digits: `340 µs`, `1.20 ms`, `5.01 s`, `57.0 s`, `152 s`; `0 s` for nothing."""
    if seconds <= 0:
        return "0 s"
    for limit, factor, unit in _UNITS:
        if seconds < limit * 0.9995:
            return f"{_three_digits(seconds * factor)} {unit}"
    return f"{_three_digits(seconds)} s"


def _three_digits(value: float) -> str:
    if value >= 99.95:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"


def span_text(seconds: tuple[float, ...]) -> str:
    """One duration, or the smallest and the largest of several: `4.98–5.01 s`, `980 ms–1.01 s`."""
    low, high = duration_text(min(seconds)), duration_text(max(seconds))
    if low == high:
        return low
    unit = high.partition(" ")[2]
    return f"{low.removesuffix(f' {unit}')}–{high}"


def bytes_text(count: int) -> str:
    """Binary units, one decimal: `3.4 GiB`."""
    value = float(count)
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if value < 1024:
            return f"{value:.0f} B" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} PiB"


def count_text(count: int, noun: str, plural: str = "") -> str:
    """`1 cell`, `1,200 cells`."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"
