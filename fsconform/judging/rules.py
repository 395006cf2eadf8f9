"""The `[[promise]]` entries of a profile: which cells each is about, and which one speaks for a cell."""

from __future__ import annotations

import errno
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from fsconform.judging.bounds import FIXED, BoundRule
from fsconform.judging.conditions import Condition, Host, read_condition
from fsconform.judging.durations import format_duration
from fsconform.judging.tables import Table
from fsconform.vocabulary.axes import AXIS_VALUES, PROPERTY_AXES
from fsconform.vocabulary.errnos import number_of
from fsconform.vocabulary.promises import Evidence, Strength
from fsconform.vocabulary.properties import PROPERTIES

KEYS = ("property", "where", "when", "strength", "within", "unsupported", "evidence", "source", "slack", "note")
_PLAIN = {word.value: word for word in (Strength.GUARANTEED, Strength.NOT_PROMISED, Strength.OPTIONAL)}
_CLAIMS = ("strength", "within", "unsupported")
_ERRNOS = tuple(name for name in dir(errno) if name.startswith("E"))


@dataclass(frozen=True, slots=True)
class Claim:
    """What is promised. `bound` names a bound of the profile, `fixed_s` is a figure of the promise's own."""

    strength: Strength
    bound: str = ""
    fixed_s: float | None = None
    errnos: tuple[str, ...] = ()
    slack_s: float | None = None

    def __str__(self) -> str:
        """`within negative`, `unsupported(EINVAL)`, `guaranteed`."""
        if self.strength is Strength.WITHIN:
            return f"within {self.bound if self.fixed_s is None else format_duration(self.fixed_s)}"
        if self.strength is Strength.UNSUPPORTED:
            return f"unsupported({'|'.join(self.errnos)})"
        return str(self.strength.value)


@dataclass(frozen=True, slots=True)
class Rule:
    """One entry: the cells it is about, what it says of them, and where that comes from."""

    place: str
    """Where it stands in the file, for messages."""
    properties: tuple[str, ...]
    where: Mapping[str, tuple[str, ...]]
    condition: Condition | None
    claim: Claim
    evidence: Evidence
    source: str
    note: str = ""

    @property
    def rank(self) -> int:
        """How specific it is: the number of axes it names, and one for a condition."""
        return len(self.where) + (self.condition is not None)

    @property
    def scope(self) -> tuple[object, ...]:
        """What it is about, the property aside: rules of equal scope say so in the same words."""
        where = frozenset((axis, frozenset(values)) for axis, values in self.where.items())
        return where, self.condition

    def speaks_of(self, property_id: str, axes: Mapping[str, str]) -> bool:
        """Whether it is about a cell, its condition aside. An axis the cell does not have is never matched."""
        return property_id in self.properties and all(axes.get(axis) in values for axis, values in self.where.items())

    def __str__(self) -> str:
        """`publish=link, state=missed|known (kernel below 6.6)`; `everything else` without both."""
        where = ", ".join(f"{axis}={'|'.join(values)}" for axis, values in self.where.items())
        when = f"({self.condition})" if self.condition else ""
        return " ".join(part for part in (where, when) if part) or "everything else"


def strongest(
    rules: Iterable[Rule], property_id: str, axes: Mapping[str, str], hosts: Collection[Host]
) -> tuple[Rule, ...]:
    """The most specific rules for a cell: none where it is not covered, several where they are ambiguous."""
    candidates = [
        rule
        for rule in rules
        if rule.speaks_of(property_id, axes) and (rule.condition is None or rule.condition.holds(hosts))
    ]
    top = max((rule.rank for rule in candidates), default=0)
    return tuple(rule for rule in candidates if rule.rank == top)


def inherit(inherited: Iterable[Rule], origin: str, own: Sequence[Rule]) -> tuple[Rule, ...]:
    """The rules of a profile that extends `origin`: its own, and the inherited ones that they do not replace.

    One of its own replaces, for each of its properties, the inherited one with the same `where` and `when`.
    """
    replaced = {(word, rule.scope) for rule in own for word in rule.properties}
    kept = ((rule, tuple(word for word in rule.properties if (word, rule.scope) not in replaced)) for rule in inherited)
    return (
        *(replace(rule, properties=words, place=f"{rule.place} of {origin}") for rule, words in kept if words),
        *own,
    )


def read_rule(table: Table, bounds: Mapping[str, BoundRule]) -> Rule:
    """One `[[promise]]`. Raises CannotTestError for everything that is wrong with it."""
    properties = table.words("property")
    if not properties:
        raise table.error("", "'property' is missing")
    for word in properties:
        if word not in PROPERTIES:
            raise table.unknown("property", "property", word, PROPERTIES)
    evidence = Evidence(table.choice("evidence", "evidence", [item.value for item in Evidence]))
    return Rule(
        table.path, properties, _read_where(table, properties), read_condition(table), _read_claim(table, bounds),
        evidence, table.text("source"), table.text("note", ""),
    )  # fmt: skip


def _read_where(table: Table, properties: Sequence[str]) -> dict[str, tuple[str, ...]]:
    where = table.table("where", AXIS_VALUES)
    for axis in where.names():
        for property_id in properties:
            axes = PROPERTY_AXES[property_id]
            if axis not in axes:
                raise where.error(axis, f"{property_id} has no such axis; its axes: {', '.join(axes) or 'none'}")
            for value in where.words(axis):
                if value not in axes[axis]:
                    raise where.unknown(axis, f"value for {property_id}", value, axes[axis])
    return {axis: where.words(axis) for axis in AXIS_VALUES if axis in where}


def _read_claim(table: Table, bounds: Mapping[str, BoundRule]) -> Claim:
    found = [key for key in _CLAIMS if key in table]
    if len(found) != 1:
        what = f"has {' and '.join(found)}" if found else "promises nothing"
        raise table.error("", f"{what}; give exactly one of strength, within, unsupported")
    slack = table.duration("slack") if "slack" in table else None
    if slack is not None and found != ["within"]:
        raise table.error("slack", "only a promise 'within' has slack")
    if found == ["strength"]:
        return Claim(_PLAIN[table.choice("strength", "strength", _PLAIN)])
    if found == ["unsupported"]:
        return Claim(Strength.UNSUPPORTED, errnos=_read_errnos(table))
    return _read_within(table, bounds, slack)


def _read_within(table: Table, bounds: Mapping[str, BoundRule], slack: float | None) -> Claim:
    if table.has_text("within"):
        word = table.text("within")
        if word in bounds:
            return Claim(Strength.WITHIN, bound=word, slack_s=slack)
        if not word[0].isdigit():
            raise table.unknown("within", "bound", word, bounds)
    return Claim(Strength.WITHIN, bound=FIXED, fixed_s=table.duration("within"), slack_s=slack)


def _read_errnos(table: Table) -> tuple[str, ...]:
    for word in table.words("unsupported"):
        try:
            number_of(word)
        except KeyError:
            raise table.unknown("unsupported", "errno", word, _ERRNOS) from None
    return table.words("unsupported")
