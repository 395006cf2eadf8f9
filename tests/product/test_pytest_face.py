"""The pytest face says what `fsconform run` says, in pytest's words."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from fsconform.vocabulary.properties import PROPERTIES
from tests.product.commands import Ended, fsconform
from tests.product.conftest import Lab

DOCUMENT = Path(__file__).parents[2] / "docs" / "pytest.md"
OUTCOME = {"kept": "passed", "observed": "passed", "violated": "failed", "inconclusive": "error", "n/a": "skipped"}
OPTIONAL, NOT_PROMISED = "capability.xattr", "capability.flock"
PROFILE = f"""
[profile]
name = "mine"
title = "A test"
shared = false

[[promise]]
property = {json.dumps([word for word in PROPERTIES if word not in (OPTIONAL, NOT_PROMISED)])}
strength = "guaranteed"
evidence = "source"
source = "link(2)"

[[promise]]
property = "{OPTIONAL}"
strength = "optional"
evidence = "source"
source = "xattr(7)"

[[promise]]
property = "{NOT_PROMISED}"
strength = "not promised"
evidence = "source"
source = "flock(2)"
"""


def run_pytest(here: Path, *words: str) -> Ended:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *words],
        cwd=here, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    return Ended(done.returncode, done.stdout, done.stderr)


def outcomes(junit: Path) -> dict[str, str]:
    """Id in brackets -> outcome."""
    found = {}
    for case in ET.parse(junit).iter("testcase"):
        words = [word for word in ("failure", "error", "skipped") if case.find(word) is not None]
        name = re.sub(r".*\[(.*)\]", r"\1", case.attrib["name"])
        found[name] = {"failure": "failed"}.get(words[0], words[0]) if words else "passed"
    return found


@pytest.mark.fuse
def test_the_same_words_as_the_command_line(here: Path, lab: Lab) -> None:
    (here / "mine.toml").write_text(PROFILE)
    first, second = map(str, lab("strict,mutant=no-link,mutant=no-xattr").mounts)
    ended = fsconform(
        "run", first, "--site", second, "--profile", "mine.toml", "--budget", "smoke", "--no-search",
        "-k", "capability or unlink", cwd=here,
    )  # fmt: skip
    assert ended.status == 1, ended.text
    (report,) = here.glob("reports/*/report.json")
    verdicts = {cell["id"]: cell["verdict"] for cell in json.loads(report.read_text())["cells"]}
    assert {verdicts[f"{OPTIONAL}/a-a"], verdicts[f"{NOT_PROMISED}/a-b"]} == {"n/a", "observed"}
    assert set(verdicts.values()) == set(OUTCOME)

    session = run_pytest(
        here, "--pyargs", "fsconform.suite", f"--fs-site={first}", f"--fs-site={second}", "--fs-profile=mine.toml",
        "--fs-budget=smoke", "-k", "capability or unlink", "--junitxml=junit.xml", "--fs-report=from-pytest",
    )  # fmt: skip
    assert session.status == 1, session.text
    told = outcomes(here / "junit.xml")
    assert told.pop("none-here") == "skipped", "the family `unlink` has cells in larger budgets only, and says so"
    assert told == {cell: OUTCOME[verdict] for cell, verdict in verdicts.items()}
    told = json.loads((here / "from-pytest" / "report.json").read_text())
    assert {cell["id"]: cell["verdict"] for cell in told["cells"]} == verdicts
    assert "repeat: fsconform run" in session.out


def test_the_exit_status_is_that_of_the_run(here: Path) -> None:
    words = ("--pyargs", "fsconform.suite", "--fs-site=site", "--fs-budget=smoke", "-k")
    assert run_pytest(here, *words, "fsync-dir").status == 0
    assert run_pytest(here, *words, "plain-create").status == 4  # too few trials in this budget


def test_collecting_touches_nothing(here: Path) -> None:
    site = f"--fs-site={here / 'no-such-place'}"
    session = run_pytest(here, "--pyargs", "fsconform.suite", site, "--collect-only", "-q", "-k", "visibility")
    assert session.status == 0, session.text
    items = [line for line in session.out.splitlines() if "[visibility" in line]
    cells = [line for line in fsconform("cells", "--sites", "1", cwd=here).out.split() if line.startswith("visibility")]
    assert [line.partition("[")[2].rstrip("]") for line in items] == cells


def test_a_site_that_cannot_be_tested(here: Path) -> None:
    session = run_pytest(here, "--pyargs", "fsconform.suite", "--fs-site=no-such-place", "-k", "link")
    assert session.status == pytest.ExitCode.USAGE_ERROR
    assert "no-such-place does not exist" in session.text and "Traceback" not in session.text


def test_without_a_site_everything_is_skipped(here: Path) -> None:
    session = run_pytest(here, "--pyargs", "fsconform.suite")
    assert session.status == 0 and "skipped" in session.out and "passed" not in session.out, session.text


def test_no_xdist(here: Path) -> None:
    (here / "conftest.py").write_text(
        "def pytest_addoption(parser):\n    parser.addoption('--numprocesses', type=int)\n"
    )
    (here / "test_x.py").write_text(example())
    session = run_pytest(here, "test_x.py", "--fs-site=site", "--numprocesses=2")
    assert session.status == pytest.ExitCode.USAGE_ERROR
    assert "one window, one process" in session.text
    assert os.listdir(here / "site") == []


def test_hostile_surroundings(here: Path) -> None:
    (here / "pyproject.toml").write_text(
        '[tool.pytest.ini_options]\naddopts = "-W error --strict-markers --strict-config -x"\n'
    )
    (here / "conftest.py").write_text("def pytest_collection_modifyitems(items):\n    items.reverse()\n")
    (here / "fsconform.py").write_text("raise SystemExit('not this one')\n")
    words = ("--pyargs", "fsconform.suite", "--fs-site=site", "--fs-budget=smoke", "-k", "link and capability")
    done = subprocess.run(
        [sys.executable, "-P", "-m", "pytest", *words],
        cwd=here,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0 and "1 passed" in done.stdout, done.stdout + done.stderr


def example() -> str:
    """The code that the document shows."""
    (code,) = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    return str(code)


@pytest.mark.fuse
def test_the_example_of_the_document(here: Path, lab: Lab) -> None:
    (here / "test_our_mount.py").write_text(example())
    sites = [f"--fs-site={point}" for point in lab("fuse-default,negative=0.3,entry=0.3,attr=0.3").mounts]
    session = run_pytest(here, "test_our_mount.py", *sites, "--fs-budget=smoke", "--junitxml=junit.xml")
    found = outcomes(here / "junit.xml")
    visible = "visibility.create/rename/missed/stat/fresh/a-b"
    assert found[visible] == found["capability.link/a-a"] == found["test_the_sites_are_two_clients"] == "passed"
    assert {word for word in found if word.startswith("visibility")} == {visible, visible.replace("a-b", "b-a")}
    assert "failed" not in found.values() and session.status == 4, session.text  # smoke calls no lock kept


@pytest.mark.parametrize("word", ["visibilty.create", "visibility.crate"])
def test_a_marker_with_a_typo(here: Path, word: str) -> None:
    (here / "test_x.py").write_text(example().replace('"visibility.create"', f'"{word}"'))
    session = run_pytest(here, "test_x.py", "--fs-site=site", "--fs-budget=smoke")
    assert session.status not in (0, 5)
    assert f"unknown property '{word}'; did you mean 'visibility.create'?" in session.text
    assert os.listdir(here / "site") == []


def test_a_marker_that_fits_no_cell(here: Path) -> None:
    (here / "test_x.py").write_text(example().replace('state="missed"', 'state="mised"'))
    session = run_pytest(here, "test_x.py", "--fs-site=site", "--fs-budget=smoke")
    assert session.status not in (0, 5)
    assert "no cell of visibility.create" in session.text and "mised" in session.text
