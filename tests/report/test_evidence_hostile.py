"""Bundles that were made to do harm: a message and status 2, nothing written, no memory filled."""

from __future__ import annotations

import gzip
import json
import stat
import sys
import warnings
import zipfile
from collections.abc import Iterable
from pathlib import Path

import pytest

from fsconform.report import bundle_reading
from fsconform.report.bundle_format import FORMAT, MANIFEST
from fsconform.report.bundle_verification import verify
from fsconform.vocabulary.errors import CannotTestError

Members = Iterable[tuple[str, bytes] | tuple[zipfile.ZipInfo, bytes] | tuple[str | zipfile.ZipInfo, bytes]]
SITE = {
    "letter": "a", "path": "/a", "host": "h", "boot_id": "b", "time_namespace": "", "kernel": "6.1", "python": "3.11",
    "fstype": "ext4", "source": "x", "device": "0:1", "mount_point": "/a", "options": "rw", "spec": "/a", "uid": 0,
    "gid": 0, "read_only": False, "free_bytes": 1, "client_options": {},
}  # fmt: skip
HISTORY = {"format": "fsconform-history/1", "kind": "rounds", "rounds": 1, "error_ns": [0], "lost": {},
           "program": {"format": 1, "directories": [], "names": [], "lanes": [{"site": "a", "steps": []}]}}  # fmt: skip
WITNESS = {"format": 1, "name": "capability.link/a-a", "kind": "cell", "property": "capability.link", "story": "",
           "seed": 1, "encoding": 1, "program": HISTORY["program"]}  # fmt: skip
PROFILE = Path(__file__).parents[2] / "profiles" / "posix-local.toml"


def lines(*entries: object) -> bytes:
    return gzip.compress(b"".join(json.dumps(entry).encode() + b"\n" for entry in entries))


def sound() -> dict[str, bytes]:
    """The least that is read as a bundle."""
    return {
        MANIFEST: json.dumps({"format": FORMAT, "files": {}, "witnesses": [{"name": "x", "directory": ""}]}).encode(),
        "environment.json": json.dumps({"sites": [SITE]}).encode(), "profile/profile.toml": PROFILE.read_bytes(),
        "witness.json": json.dumps(WITNESS).encode(), "history.jsonl.gz": lines(HISTORY),
    }  # fmt: skip


def pack(path: Path, members: Members, packing: int = zipfile.ZIP_DEFLATED) -> Path:
    with warnings.catch_warnings(), zipfile.ZipFile(path, "w", packing) as archive:
        warnings.simplefilter("ignore")  # of duplicate names
        for name, content in members:
            archive.writestr(name, content, packing)
    return path


def refused(path: Path, match: str) -> None:
    before = sorted(path.parent.rglob("*"))
    with pytest.raises(CannotTestError, match=match) as caught:
        verify(path)
    assert caught.value.status == 2 and sorted(path.parent.rglob("*")) == before


@pytest.mark.parametrize("name", ["../out", "/etc/cron.d/x", "a/../../x", "a\\..\\x", "C:x"])
def test_members_that_lead_out(tmp_path: Path, name: str) -> None:
    refused(pack(tmp_path / "e.zip", [*sound().items(), (name, b"x")]), "leads out of the directory")


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR])
def test_links_and_special_files(tmp_path: Path, kind: int) -> None:
    entry = zipfile.ZipInfo("README.md")
    entry.external_attr = (kind | 0o777) << 16
    refused(pack(tmp_path / "e.zip", [*sound().items(), (entry, b"/etc/passwd")]), "is a link or a special file")


def test_duplicate_members(tmp_path: Path) -> None:
    refused(pack(tmp_path / "e.zip", [*sound().items(), ("witness.json", b"{}")]), "'witness.json' is there twice")


def test_a_bomb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle_reading, "MOST_BYTES", 1 << 20)
    refused(pack(tmp_path / "e.zip", [*sound().items(), ("x", bytes(2 << 20))]), "unpacks to 2,1.. bytes|unpacks to 2")


def test_a_bomb_that_lies_about_its_size(tmp_path: Path) -> None:
    path = pack(tmp_path / "e.zip", [*sound().items(), ("x", bytes(1 << 20))])
    content = path.read_bytes()
    path.write_bytes(content.replace((1 << 20).to_bytes(4, "little"), (16).to_bytes(4, "little")))
    refused(path, "is no zip file that can be read")


def test_a_bomb_inside_a_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle_reading, "MOST_HISTORY_BYTES", 4 << 20)
    monkeypatch.setattr(bundle_reading, "LONGEST_LINE", 1 << 20)
    for content, why in ((b"{}\n" * (3 << 20), "more than 4,194,304 bytes|malformed"), (b" " * (8 << 20), "a line of")):
        bomb = sound() | {"history.jsonl.gz": gzip.compress(json.dumps(HISTORY).encode() + b"\n" + content)}
        refused(pack(tmp_path / "e.zip", bomb.items()), why)


def test_too_many_members(tmp_path: Path) -> None:
    refused(pack(tmp_path / "e.zip", [*sound().items(), *((f"m{k}", b"") for k in range(1001))]), "1006 members")


def test_other_packings(tmp_path: Path) -> None:
    refused(pack(tmp_path / "e.zip", sound().items(), zipfile.ZIP_LZMA), "packed in a way that is not read")


@pytest.mark.parametrize("content", [b"", b"PK", b"no zip at all", bytes(100)])
def test_what_is_no_zip_file(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "e.zip").write_bytes(content)
    refused(tmp_path / "e.zip", "is no zip file")


def test_what_is_not_there_or_cut_off(tmp_path: Path) -> None:
    with pytest.raises(CannotTestError, match="cannot be read"):
        verify(tmp_path / "none.zip")
    path = pack(tmp_path / "e.zip", sound().items())
    path.write_bytes(path.read_bytes()[:-200])
    refused(path, "is no zip file")
    cut = sound()
    cut["history.jsonl.gz"] = cut["history.jsonl.gz"][:-20]
    refused(pack(tmp_path / "e.zip", cut.items()), "is cut off|is no JSON")


@pytest.mark.parametrize("name", sorted(sound()))
@pytest.mark.parametrize(
    "content", [b"", b"\xff\xfe", b"[]", b"null", b'"text"', b"{}", b'{"format": 99}', b"[" * 100_000]
)
def test_malformed_members(tmp_path: Path, name: str, content: bytes) -> None:
    """However deep: JSON and TOML that would exhaust the stack are no fault of ours."""
    refused(pack(tmp_path / "e.zip", (sound() | {name: content}).items()), str(tmp_path))


@pytest.mark.parametrize("name", sorted(set(sound()) - {"profile/profile.toml"}))
def test_missing_members(tmp_path: Path, name: str) -> None:
    refused(pack(tmp_path / "e.zip", [(n, c) for n, c in sound().items() if n != name]), name)


@pytest.mark.parametrize(
    "change",
    [
        {"rounds": 10**15}, {"rounds": -1}, {"rounds": "many"}, {"error_ns": []}, {"errors": [[1, 2]]}, {"lost": []},
        {"clocks": [0, 0, 0]}, {"program": {"format": 7}}, {"program": None}, {"kind": "trials"},
        {"error_ns": [1 << 80]},
    ],
)  # fmt: skip
def test_histories_that_are_none(tmp_path: Path, change: dict[str, object]) -> None:
    refused(pack(tmp_path / "e.zip", (sound() | {"history.jsonl.gz": lines(HISTORY | change)}).items()), "malformed")


@pytest.mark.parametrize(
    "event", [[], {}, {"round": -1, "worker": 0, "seq": 0}, {"round": 1 << 70, "worker": 0, "seq": 0}]
)
def test_events_that_are_none(tmp_path: Path, event: object) -> None:
    refused(pack(tmp_path / "e.zip", (sound() | {"history.jsonl.gz": lines(HISTORY, event)}).items()), "malformed")


def test_a_profile_that_would_read_our_files(tmp_path: Path) -> None:
    for base in ("/etc/passwd", "../../x", "x.toml"):
        evil = b'[profile]\nname = "x"\nextends = "%s"\n' % base.encode()
        refused(pack(tmp_path / "e.zip", (sound() | {"profile/profile.toml": evil}).items()), "must be the name")


def test_the_command_says_it_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from fsconform.cli import main

    path = pack(tmp_path / "e.zip", [("../out", b"x")])
    monkeypatch.setattr(sys, "argv", ["fsconform", "verify", str(path)])
    with pytest.raises(SystemExit) as ended:
        main()
    message, last = capsys.readouterr().err.splitlines()
    assert ended.value.code == 2 and "'../out' leads out" in message and last == "exit status 2 (could not test)"
