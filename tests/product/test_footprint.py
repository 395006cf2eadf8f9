"""On the mounts under test nothing is ever written outside the run's own marked directory."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.product.commands import fsconform
from tests.product.conftest import Lab, Mounter
from tests.product.footprint import Footprint

MARK = ".fsconform-"
QUICK = ("--budget", "smoke")
"""All cells of quick, and the search, with fewer trials."""


@pytest.fixture
def mount(mounter: Mounter) -> Path:
    """A filesystem with a directory to test in, and the files of others beside and inside it."""
    point = mounter("mount", "-t", "tmpfs", "-o", "size=1g", "fsconform-test")
    furnish(point)
    return point


def furnish(point: Path) -> None:
    for directory in ("site", "site/others", "elsewhere", "elsewhere/3fs-virt"):
        (point / directory).mkdir()
        (point / directory / "precious").write_text("precious")
    (point / "site" / ".fsconform-0123456789abcdef").mkdir()  # of our name, without a marker: not ours
    (point / "site" / "out").symlink_to("../elsewhere")


def contents(top: Path) -> list[tuple[str, int, int, int]]:
    """Path, mode, size and time of change of everything."""
    found = []
    for place, below, files in os.walk(top):
        for name in (*below, *files):
            path = os.path.join(place, name)
            known = os.lstat(path)
            directory = os.path.isdir(path)
            found.append(
                (path, known.st_mode, 0 if directory else known.st_size, 0 if directory else known.st_ctime_ns)
            )
    return sorted(found)


def strangers(touched: set[str], *sites: Path) -> set[str]:
    """What was changed and is not a run's directory at a site."""
    return {path for path in touched if not any(path.startswith(f"{site}/{MARK}") for site in sites)}


@pytest.mark.root
def test_a_run(here: Path, mount: Path) -> None:
    before = contents(mount)
    with Footprint(mount) as footprint:
        ended = fsconform("run", mount / "site", *QUICK, cwd=here)
        touched = footprint.touched()
    assert ended.status == 4, ended.text  # smoke calls nothing kept
    assert "search" in ended.out and "not run" not in ended.out
    assert touched and strangers(touched, mount / "site") == set()
    assert contents(mount) == before


@pytest.mark.fuse
def test_a_run_over_two_mounts(here: Path, lab: Lab) -> None:
    emulation = lab("strict")
    furnish(emulation.mounts[0])
    sites = [point / "site" for point in emulation.mounts]
    before = contents(emulation.mounts[0])
    with Footprint(*emulation.mounts) as footprint:
        ended = fsconform("run", sites[0], "--site", sites[1], "--profile", "posix-local", *QUICK, cwd=here)
        touched = footprint.touched()
    assert ended.status == 4, ended.text
    assert touched and strangers(touched, *sites) == set()
    assert contents(emulation.mounts[0]) == before


@pytest.mark.root
@pytest.mark.parametrize(
    ("words", "status"),
    [
        (("doctor", "SITE"), 0),
        (("clean", "SITE"), 2),
        (("run", "SITE", "--site", "MOUNT/elsewhere"), 2),
        (("run", "SITE", "--profile", "no-such-profile"), 2),
        (("run", "SITE", "--site", "no-such-site"), 2),
        (("run", "SITE", "--report", "SITE/reports"), 2),
        (("run", "MOUNT/elsewhere/3fs-virt"), 2),
    ],
)  # fmt: skip
def test_other_commands_and_failed_starts(here: Path, mount: Path, words: tuple[str, ...], status: int) -> None:
    before = contents(mount)
    with Footprint(mount) as footprint:
        given = [word.replace("SITE", str(mount / "site")).replace("MOUNT", str(mount)) for word in words]
        ended = fsconform(*given, cwd=here)
        touched = footprint.touched()
    assert ended.status == status, ended.text
    assert strangers(touched, mount / "site") == set()
    assert contents(mount) == before


@pytest.mark.root
@pytest.mark.parametrize("separate", [False, True])
def test_the_pytest_face(here: Path, mount: Path, separate: bool) -> None:
    before = contents(mount)
    site = ["--fs-site", str(mount / "site")] if separate else [f"--fs-site={mount / 'site'}"]
    words = ["--pyargs", "fsconform.suite", *site, "--fs-budget", "smoke", "-k", "link"]
    with Footprint(mount) as footprint:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *words], cwd=here, capture_output=True, text=True, timeout=120, check=False
        )
        touched = footprint.touched()
    assert " passed" in done.stdout, done.stdout
    assert touched and strangers(touched, mount / "site") == set()
    assert contents(mount) == before
