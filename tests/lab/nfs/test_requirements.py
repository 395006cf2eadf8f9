"""Where the lab cannot run it says why, and how to install what is missing."""

from __future__ import annotations

import errno
import multiprocessing
import platform
from pathlib import Path

import pytest

from fsconform.lab.nfs import registers, requirements
from fsconform.lab.nfs.lab import NfsLab
from fsconform.lab.nfs.spec import parse_nfs
from fsconform.vocabulary.errors import CannotTestError


@pytest.fixture
def bare_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine on which nothing is installed."""
    monkeypatch.setattr(requirements, "find_program", lambda name: None)
    monkeypatch.setattr(requirements, "MODULES", tmp_path / "nothing")
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")


@pytest.mark.usefixtures("bare_machine")
def test_missing_packages_are_named_with_the_command() -> None:
    with pytest.raises(CannotTestError) as caught:
        NfsLab(parse_nfs("nfs3,fs=ext4")).start()
    text = str(caught.value)
    assert text.startswith("lab=nfs3,fs=ext4: not installed: e2fsprogs, iproute2, nfs-common, nfs-kernel-server")
    assert "make lab-deps" in text
    assert "apt-get install --no-install-recommends" in text
    assert requirements.readiness().startswith("not ready: not installed: iproute2")
    assert "e2fsprogs" not in requirements.readiness()


def test_other_machines_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    assert "x86_64 only" in requirements.obstacle()


def test_an_old_interpreter_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(requirements, "missing_packages", lambda disk=False: ())
    monkeypatch.setattr(requirements, "guest_python", lambda: Path("/usr/bin/python3.8"))
    assert "older than Python 3.9" in requirements.obstacle()


def test_memory_goes_where_there_is_room() -> None:
    assert requirements.memory_directory(1 << 60) == "/tmp"
    assert requirements.memory_directory(0) in ("/dev/shm", "/tmp")


def _read_registers(answers: multiprocessing.SimpleQueue[int]) -> None:
    import ctypes

    registers.hide_extended_state()
    libc = ctypes.CDLL(None, use_errno=True)
    for request, kind in ((0x4204, 0x202), (0x4204, 1), (0x4205, 0x202)):
        libc.ptrace(request, 1 << 22, kind, None)  # no such process: ESRCH where the request is let through
        answers.put(ctypes.get_errno())


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the filter is for x86_64")
def test_only_reading_the_extended_state_is_hidden() -> None:
    answers: multiprocessing.SimpleQueue[int] = multiprocessing.SimpleQueue()
    child = multiprocessing.Process(target=_read_registers, args=(answers,))
    child.start()
    child.join(20)
    assert [answers.get() for _ in range(3)] == [errno.EIO, errno.ESRCH, errno.ESRCH]
