"""Nothing stays: after a proper end, after the controller is killed, after a guest dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from fsconform.fleet.fleet import Fleet, WorkerLost
from fsconform.fleet.launch import Launch
from fsconform.lab.nfs import cluster
from fsconform.lab.nfs.lab import NfsLab
from fsconform.lab.nfs.requirements import KERNEL
from fsconform.lab.nfs.spec import parse_nfs
from fsconform.vocabulary.errors import CannotTestError

pytestmark = pytest.mark.uml

_CHILD = """
import time
from fsconform.lab.nfs.lab import NfsLab
from fsconform.lab.nfs.spec import parse_nfs
with NfsLab(parse_nfs("nfs3,one-kernel")) as lab:
    print(lab.pid, lab.sites[0].target.split()[-2], flush=True)
    time.sleep(600)
"""


def _until(happened: Callable[[], bool], seconds: float = 20.0) -> bool:
    end = time.monotonic() + seconds
    while not happened():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def _family(pid: int) -> list[psutil.Process]:
    process = psutil.Process(pid)
    return [process, *process.children(recursive=True)]


def _gone(processes: list[psutil.Process]) -> bool:
    return not any(process.is_running() and process.status() != psutil.STATUS_ZOMBIE for process in processes)


def _session(lab: NfsLab) -> Path:
    return Path(lab.sites[0].target.split()[-2]).parent


def test_a_proper_end_leaves_nothing() -> None:
    with NfsLab(parse_nfs("nfs4.2")) as lab, Fleet() as fleet:
        fleet.launch([Launch(spec, letter) for letter, spec in zip("ab", lab.sites, strict=True)])
        family, session = _family(lab.pid), _session(lab)
        assert sum(KERNEL in " ".join(process.cmdline()) for process in family) >= 3
        assert session.is_dir()
    lab.stop()
    assert _until(lambda: _gone(family))
    assert not session.exists()


def test_the_guests_end_when_the_controller_is_killed() -> None:
    child = subprocess.Popen([sys.executable, "-c", _CHILD], stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout is not None
        pid, path = child.stdout.readline().split()
        family = _family(int(pid))
    finally:
        child.kill()
        child.wait()
        child.stdout.close() if child.stdout else None
    assert _until(lambda: _gone(family))
    assert _until(lambda: not Path(path).parent.exists())


def test_the_guests_end_when_even_their_keeper_is_killed() -> None:
    with NfsLab(parse_nfs("nfs3,one-kernel")) as lab:
        family, session = _family(lab.pid), _session(lab)
        os.kill(lab.pid, signal.SIGKILL)
        assert _until(lambda: _gone(family))
        subprocess.run(["rm", "-r", str(session)], check=True)


def test_a_guest_that_dies_takes_its_workers_only(capfd: pytest.CaptureFixture[str]) -> None:
    with NfsLab(parse_nfs("nfs4.2")) as lab, Fleet() as fleet:
        a, b = fleet.launch([Launch(spec, letter) for letter, spec in zip("ab", lab.sites, strict=True)])
        kernels = [process for process in psutil.Process(lab.pid).children() if "umid=nfs-a" in process.cmdline()]
        kernels[0].kill()
        with pytest.raises(WorkerLost):
            fleet.call(a, "site_facts", "/mnt/a", deadline_s=10.0)
        assert fleet.call(b, "site_facts", "/mnt/b")["failed"] == ""
        with pytest.raises(CannotTestError, match="no worker could be started there"):
            fleet.launch([Launch(lab.sites[0], "a")])
    assert "guest nfs-a: it ended; the last lines of its console" in capfd.readouterr().err


def test_a_guest_that_does_not_come_up_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(cluster.SERVER_MEBIBYTES, "tmpfs", 8)  # too little to boot
    guests = cluster.Cluster(parse_nfs("nfs3,one-kernel"), tmp_path, lambda *frame: None)
    try:
        with pytest.raises(CannotTestError) as caught:
            guests.start()
    finally:
        guests.stop()
    assert "lab=nfs3,one-kernel: guest nfs: did not boot: it ended; the last lines of its console:" in str(caught.value)


def test_a_guest_that_freezes_is_booted_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "BOOT_S", 0.0)
    guests = cluster.Cluster(parse_nfs("nfs3,one-kernel"), tmp_path, lambda *frame: None)
    try:
        with pytest.raises(CannotTestError, match="did not boot: no answer within 0 s"):
            guests.start()
        assert len(list(tmp_path.glob("*-nfs*"))) == 3, "one directory per try"
    finally:
        guests.stop()


def test_a_start_that_takes_too_long_is_given_up() -> None:
    lab = NfsLab(parse_nfs("nfs3,one-kernel"), start_timeout_s=0.01)
    with pytest.raises(CannotTestError, match="not ready within"):
        lab.start()
    with pytest.raises(RuntimeError):
        assert lab.pid
