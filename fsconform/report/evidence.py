"""`fsconform evidence`: from a run's directory to a bundle that a stranger can act on."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

from fsconform.report import bundle_format as layout
from fsconform.report.evidence_readme import environment_line, readme_text
from fsconform.report.histories import compressed, file_word, history_name
from fsconform.report.reading import ReadReport, read_report
from fsconform.report.redaction import Redactor
from fsconform.report.redaction_secrets import secrets_here, secrets_of
from fsconform.report.reproducer import reproducer_text
from fsconform.search.replaying import load_witness
from fsconform.vocabulary.errors import CannotTestError, unknown
from fsconform.vocabulary.stored_witnesses import StoredWitness

_OF_PROGRAMS = frozenset({"program", "events", "contradictions", "name", "cell", "kind", "property", "run_id"})
"""Parts of a witness and of a history that only hold names which we made ourselves."""


@dataclass(frozen=True, slots=True)
class Written:
    """A bundle on disk."""

    bundle: Path
    aliases: Path | None
    """What stands for what; None where nothing was redacted."""
    members: tuple[str, ...]
    left_out: tuple[str, ...]
    """Members that would have told names in spite of redaction."""


def write_evidence(run: Path, names: Sequence[str], output: Path | None, redact: bool) -> Written:
    """Bundle the witnesses of these names (none: one per broken property) into a zip file, and write the aliases
    beside it. Raises CannotTestError for directories that are no run's, and names without a witness."""
    source = _Source.of(run)
    chosen = _chosen(source, names)
    redactor = Redactor() if redact else None
    if redactor:
        redactor.learn((*secrets_of(source.environment), *secrets_here(run)))
    files, directories = _files(source, chosen, redactor)
    left_out = _remove_leaks(files, redactor) if redactor else ()
    facts = {
        "version": source.report.version, "run_id": source.environment["run_id"], "redacted": redact,
        "left_out": list(left_out),
    }  # fmt: skip
    files[layout.MANIFEST] = layout.manifest(files, directories, facts)
    place = output or run / f"evidence-{source.environment['run_id']}.zip"
    try:
        place.write_bytes(layout.zipped(files))
        aliases = _write_aliases(place, redactor) if redactor else None
    except OSError as error:
        raise CannotTestError(f"{place}: cannot be written: {error.strerror}; give another --output") from None
    return Written(place, aliases, tuple(sorted(files)), left_out)


@dataclass(frozen=True, slots=True)
class _Source:
    """A run's directory."""

    run: Path
    report: ReadReport
    environment: dict[str, Any]
    witnesses: dict[str, StoredWitness]
    """By name, in the order of the report."""

    @classmethod
    def of(cls, run: Path) -> _Source:
        report = read_report(str(run))
        found = {w.name: w for w in (load_witness(path) for path in sorted(run.glob(f"witnesses/*/{layout.WITNESS}")))}
        order = [f"{cell.name}/{cell.direction}" for cell in report.cells]
        ranked = sorted(found, key=lambda name: order.index(name) if name in order else len(order))
        try:
            environment = json.loads((run / layout.ENVIRONMENT).read_text("utf-8"))
        except (OSError, ValueError) as error:
            why = "the run was made by an older fsconform; run it again"
            raise CannotTestError(f"{run / layout.ENVIRONMENT}: cannot be read ({error}): {why}") from None
        return cls(run, report, environment, {name: found[name] for name in ranked})

    def content(self, name: str) -> bytes | None:
        """A file of the run; None where it has none."""
        try:
            return (self.run / name).read_bytes()
        except OSError:
            return None


def _chosen(source: _Source, names: Sequence[str]) -> list[StoredWitness]:
    if not source.witnesses:
        raise CannotTestError(f"{source.run}: has no violation and no finding, so there is nothing to bundle")
    for name in names:
        if name not in source.witnesses:
            raise unknown("witness", name, source.witnesses, str(source.run))
    if names:
        return [source.witnesses[name] for name in dict.fromkeys(names)]
    return list({witness.property_id: witness for witness in reversed(source.witnesses.values())}.values())[::-1]


def _files(
    source: _Source, chosen: Sequence[StoredWitness], redactor: Redactor | None
) -> tuple[dict[str, bytes], dict[str, str]]:
    """Member -> content, and name of a witness -> its directory in the bundle (empty where it is the only one)."""
    environment = redactor.plain(source.environment) if redactor else source.environment
    files: dict[str, bytes] = {}
    directories: dict[str, str] = {}
    told = []
    for witness in chosen:
        place = f"{file_word(witness.name)}/" if len(chosen) > 1 else ""
        directories[witness.name] = place
        shown = _redacted(witness, redactor)
        told.append(shown)
        files |= {place + name: content for name, content in _of_witness(source, shown, environment, redactor)}
    files[layout.README] = readme_text(told, directories, environment, redactor is not None).encode("utf-8")
    files[layout.ENVIRONMENT] = (json.dumps(environment, indent=1) + "\n").encode("ascii")
    for path in sorted(source.run.glob(f"{layout.PROFILES}*.toml")):
        text = path.read_text("utf-8")
        files[layout.PROFILES + path.name] = (redactor.known(text) if redactor else text).encode("utf-8")
    for name in layout.REPORTS:
        if content := source.content(name):
            files[name] = _report(name, content, redactor)
    return files, directories


def _redacted(witness: StoredWitness, redactor: Redactor | None) -> StoredWitness:
    if redactor is None:
        return witness
    return StoredWitness.from_json(redactor.plain(witness.to_json(), _OF_PROGRAMS))


def _of_witness(
    source: _Source, witness: StoredWitness, environment: Mapping[str, Any], redactor: Redactor | None
) -> Iterator[tuple[str, bytes]]:
    yield layout.WITNESS, (json.dumps(witness.to_json(), indent=1) + "\n").encode("ascii")
    if witness.contradictions:
        text = reproducer_text(witness, [environment_line(site) for site in environment["sites"]])
        yield layout.REPRODUCER, text.encode("utf-8")
    history = source.content(f"histories/{history_name(witness.name)}")
    if history is not None:
        yield layout.HISTORY, _history(history, redactor) if redactor else history


def _history(content: bytes, redactor: Redactor) -> bytes:
    """A history; its events hold only names that we made ourselves, its words about losses may hold others."""
    header, *lines = gzip.decompress(content).decode("ascii").splitlines()
    told = json.dumps(redactor.plain(json.loads(header), _OF_PROGRAMS))
    kept = (_trial(line, redactor) if line.startswith('{"trial"') else line for line in lines)
    return compressed([told, *kept])


def _trial(line: str, redactor: Redactor) -> str:
    told = json.loads(line)
    return json.dumps({**told, "lost": redactor.text(told["lost"]), "clock_fault": redactor.text(told["clock_fault"])})


def _report(name: str, content: bytes, redactor: Redactor | None) -> bytes:
    if redactor is None:
        return content
    if not name.endswith(".xml"):
        return redactor.known(content.decode("utf-8")).encode("utf-8")
    root = Xml.fromstring(content)
    for node in root.iter():
        node.text = redactor.text(node.text) if node.text else node.text
        for key, value in node.attrib.items():
            if key not in ("classname", "time", "timestamp", "type"):
                node.set(key, redactor.text(value))
    text = Xml.tostring(root, encoding="unicode")
    return f"<?xml version='1.0' encoding='utf-8'?>\n{text}\n".encode()


def _remove_leaks(files: dict[str, bytes], redactor: Redactor) -> tuple[str, ...]:
    """Take out what still tells a name: reports that were made for people at home, never what the bundle is made of."""
    leaking = {}
    for name, content in files.items():
        text = (gzip.decompress(content) if name.endswith(".gz") else content).decode("utf-8", "surrogateescape")
        if aliases := sorted(set(redactor.leaks(text))):
            leaking[name] = aliases
    for name, aliases in leaking.items():
        if name not in layout.REPORTS:
            raise CannotTestError(f"{name} would still tell {', '.join(aliases)}; bundle it with --no-redact instead")
        del files[name]
    return tuple(leaking)


def _write_aliases(place: Path, redactor: Redactor) -> Path:
    """The map from aliases to names, for its owner alone."""
    path = place.with_suffix(".map.json")
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as stream:
        stream.write(json.dumps(redactor.aliases, indent=1) + "\n")
    return path
