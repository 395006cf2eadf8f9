"""What one finding shows at one site: by cells of the suite, or by its own program."""

from __future__ import annotations

from statistics import median

from bench.findings.catalogue import Finding
from bench.findings.stage import stage
from fsconform.run.conduct import conduct
from fsconform.run.options import Options
from fsconform.run.progress import Silent
from fsconform.vocabulary.observations import INF_NS, Observation
from fsconform.vocabulary.verdicts import CellResult


def measure(finding: Finding, site: str) -> list[str]:
    """What was seen at one site, a line each. Raises FsconformError where it cannot be tried."""
    if finding.program is not None:
        with stage(site) as ready:
            seen = finding.program(ready)
        return [f"{seen.met} of {seen.tried} {finding.unit}", *([seen.more] if seen.more else [])]
    record = conduct(Options((site,), cell_ids=finding.cells, search=False), Silent())
    return [f"`{result.cell.id}`: {_told(result)}" for result in record.cells]


def _told(result: CellResult) -> str:
    seen = result.observation
    if seen.latency:
        return f"{_latency(seen)}; {result.promise}: {result.verdict.value}"
    winners = ", ".join(f"{what} {count}" for what, count in _winners(seen).items())
    return f"{winners}, of {seen.informative} contested rounds; {result.promise}: {result.verdict.value}"


def _latency(seen: Observation) -> str:
    found = [trial for trial in seen.latency if trial.hi < INF_NS]
    middles = [(max(trial.lo, 0) + trial.hi) / 2e9 for trial in found]
    if not middles:
        return f"not seen in {len(seen.latency)} trials"
    cures = [f"{cure.name} cured {cure.cured} of {cure.trials} (untouched: {cure.control_visible} of "
             f"{cure.control_trials})" for cure in seen.cures if cure.cured]  # fmt: skip
    told = f"median {median(middles):.2f} s, {min(middles):.2f} to {max(middles):.2f} s in {len(middles)} trials"
    return "; ".join([told, *cures])


def _winners(seen: Observation) -> dict[str, int]:
    counts: dict[str, int] = {}
    for outcome, count in seen.outcomes.items():
        word = outcome.partition(",")[0]
        counts[word] = counts.get(word, 0) + count
    return counts
