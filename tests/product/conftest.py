"""Places and mounts for the tests of the product."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fsconform.cli import main
from fsconform.lab.emulation import Emulation
from fsconform.lab.spec import parse_lab
from tests.product.commands import Ended, message_of, names_below

Mounter = Callable[..., Path]
Lab = Callable[[str], Emulation]
Refusal = Callable[..., str]


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory in memory that other users may enter (pytest's own are private)."""
    with tempfile.TemporaryDirectory(prefix="fsconform-test-", dir="/dev/shm") as name:
        path = Path(name)
        path.chmod(0o755)
        yield path


@pytest.fixture
def mounter(tmp_path: Path) -> Iterator[Mounter]:
    """Mounts that go away with the test: `mounter(name, *arguments of mount(8))`."""
    points: list[Path] = []

    def mount(name: str, *arguments: str) -> Path:
        point = tmp_path / name
        point.mkdir()
        subprocess.run(["mount", *arguments, str(point)], check=True, timeout=20)
        points.append(point)
        return point

    yield mount
    for point in reversed(points):
        subprocess.run(["umount", "-l", str(point)], check=False, timeout=20)


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    """Emulated filesystems that go down with the test: `lab("strict").mounts`."""
    up: list[Emulation] = []

    def bring_up(text: str) -> Emulation:
        emulation = Emulation(parse_lab(text), tmp_path / f"lab{len(up)}", start_timeout_s=60)
        emulation.start()
        up.append(emulation)
        return emulation

    yield bring_up
    for emulation in up:
        emulation.stop()


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where commands run, and where their temporary files go: with a directory `site` and a file `file`."""
    directory = tmp_path / "here"
    (directory / "site").mkdir(parents=True)
    (directory / "file").touch()
    monkeypatch.chdir(directory)
    monkeypatch.setenv("TMPDIR", str(directory))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return directory


@pytest.fixture
def refusal(here: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Refusal:
    """The message with which the command line refuses these words; that nothing is left behind is seen to."""

    def refuse(*words: str | Path) -> str:
        before = names_below(here)
        monkeypatch.setattr(sys, "argv", ["fsconform", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capfd.readouterr()
        assert names_below(here) == before, "left behind"
        assert isinstance(ended.value.code, int)
        return message_of(Ended(ended.value.code, out, err))

    return refuse
