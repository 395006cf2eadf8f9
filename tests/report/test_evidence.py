"""Bundles: made from a run, without names, and judged again."""

from __future__ import annotations

import gzip
import html
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from fsconform.report import writing
from fsconform.report.bundle_verification import verify
from fsconform.report.evidence import write_evidence
from fsconform.report.machine import report_text
from fsconform.report.writing import write_files, write_report
from fsconform.vocabulary.errors import CannotTestError
from tests.report.examples import kept_run
from tests.report.witnesses import ADDRESS, HOSTS, NEGATIVE, PLACE, RACE, SIZE, USER, told_run

SECRETS = (*HOSTS, *(host.partition(".")[0] for host in HOSTS), "blue.example", USER, "zoë", ADDRESS, "/export", "/srv")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run's directory. Its page is a small one with every name in it, in text and in a script: charts take long."""
    directory = tmp_path_factory.mktemp("run")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writing, "_html", lambda record: page(report_text(record)))
        told: list[str] = []
        write_report(told_run(), directory, told.append)
    assert told == []
    return directory


def page(report: str) -> bytes:
    plain = json.dumps(json.loads(report), ensure_ascii=False)
    return f"<p title='{html.escape(plain)}'>{html.escape(plain)}</p><script>{report}</script>".encode()


def members(bundle: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(bundle) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_a_bundle_of_one_cell_has_everything_at_its_top(run: Path, tmp_path: Path) -> None:
    written = write_evidence(run, [NEGATIVE.id], tmp_path / "e.zip", redact=True)
    assert set(written.members) == {
        "README.md", "repro.py", "witness.json", "history.jsonl.gz", "environment.json", "report.html", "junit.xml",
        "profile/profile.toml", "manifest.json",
    } and written.left_out == ()  # fmt: skip
    readme = members(tmp_path / "e.zip")["README.md"].decode()
    for word in ("Expected", "guaranteed", "Got", "How often", "70 of 70", "stat(", "ENOENT", "repro.py", "ext4",
                 "at least 388 of 400 looks were answered from cache, no call sent"):  # fmt: skip
        assert word in readme, word


def test_equal_runs_give_equal_bundles(run: Path, tmp_path: Path) -> None:
    for name in ("1.zip", "2.zip"):
        write_evidence(run, [], tmp_path / name, redact=True)
    assert (tmp_path / "1.zip").read_bytes() == (tmp_path / "2.zip").read_bytes()


def test_no_member_tells_a_host_a_user_an_address_or_a_path(run: Path, tmp_path: Path) -> None:
    """In none of the forms in which formats write a letter that is not ASCII."""
    written = write_evidence(run, [], tmp_path / "e.zip", redact=True)
    for name, content in members(tmp_path / "e.zip").items():
        text = (gzip.decompress(content) if name.endswith(".gz") else content).decode().lower()
        for secret in SECRETS:
            for form in {secret, json.dumps(secret)[1:-1], html.escape(secret), secret.replace(" ", "\\040")}:
                assert form.lower() not in text, (name, form)
                assert form.lower() not in name.lower()
    assert written.aliases is not None and written.aliases.stat().st_mode & 0o777 == 0o600
    aliases = json.loads(written.aliases.read_text())
    assert {PLACE, ADDRESS, USER, *HOSTS} <= set(aliases.values())
    assert str(written.aliases.name) not in members(tmp_path / "e.zip")


def test_one_name_has_one_alias_everywhere(run: Path, tmp_path: Path) -> None:
    written = write_evidence(run, [], tmp_path / "e.zip", redact=True)
    assert written.aliases is not None
    alias = {name: alias for alias, name in json.loads(written.aliases.read_text()).items()}
    environment = json.loads(members(tmp_path / "e.zip")["environment.json"])
    assert [site["host"] for site in environment["sites"]] == [alias[host] for host in HOSTS]
    spec = f"ssh={alias[USER]}@{alias[HOSTS[0]]}:{alias[PLACE]}"
    assert environment["sites"][0]["spec"] == spec and spec in environment["command"]


def test_without_redaction_everything_is_told(run: Path, tmp_path: Path) -> None:
    written = write_evidence(run, [RACE.id], tmp_path / "e.zip", redact=False)
    environment = json.loads(members(tmp_path / "e.zip")["environment.json"])
    assert environment["sites"][0]["host"] == HOSTS[0] and written.aliases is None
    assert not list(tmp_path.glob("*.map.json"))


@pytest.mark.parametrize("redact", [True, False])
def test_a_bundle_is_judged_again_and_agrees(run: Path, tmp_path: Path, redact: bool) -> None:
    write_evidence(run, [NEGATIVE.id, SIZE.id, RACE.id], tmp_path / "e.zip", redact)
    checks = verify(tmp_path / "e.zip")
    assert [check for check in checks if not check.agrees] == []
    assert {check.witness for check in checks if check.what == "verdict"} == {NEGATIVE.id, SIZE.id, RACE.id}


@pytest.mark.parametrize(
    ("member", "old", "new", "what"),
    [
        ("witness.json", '"violations": 70', '"violations": 7', "trials that break a guarantee"),
        ("witness.json", '"verdict": "violated"', '"verdict": "kept"', "verdict"),
        ("profile/profile.toml", 'strength = "guaranteed"', 'strength = "not promised"', "verdict"),
    ],
)
def test_what_was_altered_is_told(run: Path, tmp_path: Path, member: str, old: str, new: str, what: str) -> None:
    write_evidence(run, [NEGATIVE.id], tmp_path / "e.zip", redact=True)
    files = members(tmp_path / "e.zip")
    assert old.encode() in files[member]
    with zipfile.ZipFile(tmp_path / "f.zip", "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content.replace(old.encode(), new.encode()) if name == member else content)
    differing = {check.what for check in verify(tmp_path / "f.zip") if not check.agrees}
    assert {what, "checksums of all members"} <= differing


def test_an_altered_history_gives_another_observation(run: Path, tmp_path: Path) -> None:
    write_evidence(run, [NEGATIVE.id], tmp_path / "e.zip", redact=True)
    files = members(tmp_path / "e.zip")
    lines = gzip.decompress(files["history.jsonl.gz"]).decode().splitlines()
    innocent = json.loads(lines[1])
    innocent["last_miss"] = None
    lines[1] = json.dumps(innocent)
    files["history.jsonl.gz"] = gzip.compress("\n".join(lines).encode())
    with zipfile.ZipFile(tmp_path / "f.zip", "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    found = {check.what: check.found for check in verify(tmp_path / "f.zip") if not check.agrees}
    assert found["trials that break a guarantee"] == "69"


def test_the_reproducer_of_a_bundle_runs_without_us(run: Path, tmp_path: Path) -> None:
    write_evidence(run, [SIZE.id], tmp_path / "e.zip", redact=True)
    (tmp_path / "empty").mkdir()
    with zipfile.ZipFile(tmp_path / "e.zip") as archive:
        archive.extractall(tmp_path / "empty")
    done = subprocess.run(
        [sys.executable, "-I", "-S", "repro.py", str(tmp_path), str(tmp_path), "--rounds", "3"],
        cwd=tmp_path / "empty", env={"PATH": os.environ["PATH"]}, capture_output=True, text=True, timeout=60,
        check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "reproduced 0 of 3\nremoved what was made\n"), done.stderr


def test_what_cannot_be_bundled_is_told(run: Path, tmp_path: Path) -> None:
    with pytest.raises(CannotTestError, match=r"unknown witness 'size\.gro.*did you mean 'size\.grow"):
        write_evidence(run, [SIZE.id.replace("grow", "gro")], None, redact=True)
    write_files([("report.json", lambda: report_text(kept_run()).encode()), ("environment.json", lambda: b"{}")],
                tmp_path / "kept")  # fmt: skip
    with pytest.raises(CannotTestError, match="nothing to bundle"):
        write_evidence(tmp_path / "kept", [], None, redact=True)
    with pytest.raises(CannotTestError, match=r"report\.json: cannot be read"):
        write_evidence(tmp_path, [], None, redact=True)
