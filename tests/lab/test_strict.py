"""`strict` keeps between two mounts what one local filesystem keeps, by plain calls."""

from __future__ import annotations

import fcntl
import mmap
import os
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.lab.bench import (
    EXCHANGE,
    NOREPLACE,
    WHITEOUT,
    exclusive,
    fallocate,
    lab,
    missing,
    publish,
    race,
    renameat2,
    told,
)

pytestmark = pytest.mark.fuse
ROUNDS = 40


@pytest.fixture(scope="module", params=["strict", "strict,data=cached"])
def strict(request: pytest.FixtureRequest) -> Iterator[tuple[Path, ...]]:
    with lab(request.param) as mounts:
        yield mounts


@pytest.fixture
def pair(strict: tuple[Path, ...], request: pytest.FixtureRequest) -> tuple[Path, Path]:
    """One directory of this test, as both mounts see it."""
    name = re.sub(r"\W", "-", request.node.name)
    (strict[0] / name).mkdir()
    return strict[0] / name, strict[1] / name


def test_every_change_is_seen_at_once(pair: tuple[Path, Path]) -> None:
    a, b = pair
    for number in range(ROUNDS):
        name = f"n{number}"
        assert missing((b / name).stat)
        publish(a / name, b"one")
        assert (b / name).read_bytes() == b"one" and name in os.listdir(b)
        before = (b / name).stat()
        publish(a / name, b"other")
        after = (b / name).stat()
        assert after.st_ino != before.st_ino and after.st_size == 5
        assert (b / name).read_bytes() == b"other"
        (a / name).unlink()
        assert missing((b / name).stat) and missing((b / name).read_bytes) and name not in os.listdir(b)


def test_growth_and_rewriting_are_seen_at_once(pair: tuple[Path, Path]) -> None:
    a, b = pair
    with (a / "f").open("wb", buffering=0) as writer, (b / "f").open("rb", buffering=0) as reader:
        for number in range(1, ROUNDS):
            writer.write(bytes([number]) * 100)
            assert os.fstat(reader.fileno()).st_size == (b / "f").stat().st_size == number * 100
            assert os.pread(reader.fileno(), 1 << 16, 0)[-100:] == bytes([number]) * 100
            os.pwrite(writer.fileno(), b"!", 0 if number % 2 else 50)
            assert os.pread(reader.fileno(), 100, 0)[0 if number % 2 else 50] == ord("!")
        os.truncate(a / "f", 10)
        assert os.fstat(reader.fileno()).st_size == 10 and len(os.pread(reader.fileno(), 1 << 16, 0)) == 10


def test_a_copy_from_a_held_descriptor_after_a_look_is_whole(pair: tuple[Path, Path]) -> None:
    a, b = pair
    (a / "source").write_bytes(b"x" * 10)
    with (b / "source").open("rb") as source, (b / "copy").open("wb") as copy:
        with (a / "source").open("ab") as writer:
            writer.write(b"y" * 90)
        assert os.fstat(source.fileno()).st_size == 100
        assert os.copy_file_range(source.fileno(), copy.fileno(), 1000) == 100
    assert (a / "copy").read_bytes() == b"x" * 10 + b"y" * 90


def test_removed_and_replaced_files_stay_readable_where_they_are_open(pair: tuple[Path, Path]) -> None:
    a, b = pair
    publish(a / "f", b"old" * 1000)
    with (b / "f").open("rb", buffering=0) as held:
        publish(a / "f", b"new")
        assert held.read() == b"old" * 1000 and os.fstat(held.fileno()).st_nlink == 0
        with (b / "f").open("rb", buffering=0) as other:
            (a / "f").unlink()
            assert other.read() == b"new"
        held.seek(0)
        assert held.read() == b"old" * 1000


@pytest.mark.parametrize("kind", ["excl", "mkdir", "link", "noreplace", "symlink"])
def test_of_contenders_exactly_one_wins(pair: tuple[Path, Path], kind: str) -> None:
    a, b = pair
    for number in range(ROUNDS):
        a_name, b_name = a / f"{kind}{number}", b / f"{kind}{number}"
        for mount in pair:
            (mount / f"temp-{mount.parent.name}").write_bytes(b"t")
        actions: dict[str, Callable[[Path], object]] = {
            "excl": lambda path: exclusive(path),
            "mkdir": lambda path: path.mkdir(),
            "symlink": lambda path: path.symlink_to("x"),
            "link": lambda path: os.link(path.parent / f"temp-{path.parent.parent.name}", path),
            "noreplace": lambda path: renameat2(path.parent / f"temp-{path.parent.parent.name}", path, NOREPLACE),
        }
        act = actions[kind]
        assert sorted(race(lambda: act(a_name), lambda: act(b_name))) == ["EEXIST", "ok"]  # noqa: B023


def test_plain_creates_never_say_eexist(pair: tuple[Path, Path]) -> None:
    a, b = pair
    for number in range(ROUNDS):
        paths = (a / f"p{number}", b / f"p{number}", a / f"p{number}")
        assert race(*[(lambda path=path: path.write_bytes(b"x")) for path in paths]) == ["ok"] * 3


def test_a_removed_name_is_free(pair: tuple[Path, Path]) -> None:
    a, b = pair
    for _ in range(ROUNDS):
        exclusive(a / "name")
        assert (b / "name").exists()
        (a / "name").unlink()
        assert told(lambda: exclusive(b / "name")) == "ok"
        assert told(lambda: exclusive(a / "name")) == "EEXIST"
        (a / "name").unlink()


def test_rename_flags(pair: tuple[Path, Path]) -> None:
    a, b = pair
    for name in "xyz":
        (a / name).write_text(name)
    assert told(lambda: renameat2(b / "x", b / "y", NOREPLACE)) == "EEXIST"
    assert told(lambda: renameat2(b / "x", b / "free", NOREPLACE)) == "ok"
    renameat2(b / "y", b / "z", EXCHANGE)
    assert (a / "y").read_text() == "z" and (a / "z").read_text() == "y"
    assert told(lambda: renameat2(b / "y", b / "nothing", EXCHANGE)) == "ENOENT"
    assert told(lambda: renameat2(b / "y", b / "white", WHITEOUT)) == "EINVAL"


def test_renames_between_directories(pair: tuple[Path, Path]) -> None:
    a, b = pair
    (a / "one" / "deep").mkdir(parents=True)
    (a / "two").mkdir()
    assert told(lambda: (b / "one").rename(b / "one" / "deep" / "below")) == "EINVAL"
    (b / "one" / "deep").rename(b / "two" / "moved")
    assert (a / "one").stat().st_nlink == 2 and (a / "two").stat().st_nlink == 3
    assert os.path.samefile(a / "two" / "moved" / "..", a / "two")
    (a / "two" / "moved" / "file").write_text("x")
    assert told(lambda: (b / "one").rename(b / "two" / "moved")) == "ENOTEMPTY"
    assert told(lambda: (b / "one").rename(b / "two" / "moved" / "file")) == "ENOTDIR"
    assert told((b / "two").rmdir) == "ENOTEMPTY"
    (a / "one").rename(a / "three")
    assert missing((b / "one").stat) and (b / "three").is_dir()


def test_two_clients_cannot_make_a_loop_of_directories(pair: tuple[Path, Path]) -> None:
    a, b = pair
    for number in range(ROUNDS):
        left, right = f"l{number}", f"r{number}"
        (a / left).mkdir()
        (a / right).mkdir()
        results = race(
            lambda: (a / left).rename(a / right / "x"),  # noqa: B023
            lambda: (b / right).rename(b / left / "x"),  # noqa: B023
        )
        assert results.count("ok") == 1, results


def test_links_count_and_directories_have_times(pair: tuple[Path, Path]) -> None:
    a, b = pair
    exclusive(a / "f")
    os.link(b / "f", b / "g")
    assert (a / "f").stat().st_nlink == 2 and (a / "f").samefile(a / "g")
    times = [b.stat().st_mtime_ns]
    for change in (
        lambda: exclusive(a / "new"),
        lambda: (a / "new").rename(a / "newer"),
        (a / "newer").unlink,
        (a / "d").mkdir,
    ):
        change()
        times.append(b.stat().st_mtime_ns)
    assert times == sorted(set(times))
    assert b.stat().st_nlink == 3


def test_attributes(pair: tuple[Path, Path]) -> None:
    a, b = pair
    exclusive(a / "f")
    os.setxattr(a / "f", "user.k", b"value")
    assert os.getxattr(b / "f", "user.k") == b"value" and os.listxattr(b / "f") == ["user.k"]
    assert told(lambda: os.setxattr(b / "f", "user.k", b"", os.XATTR_CREATE)) == "EEXIST"
    os.removexattr(b / "f", "user.k")
    assert told(lambda: os.getxattr(a / "f", "user.k")) == "ENODATA"
    (a / "f").chmod(0o640)
    os.utime(a / "f", ns=(5, 7))
    status = (b / "f").stat()
    assert (status.st_mode & 0o777, status.st_atime_ns, status.st_mtime_ns) == (0o640, 5, 7)
    (a / "s").symlink_to("where/to")
    assert os.readlink(b / "s") == "where/to"


def test_flock_excludes_and_is_free_at_once_after_close(pair: tuple[Path, Path]) -> None:
    a, b = pair
    exclusive(a / "lock")
    for _ in range(ROUNDS * 5):
        with (a / "lock").open() as first, (b / "lock").open() as second:
            fcntl.flock(first, fcntl.LOCK_EX | fcntl.LOCK_NB)
            assert told(lambda: fcntl.flock(second, fcntl.LOCK_SH | fcntl.LOCK_NB)) == "EAGAIN"
            first.close()
            fcntl.flock(second, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_record_locks_exclude_by_range(pair: tuple[Path, Path]) -> None:
    a, b = pair
    (a / "lock").write_bytes(b"x" * 100)
    with (a / "lock").open("r+b") as first, (b / "lock").open("r+b") as second:
        fcntl.lockf(first, fcntl.LOCK_EX | fcntl.LOCK_NB, 10, 0)
        assert told(lambda: fcntl.lockf(second, fcntl.LOCK_EX | fcntl.LOCK_NB, 10, 5)) == "EAGAIN"
        assert told(lambda: fcntl.lockf(second, fcntl.LOCK_EX | fcntl.LOCK_NB, 10, 10)) == "ok"
        os.close(os.dup(first.fileno()))  # fcntl(2): closing any descriptor of the file drops the locks
        assert told(lambda: fcntl.lockf(second, fcntl.LOCK_EX | fcntl.LOCK_NB, 10, 5)) == "ok"


@pytest.mark.parametrize("lock", [fcntl.flock, fcntl.lockf])
def test_who_waits_for_a_lock_gets_it(pair: tuple[Path, Path], lock: object) -> None:
    take = fcntl.flock if lock is fcntl.flock else fcntl.lockf
    a, b = pair[0] / take.__name__, pair[1] / take.__name__
    exclusive(a)
    with a.open("r+b") as first, b.open("r+b") as second:
        take(first, fcntl.LOCK_EX)
        waiter = threading.Thread(target=lambda: take(second, fcntl.LOCK_EX))
        waiter.start()
        waiter.join(0.1)
        assert waiter.is_alive()
        take(first, fcntl.LOCK_UN)
        waiter.join(10)
        assert not waiter.is_alive()
        assert told(lambda: take(first, fcntl.LOCK_EX | fcntl.LOCK_NB)) == "EAGAIN"


def test_allocation(pair: tuple[Path, Path]) -> None:
    a, b = pair
    with (a / "f").open("w+b", buffering=0) as file:
        fallocate(file.fileno(), 0, 0, 8192)
        assert (b / "f").stat().st_size == 8192
        file.write(b"x" * 8192)
        fallocate(file.fileno(), 3, 4096, 4096)
        assert (b / "f").read_bytes() == b"x" * 4096 + bytes(4096)
        assert os.lseek(file.fileno(), 0, os.SEEK_HOLE) == 8192


def test_an_unnamed_file_can_be_linked(pair: tuple[Path, Path]) -> None:
    a, b = pair
    descriptor = os.open(a, os.O_TMPFILE | os.O_RDWR)
    os.write(descriptor, b"named late")
    assert os.listdir(b) == []
    # A directory descriptor makes Python take linkat(2), the call that follows symlinks.
    os.link(f"/proc/self/fd/{descriptor}", a / "name", src_dir_fd=descriptor, follow_symlinks=True)
    os.close(descriptor)
    assert (b / "name").read_bytes() == b"named late" and (b / "name").stat().st_nlink == 1


def test_direct_and_mapped_access(pair: tuple[Path, Path]) -> None:
    a, b = pair
    page = mmap.mmap(-1, 4096)
    page.write(b"D" * 4096)
    descriptor = os.open(a / "f", os.O_CREAT | os.O_RDWR | os.O_DIRECT)
    assert os.writev(descriptor, [page]) == 4096 and os.preadv(descriptor, [page], 0) == 4096
    os.close(descriptor)
    with (b / "f").open("r+b") as file, mmap.mmap(file.fileno(), 4096) as mapped:
        assert mapped[:] == b"D" * 4096
        mapped[:5] = b"HELLO"
        mapped.flush()
        assert (a / "f").read_bytes()[:6] == b"HELLOD"
    (a / "f").write_bytes(b"N" * 4096)
    with (b / "f").open("rb") as reader, mmap.mmap(reader.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        assert mapped[:] == b"N" * 4096


def test_a_listing_is_whole_and_rewinding_refreshes(pair: tuple[Path, Path]) -> None:
    a, b = pair
    expected = {f"entry-with-a-rather-long-name-{number:04}" for number in range(1500)}
    for name in sorted(expected):
        exclusive(a / name)
    descriptor = os.open(b, os.O_RDONLY | os.O_DIRECTORY)
    assert sorted(os.listdir(descriptor)) == sorted(expected)
    exclusive(a / "late")
    publish(a / min(expected), b"replaced")
    assert sorted(os.listdir(descriptor)) == sorted(expected | {"late"})
    os.fsync(descriptor)
    os.close(descriptor)


def test_appends_of_two_clients_do_not_overwrite_each_other(pair: tuple[Path, Path]) -> None:
    files = [(mount / "log").open("ab", buffering=0) for mount in pair]
    race(*[(lambda file=file: [file.write(b"." * 10) for _ in range(100)]) for file in files])
    assert (pair[0] / "log").stat().st_size == 2000
    for file in files:
        file.close()


def test_what_is_in_the_way_is_told_by_the_right_errno(pair: tuple[Path, Path]) -> None:
    a, b = pair
    (a / "d").mkdir()
    exclusive(a / "f")
    assert told((b / "d").unlink) in ("EISDIR", "EPERM")
    assert told((b / "f").rmdir) == "ENOTDIR"
    assert told((b / "f" / "x").stat) == "ENOTDIR"
    assert told(lambda: exclusive(b / ("n" * 256))) == "ENAMETOOLONG"
    assert told(lambda: (b / "f").rename(b / "d")) == "EISDIR"
    (a / "d").rmdir()
    assert told(lambda: exclusive(b / "d" / "x")) == "ENOENT"


def test_a_full_filesystem_says_so() -> None:
    with lab("strict,capacity=1m") as (a, b):
        (a / "half").write_bytes(bytes(1 << 19))
        assert told(lambda: (b / "more").write_bytes(bytes(1 << 20))) == "ENOSPC"
        status = os.statvfs(b)
        assert status.f_blocks * status.f_frsize == 1 << 20
        (a / "half").unlink()
        (a / "more").unlink()
        assert told(lambda: (b / "again").write_bytes(bytes(1 << 19))) == "ok"
