"""Witnesses of a run, ready to be stored: the program, what contradicts what, and what the run made of it."""

from __future__ import annotations

import posixpath
from dataclasses import replace

from fsconform.judging.judgement import slack_s
from fsconform.probes.latency import as_program, worst_of
from fsconform.report.digest import promised_text
from fsconform.report.machine import plain
from fsconform.report.reproducer_contradictions import contradictions_in
from fsconform.search.encoding import ENCODING
from fsconform.vocabulary.contradictions import Contradiction, Result
from fsconform.vocabulary.findings import Finding, finding_names
from fsconform.vocabulary.observations import Witness
from fsconform.vocabulary.programs import Lane, Program
from fsconform.vocabulary.promises import Strength
from fsconform.vocabulary.properties import PROPERTIES
from fsconform.vocabulary.records import RunRecord
from fsconform.vocabulary.steps import Step
from fsconform.vocabulary.stored_witnesses import StoredWitness
from fsconform.vocabulary.trials import Trial, TrialResult
from fsconform.vocabulary.verdicts import CellResult, Verdict

REST_NS, SETTLE_NS = 10_000_000_000, 80_000_000
"""Between making and priming, as in a run: of names of age `settled`, and of all others (more than a server's tick)."""


def witness_names(record: RunRecord) -> tuple[str, ...]:
    """Of what the run has a witness with a program: ids of violated cells, then names of findings."""
    violated = (
        result.cell.id
        for result in record.cells
        if result.verdict is Verdict.VIOLATED and result.observation.witness is not None
        and _program_of(result.observation.witness).lanes
    )  # fmt: skip
    findings = zip(finding_names(record.search.findings), record.search.findings, strict=True)
    return (*violated, *(name for name, finding in findings if _program_of(finding.witness).lanes))


def stored_witness(record: RunRecord, name: str) -> StoredWitness:
    """The witness of a violated cell (its id) or of a finding. KeyError where there is none of that name."""
    findings = dict(zip(finding_names(record.search.findings), record.search.findings, strict=True))
    if name in findings:
        return _of_finding(record, name, findings[name])
    result = {result.cell.id: result for result in record.cells}[name]
    if result.observation.witness is None:
        raise KeyError(name)
    return _of_cell(record, result, result.observation.witness)


def _of_cell(record: RunRecord, result: CellResult, witness: Witness) -> StoredWitness:
    judgement, seen = result.judgement, result.observation
    program, contradictions = _program_of(witness), ()  # type: Program, tuple[Contradiction, ...]
    trials = record.trials.get(result.cell.id, ())
    if trials:
        program, contradictions = _latency_program(worst_of(trials), result)
    elif program.lanes:
        contradictions = contradictions_in(program, witness.events)
    return StoredWitness(
        "cell", result.cell.property_id, witness.story, program, record.seed, ENCODING, result.cell.id,
        promised_text(result.promise), result.promise.source, judgement.violations or seen.violations,
        seen.informative, contradictions, tuple(plain(event) for event in witness.events), _recorded(record, result),
    )  # fmt: skip


def _recorded(record: RunRecord, result: CellResult) -> dict[str, object]:
    """What a verification compares its own results with."""
    seen, promise = result.observation, result.promise
    return {
        "budget": record.budget, "profile": record.profile, "promise": str(promise), "topology": result.topology,
        "attempted": seen.attempted, "informative": seen.informative, "violations": seen.violations,
        "outcomes": dict(seen.outcomes), "refused": seen.refused, "verdict": result.verdict.value,
        "reason": result.judgement.reason,
    }  # fmt: skip


def _of_finding(record: RunRecord, name: str, finding: Finding) -> StoredWitness:
    program, entry = _program_of(finding.witness), PROPERTIES.get(finding.property_id)
    told = finding.witness.program
    return StoredWitness(
        finding.kind, finding.property_id, finding.story, program, int(told.get("seed", record.seed)),
        int(told.get("encoding", ENCODING)), name, "that it never happens", entry.source if entry else "",
        finding.failures, finding.rounds, contradictions_in(program, finding.witness.events),
        tuple(plain(event) for event in finding.witness.events),
        {"budget": record.budget, "profile": record.profile, "promised": finding.promised},
    )  # fmt: skip


def _program_of(witness: Witness) -> Program:
    """Empty where a description of the witness is no program."""
    try:
        return Program.from_json(dict(witness.program))
    except (KeyError, TypeError, ValueError):
        return Program(())


def _latency_program(worst: TrialResult, result: CellResult) -> tuple[Program, tuple[Contradiction, ...]]:
    """The trial as a program that looks once, when the promise has run out; and what that look must not see."""
    made = next((step.path for step in worst.trial.seed if step.kind == "mkdir"), "")
    # Made before anybody looks: on NFS a change of its parent would refresh what waits in it.
    seed = tuple(step for step in worst.trial.seed if (step.kind, step.path) != ("mkdir", made))
    trial, promise = replace(worst.trial, seed=seed), result.promise
    program = as_program(trial)
    acting, observing = program.lanes
    wait_ns = 0
    if promise.strength is Strength.WITHIN and promise.bound_s > 0:
        wait_ns = round((promise.bound_s + slack_s(promise, result.observation.longest_fill_ns)) * 1e9)
    before = (Step("sleep", arg=wait_ns),) if wait_ns else ()
    looks = (*observing.steps[:-1], *before, observing.steps[-1])
    rest_ns = REST_NS if result.cell.axis("age") == "settled" else SETTLE_NS
    looks = (looks[0], Step("sleep", arg=rest_ns), *looks[1:])
    changed = (0, len(acting.steps) - 1 - len(trial.change) + trial.moment % len(trial.change))
    looked = (1, len(looks) - 1)
    # The meeting between change and look orders them, and the sleep after it is the observer's own: no clock is needed.
    missed = Contradiction((Result(changed, "ok"), _miss(trial, looked)))
    return _alone(replace(program, lanes=(acting, Lane(observing.site, looks))), made), (missed,)


def _alone(program: Program, made: str) -> Program:
    """The program of a trial whose directory `made` is one of the round's own, not deep among those of others."""
    above = f"{posixpath.dirname(made)}/" if "/" in made else ""

    def lifted(step: Step) -> Step:
        then = lifted(step.then) if step.then else None
        return replace(step, path=step.path.removeprefix(above), other=step.other.removeprefix(above), then=then)

    lanes = tuple(Lane(lane.site, tuple(map(lifted, lane.steps))) for lane in program.lanes)
    return replace(program, lanes=lanes, directories=(made.removeprefix(above),) if made else ())


def _miss(trial: Trial, place: tuple[int, int]) -> Result:
    """What a look says that does not see the change."""
    want = trial.want
    if want.errno:
        return Result(place, "ok")
    if not want.mask:
        return Result(place, "ENOENT")
    return Result(place, "ok", want.mask, want.value, differs=True)
