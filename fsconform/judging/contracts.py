"""Profiles for people, as text: what is shipped, what one promises, whether it is complete, how two differ."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from fsconform.judging.bounds import BoundRule
from fsconform.judging.clauses import Clause, find_differences, find_problems, list_clauses
from fsconform.judging.durations import format_duration
from fsconform.judging.profiles import Profile, load_profile, shipped_profiles
from fsconform.vocabulary.errors import CannotTestError
from fsconform.vocabulary.properties import PROPERTIES


def list_profiles() -> str:
    """The shipped profiles, one line each: name, what it is for, which mounts it fits."""
    profiles = [load_profile(name) for name in shipped_profiles()]
    return _columns(
        ("PROFILE", "WHAT IT IS ABOUT", "FITS (type or source of the mount)"),
        [(profile.name, profile.title, _fits(profile)) for profile in profiles],
    )


def show_profile(name_or_path: str) -> str:
    """Everything one profile promises, with its bounds and its sources. Raises CannotTestError as `load_profile`."""
    profile = load_profile(name_or_path)
    lines = [f"{profile.name}: {profile.title}"]
    lines += [f"This is {profile.model}."] if profile.model else []
    lines += [f"A second client: {profile.second_client}"] if profile.shared else ["It needs no second client."]
    lines += ["", "Bounds, where the mount tells no other:"] if profile.bound_rules else []
    lines += [f"  {line}" for line in map(_bound_line, profile.bound_rules.values())]
    lines += _retransmission_lines(profile)
    for property_id, clauses in groupby(list_clauses(profile), key=lambda clause: clause.property_id):
        lines += ["", f"{property_id}: {PROPERTIES[property_id].question}"]
        lines += [line for clause in clauses for line in _clause_lines(clause)]
    return "\n".join(lines)


def check_profile(name_or_path: str) -> str:
    """That a profile is right and complete. Raises CannotTestError with everything that is wrong, one line each."""
    profile = load_profile(name_or_path)
    problems = find_problems(profile)
    if problems:
        raise CannotTestError("\n".join(problems))
    return f"{profile.file}: {len(profile.rules)} promises cover every cell of {len(PROPERTIES)} properties"


def diff_profiles(first: str, second: str) -> str:
    """Where two profiles promise different things. Raises CannotTestError as `load_profile`."""
    left, right = load_profile(first), load_profile(second)
    differences = find_differences(left, right)
    if not differences:
        return f"{left.name} and {right.name} promise the same"
    rows = [(row.property_id, row.where, row.left, row.right) for row in differences]
    return _columns(("PROPERTY", "WHERE", _heading(left), _heading(right)), rows)


def _fits(profile: Profile) -> str:
    kinds = ", ".join((*profile.fstypes, *profile.sources))
    return f"{kinds} with {' or '.join(profile.options)}" if profile.options else kinds


def _heading(profile: Profile) -> str:
    return profile.name.upper()


def _bound_line(rule: BoundRule) -> str:
    told = " or ".join(filter(None, (rule.client_option, rule.source_option, *rule.mount_options)))
    words = [f"read from {told}"] if told else []
    words += [f"0 s with {' or '.join(rule.zero_with)}"] if rule.zero_with else []
    words += [f"0 s without {' or '.join(rule.zero_without)}"] if rule.zero_without else []
    if rule.expected:
        words.append(f"usually {format_duration(rule.expected.default_s)} {rule.expected.where}")
    return f"{rule.name}: {'; '.join([format_duration(rule.default_s), *words, rule.source])}"


def _retransmission_lines(profile: Profile) -> Iterable[str]:
    told = profile.retransmission
    if told.calls:
        when = f" ({told.condition})" if told.condition else ""
        yield ""
        yield f"EEXIST or ENOENT can be the answer to a request sent twice{when}: {', '.join(sorted(told.calls))}"
        yield f"      {told.source}"


def _clause_lines(clause: Clause) -> Iterable[str]:
    yield f"  {clause.where}: {clause.promise}" + (f" ({clause.note})" if clause.note else "")
    yield f"      {clause.evidence}: {clause.source}"


def _columns(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in plain text, columns parted by two blanks."""
    widths = [max(len(row[k]) for row in (heads, *rows)) for k in range(len(heads))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in (heads, *rows)
    )
