"""What profiles promise, clause by clause, as records: what one says, what is wrong with it, how two differ."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product

from fsconform.judging.conditions import Host
from fsconform.judging.durations import format_duration
from fsconform.judging.profiles import Profile
from fsconform.judging.rules import Rule, strongest
from fsconform.vocabulary.axes import PROPERTY_AXES
from fsconform.vocabulary.properties import PROPERTIES

Setting = Mapping[str, str]
"""Axis -> value; axes that a cell does not have are left out."""
_NEWEST = (999,)
_ANY = "any"
"""An fstype that no condition names."""


@dataclass(frozen=True, slots=True)
class Clause:
    """One promise of a profile about one property."""

    property_id: str
    where: str
    promise: str
    evidence: str
    source: str
    note: str


@dataclass(frozen=True, slots=True)
class Difference:
    """Settings of one property of which two profiles promise different things."""

    property_id: str
    where: str
    left: str
    right: str


def list_clauses(profile: Profile) -> tuple[Clause, ...]:
    """What a profile promises, in the order of the catalogue, the most general first."""
    return tuple(
        Clause(property_id, str(rule), _claim(profile, rule), rule.evidence.value, rule.source, rule.note)
        for property_id in PROPERTIES
        for rule in sorted(_about(profile, property_id), key=lambda rule: rule.rank)
    )


def find_problems(profile: Profile) -> tuple[str, ...]:
    """What is wrong with a profile that could be loaded: cells without a promise, and with two. One line each."""
    hosts = _hosts(profile)
    problems = [problem for property_id in PROPERTIES for problem in _problems(profile, property_id, hosts)]
    return tuple(f"{profile.file}: {problem}" for problem in dict.fromkeys(problems))


def find_differences(left: Profile, right: Profile) -> tuple[Difference, ...]:
    """Where two profiles promise different things, on hosts that no condition is about."""
    rows = []
    for property_id in PROPERTIES:
        rules = (_about(left, property_id), _about(right, property_id))
        groups: dict[tuple[str, str], list[tuple[str, ...]]] = {}
        axes = _axes(property_id, (*rules[0], *rules[1]))
        for values in product(*axes.values()):
            setting = dict(zip(axes, values, strict=True))
            told = (_told(left, rules[0], property_id, setting), _told(right, rules[1], property_id, setting))
            if told[0] != told[1]:
                groups.setdefault(told, []).append(values)
        rows += [
            Difference(property_id, where, *told)
            for told, settings in groups.items()
            for where in _describe(settings, axes)
        ]
    return tuple(rows)


def _about(profile: Profile, property_id: str) -> tuple[Rule, ...]:
    return tuple(rule for rule in profile.rules if property_id in rule.properties)


def _axes(property_id: str, rules: Iterable[Rule]) -> dict[str, tuple[str, ...]]:
    """The axes, with their values, by which these rules tell cells apart."""
    named = {axis for rule in rules for axis in rule.where}
    return {axis: values for axis, values in PROPERTY_AXES[property_id].items() if axis in named}


def _settings(property_id: str, rules: Iterable[Rule]) -> Iterator[Setting]:
    """All settings that these rules could tell apart; every axis may also be missing from a cell."""
    axes = _axes(property_id, rules)
    for values in product(*((*known, None) for known in axes.values())):
        yield {axis: value for axis, value in zip(axes, values, strict=True) if value is not None}


def _hosts(profile: Profile) -> list[Host]:
    """Hosts that the conditions of a profile could tell apart. Two options at once: each may fulfil another one."""
    conditions = [rule.condition for rule in profile.rules if rule.condition]
    fstypes = {_ANY, *(fstype for condition in conditions for fstype in condition.fstypes)}
    kernels = {_NEWEST, *(_just_below(c.kernel_below) for c in conditions if c.kernel_below)}
    words = sorted({option for condition in conditions for option in condition.options})
    options = ["", *words, *map(",".join, combinations(words, 2))]
    alone = [False, True] if any(condition.one_client for condition in conditions) else [False]
    differ = [True, False] if any(condition.verifiers_unknown for condition in conditions) else [True]
    return [Host(*told) for told in product(sorted(fstypes), sorted(kernels), options, alone, differ)]


def _just_below(kernel: tuple[int, ...]) -> tuple[int, ...]:
    """The largest version below one: compared as tuples, (6, 5, 999) < (6, 6)."""
    if kernel[-1]:
        return (*kernel[:-1], kernel[-1] - 1, *_NEWEST)
    return _just_below(kernel[:-1]) if len(kernel) > 1 else kernel


def _problems(profile: Profile, property_id: str, hosts: Sequence[Host]) -> Iterator[str]:
    """At most one cell without a promise and one with two are named: mending one often mends the others."""
    rules = _about(profile, property_id)
    found = [
        (setting, strongest(rules, property_id, setting, [host]))
        for host, setting in product(hosts, list(_settings(property_id, rules)))
    ]
    uncovered = next((setting for setting, best in found if not best), None)
    if uncovered is not None:
        told = f" for {_words(uncovered)}" if uncovered else ""
        yield f"{property_id}: nothing is promised{told}; add a [[promise]] for it"
    ambiguous = next(((setting, best) for setting, best in found if len(best) > 1), None)
    if ambiguous:
        setting, best = ambiguous
        places = " and ".join(rule.place for rule in best)
        told = _words(setting) or f"every cell of {property_id}"
        yield f"{places} all speak of {told} and name equally many axes; make one more specific"


def _words(setting: Setting) -> str:
    return ", ".join(f"{axis}={value}" for axis, value in setting.items())


def _told(profile: Profile, rules: Sequence[Rule], property_id: str, setting: Setting) -> str:
    found = strongest(rules, property_id, setting, [Host(_ANY, _NEWEST)])
    return " or ".join(_claim(profile, rule) for rule in found) or "-"


def _claim(profile: Profile, rule: Rule) -> str:
    """`within negative (5 s)`: what is promised, with the figure that holds where a mount tells none."""
    bound = profile.bound_rules.get(rule.claim.bound)
    if bound is None:
        return str(rule.claim)
    told = f"{rule.claim} ({format_duration(bound.default_s)})"
    return f"guaranteed ({told} with {' or '.join(bound.zero_without)})" if bound.zero_without else told


def _describe(settings: Iterable[Sequence[str]], axes: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Settings in words, as few as merging along one axis after the other gives. All values of an axis: left out."""
    boxes: list[tuple[tuple[str, ...], ...]] = [tuple((value,) for value in setting) for setting in settings]
    for k in range(len(axes)):
        merged: dict[tuple[tuple[str, ...], ...], tuple[str, ...]] = {}
        for box in boxes:
            others = box[:k] + box[k + 1 :]
            merged[others] = merged.get(others, ()) + box[k]
        boxes = [(*others[:k], values, *others[k:]) for others, values in merged.items()]
    for box in boxes:
        told = (_span(axis, found, known) for (axis, known), found in zip(axes.items(), box, strict=True))
        yield ", ".join(filter(None, told)) or "every cell"


def _span(axis: str, found: Sequence[str], known: Sequence[str]) -> str:
    """Some values of an axis in the shorter of two ways; empty where it is all of them."""
    missing = [value for value in known if value not in found]
    if len(missing) < len(found):
        return f"{axis} not {'|'.join(missing)}" if missing else ""
    return f"{axis}={'|'.join(found)}"
