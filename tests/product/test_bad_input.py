"""Whatever is asked wrongly gets one message that says what, where and what would be right, and status 2."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from fsconform.vocabulary.properties import PROPERTIES
from tests.product.commands import ONE_CELL, WITHOUT_PRIVILEGES, fsconform, marked_directories, message_of
from tests.product.conftest import Lab, Mounter, Refusal

GOOD = f"""
[profile]
name = "mine"
title = "A test"
shared = false

[match]
fstype = ["ext4"]

[[promise]]
property = {json.dumps(list(PROPERTIES))}
strength = "guaranteed"
evidence = "source"
source = "link(2)"
"""


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("no-such-place",), "no-such-place does not exist; give an existing directory"),
        (("file",), "file is a regular file, not a directory"),
        (("/",), "it is the root directory /; give a directory made for tests"),
        (("/proc",), "/proc is on proc, a pseudo filesystem of the kernel"),
        (("site", "--site", "site"), "site 'site': the same path twice; give it once: all workers run there"),
        (("site", "--site", "./site/."), "site 'site' and './site/.': the same path twice"),
        (("",), "a site is empty; give a mount path"),
        ((), "no site: give a mount path"),
        (("ssh=host",), "site 'ssh=host': ssh= needs TARGET:/absolute/path"),
        (("site", "--profile", "posix-locl"), "unknown profile 'posix-locl'; did you mean 'posix-local'?"),
        (("site", "--budget", "quik"), "unknown budget 'quik'; did you mean 'quick'?"),
        (("site", "--budget", "-5m"), "unknown budget '-5m'"),
        (("site", "--cell", "capability.lnk/a-a"), "unknown cell 'capability.lnk/a-a'; did you mean 'capability.link"),
        (("site", "-k", "capabilty"), "-k 'capabilty' selects none of 58 cells; `fsconform cells` lists them"),
        (("site", "-k", "link and ("), "-k 'link and (' ends too early"),
        (("lab=3fs-fus",), "lab=3fs-fus: unknown lab '3fs-fus'; did you mean '3fs-fuse'?"),
        (("lab=strict,mutant=rename-gp",), "unknown mutant 'rename-gp'; did you mean 'rename-gap'?"),
        (("lab=strict,negativ=1",), "unknown key 'negativ'; did you mean 'negative'?"),
        (("lab=strict,negative=1s",), "negative=1s: a number without unit (durations in seconds)"),
        (("site", "--step-deadline", "nan"), "--step-deadline nan: seconds between 1 and 3600"),
        (("site", "--step-deadline", "-1"), "--step-deadline -1: seconds between 1 and 3600"),
        (("site", "--report", "file"), "file is not a directory; give another one with --report"),
        (("site", "--report", "/proc/reports"), "--report /proc/reports: nothing can be made in /proc (No such"),
        (("site", "--report", "site/reports"), "--report site/reports: inside the site 'site'; give a"),
    ],
)  # fmt: skip
def test_words(refusal: Refusal, words: tuple[str, ...], told: str) -> None:
    assert told in refusal("run", *words)


def test_home(here: Path, refusal: Refusal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(here / "site"))
    assert f"it is the home directory {here / 'site'}; give" in refusal("run", "site")


def test_reports_never_go_into_the_site(here: Path, refusal: Refusal) -> None:
    assert refusal("run", ".") == "./reports: inside the site '.'; give a directory elsewhere with --report"


@pytest.mark.parametrize(
    ("wrong", "right", "told"),
    [
        ('stength = "guaranteed"', 'strength = "guaranteed"', "unknown key 'stength'; did you mean 'strength'?"),
        ('"capability.lnk"', '"capability.link"', "did you mean 'capability.link'?"),
        ('strength = "guarantied"', 'strength = "guaranteed"', "did you mean 'guaranteed'?"),
        ("shared = 7", "shared = false", "shared"),
        ('within = "5 lightyears"', 'strength = "guaranteed"', "within"),
        ("", 'source = "link(2)"', "source"),
        ("strength = ", 'strength = "guaranteed"', "line 12"),
    ],
)  # fmt: skip
def test_profiles(here: Path, refusal: Refusal, wrong: str, right: str, told: str) -> None:
    assert right in GOOD
    (here / "mine.toml").write_text(GOOD.replace(right, wrong))
    for words in (("profile", "check", "mine.toml"), ("run", "site", "--profile", "mine.toml")):
        message = refusal(*words)
        assert "mine.toml" in message and told in message


def test_a_profile_written_right(here: Path, refusal: Refusal) -> None:
    (here / "mine.toml").write_text(GOOD)
    assert fsconform("profile", "check", "mine.toml", cwd=here).status == 0
    (here / "mine.toml").write_text(GOOD.replace(', "capability.fsync-dir"', ""))
    assert "mine.toml: capability.fsync-dir: nothing is promised" in refusal("profile", "check", "mine.toml")


def test_doctor_and_clean(refusal: Refusal) -> None:
    assert "no-such-place does not exist" in refusal("doctor", "no-such-place")
    assert "no-such-place: cannot be listed (No such file" in refusal("clean", "no-such-place")


@pytest.mark.root
def test_only_read_only_mounts(refusal: Refusal, mounter: Mounter) -> None:
    point = mounter("read-only", "-t", "tmpfs", "-o", "size=16m,ro", "fsconform-test")
    assert f"no writable site: '{point}' is mounted read-only" in refusal("run", point)


@pytest.mark.root
def test_a_full_filesystem(refusal: Refusal, mounter: Mounter) -> None:
    point = mounter("full", "-t", "tmpfs", "-o", "size=64k", "fsconform-test")
    assert f"the filesystem at {point} is too full (64.0 KiB free, 1.0 MiB needed)" in refusal("run", point)
    assert os.listdir(point) == []


@pytest.mark.root
def test_a_filesystem_too_small_for_the_plan(refusal: Refusal, mounter: Mounter) -> None:
    point = mounter("small", "-t", "tmpfs", "-o", "size=8m", "fsconform-test")
    assert "free space there or choose a smaller budget" in refusal("run", point)
    assert os.listdir(point) == []


@pytest.mark.root
def test_no_permission(here: Path, place: Path) -> None:
    for name, mode in (("foreign", 0o755), ("private", 0o700)):
        (place / name).mkdir(mode=mode)
        os.chown(place / name, 65534, 65534)
    told = message_of(fsconform("run", place / "foreign", cwd=here, prefix=WITHOUT_PRIVILEGES))
    assert "is not writable for uid 0 (no permission); give at least one site" in told
    told = message_of(fsconform("run", place / "private", cwd=here, prefix=WITHOUT_PRIVILEGES))
    assert "private may not be entered" in told and "EACCES for uid 0" in told


@pytest.mark.root
def test_different_trees(refusal: Refusal, mounter: Mounter) -> None:
    first = mounter("first", "-t", "tmpfs", "-o", "size=16m", "fsconform-test")
    second = mounter("second", "-t", "tmpfs", "-o", "size=16m", "fsconform-test")
    message = refusal("run", first, "--site", second)
    assert f"sites '{first}' and '{second}' show different trees" in message
    assert os.listdir(first) == os.listdir(second) == []


@pytest.mark.fuse
def test_a_dead_mount(refusal: Refusal, lab: Lab) -> None:
    emulation = lab("strict")
    os.kill(emulation.pid, signal.SIGKILL)
    message = refusal("run", emulation.mounts[0], "--site", emulation.mounts[1])
    assert f"dead mount at {emulation.mounts[0]}" in message and "ENOTCONN" in message and "umount -l" in message


@pytest.mark.fuse
def test_a_hung_mount(refusal: Refusal, lab: Lab) -> None:
    emulation = lab("strict")
    os.kill(emulation.pid, signal.SIGSTOP)
    message = refusal("run", emulation.mounts[0])
    assert "hung: no answer to" in message and "see whether its server runs and answers" in message
    os.kill(emulation.pid, signal.SIGCONT)
    assert marked_directories(*emulation.mounts) == []


@pytest.mark.parametrize(
    ("words", "told"),
    [(("run", "site", "--budgt", "quick"), "--budgt"), (("run", "site", "other"), "other"), (("rum", "site"), "rum")],
)
def test_words_that_the_command_line_itself_refuses(here: Path, words: tuple[str, ...], told: str) -> None:
    ended = fsconform(*words, cwd=here)
    assert ended.status == 2 and "Traceback" not in ended.text
    assert told in ended.err


def test_the_shortest_run_is_kept(here: Path) -> None:
    """What the refusals are held against: the same words, written right."""
    ended = fsconform("run", "site", *ONE_CELL, cwd=here)
    assert ended.status == 0, ended.text
    assert ended.out.endswith("exit status 0 (kept)\n")
    assert os.listdir(here / "site") == []
