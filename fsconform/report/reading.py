"""Reports read back: report.json as typed records. Whatever is not as it should be is told with file and key."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from fsconform.judging.tables import kind_of
from fsconform.report.curves import NEVER, Curve
from fsconform.report.machine import SCHEMA
from fsconform.vocabulary.errors import CannotTestError, unknown
from fsconform.vocabulary.promises import Strength
from fsconform.vocabulary.verdicts import Verdict

Word = TypeVar("Word")
FILE = "report.json"
_MOST = 1e18
"""More than any figure of a report."""


@dataclass(frozen=True, slots=True)
class SeenInterval:
    """What the trials of a latency cell showed, seconds; None where the trial of that rank never saw the change."""

    lo: float | None
    """Median of the lower ends: until then looks missed."""
    hi: float | None
    """Median of the upper ends: from then on they hit."""
    longest: float | None
    missed: bool
    """Whether any look after the change missed."""
    never: int
    trials: int


@dataclass(frozen=True, slots=True)
class ReadCell:
    """One cell of a report."""

    property_id: str
    axes: tuple[tuple[str, str], ...]
    direction: str
    topology: str
    strength: Strength
    bound_s: float
    errnos: tuple[str, ...]
    verdict: Verdict
    reason: str
    violations: int
    trials: int
    rate: str
    refused: str
    latency: SeenInterval | None
    curve: Curve | None
    """None for cells that are not about latency, and in reports of older versions."""

    @property
    def name(self) -> str:
        """Property and axis values: the id without its direction."""
        return "/".join((self.property_id, *(value for _, value in self.axes)))


@dataclass(frozen=True, slots=True)
class ReadSite:
    """One site of a report."""

    letter: str
    spec: str
    fstype: str
    source: str
    options: str
    kernel: str
    python: str
    uid: int


@dataclass(frozen=True, slots=True)
class ReadFinding:
    """One finding of the search."""

    kind: str
    property_id: str
    failures: int
    rounds: int
    promised: bool


@dataclass(frozen=True, slots=True)
class ReadReport:
    """What a comparison needs of one report."""

    path: str
    version: str
    started: str
    duration_s: float
    verdict: Verdict
    interrupted: bool
    sentence: str
    profile: str
    model_note: str
    budget: str
    topologies: tuple[tuple[str, str], ...]
    sites: tuple[ReadSite, ...]
    cells: tuple[ReadCell, ...]
    findings: tuple[ReadFinding, ...]
    applications: tuple[tuple[str, str], ...] = ()
    """(store, verdict); empty in reports of older versions."""


def read_report(place: str) -> ReadReport:
    """A report by its directory or its report.json. Raises CannotTestError for all that is wrong with it."""
    path = Path(place)
    file = path / FILE if path.is_dir() else path
    try:
        told = json.loads(file.read_text("utf-8"))
    except OSError as error:
        raise CannotTestError(
            f"{file}: cannot be read: {error.strerror or error}; give the directory of a report"
        ) from None
    except (ValueError, RecursionError) as error:
        raise CannotTestError(f"{file}: is no JSON: {error}") from None
    return _report(_Value(str(file), "", told))


@dataclass(frozen=True, slots=True)
class _Value:
    """A value of a file, with its place there."""

    file: str
    place: str
    told: object

    def wrong(self, what: str) -> CannotTestError:
        return CannotTestError(f"{self.file}: {self.place + ': ' if self.place else ''}{what}")

    def key(self, key: str) -> _Value:
        if not isinstance(self.told, dict):
            raise self.wrong(f"must be an object, is {kind_of(self.told)}")
        if key not in self.told:
            raise self.wrong(f"{key!r} is missing")
        return _Value(self.file, f"{self.place}.{key}" if self.place else key, self.told[key])

    def optional(self, key: str) -> _Value | None:
        """None where the key is missing or null."""
        if isinstance(self.told, dict) and self.told.get(key) is None:
            return None
        return self.key(key)

    def items(self) -> Iterator[tuple[str, _Value]]:
        if not isinstance(self.told, dict):
            raise self.wrong(f"must be an object, is {kind_of(self.told)}")
        return ((key, self.key(key)) for key in self.told)

    def entries(self) -> Iterator[_Value]:
        if not isinstance(self.told, list):
            raise self.wrong(f"must be a list, is {kind_of(self.told)}")
        return (_Value(self.file, f"{self.place}[{k}]", value) for k, value in enumerate(self.told))

    def text(self) -> str:
        if not isinstance(self.told, str):
            raise self.wrong(f"must be text, is {kind_of(self.told)}")
        return self.told

    def flag(self) -> bool:
        if not isinstance(self.told, bool):
            raise self.wrong(f"must be true or false, is {kind_of(self.told)}")
        return self.told

    def number(self) -> float:
        if isinstance(self.told, bool) or not isinstance(self.told, int | float) or not 0 <= self.told < _MOST:
            raise self.wrong(f"must be a number of at least 0, is {_shown(self.told)}")
        return float(self.told)

    def count(self) -> int:
        if isinstance(self.told, bool) or not isinstance(self.told, int) or self.told < 0:
            raise self.wrong(f"must be a whole number of at least 0, is {_shown(self.told)}")
        return self.told

    def word(self, choose: Callable[[str], Word], known: Iterator[str]) -> Word:
        try:
            return choose(self.text())
        except ValueError:
            raise unknown("word", self.text(), known, f"{self.file}: {self.place}") from None


def _shown(told: object) -> str:
    """What stands there instead of a figure."""
    if isinstance(told, float):
        return f"{told:g}"
    return "a figure that cannot be" if type(told) is int else kind_of(told)


def _report(top: _Value) -> ReadReport:
    schema = top.key("schema").text()
    if schema != SCHEMA:
        raise top.key("schema").wrong(f"is {schema!r}; this fsconform reads {SCHEMA!r}")
    return ReadReport(
        path=top.file, version=top.key("version").text(), started=top.key("started").text(),
        duration_s=top.key("duration_s").number(), verdict=_verdict(top.key("verdict")),
        interrupted=top.key("interrupted").flag(), sentence=top.key("sentence").text(),
        profile=top.key("profile").text(), model_note=top.key("model_note").text(),
        budget=top.key("budget").text(),
        topologies=tuple((direction, kind.text()) for direction, kind in top.key("topologies").items()),
        sites=tuple(map(_site, top.key("sites").entries())),
        cells=tuple(map(_cell, top.key("cells").entries())),
        findings=tuple(map(_finding, top.key("search").key("findings").entries())),
        applications=tuple(map(_application, told.entries())) if (told := top.optional("applications")) else (),
    )  # fmt: skip


def _verdict(value: _Value) -> Verdict:
    return value.word(Verdict, iter([verdict.value for verdict in Verdict]))


def _site(value: _Value) -> ReadSite:
    letter, spec, fstype, source, options, kernel, python = (
        value.key(key).text() for key in ("letter", "spec", "fstype", "source", "options", "kernel", "python")
    )
    return ReadSite(letter, spec, fstype, source, options, kernel, python, value.key("uid").count())


def _application(value: _Value) -> tuple[str, str]:
    return value.key("title").text(), value.key("verdict").text()


def _finding(value: _Value) -> ReadFinding:
    return ReadFinding(
        value.key("kind").text(), value.key("property").text(), value.key("failures").count(),
        value.key("rounds").count(), value.key("promised").flag(),
    )  # fmt: skip


def _cell(value: _Value) -> ReadCell:
    promise, seen = value.key("promise"), value.key("observation")
    bound = promise.key("bound")
    return ReadCell(
        property_id=value.key("property").text(),
        axes=tuple((axis, word.text()) for axis, word in value.key("axes").items()),
        direction=value.key("direction").text(), topology=value.key("topology").text(),
        strength=promise.key("strength").word(Strength, iter([strength.value for strength in Strength])),
        bound_s=0.0 if bound.told is None else bound.key("seconds").number(),
        errnos=tuple(entry.text() for entry in promise.key("errnos").entries()),
        verdict=_verdict(value.key("verdict")), reason=value.key("reason").text(),
        violations=seen.key("violations").count(), trials=seen.key("trials").count(),
        rate=seen.key("rate_95").text(), refused=seen.key("refused").text(), latency=_latency(seen),
        curve=_curve(seen),
    )  # fmt: skip


def _latency(seen: _Value) -> SeenInterval | None:
    told = seen.key("latency_s")
    if told.told is None:
        return None
    lo, hi = told.key("since_change").key("lo"), told.key("since_change").key("hi")
    return SeenInterval(
        _maybe(lo.key("p50")), _maybe(hi.key("p50")), _maybe(hi.key("max")), _maybe(lo.key("max")) != 0,
        seen.key("never").count(), lo.key("n").count(),
    )  # fmt: skip


def _curve(seen: _Value) -> Curve | None:
    told = seen.optional("curve")
    if told is None:
        return None
    high = (_maybe(entry) for entry in told.key("hi_s").entries())
    return Curve(
        tuple(sorted(entry.number() for entry in told.key("lo_s").entries())),
        tuple(sorted(NEVER if end is None else end for end in high)),
        told.key("watched_s").number(),
    )


def _maybe(value: _Value) -> float | None:
    return None if value.told is None else value.number()
