"""Latency curves drawn by Vega-Lite, as SVG that stands in the page itself (vl-convert; no browser, no network)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import vl_convert

from fsconform.report.curves import NEVER, Curve

WIDTH, HEIGHT = 620, 150
COLOURS = 4
"""Series that the style sheet has colours for (`--series-1`, ...); further ones begin again."""
_SHORTEST, _LATEST_START, _LONGEST = 1e-6, 1e-3, 1e7
"""What an axis may show, and where it begins at the latest, seconds."""


@dataclass(frozen=True, slots=True)
class Series:
    """One curve: of one direction, or of one run. `promised_s`: None where nothing is promised, 0 for at once."""

    label: str
    curve: Curve
    promised_s: float | None


def latency_chart(series: Sequence[Series]) -> str:
    """The SVG of "not yet visible" over log time: a band between lo and hi per series, the promises as lines.

    Colours are variables of the page's style sheet. Raises ValueError where Vega-Lite cannot draw it.
    """
    low, high = _domain(series)
    x = {
        "field": "t", "type": "quantitative", "title": None,
        "scale": {"type": "log", "domain": [low, high], "nice": False},
        "axis": {"values": _ticks(low, high), "labelExpr": _LABELS, "labelOverlap": True, "tickSize": 4},
    }  # fmt: skip
    y = {
        "type": "quantitative", "title": None, "scale": {"domain": [0, 1]},
        "axis": {"values": [0, 0.5, 1], "format": ".0%", "tickSize": 0, "labelPadding": 6},
    }  # fmt: skip
    drawn = list(enumerate(series))
    layers = [layer for number, one in drawn for layer in _promise(number, one.promised_s, x, (low, high))]
    layers += [layer for number, one in drawn for layer in _layers(number, one, x, y, (low, high))]
    spec = {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json", "width": WIDTH, "height": HEIGHT,
        "layer": layers, "config": _CONFIG,
    }  # fmt: skip
    return str(vl_convert.vegalite_to_svg(spec))


_LABELS = (
    "datum.value >= 1 ? format(datum.value, '~r') + ' s' : datum.value >= 0.001 ?"
    " format(datum.value * 1e3, '~r') + ' ms' : format(datum.value * 1e6, '~r') + ' µs'"
)
_CONFIG = {
    "background": "transparent", "font": "inherit", "view": {"stroke": None},
    "axis": {
        "labelColor": "var(--muted)", "gridColor": "var(--rule)", "domainColor": "var(--rule)",
        "tickColor": "var(--rule)", "labelFontSize": 11,
    },
}  # fmt: skip


def _layers(
    number: int, one: Series, x: dict[str, Any], y: dict[str, Any], domain: tuple[float, float]
) -> Iterator[dict[str, Any]]:
    colour = f"var(--series-{number % COLOURS + 1})"
    data = {"values": list(_steps(one.curve, domain))}
    step: dict[str, Any] = {"interpolate": "step-after", "color": colour, "aria": False}
    surely, possibly = {"x": x, "y": {"field": "lo", **y}}, {"x": x, "y": {"field": "lo", **y}, "y2": {"field": "hi"}}
    for opacity, encoding in ((0.1, surely), (0.3, possibly)):
        yield {"data": data, "mark": {"type": "area", "opacity": opacity, **step}, "encoding": encoding}
    for end, dash in (("hi", [3, 2]), ("lo", [1, 0])):
        mark = {"type": "line", "strokeWidth": 1.75, "strokeDash": dash, **step}
        yield {"data": data, "mark": mark, "encoding": {"x": x, "y": {"field": end, **y}}}


def _promise(
    number: int, promised_s: float | None, x: dict[str, Any], domain: tuple[float, float]
) -> Iterator[dict[str, Any]]:
    """A line at the bound; a guarantee has none on a logarithmic axis and stands at its left end."""
    if promised_s is None:
        return
    at = min(max(promised_s, domain[0]), domain[1])
    right = math.log(at / domain[0]) > 0.4 * math.log(domain[1] / domain[0])
    data, paint = {"values": [{"t": at}]}, {"color": "var(--ink)", "aria": False}
    yield {"data": data, "mark": {"type": "rule", "strokeWidth": 5, "opacity": 0.25, **paint}, "encoding": {"x": x}}
    mark = {
        "type": "text", "text": f"promised: within {promised_s:g} s" if promised_s else "promised: at once",
        "align": "right" if right else "left", "dx": -7 if right else 7, "fontSize": 11,
        "y": HEIGHT - 10 - 15 * number, **paint,
    }  # fmt: skip
    yield {"data": data, "mark": mark, "encoding": {"x": x}}


def _steps(curve: Curve, domain: tuple[float, float]) -> Iterator[dict[str, float]]:
    """The curve from the left end of the axis to where the looks ended."""
    low, high = domain
    end = max(low, min(high, max(curve.watched, *_finite(curve), low)))
    for at in sorted({low, end, *(value for value in _finite(curve) if low < value < end)}):
        surely, possibly = curve.unseen(at)
        yield {"t": at, "lo": round(surely, 4), "hi": round(possibly, 4)}


def _finite(curve: Curve) -> tuple[float, ...]:
    return tuple(value for value in chain(curve.lo, curve.hi) if 0 < value < NEVER)


def _domain(series: Sequence[Series]) -> tuple[float, float]:
    """Whole decades around all that is shown, from a millisecond on at the latest: charts of one page are alike."""
    times = [value for one in series for value in _finite(one.curve)]
    times += [one.promised_s for one in series if one.promised_s]
    times += [one.curve.watched for one in series if one.curve.hi[-1:] == (NEVER,) and one.curve.watched > 0]
    first = min(_LATEST_START, max(_SHORTEST, min(times, default=_LATEST_START)))
    last = min(_LONGEST, max(times, default=1.0))
    low = 10.0 ** math.floor(math.log10(first))
    return low, 10.0 ** max(math.log10(low) + 2, math.ceil(math.log10(last * 1.2)))


def _ticks(low: float, high: float) -> list[float]:
    return [float(f"1e{decade}") for decade in range(round(math.log10(low)), round(math.log10(high)) + 1)]
