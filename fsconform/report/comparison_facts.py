"""What a comparison tells of the runs themselves: labels, environments, findings of the search."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from fsconform.report.escaping import visible
from fsconform.report.reading import ReadReport

MODEL = " (model)"
"""Ends the label of a run that measured a model."""
_PER_MOUNT = frozenset({"addr", "clientaddr", "fd", "mountaddr", "mountport", "port", "user_id", "group_id"})
"""Options that differ between equal mounts."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact about the environment, one text per run."""

    name: str
    values: tuple[str, ...]

    @property
    def differs(self) -> bool:
        """Whether the runs disagree."""
        return len(set(self.values)) > 1


def labels_of(reports: Sequence[ReadReport]) -> list[str]:
    """The first of profile, filesystem, sites and directory that tells the runs apart; numbered where none does."""
    choices: tuple[Callable[[ReadReport], str], ...] = (
        lambda report: report.profile,
        lambda report: "+".join(dict.fromkeys(site.fstype for site in report.sites)),
        lambda report: "+".join(dict.fromkeys(site.spec for site in report.sites)),
        lambda report: Path(report.path).parent.name,
        lambda report: str(Path(report.path)),
    )  # fmt: skip
    told = ([visible(choose(report)) for report in reports] for choose in choices)
    found = next((words for words in told if len(set(words)) == len(words) and all(words)), None)
    labels = found or [f"{number} {visible(report.profile)}" for number, report in enumerate(reports, 1)]
    return [f"{label}{MODEL if report.model_note else ''}" for label, report in zip(labels, reports, strict=True)]


def facts_of(reports: Sequence[ReadReport]) -> tuple[Fact, ...]:
    """What can explain a difference. Of the mount options those that not all mounts have, and then the others."""
    facts = [Fact(name, tuple(visible(read(report)) for report in reports)) for name, read in _FACTS.items()]
    sites = [site for report in reports for site in report.sites]
    shared = frozenset.intersection(*(_words(site.options) for site in sites)) if sites else frozenset()
    options = tuple(visible(_joined(_listed(site.options, shared) for site in report.sites)) for report in reports)
    common = visible(",".join(word for word in sites[0].options.split(",") if word in shared)) if sites else ""
    return (*facts, Fact("options", options), Fact("options of all", (common,) * len(reports)))


def _words(options: str) -> frozenset[str]:
    return frozenset(word for word in options.split(",") if word.partition("=")[0] not in _PER_MOUNT)


def _listed(options: str, without: frozenset[str]) -> str:
    kept = _words(options) - without
    return ",".join(word for word in dict.fromkeys(options.split(",")) if word in kept) or "-"


def _joined(words: Iterable[str]) -> str:
    return " | ".join(dict.fromkeys(words))


_FACTS: dict[str, Callable[[ReadReport], str]] = {
    "profile": lambda report: report.profile,
    "fstype": lambda report: _joined(site.fstype for site in report.sites),
    "source": lambda report: _joined(site.source for site in report.sites),
    "kernel": lambda report: _joined(site.kernel for site in report.sites),
    "topology": lambda report: _joined(kind for _, kind in report.topologies) or "process",
    "sites": lambda report: str(len(report.sites)),
    "uid": lambda report: _joined(str(site.uid) for site in report.sites),
    "python": lambda report: _joined(site.python for site in report.sites),
    "budget": lambda report: report.budget,
    "fsconform": lambda report: report.version,
}


def applications_of(reports: Sequence[ReadReport]) -> tuple[Fact, ...]:
    """What each run means for each store."""
    stores = dict.fromkeys(title for report in reports for title, _ in report.applications)
    told = [dict(report.applications) for report in reports]
    return tuple(Fact(visible(store), tuple(visible(words.get(store, "-")) for words in told)) for store in stores)


def findings_of(reports: Sequence[ReadReport]) -> tuple[Fact, ...]:
    """Kinds of findings of the search, with their rate in each run."""
    return tuple(_findings(reports))


def _findings(reports: Sequence[ReadReport]) -> Iterator[Fact]:
    keys = dict.fromkeys((found.kind, found.property_id) for report in reports for found in report.findings)
    for kind, property_id in keys:
        yield Fact(
            visible(f"{kind} ({property_id})"),
            tuple(_finding_text(report, kind, property_id) for report in reports),
        )


def _finding_text(report: ReadReport, kind: str, property_id: str) -> str:
    found = [f for f in report.findings if (f.kind, f.property_id) == (kind, property_id)]
    if not found:
        return "-"
    worst = max(found, key=lambda f: f.failures / max(1, f.rounds))
    told = f"{worst.failures:,} of {worst.rounds:,} rounds"
    return told if worst.promised else f"{told}, not promised"
