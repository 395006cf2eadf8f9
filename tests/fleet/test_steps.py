"""Every step of the vocabulary: what it does, what it gives, and what it says when it is refused."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fsconform.fleet.worker import acting, barrier, blocks, calls, descriptors, loop, observing, steps
from fsconform.fleet.worker.descriptors import Handles, Slots
from fsconform.vocabulary import errnos
from fsconform.vocabulary.blocks import Content, content_of
from fsconform.vocabulary.histories import INF
from fsconform.vocabulary.steps import CONTENT_LOOKS, KINDS, LOOKS, Step

KEY, SIZE = "c" * 64, 10_000
WHOLE = blocks.make(KEY, 0, SIZE)
Outcome = tuple[int, int, int]
Do = Callable[..., Outcome]


@pytest.fixture
def do(inside: str) -> Any:
    """Perform one step: (errno, value, detail)."""
    slots = Slots()

    def perform(kind: str, **fields: Any) -> Outcome:
        score = loop.Score([Step(kind, **fields).to_wire()], slots, _meeting())
        score.perform()
        return score.events()[0][2:]

    yield perform
    slots.close_all()


def test_numbers_and_names_are_those_of_the_vocabulary() -> None:
    assert set(KINDS) == steps.KINDS
    assert steps.CONTENT_LOOKS == CONTENT_LOOKS
    assert (descriptors.NOT_RUN, loop.HUNG, calls.UNSUPPORTED_HERE) == (
        errnos.NOT_RUN, errnos.HUNG, errnos.UNSUPPORTED_HERE,
    )  # fmt: skip
    assert loop.INF == INF
    assert acting.NONE == observing.NONE < 0
    for kind in KINDS:
        if kind != "watch":
            compiled = steps.compile_step(_some(kind).to_wire(), Handles(Slots()), _meeting())
            assert compiled.family == KINDS[kind].family, kind
    assert steps.compile_step(Step("watch", then=_some("stat")).to_wire(), Handles(Slots())).family == "look"
    assert "watch" in LOOKS


def _some(kind: str) -> Step:
    return Step(kind, "x", "y", key=KEY, size=10, arg=1)


def _meeting() -> barrier.Meeting:
    return barrier.Meeting(barrier.Place(barrier.REGION_WORDS, 0, 1, 0, 5.0))


def test_nothing_is_touched_when_compiled(inside: str) -> None:
    for kind in KINDS:
        then = Step("stat", "x") if kind == "watch" else None
        steps.compile_step(
            Step(kind, "x", "y", key=KEY, size=10, arg=1, then=then).to_wire(), Handles(Slots()), _meeting()
        )
    assert os.listdir(inside) == []


def test_publish_in_place(do: Do) -> None:
    assert do("excl_create", path="x") == (0, 0, 0)
    assert do("write", size=SIZE, key=KEY) == (0, SIZE, 0)
    assert do("fsync") == (0, 0, 0)
    assert do("fdatasync") == (0, 0, 0)
    assert do("close") == (0, 0, 0)
    assert Path("x").read_bytes() == WHOLE
    assert do("excl_create", path="x")[0] == errno.EEXIST
    assert do("create", path="x") == (0, 0, 0)
    assert Path("x").read_bytes() == WHOLE


def test_write_in_pieces_and_in_versions(do: Do) -> None:
    do("create", path="x")
    assert do("write", size=6000, key=KEY) == (0, 6000, 0)
    assert do("write_held", size=4000, offset=6000, key=KEY) == (0, 4000, 0)
    assert Path("x").read_bytes() == WHOLE
    do("create", path="y", fd=1)
    do("write", fd=1, size=5000, key=KEY, version=3, arg=9000)
    do("write", fd=1, size=4000, offset=5000, key=KEY, version=3)
    assert do("open_read", path="y", key=KEY) == (0, 3 << 8, 9000)


def test_failed_open_leaves_the_slot_empty(do: Do) -> None:
    assert do("excl_create", path="x") == (0, 0, 0)
    assert do("open", path="missing")[0] == errno.ENOENT
    for kind in ("write", "fsync", "fdatasync", "fstat_held", "read_held", "flock", "fcntl_lock", "fallocate", "close"):
        assert do(kind, size=10, key=KEY, arg=1)[0] == errnos.NOT_RUN, kind
    assert do("scandir_held")[0] == errnos.NOT_RUN
    assert Path("x").stat().st_size == 0


def test_names(do: Do) -> None:
    Path("a").write_text("a")
    assert do("rename", path="a", other="b") == (0, 0, 0)
    assert do("rename", path="a", other="b")[0] == errno.ENOENT
    assert do("link", path="b", other="c") == (0, 0, 0)
    assert do("link", path="b", other="c")[0] == errno.EEXIST
    assert do("symlink", path="b", other="s") == (0, 0, 0)
    assert os.readlink("s") == "b"
    assert do("symlink", path="b", other="s")[0] == errno.EEXIST
    assert do("rename_noreplace", path="b", other="c")[0] == errno.EEXIST
    assert do("rename_noreplace", path="b", other="d") == (0, 0, 0)
    Path("e").write_text("e")
    assert do("rename_exchange", path="e", other="d") == (0, 0, 0)
    assert Path("e").read_text() == "a"
    assert do("rename_exchange", path="e", other="missing")[0] == errno.ENOENT
    assert do("mkdir", path="dir") == (0, 0, 0)
    assert do("mkdir", path="dir")[0] == errno.EEXIST
    assert do("fsync_dir", path="dir") == (0, 0, 0)
    assert do("fsync_dir", path="e")[0] == errno.ENOTDIR
    assert do("rmdir", path="dir") == (0, 0, 0)
    assert do("rmdir", path="dir")[0] == errno.ENOENT
    assert do("unlink", path="e") == (0, 0, 0)
    assert do("unlink", path="e")[0] == errno.ENOENT
    assert do("mknod", path="n") == (0, 0, 0)
    assert do("mknod", path="n")[0] == errno.EEXIST


def test_open_modes(do: Do) -> None:
    Path("x").write_bytes(WHOLE)
    assert do("open", path="x", arg=1) == (0, 0, 0)
    assert do("write", size=10, key=KEY)[0] == errno.EBADF  # the kernel's own answer for a read-only descriptor
    assert do("open", path="x") == (0, 0, 0)
    assert do("write", size=10, key=KEY) == (0, 10, 0)
    assert do("open_dir", path="x", fd=5)[0] == errno.ENOTDIR
    assert do("open_tmpfile", path=".", fd=6)[0] in (0, errno.EOPNOTSUPP)


def test_fallocate(do: Do) -> None:
    do("create", path="x")
    assert do("fallocate", size=5000) in ((0, 0, 0), (errno.EOPNOTSUPP, 0, 0))
    do("open", path="x", arg=1)
    assert do("fallocate", size=5000)[0] == errno.EBADF


def test_looks_at_a_name(do: Do) -> None:
    Path("x").write_bytes(b"12345")
    inode = os.stat("x").st_ino
    for kind in ("stat", "statx_force_sync", "open_fstat"):
        assert do(kind, path="x") == (0, 5, inode), kind
        assert do(kind, path="missing")[0] == errno.ENOENT, kind
    assert do("access", path="x") == (0, 0, 0)
    assert do("access", path="missing")[0] == errno.ENOENT
    assert do("access", path="x/y")[0] == errno.ENOTDIR
    do("open", path="x")
    assert do("fstat_held") == (0, 5, inode)


def test_listings(do: Do) -> None:
    os.mkdir("d")
    names = tuple(f"n{k}" for k in range(31))
    for number in (0, 3, 30):
        Path(f"d/n{number}").touch()
    Path("d/else").touch()
    seen = 1 | 1 << 3 | 1 << 30
    assert do("scandir", path="d", names=names) == (0, seen, 4)
    assert do("scandir", path="missing", names=names)[0] == errno.ENOENT
    assert do("scandir", names=("d",)) == (0, 1, 1)
    assert do("open_dir", path="d") == (0, 0, 0)
    for _ in range(2):
        assert do("scandir_held", names=names) == (0, seen, 4)
    Path("d/n1").touch()
    assert do("scandir_held", names=names) == (0, seen | 2, 5)


def test_name_listed_twice() -> None:
    compiled = steps.compile_step(Step("scandir", names=("a", "b")).to_wire(), Handles(Slots()))
    assert steps.decode(compiled, ["b", "a", "b"]) == (0, 0b11 | 1 << 33, 3)


@pytest.mark.parametrize("kind", sorted(CONTENT_LOOKS - {"read_mapping"}))  # sees no more than was mapped
def test_content_looks(do: Do, kind: str) -> None:
    def look() -> Outcome:
        if kind == "read_held":
            do("open", path="x", arg=1)
        return do(kind, path="x", key=KEY, size=SIZE)

    expected = {"exact": (WHOLE, Content.EXACT), "short": (WHOLE[:4096], Content.SHORT), "empty": (b"", Content.SHORT),
                "long": (WHOLE + b"x", Content.LONG), "zero": (bytes(4096) + WHOLE[4096:], Content.ZERO),
                "torn": (WHOLE[:-1] + b"\0", Content.TORN)}  # fmt: skip
    for name, (data, content) in expected.items():
        Path("x").write_bytes(data)
        number, value, length = look()
        if number == errno.EINVAL and kind == "open_direct":
            pytest.skip("this filesystem has no O_DIRECT")
        assert (number, content_of(value), length) == (0, content, len(data)), name
    os.unlink("x")
    assert look()[0] == (errnos.NOT_RUN if kind == "read_held" else errno.ENOENT)


def test_direct_read_of_unaligned_and_aligned_lengths(tmp_path: Path) -> None:
    path = tmp_path / "x"
    for size in (0, 1, 4095, 4096, 8192, 10_000, 65_536):
        path.write_bytes(blocks.make(KEY, 0, size))
        try:
            assert calls.read_direct(str(path), size or 5) == blocks.make(KEY, 0, size)
        except OSError as error:
            assert error.errno == errno.EINVAL
            pytest.skip("this filesystem has no O_DIRECT")


def test_reading_ends_early_on_a_huge_file(do: Do) -> None:
    with open("x", "wb") as file:
        file.truncate(1 << 40)
    number, value, length = do("open_read", path="x", key=KEY, size=SIZE)
    assert (number, content_of(value)) == (0, Content.TORN)
    assert length < 1 << 22


def test_attributes(do: Do) -> None:
    Path("x").touch()
    answer = do("setxattr", path="x", other="sum", key="abc")
    if answer[0] == errno.ENOTSUP:
        pytest.skip("this filesystem has no user attributes")
    assert answer == (0, 0, 0)
    assert do("getxattr", path="x", other="sum", key="abc") == (0, 1, 3)
    assert do("getxattr", path="x", other="user.sum", key="ab") == (0, 0, 3)
    assert do("getxattr", path="x", other="none", key="abc")[0] == errno.ENODATA


@pytest.mark.parametrize("kind", ["flock", "fcntl_lock"])
def test_locks(do: Do, kind: str) -> None:
    do("create", path="x")
    assert do(kind, arg=1) == (0, 0, 0)
    if kind == "flock":  # record locks of one process do not exclude each other
        do("open", path="x", fd=1)
        assert do(kind, fd=1, arg=1)[0] == errno.EAGAIN
    assert do(kind, arg=8) == (0, 0, 0)
    assert do(kind, arg=2) == (0, 0, 0)


def test_control(do: Do) -> None:
    assert do("barrier") == (0, 0, 0)
    assert do("signal", offset=2, arg=7) == (0, 0, 0)
    assert do("wait", offset=2, arg=7) == (0, 0, 0)
    assert do("sleep", arg=1000) == (0, 0, 0)


def test_watch_gives_the_last_look(do: Do) -> None:
    Path("x").write_bytes(WHOLE)
    assert do("watch", arg=1_000_000, then=Step("open_read", "x", key=KEY, size=SIZE)) == (0, 0, SIZE)
    assert do("watch", arg=1_000_000, then=Step("stat", "missing"))[0] == errno.ENOENT


def test_watch_stops_at_the_first_wrong_look(do: Do) -> None:
    Path("x").write_bytes(WHOLE[:-1])
    number, value, _ = do("watch", arg=3600 * 10**9, then=Step("open_read", "x", key=KEY, size=SIZE))
    assert (number, content_of(value)) == (0, Content.SHORT)
    assert do("watch", arg=3600 * 10**9, then=Step("stat", "x/y"))[0] == errno.ENOTDIR
    assert do("watch", arg=3600 * 10**9, then=Step("fstat_held", fd=9))[0] == errnos.NOT_RUN


def test_missing_library_call_is_no_statement_about_the_filesystem(do: Do, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "_renameat2", None)
    assert do("rename_noreplace", path="a", other="b")[0] == errnos.UNSUPPORTED_HERE


def test_unknown_step_and_step_without_partners() -> None:
    with pytest.raises(ValueError, match="cannot perform step 'fly'"):
        steps.compile_step(("fly", "", "", 0, "", 0, 0, 0, 0, (), None), Handles(Slots()))
    with pytest.raises(ValueError, match="'barrier' needs partners"):
        steps.compile_step(Step("barrier").to_wire(), Handles(Slots()))
