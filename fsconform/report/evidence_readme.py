"""README.md of a bundle: what a stranger needs to act, ready to be pasted into an issue."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fsconform.judging.statistics import rate_text
from fsconform.report.escaping import markdown_code, markdown_fence, markdown_text, shorten_keys, visible
from fsconform.report.witnesses import program_lines, timeline
from fsconform.vocabulary.observations import Witness
from fsconform.vocabulary.properties import PROPERTIES
from fsconform.vocabulary.stored_witnesses import StoredWitness


def readme_text(
    witnesses: Sequence[StoredWitness], directories: Mapping[str, str], environment: Mapping[str, Any], redacted: bool
) -> str:
    """The text. `directories`: original name of each witness -> where its files are, in the same order."""
    lines: list[str] = []
    for witness, place in zip(witnesses, directories.values(), strict=True):
        lines += [*_witness(witness, place, environment), ""]
    lines += [*_environment(environment), "", *_closing(environment, redacted)]
    return "\n".join(lines) + "\n"


def environment_line(site: Mapping[str, Any]) -> str:
    """One site in one line: `a: nfs4 on Linux 6.1.0, rw,vers=4.2`."""
    return f"{site['letter']}: {site['fstype']} on Linux {site['kernel']}, {site['options']}"


def _witness(witness: StoredWitness, place: str, environment: Mapping[str, Any]) -> Iterator[str]:
    entry = PROPERTIES.get(witness.property_id)
    fstypes = ", ".join(dict.fromkeys(site["fstype"] for site in environment["sites"]))
    yield f"# {markdown_text(witness.name or witness.kind)} on {markdown_text(fstypes)}"
    yield ""
    if entry:
        yield markdown_text(entry.question)
        yield ""
    source = f" (source: {markdown_text(witness.source)})" if witness.source else ""
    profile = markdown_text(str(environment["profile"]))
    yield f"- **Expected**, by the profile {profile}: {markdown_text(witness.expected)}{source}"
    yield f"- **Got**: {markdown_text(shorten_keys(witness.story))}"
    if witness.rounds:
        yield f"- **How often**: {markdown_text(rate_text(witness.failures, witness.rounds))}"
    if entry and entry.breaks:
        yield f"- **What that breaks**: {markdown_text(entry.breaks)}"
    if environment.get("model_note"):
        yield f"- **A model**: {markdown_text(environment['model_note'])}"
    shown = Witness(witness.program.to_json(), witness.events, witness.story)
    moments = [f"{m.when:>12}  {m.where:<3} {m.what}  {m.result}" for m in timeline(shown)]
    yield ""
    yield "The smallest sequence, one line per worker, and what happened in it:"
    yield ""
    yield markdown_fence([*program_lines(shown), "", *moments])
    yield ""
    yield from _again(witness, place)


def _again(witness: StoredWitness, place: str) -> Iterator[str]:
    sites = sorted({lane.site for lane in witness.program.lanes})
    directories = " ".join(f"DIRECTORY-OF-{site.upper()}" for site in sites)
    yield "To see it again (Linux, Python >= 3.9, nothing to install; works in a directory of its own, and removes it):"
    yield ""
    commands = [f"python3 {place}repro.py {directories}"] if witness.contradictions else []
    yield markdown_fence([*commands, f"fsconform replay {place}witness.json {directories}"])


def _environment(environment: Mapping[str, Any]) -> Iterator[str]:
    yield "## Environment"
    yield ""
    for site in environment["sites"]:
        around = site.get("around") or {}
        yield f"- site {site['letter']}: {markdown_code(site['fstype'])} from {markdown_code(site['source'])}"
        yield f"  - options {markdown_code(site['options'])}"
        yield f"  - Linux {markdown_text(site['kernel'])}, {markdown_text(around.get('system') or 'unknown system')}"
        if packages := around.get("packages"):
            told = ", ".join(f"{name} {version}" for name, version in packages.items())
            yield f"  - packages: {markdown_text(told)}"
        if daemons := around.get("daemons"):
            yield f"  - programs that hold /dev/fuse: {markdown_text(', '.join(daemons))}"
        yield f"  - {markdown_text(_calls(around))}"
    for direction, topology in environment["topologies"].items():
        yield f"- {markdown_text(direction)}: {markdown_text(topology)}"


def _calls(around: Mapping[str, Any]) -> str:
    """What the kernel's counters say of the cache."""
    calls, looks, cached = around.get("calls"), around.get("looks", 0), around.get("answered_from_cache")
    if calls is None:
        return "this kernel counts no calls of this filesystem (/proc/self/mountstats)"
    sent = ", ".join(f"{name} {count:,}" for name, count in sorted(calls.items(), key=lambda item: -item[1])[:8])
    told = f"calls sent during the run (/proc/self/mountstats): {sent or 'none'}"
    if looks and cached:
        told += f"; at least {cached:,} of {looks:,} looks were answered from cache, no call sent"
    return told


def _closing(environment: Mapping[str, Any], redacted: bool) -> Iterator[str]:
    yield "## In this bundle"
    yield ""
    yield "`repro.py` shows it again, `witness.json` is the program and what it showed, `history.jsonl.gz` every"
    yield "operation with its times, `environment.json` the mounts as their kernels describe them, `profile/` what was"
    yield "held against them, `report.html` and `junit.xml` the whole run, `manifest.json` the SHA-256 of all."
    yield "`fsconform verify` of the zip file computes observations and verdict again from history and profile."
    yield ""
    if redacted:
        yield "Hosts, users, addresses and paths are redacted: `host-1` is the same host everywhere."
    version, run = markdown_text(str(environment["version"])), markdown_text(str(environment["run_id"]))
    yield f"fsconform {version}, run {run}, {visible(str(environment['started']))}."
