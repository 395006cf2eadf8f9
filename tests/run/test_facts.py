"""Which mount a path lies on: the lines of mountinfo, their escapes, stacks, bind mounts, btrfs subvolumes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconform.fleet.worker import facts

MOUNTINFO = rb"""22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard
30 22 0:40 / /mnt/3fs rw,nosuid shared:2 master:3 propagate_from:4 - fuse.hf3fs hf3fs.stage rw,user_id=0
31 22 0:41 / /mnt/with\040space\134and\011tab ro,noatime - nfs4 srv:/e\040x rw,vers=4.2,acregmin=3
32 22 0:40 /sub /mnt/bind rw - fuse.hf3fs hf3fs.stage rw,user_id=0
33 30 0:43 / /mnt/3fs rw - tmpfs  rw,size=64k
34 22 0:50 /@home /home rw - btrfs /dev/sdb rw,subvolid=256,subvol=/@home
35 22 0:50 /@data /data rw - btrfs /dev/sdb rw,subvolid=257,subvol=/@data
not a line of mountinfo
"""
MOUNTS = facts.parse_mountinfo(MOUNTINFO)


def point_of(path: str) -> str:
    mount = facts.mount_of(path, MOUNTS)
    assert mount is not None
    return str(mount["point"])


def test_fields() -> None:
    assert [mount["mount_id"] for mount in MOUNTS] == [22, 30, 31, 32, 33, 34, 35]
    nfs = MOUNTS[2]
    assert nfs["point"] == "/mnt/with space\\and\ttab"
    assert nfs["source"] == "srv:/e x"
    assert (nfs["fstype"], nfs["device"]) == ("nfs4", "0:41")
    assert nfs["options"] == "ro,noatime,rw,vers=4.2,acregmin=3"
    assert (MOUNTS[4]["source"], MOUNTS[4]["options"]) == ("", "rw,size=64k")


def test_longest_point_and_whole_components() -> None:
    assert point_of("/mnt/bind/a/b") == "/mnt/bind"
    assert point_of("/mnt/bindery") == "/"
    assert point_of("/mnt/with space\\and\ttab/x") == "/mnt/with space\\and\ttab"
    assert point_of("/") == "/"


def test_last_mount_of_a_stack_covers_the_others() -> None:
    mount = facts.mount_of("/mnt/3fs/x", MOUNTS)
    assert mount is not None
    assert mount["fstype"] == "tmpfs"


def test_bind_mounts_and_subvolumes_share_the_device() -> None:
    assert MOUNTS[3]["device"] == MOUNTS[1]["device"]
    assert (MOUNTS[3]["root"], MOUNTS[1]["root"]) == ("/sub", "/")
    assert facts.mount_of("/home/u", MOUNTS)["device"] == facts.mount_of("/data", MOUNTS)["device"]  # type: ignore[index]


@given(st.text(st.characters(exclude_characters="\0", codec="utf-8"), min_size=1, max_size=30))
def test_kernel_escapes_are_undone(name: str) -> None:
    raw = os.fsencode("/" + name)
    escaped = b"".join(b"\\%03o" % byte if byte in b" \t\n\\#" else bytes([byte]) for byte in raw)
    assert os.fsencode(facts.unescape_mount_field(escaped)) == raw


def test_the_kernels_own_answer_agrees(tmp_path: Path) -> None:
    seen = facts.site_facts(str(tmp_path))
    assert (seen["kind"], seen["errno"], seen["failed"]) == ("directory", "", "")
    assert seen["resolved"] == os.path.realpath(tmp_path)
    assert seen["mount"]["device"] == facts.mount_of(seen["resolved"], facts.read_mounts())["device"]  # type: ignore[index]
    assert seen["boot_id"] == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert seen["writable"]
    assert seen["free_bytes"] > 0


def test_symbolic_links_are_resolved_to_their_mount(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/proc/self")
    assert facts.site_facts(str(tmp_path / "link"))["mount"]["fstype"] == "proc"


def test_get_conf_is_read_from_links_and_files(tmp_path: Path) -> None:
    conf = tmp_path / "3fs-virt" / "get-conf"
    conf.mkdir(parents=True)
    (conf / "usr.negative_timeout").symlink_to("5")
    (conf / "usr.entry_timeout").write_text("30\n")
    assert facts.client_options(str(tmp_path)) == {"usr.negative_timeout": "5", "usr.entry_timeout": "30"}


def test_unprintable_names_are_made_printable() -> None:
    assert facts.printable(os.fsdecode(b"/a\xff")) == "/a\\xff"


def test_told_steps_name_each_call(tmp_path: Path) -> None:
    told: list[str] = []
    facts.path_facts(str(tmp_path), told.append)
    assert told == ["stat", "open", "statvfs", "access"]


@pytest.mark.parametrize("module", ["facts", "handshake", "tree"])
def test_worker_modules_import_the_standard_library_only(module: str) -> None:
    path = Path(facts.__file__).parent / f"{module}.py"
    probe = "import runpy, sys; runpy.run_path(sys.argv[1]); print([m for m in sys.modules if 'fsconform' in m])"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", probe, str(path)], capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "[]", "")
