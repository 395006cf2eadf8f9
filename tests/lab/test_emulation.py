"""Bringing labs up and down: what is mounted, and that nothing stays."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fsconform.lab.emulation import Emulation
from fsconform.lab.mountpoints import FSTYPE, emulated_mounts
from fsconform.lab.spec import parse_lab
from fsconform.vocabulary.errors import CannotTestError
from tests.lab.bench import lab, until

pytestmark = pytest.mark.fuse


def _mounted(directory: Path) -> list[str]:
    return [source for path, source in emulated_mounts() if path.is_relative_to(directory)]


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_lab_says_what_it_is_and_leaves_nothing(tmp_path: Path) -> None:
    with Emulation(parse_lab("strict,mounts=3"), tmp_path / "new") as emulation:
        assert [path.name for path in emulation.mounts] == ["a", "b", "c"]
        assert _mounted(tmp_path) == ["fsconform:strict"] * 3
        lines = [line for line in Path("/proc/self/mountinfo").read_text().splitlines() if str(tmp_path) in line]
        assert all(f" - {FSTYPE} fsconform:strict " in line and "default_permissions" in line for line in lines)
        assert len({line.split()[2] for line in lines}) == 3  # three clients
        pid = emulation.pid
    assert not _mounted(tmp_path) and not (tmp_path / "new").exists() and not _alive(pid)
    emulation.stop()


def test_the_temporary_directory_is_removed() -> None:
    with lab("strict") as (first, _):
        assert first.is_mount()
    assert not first.parent.exists()


def test_files_left_open_do_not_keep_the_lab(tmp_path: Path) -> None:
    with Emulation(parse_lab("strict"), tmp_path) as emulation:
        held = (emulation.mounts[0] / "held").open("wb", buffering=0)
    assert not _mounted(tmp_path)
    with pytest.raises(OSError, match=r"not connected|endpoint|abort"):
        held.write(b"x")
    with contextlib.suppress(OSError):
        held.close()


_PARENT = """
import sys, time
from pathlib import Path
from fsconform.lab.emulation import Emulation
from fsconform.lab.spec import parse_lab
emulation = Emulation(parse_lab("strict"), Path(sys.argv[1]), 60)
emulation.start()
print(emulation.pid, flush=True)
time.sleep(600)
"""


def test_a_lab_ends_when_its_parent_is_killed(tmp_path: Path) -> None:
    parent = subprocess.Popen([sys.executable, "-c", _PARENT, str(tmp_path)], stdout=subprocess.PIPE)
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    assert _mounted(tmp_path)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    until(lambda: not _mounted(tmp_path) and not _alive(pid))
    assert list(tmp_path.iterdir()) == []


def test_a_terminated_server_unmounts(tmp_path: Path) -> None:
    with Emulation(parse_lab("strict"), tmp_path) as emulation:
        os.kill(emulation.pid, signal.SIGTERM)
        until(lambda: not _mounted(tmp_path))


def test_a_killed_server_leaves_nothing_after_stop(tmp_path: Path) -> None:
    with Emulation(parse_lab("strict"), tmp_path) as emulation:
        os.kill(emulation.pid, signal.SIGKILL)
        until(lambda: not _alive(emulation.pid))
        assert _mounted(tmp_path)
    assert not _mounted(tmp_path)


def test_a_stopped_server_is_ended(tmp_path: Path) -> None:
    with Emulation(parse_lab("strict"), tmp_path) as emulation:
        os.kill(emulation.pid, signal.SIGSTOP)
    assert not _mounted(tmp_path)


def test_a_dead_mount_of_ours_is_replaced(tmp_path: Path) -> None:
    first = Emulation(parse_lab("strict"), tmp_path)
    first.start()
    os.kill(first.pid, signal.SIGKILL)
    until(lambda: not _alive(first.pid))
    with Emulation(parse_lab("strict"), tmp_path) as second:
        assert (second.mounts[0] / "x").write_text("alive") == 5
        assert len(_mounted(tmp_path)) == 2
    first.stop()


@pytest.mark.parametrize("kind", ["file", "full", "mounted", "nowhere"])
def test_a_directory_that_cannot_be_used_is_named(tmp_path: Path, kind: str) -> None:
    place = tmp_path / "place"
    with contextlib.ExitStack() as stack:
        if kind == "file":
            place.write_text("")
        elif kind == "full":
            (place / "a").mkdir(parents=True)
            (place / "a" / "yours").write_text("")
        elif kind == "mounted":
            stack.enter_context(Emulation(parse_lab("strict"), place))
        else:
            place = tmp_path / "no" / "where"
        with pytest.raises(CannotTestError, match=str(place)):
            Emulation(parse_lab("strict"), place).start()
        if kind == "mounted":
            assert len(_mounted(tmp_path)) == 2
    assert not _mounted(tmp_path)


def test_an_unusable_device_is_an_error_that_says_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("fsconform.lab.namespaces.DEVICE", str(tmp_path / "fuse"))
    with pytest.raises(CannotTestError, match=r"/fuse: No such file") as caught:
        Emulation(parse_lab("strict")).start()
    assert caught.value.status == 2


def test_starting_has_a_deadline() -> None:
    with pytest.raises(CannotTestError, match="not mounted within"):
        Emulation(parse_lab("strict"), start_timeout_s=0.0).start()


def test_a_hanging_request_does_not_keep_the_lab(tmp_path: Path) -> None:
    start = time.monotonic()
    with Emulation(parse_lab("strict,mutant=hang,op=lookup,match=stuck"), tmp_path) as emulation:
        stuck = subprocess.Popen(["stat", str(emulation.mounts[0] / "stuck")], stderr=subprocess.DEVNULL)
        assert not (emulation.mounts[0] / "free").exists()
        time.sleep(0.2)
        assert stuck.poll() is None
    assert stuck.wait(10) != 0
    assert time.monotonic() - start < 40
