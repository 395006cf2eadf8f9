"""`fsconform verify`: observations and verdicts computed again from the histories and the profile in a bundle."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fsconform.judging.judgement import judge
from fsconform.judging.profiles import Profile
from fsconform.oracles.contradictions import rounds_showing
from fsconform.oracles.examination import examine
from fsconform.oracles.retransmissions import doubt
from fsconform.probes.catalogue import TRIALS, experiments
from fsconform.probes.latency import observe as observe_trials
from fsconform.report import bundle_format as layout
from fsconform.report.bundle_histories import check_header, rounds_from, trials_from
from fsconform.report.bundle_reading import Bundle, read_bundle
from fsconform.report.bundle_sites import letters_of, profile_of, sites_of
from fsconform.report.histories import TRIALS as OF_TRIALS
from fsconform.run.table import parse_budget
from fsconform.search.promises import Standing, rule
from fsconform.search.replaying import read_witness
from fsconform.vocabulary.axes import PROPERTY_AXES
from fsconform.vocabulary.cells import AXES, Cell
from fsconform.vocabulary.errors import CannotTestError, FsconformError
from fsconform.vocabulary.histories import RoundHistory
from fsconform.vocabulary.observations import Observation
from fsconform.vocabulary.sites import Site
from fsconform.vocabulary.stored_witnesses import StoredWitness

MALFORMED = (
    ValueError, TypeError, KeyError, IndexError, AttributeError, ArithmeticError, RecursionError, MemoryError,
)  # fmt: skip
"""What reading and judging a history of somebody else may raise where it is not what it says it is."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was computed again."""

    witness: str
    """Name of the witness; empty for what concerns the whole bundle."""
    what: str
    agrees: bool
    told: str
    """What the bundle says."""
    found: str
    """What was computed."""


def verify(path: Path) -> tuple[Check, ...]:
    """Everything that can be computed again. Raises CannotTestError for what is no bundle, or no sound one."""
    bundle = read_bundle(path)
    checks = [
        Check("", "checksums of all members", not bundle.altered, "as listed",
              ", ".join(bundle.altered) + " differ" if bundle.altered else "as listed")
    ]  # fmt: skip
    try:
        environment = bundle.json(layout.ENVIRONMENT)
        sites, profile = sites_of(environment), profile_of(bundle)
        for entry in bundle.manifest["witnesses"]:
            checks += _Case(bundle, str(entry["directory"]), environment, sites, profile).checks()
    except FsconformError:
        raise
    except MALFORMED as error:
        raise CannotTestError(f"{path}: is malformed: {type(error).__name__}: {str(error)[:200]}") from None
    return tuple(checks)


@dataclass(frozen=True, slots=True)
class _Case:
    """One witness of a bundle."""

    bundle: Bundle
    directory: str
    environment: Mapping[str, Any]
    sites: tuple[Site, ...]
    profile: Profile

    def checks(self) -> Iterator[Check]:
        place = self.directory + layout.WITNESS
        text = self.bundle.content(place).decode("utf-8")
        witness = read_witness(text, f"{self.bundle.path}: {place}")
        lines = self.bundle.lines(self.directory + layout.HISTORY)
        header = check_header(next(lines, None))
        if header.get("kind") == OF_TRIALS:
            cell = _cell(witness)
            yield from self._judged(witness, cell, observe_trials(trials_from(lines, cell)))
            return
        history = rounds_from(header, lines)
        yield from self._shown(witness, history)
        if witness.of_cell:
            cell = _cell(witness)
            yield from self._judged(witness, cell, self._observation(cell, history))
        else:
            yield self._finding(witness, history)

    def _observation(self, cell: Cell, history: RoundHistory) -> Observation:
        if cell.property_id in TRIALS:
            raise ValueError(f"{cell.id} is measured in trials, the history has rounds")
        found = experiments([cell], letters_of(self.sites), "")
        if not found:
            raise ValueError(f"no experiment of this version observes {cell.property_id}")
        return found[0].observe(cell, history)

    def _judged(self, witness: StoredWitness, cell: Cell, seen: Observation) -> Iterator[Check]:
        recorded = witness.recorded
        promise = self.profile.promise_among(cell, self.sites)
        judgement = judge(promise, seen, parse_budget(str(recorded["budget"])).tier)
        pairs = {
            "promise": (recorded["promise"], str(promise)),
            "trials attempted": (recorded["attempted"], seen.attempted),
            "trials that say something": (recorded["informative"], seen.informative),
            "trials that break a guarantee": (recorded["violations"], seen.violations),
            "outcomes": (dict(recorded["outcomes"]), dict(seen.outcomes)),
            "refusal": (recorded["refused"], seen.refused),
            "verdict": (recorded["verdict"], judgement.verdict.value),
        }
        for what, (told, found) in pairs.items():
            yield Check(witness.name, what, told == found, _words(told), _words(found))

    def _shown(self, witness: StoredWitness, history: RoundHistory) -> Iterator[Check]:
        """Whether the history shows what the reproducer looks for, and holds the witness's own events."""
        if witness.program != history.program:
            yield Check(witness.name, "program", False, "of the witness", "another one in the history")
            return
        if witness.contradictions:
            shown = int(np.count_nonzero(rounds_showing(witness.contradictions, history)))
            told = "at least 1 round"
            yield Check(witness.name, "contradiction in the history", shown > 0, told, f"{shown} of {history.rounds}")
        wanted = _key(witness.events)
        there = any(_key(tuple(history.events(number))) == wanted for number in range(history.rounds))
        yield Check(witness.name, "events of the witness", there, "a round of the history",
                    "a round of the history" if there else "in no round of the history")  # fmt: skip

    def _finding(self, witness: StoredWitness, history: RoundHistory) -> Check:
        """The oracles, on every axis of time that the run used, against the promises of the profile."""
        doubtful = self.profile.retransmit_ambiguous(self.sites)
        standing = Standing.ALLOWED
        for widened in doubt(history, doubtful).widenings():
            for anomaly in examine(widened).anomalies:
                if (anomaly.kind, anomaly.property_id) == (witness.kind, witness.property_id):
                    ruling = rule(anomaly, widened, lambda cell: self.profile.promise_among(cell, self.sites))
                    standing = max(standing, ruling.standing)
        promised = bool(witness.recorded.get("promised", True))
        told = Standing.BROKEN if promised else Standing.OBSERVED
        return Check(witness.name, "finding", standing is told, told.name.lower(), standing.name.lower())


def _cell(witness: StoredWitness) -> Cell:
    """The cell of a witness, from its id: the values of its property's axes in their order, then the direction."""
    property_id, *values, direction = witness.name.split("/")
    axes = [axis for axis in AXES if axis in PROPERTY_AXES.get(property_id, ())]
    if len(axes) != len(values):
        raise ValueError(f"{witness.name[:100]!r} is no cell of this version")
    return Cell(property_id, tuple(zip(axes, values, strict=True)), direction)


def _key(events: tuple[Mapping[str, Any], ...]) -> list[tuple[Any, ...]]:
    return sorted(
        (e.get("worker"), e.get("seq"), e.get("invoked_ns"), e.get("returned_ns"), e.get("errno"), e.get("value"))
        for e in events
    )  # fmt: skip


def _words(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}: {count}" for key, count in sorted(value.items()))[:300] or "none"
    return str(value)[:300] or "none"
