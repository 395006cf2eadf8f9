"""The verdict in words: one sentence that all formats share, and what it means."""

from __future__ import annotations

import shlex
from collections import Counter

from fsconform.report.escaping import visible
from fsconform.report.numbers import count_text
from fsconform.vocabulary.properties import PROPERTIES
from fsconform.vocabulary.records import RunRecord
from fsconform.vocabulary.sites import Site
from fsconform.vocabulary.verdicts import EXIT_WORDS, JUDGED, CellResult, Verdict

TOPOLOGY_WORDS = {
    "process": "one client",
    "mount": "two clients, one kernel",
    "host": "two kernels",
}
_MOST_NAMES = 5
"""Properties that a sentence can carry."""
_NUMBERS = {1: "The mount", 2: "The two mounts", 3: "The three mounts", 4: "The four mounts"}


def place_of(site: Site) -> str:
    """Where a site is, printable: its path, or what the user wrote where a path alone says too little."""
    return visible(site.spec.text if site.spec.launcher in ("ssh", "exec") else site.path)


def verdict_counts(record: RunRecord) -> Counter[Verdict]:
    """How many cells ended with each verdict."""
    return Counter(result.verdict for result in record.cells)


def broken_properties(record: RunRecord) -> tuple[str, ...]:
    """Ids of the properties with a violated cell or a promised finding, in order of appearance."""
    cells = [result.cell.property_id for result in record.cells if result.verdict is Verdict.VIOLATED]
    found = [finding.property_id for finding in record.search.findings if finding.promised]
    return tuple(dict.fromkeys(cells + found))


def sentence(record: RunRecord) -> str:
    """One sentence: who keeps or breaks what, in how many of the judged cells. Printable, one line."""
    ends = [f"inconclusive: {visible(record.inconclusive)}"] if _is_inconclusive(record) else []
    ends += [f"interrupted after {record.duration_s:.0f} s"] if record.interrupted else []
    return "; ".join([_cells_sentence(record).removesuffix("."), *ends]) + "."


def _is_inconclusive(record: RunRecord) -> bool:
    return bool(record.inconclusive) and record.verdict is Verdict.INCONCLUSIVE


def _cells_sentence(record: RunRecord) -> str:
    counts = verdict_counts(record)
    judged = sum(counts[verdict] for verdict in JUDGED)
    profile, who = visible(record.profile), _NUMBERS.get(len(record.sites), f"The {len(record.sites)} mounts")
    verb = ("keeps", "breaks") if len(record.sites) == 1 else ("keep", "break")
    cells = count_text(judged, "judged cell")
    if broken := broken_properties(record):
        names, violated = _listed(broken), f"{counts[Verdict.VIOLATED]:,} of {cells} violated"
        found = f"the search found a violation of {names}; {violated}"
        what = f"{violated} ({names})" if counts[Verdict.VIOLATED] else found
        return f"{who} {verb[1]} what {profile} promises: {what}."
    if not judged:
        return f"Nothing was judged: no cell that {profile} promises anything about was measured."
    if undecided := counts[Verdict.INCONCLUSIVE]:
        return f"No verdict on what {profile} promises: {undecided:,} of {cells} inconclusive, none violated."
    return f"{who} {verb[0]} what {profile} promises: {counts[Verdict.KEPT]:,} of {cells} kept."


def _listed(names: tuple[str, ...]) -> str:
    more = len(names) - _MOST_NAMES
    shown = ", ".join(map(visible, names[:_MOST_NAMES]))
    return f"{shown} and {more} more" if more > 0 else shown


def verdict_meaning(record: RunRecord) -> tuple[str, ...]:
    """What a reader may conclude, one paragraph each."""
    lines = [f"{name} is not kept: {_consequence(record, name)}." for name in broken_properties(record)]
    if not lines and record.verdict is Verdict.KEPT:
        lines.append(
            "Nothing that the profile excludes was seen in the informative trials. Rarer violations than the rates"
            " in the tables would not have been seen: a run refutes promises, it does not prove them."
        )
    undecided = verdict_counts(record)[Verdict.INCONCLUSIVE]
    if undecided:
        lines.append(f"{count_text(undecided, 'cell')} could not be decided; the table says why and what would do it.")
    if record.interrupted:
        lines.append("The run was interrupted: everything below was measured before that, the rest was not.")
    if record.inconclusive:
        lines.append(f"The whole run cannot be conclusive: {visible(record.inconclusive)}.")
    if record.how_to:
        lines.append(f"To make it conclusive: {visible(record.how_to)}.")
    return tuple(lines)


def breaks_where_broken(result: CellResult) -> str:
    """What goes wrong without the property; empty where a call was refused that is not the property's own question."""
    refused = result.observation.refused not in ("", "works")
    entry = PROPERTIES.get(result.cell.property_id)
    return entry.breaks if entry and (not refused or entry.family == "capability") else ""


def _consequence(record: RunRecord, property_id: str) -> str:
    broken = [r for r in record.cells if r.cell.property_id == property_id and r.verdict is Verdict.VIOLATED]
    told = next(filter(None, map(breaks_where_broken, broken)), "")
    if broken and not told:
        return visible(broken[0].judgement.reason)
    return told or (PROPERTIES[property_id].breaks if property_id in PROPERTIES else "found by the search")


def status_line(record: RunRecord) -> str:
    """The last line of a run: `exit status 1 (violated)`."""
    return f"exit status {record.exit_status} ({EXIT_WORDS[record.exit_status]})"


def repeat_command(record: RunRecord, cell_id: str = "") -> str:
    """The command that repeats the run, or one cell of it, from the same seed."""
    words = ["fsconform", "run"]
    for text in dict.fromkeys(site.spec.text for site in record.sites):
        words += ["--site", text]
    words += ["--profile", record.profile]
    if record.budget != "quick":
        words += ["--budget", record.budget]
    if cell_id:
        words += ["--cell", cell_id]
    return " ".join(map(_quoted, [*words, "--seed", str(record.seed)]))


def _quoted(word: str) -> str:
    r"""One word for a shell; bytes that cannot be shown as `$'\xff'`."""
    if word.isprintable():
        return shlex.quote(word)
    return "$'" + visible(word.replace("\\", "\\\\").replace("'", "\\'")) + "'"
