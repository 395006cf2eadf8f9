"""Marks as the worker leaves, sees, replaces and removes them."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from fsconform.fleet.worker import handshake


def test_a_mark_is_left_once_and_seen_with_its_owner(tmp_path: Path) -> None:
    at = str(tmp_path)
    left = handshake.leave_mark(at, "m", "text")
    assert left == {"errno": "works", "uid": os.geteuid(), "gid": os.getegid()}
    assert handshake.look_at_mark(at, "m", "text") == {**left, "same": True}
    assert handshake.leave_mark(at, "m", "text")["errno"] == "EEXIST"


@pytest.mark.parametrize("other", ["tex", "text and more", "", "tixt"])
def test_another_content_is_not_the_same(tmp_path: Path, other: str) -> None:
    handshake.leave_mark(str(tmp_path), "m", other)
    assert handshake.look_at_mark(str(tmp_path), "m", "text")["same"] is False


def test_nothing_is_followed_and_nothing_blocks(tmp_path: Path) -> None:
    at = str(tmp_path)
    (tmp_path / "real").write_text("text")
    (tmp_path / "link").symlink_to("real")
    os.mkfifo(tmp_path / "fifo")
    assert handshake.look_at_mark(at, "none", "text")["errno"] == "ENOENT"
    assert handshake.look_at_mark(at, "link", "text")["errno"] == "ELOOP"
    assert handshake.look_at_mark(at, "fifo", "text")["same"] is False


def test_replacing_and_removing(tmp_path: Path) -> None:
    at = str(tmp_path)
    handshake.leave_mark(at, "m", "old")
    assert handshake.replace_mark(at, "m", "new") == "works"
    assert handshake.look_at_mark(at, "m", "new")["same"]
    assert handshake.remove_mark(at, "m") == "works"
    assert handshake.remove_mark(at, "m") == "ENOENT"
    assert os.listdir(tmp_path) == []


@pytest.fixture
def sticky() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="fsconform-test-", dir="/dev/shm") as name:
        os.chmod(name, 0o1777)
        yield Path(name)


@pytest.mark.root
def test_a_sticky_directory_keeps_others_out(sticky: Path) -> None:
    handshake.leave_mark(str(sticky), "m", "of root")
    os.seteuid(65534)
    try:
        assert handshake.look_at_mark(str(sticky), "m", "of root")["same"]
        assert handshake.replace_mark(str(sticky), "m", "mine") == "EPERM"
        assert handshake.remove_mark(str(sticky), "m") == "EPERM"
    finally:
        os.seteuid(0)
    assert os.listdir(sticky) == ["m"]
