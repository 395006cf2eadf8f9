"""What a wheel holds: everything that an installed fsconform reads."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NEEDED = (
    "fsconform/py.typed", "fsconform/cli.py", "fsconform/plugin.py", "fsconform/run/cells.toml",
    "fsconform/report/templates/report.md.j2", "fsconform/fleet/worker/loop.py", "fsconform/lab/server.py",
    "fsconform/suite/__init__.py",
)  # fmt: skip


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """Built without looking anything up, where the builder is installed; by pip in a builder of its own else."""
    place = tmp_path_factory.mktemp("wheel")
    isolation = ["--no-build-isolation"] if importlib.util.find_spec("hatchling") else []
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", *isolation, "--wheel-dir", place, ROOT]
    subprocess.run([*map(str, command)], check=True, timeout=300, stdin=subprocess.DEVNULL)
    (path,) = place.glob("fsconform-*.whl")
    return zipfile.ZipFile(path)


def test_what_an_installed_fsconform_reads_is_there(wheel: zipfile.ZipFile) -> None:
    names = set(wheel.namelist())
    assert set(NEEDED) <= names
    for folder, inside in (("profiles", "fsconform/profiles"), ("fsconform/suite", "fsconform/suite")):
        files = {f"{inside}/{path.name}" for path in (ROOT / folder).iterdir() if path.is_file()}
        assert files and files <= names


def test_every_file_of_the_package_is_there(wheel: zipfile.ZipFile) -> None:
    done = subprocess.run(["git", "ls-files", "fsconform"], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip("no git checkout")
    present = {name for name in done.stdout.split() if (ROOT / name).exists()}
    assert present <= set(wheel.namelist())


def test_nothing_else_is_there(wheel: zipfile.ZipFile) -> None:
    tops = {name.partition("/")[0] for name in wheel.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"fsconform"}
    assert not [name for name in wheel.namelist() if "__pycache__" in name or name.endswith(".pyc")]


def test_the_entry_points(wheel: zipfile.ZipFile) -> None:
    (name,) = (name for name in wheel.namelist() if name.endswith("entry_points.txt"))
    text = wheel.read(name).decode()
    assert "[console_scripts]\nfsconform = fsconform.cli:main" in text
    assert "[pytest11]\nfsconform = fsconform.plugin" in text
