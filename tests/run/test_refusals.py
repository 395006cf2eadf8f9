"""What is refused before anything is touched: each with its message, and nothing left behind."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from fsconform.fleet.worker.facts import UNKNOWN_FREE
from fsconform.run import refusals
from fsconform.run.children import Stuck
from fsconform.run.first_contact import contact
from fsconform.vocabulary.errors import CannotTestError
from fsconform.vocabulary.sites import Mount, Site, parse_site


def refusal(path: str) -> str:
    """The message a local path is refused with; fails where it is not."""
    spec = parse_site(path)
    with pytest.raises(CannotTestError) as caught:
        refusals.refuse_path(spec)
        facts = contact(path)
        assert not isinstance(facts, Stuck)
        refusals.refuse_facts(spec, facts)
    assert caught.value.status == 2
    message = str(caught.value)
    assert message.startswith(f"site {path!r}: ")
    assert "\n" not in message
    return message


def test_a_usable_directory_is_not_refused(tmp_path: Path) -> None:
    facts = contact(str(tmp_path))
    assert not isinstance(facts, Stuck)
    refusals.refuse_facts(parse_site(str(tmp_path)), facts)
    assert os.listdir(tmp_path) == []


def test_shared_memory_is_a_place_for_files() -> None:
    facts = contact("/dev/shm")
    assert not isinstance(facts, Stuck)
    refusals.refuse_facts(parse_site("/dev/shm"), facts)


def test_missing(tmp_path: Path) -> None:
    assert "does not exist; give an existing directory" in refusal(str(tmp_path / "none"))
    (tmp_path / "file").write_text("")
    assert "does not exist" in refusal(str(tmp_path / "file" / "below"))


def test_missing_names_the_nearest_mount() -> None:
    assert refusal("/dev/shn").endswith("did you mean '/dev/shm'?")


def test_not_a_directory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    os.mkfifo(tmp_path / "fifo")
    assert "is a regular file, not a directory; give the directory" in refusal(str(tmp_path / "file"))
    assert "is a FIFO, not a directory" in refusal(str(tmp_path / "fifo"))


@pytest.mark.parametrize("path", ["/", "//", "/proc/../", "/proc/self/root"])
def test_root_under_any_name(path: str) -> None:
    assert "it is the root directory /; give a directory made for tests" in refusal(path)


def test_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "link").symlink_to(home)
    monkeypatch.setenv("HOME", str(home))
    assert f"it is the home directory {home}; give" in refusal(str(home))
    assert "it is the home directory" in refusal(str(tmp_path / "link"))


@pytest.mark.parametrize("path", ["/proc", "/proc/self", "/sys", "/sys/kernel", "/dev", "/dev/pts"])
def test_pseudo_filesystems(path: str) -> None:
    assert "a pseudo filesystem of the kernel; give a directory" in refusal(path)


def test_link_to_a_pseudo_filesystem(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/sys")
    assert "/sys is on sysfs, a pseudo filesystem" in refusal(str(tmp_path / "link"))


def test_loop_of_links(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    assert "is a loop of symbolic links" in refusal(str(tmp_path / "a"))


def test_control_directory_of_3fs(tmp_path: Path) -> None:
    assert "3fs-virt is 3FS's control directory" in refusal(str(tmp_path / "3fs-virt" / "rm-rf"))
    (tmp_path / "3fs-virt").mkdir()
    (tmp_path / "link").symlink_to("3fs-virt")
    assert "3fs-virt is 3FS's control directory" in refusal(str(tmp_path / "link"))


FACTS: dict[str, Any] = {
    "path": "/mnt/x", "resolved": "/mnt/x", "kind": "directory", "failed": "", "errno": "", "uid": 1000,
    "home": "/home/u", "boot_id": "b", "mounts": [["/mnt/y", "nfs4"], ["/", "ext4"]],
    "mount": {"fstype": "nfs4", "point": "/mnt/x"},
}  # fmt: skip


def told(**changes: Any) -> str:
    facts: Mapping[str, Any] = {**FACTS, **changes}
    with pytest.raises(CannotTestError) as caught:
        refusals.refuse_facts(parse_site("ssh=h:/mnt/x"), facts)
    return str(caught.value)


@pytest.mark.parametrize(
    ("step", "errno", "message"),
    [
        ("statvfs", "ENOTCONN", "dead mount at /mnt/x (statvfs: ENOTCONN): its FUSE server is gone; unmount it"),
        ("open", "ESTALE", "dead mount at /mnt/x (open: ESTALE): the server no longer knows this directory"),
        ("stat", "EIO", "dead mount at /mnt/x (stat: EIO): the filesystem reports an I/O error"),
        ("stat", "EREMOTEIO", "dead mount at /mnt/x (stat: EREMOTEIO): see that it is mounted"),
        ("open", "EACCES", "/mnt/x may not be entered (open: EACCES for uid 1000); run as a user who may"),
    ],
)
def test_errors_of_the_first_calls(step: str, errno: str, message: str) -> None:
    assert told(failed=step, errno=errno).startswith(f"site 'ssh=h:/mnt/x': {message}")


def test_no_proc() -> None:
    assert "/proc is not readable there" in told(boot_id="")
    assert "/proc is not readable there" in told(mount=None)


def site(text: str, **changes: Any) -> Site:
    spec = parse_site(text)
    values: dict[str, Any] = {
        "letter": "a", "spec": spec, "path": spec.path, "host": "h", "boot_id": "b", "time_namespace": "t",
        "kernel": "6.1", "python": "3.11", "uid": 1000, "gid": 1000, "read_only": False, "free_bytes": 1 << 30,
        "free_files": UNKNOWN_FREE, "mount": Mount("0:1", "/mnt", "nfs4", "s:/e", "rw"),
    }  # fmt: skip
    return Site(**{**values, **changes})


def test_the_same_path_twice() -> None:
    specs = [parse_site(text) for text in ("/mnt/a", "/mnt/b/", "/mnt/a/")]
    with pytest.raises(CannotTestError, match=r"'/mnt/a' and '/mnt/a/': the same path twice; give it once: all work"):
        refusals.refuse_repetition(specs, [spec.path for spec in specs])
    with pytest.raises(CannotTestError, match="the same path twice"):
        refusals.refuse_repetition(specs[:2], ["/real", "/real"])
    pods = [parse_site(f"exec=kubectl exec -i pod-{n} -- python3:/data") for n in (0, 1)]
    refusals.refuse_repetition(pods, ["/data", "/data"])


def test_no_writable_site() -> None:
    read_only = site("/mnt/a", read_only=True, mount=Mount("0:1", "/mnt/a", "nfs4", "s:/e", "ro,noatime"))
    forbidden = site("/mnt/b", read_only=True)
    with pytest.raises(CannotTestError) as caught:
        refusals.refuse_unwritable([read_only, forbidden])
    assert "'/mnt/a' is mounted read-only (/mnt/a); '/mnt/b' is not writable for uid 1000 (no" in str(caught.value)
    refusals.refuse_unwritable([read_only, site("/mnt/c")])


def test_full() -> None:
    with pytest.raises(CannotTestError, match=r"at /mnt is too full \(64.0 KiB free, 2.0 MiB needed\); free space"):
        refusals.refuse_full([site("/mnt/a", free_bytes=65536)], 2 << 20, 10)
    with pytest.raises(CannotTestError, match="3 files free, 10 needed"):
        refusals.refuse_full([site("/mnt/a", free_files=3)], 0, 10)
    refusals.refuse_full([site("/mnt/a"), site("/mnt/b", read_only=True, free_bytes=0)], 1 << 30, 10)


def test_different_trees() -> None:
    error = refusals.different_trees(site("/mnt/a"), site("/mnt/b"), 2.0, "ENOENT")
    assert "one filesystem, but /mnt/a and /mnt/b are different directories of it" in str(error)
    other = site("/mnt/b", mount=Mount("0:2", "/mnt/b", "nfs4", "s:/e", "rw"))
    text = str(refusals.different_trees(site("/mnt/a"), other, 2.0, "ENOENT"))
    assert "sites '/mnt/a' and '/mnt/b' show different trees: a directory made at the first was not seen" in text
    assert text.endswith("give the same directory of one filesystem at every site")


def test_a_hung_mount_is_named_with_what_it_hangs_in() -> None:
    stuck = Stuck("stat", 5.0, 42, "D", "request_wait_answer", "262", ended=False)
    with pytest.raises(CannotTestError) as caught:
        refusals.refuse_stuck(parse_site("/mnt/a"), stuck)
    assert (
        "hung: no answer to stat for 5 s (request_wait_answer; system call 262; child 42 abandoned in state D)"
        in str(caught.value)
    )
