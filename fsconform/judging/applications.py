"""What a filesystem means for real stores: what each leans on (profiles/applications.toml) held against the cells."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fsconform.judging.shelf import shelf
from fsconform.judging.tables import Table, read_toml
from fsconform.vocabulary.applications import DESIGN, INFERRED, SEVERITY, ApplicationVerdict, Safety
from fsconform.vocabulary.axes import PROPERTY_AXES
from fsconform.vocabulary.promises import Strength
from fsconform.vocabulary.properties import PROPERTIES
from fsconform.vocabulary.verdicts import CellResult, Verdict

_WORDS = {
    "safe": Safety.SAFE, "safe within": Safety.SAFE_WITHIN, "wastes work": Safety.WASTES_WORK, "unsafe": Safety.UNSAFE,
    "cannot run": Safety.CANNOT_RUN,
}  # fmt: skip
_APPLICATION_KEYS = ("name", "title", "like", "needs", "flaw")
_NEED_KEYS = ("property", "where", "late", "without", "refused", "why", "cure", "source")
_FLAW_KEYS = ("safety", "why", "cure", "source")


@dataclass(frozen=True, slots=True)
class Need:
    """One property that a store leans on."""

    property_ids: tuple[str, ...]
    where: Mapping[str, tuple[str, ...]]
    late: Safety
    without: Safety
    refused: Safety
    why: str
    cure: str
    source: str

    def concerns(self, result: CellResult) -> bool:
        """Whether a cell asks this property under a setting that the store uses."""
        cell = result.cell
        return cell.property_id in self.property_ids and all(
            cell.axis(axis) in values for axis, values in self.where.items()
        )


@dataclass(frozen=True, slots=True)
class Flaw:
    """What is wrong with a store everywhere."""

    safety: Safety
    why: str
    cure: str
    source: str


@dataclass(frozen=True, slots=True)
class Application:
    """One store."""

    name: str
    title: str
    needs: tuple[Need, ...]
    flaws: tuple[Flaw, ...]


@dataclass(frozen=True, slots=True)
class _Ruling:
    """What one cell means for a store."""

    safety: Safety
    within_s: float
    need: Need
    result: CellResult


def load_applications(path: Path | None = None) -> tuple[Application, ...]:
    """All stores. Raises CannotTestError, naming file, key and the nearest known word, for whatever is wrong."""
    table = read_toml(path or shelf() / "applications.toml", ("application",))
    found: dict[str, Application] = {}
    for entry in table.tables("application", _APPLICATION_KEYS, "name"):
        application = _read(entry, found)
        if application.name in found:
            raise entry.error("name", f"{application.name!r} is there twice")
        found[application.name] = application
    return tuple(found.values())


def _read(entry: Table, known: Mapping[str, Application]) -> Application:
    needs = tuple(_read_need(need) for need in entry.tables("needs", _NEED_KEYS, "property"))
    flaws = tuple(_read_flaw(flaw) for flaw in entry.tables("flaw", _FLAW_KEYS, "safety"))
    if "like" in entry:
        model = known[entry.choice("like", "application", known)]
        needs, flaws = (*model.needs, *needs), (*model.flaws, *flaws)
    if not needs and not flaws:
        raise entry.error("", "it has neither needs nor a flaw")
    return Application(entry.text("name"), entry.text("title"), needs, flaws)


def _read_need(table: Table) -> Need:
    properties = table.words("property")
    if not properties:
        raise table.error("property", "is missing")
    for property_id in properties:
        if property_id not in PROPERTIES:
            raise table.unknown("property", "property", property_id, PROPERTIES)
    axes = table.table("where", sorted({axis for name in properties for axis in PROPERTY_AXES[name]}))
    where = {axis: axes.words(axis) for axis in axes.names()}
    for axis, values in where.items():
        for value in values:
            choices = {choice for name in properties for choice in PROPERTY_AXES[name].get(axis, ())}
            if value not in choices:
                raise axes.unknown(axis, "value", value, choices)
    without = _safety(table, "without")
    return Need(
        properties, where, _safety(table, "late") if "late" in table else without, without,
        _safety(table, "refused") if "refused" in table else without, table.text("why"), table.text("cure"),
        table.text("source"),
    )  # fmt: skip


def _read_flaw(table: Table) -> Flaw:
    return Flaw(_safety(table, "safety"), table.text("why"), table.text("cure"), table.text("source"))


def _safety(table: Table, key: str) -> Safety:
    return _WORDS[table.choice(key, "verdict", _WORDS)]


def judge_applications(
    results: Sequence[CellResult], applications: Iterable[Application] | None = None
) -> tuple[ApplicationVerdict, ...]:
    """One verdict per store of which anything was measured: the worst that any cell it leans on means for it."""
    stores = load_applications() if applications is None else applications
    return tuple(verdict for store in stores if (verdict := _judge(store, results)) is not None)


def _judge(store: Application, results: Sequence[CellResult]) -> ApplicationVerdict | None:
    rulings = [ruling for need in store.needs for result in results if need.concerns(result)
               if (ruling := _rule(need, result)) is not None]  # fmt: skip
    if not results or not (rulings or store.flaws):
        return None
    worst_flaw = max(store.flaws, key=lambda flaw: SEVERITY.index(flaw.safety), default=None)
    worst = max(rulings, key=lambda ruling: (SEVERITY.index(ruling.safety), ruling.within_s), default=None)
    if worst_flaw and (worst is None or SEVERITY.index(worst_flaw.safety) >= SEVERITY.index(worst.safety)):
        return ApplicationVerdict(store.name, store.title, worst_flaw.safety, 0.0, "", worst_flaw.why,
                                  worst_flaw.cure, DESIGN)  # fmt: skip
    assert worst is not None
    return _verdict(store, worst, _untested(store, rulings))


def _verdict(store: Application, worst: _Ruling, untested: tuple[str, ...]) -> ApplicationVerdict:
    if worst.safety is Safety.SAFE:
        safety = Safety.UNDECIDED if untested else Safety.SAFE
        why = f"not decided: {', '.join(untested)}" if untested else "everything it leans on is promised and was kept"
        return ApplicationVerdict(store.name, store.title, safety, 0.0, "", why, "", INFERRED, untested)
    safety = Safety.UNDECIDED if untested and worst.safety is Safety.SAFE_WITHIN else worst.safety
    return ApplicationVerdict(store.name, store.title, safety, worst.within_s, worst.result.cell.id, worst.need.why,
                              worst.need.cure, INFERRED, untested)  # fmt: skip


def _untested(store: Application, rulings: Sequence[_Ruling]) -> tuple[str, ...]:
    decided = {(id(ruling.need), ruling.result.cell.property_id) for ruling in rulings}
    wanted = [(id(need), name) for need in store.needs for name in need.property_ids]
    return tuple(dict.fromkeys(name for need, name in wanted if (need, name) not in decided))


def _rule(need: Need, result: CellResult) -> _Ruling | None:
    """What a cell means; None where it was not decided."""
    promise, verdict = result.promise, result.verdict
    refused = result.observation.refused not in ("", "works")
    if verdict is Verdict.INCONCLUSIVE:
        return None
    if refused and verdict in (Verdict.KEPT, Verdict.NOT_APPLICABLE, Verdict.OBSERVED, Verdict.VIOLATED):
        return _Ruling(need.refused, 0.0, need, result)
    if promise.strength is Strength.NOT_PROMISED and not result.observation.violations:
        return None  # neither promised nor seen to break: nobody may be accused of it
    if verdict is Verdict.VIOLATED or promise.strength is Strength.NOT_PROMISED:
        return _Ruling(need.without, 0.0, need, result)
    if promise.strength is Strength.WITHIN and promise.bound_s > 0:
        return _Ruling(need.late, promise.bound_s, need, result)
    return _Ruling(Safety.SAFE, 0.0, need, result)
