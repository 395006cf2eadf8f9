"""The catalogue of properties as one page of Markdown: docs/properties.md is made of it, and a test compares."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fsconform.judging.clauses import list_clauses
from fsconform.judging.profiles import Profile, load_profile, shipped_profiles
from fsconform.vocabulary.axes import PROPERTY_AXES
from fsconform.vocabulary.measurements import MEASURED
from fsconform.vocabulary.properties import FAMILIES, PROPERTIES, Property

_HEAD = """\
# Properties

What fsconform asks of a filesystem: one entry per property, made by `fsconform properties` from the catalogue
(`fsconform/vocabulary/properties.py`, `measurements.py`, `axes.py`) and from the shipped profiles. A is the site that
acts, B the one that observes. An axis is a setting that a property is asked under; its value stands in the id of the
cell. What is promised is in short here: `fsconform profile show NAME` has the source of each promise.
"""
_ELSE = "everything else"


def catalogue_page() -> str:
    """The whole page. Raises KeyError for a property of which nobody said how it is measured."""
    profiles = [load_profile(name) for name in shipped_profiles()]
    lines = [_HEAD]
    for family in FAMILIES:
        lines += [f"## {family}", ""]
        members = [entry for entry in PROPERTIES.values() if entry.family == family]
        lines += [line for entry in members for line in _entry(entry, profiles)]
    return "\n".join(lines)


def _entry(entry: Property, profiles: Sequence[Profile]) -> Iterator[str]:
    yield f"### {entry.id}"
    yield ""
    yield f"**{entry.question}** {MEASURED[entry.id]}"
    yield f"*Without it:* {entry.breaks}. *Source:* {entry.source}."
    yield ""
    axes = [f"{axis} ({', '.join(values)})" for axis, values in PROPERTY_AXES[entry.id].items()]
    if axes:
        yield f"- axes: {'; '.join(axes)}"
    for profile in profiles:
        yield f"- {profile.name}: {_promised(profile, entry.id)}"
    yield ""


def _promised(profile: Profile, property_id: str) -> str:
    """Every promise with where it holds, the general one first."""
    clauses = [clause for clause in list_clauses(profile) if clause.property_id == property_id]
    told = [clause.promise if clause.where == _ELSE else f"{clause.promise} where {clause.where}" for clause in clauses]
    return "; ".join(told)
