"""What the presets list about themselves, by plain calls on two mounts; timings only coarsely."""

from __future__ import annotations

import fcntl
import mmap
import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab.bench import NOREPLACE, exclusive, fallocate, lab, missing, publish, race, renameat2, told, until

pytestmark = pytest.mark.fuse
SHORT_S = 1.0
"""A timeout that is long against a few calls."""


@pytest.fixture(scope="module")
def model() -> Iterator[tuple[Path, ...]]:
    with lab("3fs-fuse") as mounts:
        yield mounts


@pytest.fixture
def pair(model: tuple[Path, ...], request: pytest.FixtureRequest) -> tuple[Path, Path]:
    name = request.node.originalname
    (model[0] / name).mkdir()
    return model[0] / name, model[1] / name


def test_a_missed_name_appears_after_the_negative_timeout() -> None:
    with lab(f"3fs-fuse,negative={SHORT_S}") as (a, b):
        assert missing((b / "f").stat)
        publish(a / "f", b"x")
        assert missing((b / "f").stat) and missing((b / "f").read_bytes)
        assert until((b / "f").exists) < SHORT_S + 5


def test_a_known_name_stays_for_the_entry_timeout() -> None:
    with lab(f"fuse-default,entry={SHORT_S},attr=0") as (a, b):
        publish(a / "f", b"old")
        assert (b / "f").read_bytes() == b"old"
        publish(a / "f", b"newer")
        assert (b / "f").read_bytes() == b"old"
        until(lambda: (b / "f").read_bytes() == b"newer")
        (a / "f").unlink()
        assert (b / "f").exists()
        until(lambda: not (b / "f").exists())


def test_a_known_length_stays_for_the_attribute_timeout() -> None:
    with lab(f"3fs-fuse,attr={SHORT_S}") as (a, b):
        (a / "f").write_bytes(b"x" * 10)
        with (b / "f").open("rb") as held:
            assert os.fstat(held.fileno()).st_size == 10
            with (a / "f").open("ab") as writer:
                writer.write(b"x" * 90)
            assert os.fstat(held.fileno()).st_size == 10
            assert len((b / "f").read_bytes()) == 10  # a new open asks nobody about the size
            until(lambda: os.fstat(held.fileno()).st_size == 100)


def test_a_symlink_has_its_own_timeout() -> None:
    with lab(f"3fs-fuse,symlink={SHORT_S}") as (a, b):
        for name in ("link", "file"):
            (a / name).symlink_to("x") if name == "link" else (a / name).write_text("x")
            (b / name).lstat()
            (a / name).unlink()
        until(lambda: missing((b / "link").lstat))
        assert (b / "file").exists()


def test_the_default_caches_of_libfuse() -> None:
    with lab("fuse-default") as (a, b):
        assert missing((b / "f").stat)
        publish(a / "f", b"x")
        assert (b / "f").exists()
        (a / "f").unlink()
        assert (b / "f").exists()
        until(lambda: not (b / "f").exists())


def test_the_length_is_published_at_close_and_fsync_not_at_fdatasync(pair: tuple[Path, Path]) -> None:
    a, b = pair
    for sync, length in ((os.fdatasync, 0), (os.fsync, 100)):
        descriptor = os.open(a / sync.__name__, os.O_CREAT | os.O_WRONLY)
        os.write(descriptor, b"x" * 100)
        sync(descriptor)
        assert (b / sync.__name__).stat().st_size == length
        os.close(descriptor)
    (a / "closed").write_bytes(b"x" * 100)
    assert (b / "closed").stat().st_size == 100


def test_a_look_of_the_writing_client_publishes(pair: tuple[Path, Path]) -> None:
    a, b = pair
    with (a / "f").open("wb", buffering=0) as writer:
        writer.write(b"x" * 100)
        assert os.fstat(writer.fileno()).st_size == 100
        assert (b / "f").stat().st_size == 100


def test_a_direct_read_passes_the_cached_length(pair: tuple[Path, Path]) -> None:
    a, b = pair
    (a / "f").write_bytes(b"")
    assert (b / "f").stat().st_size == 0
    (a / "f").write_bytes(b"x" * 4096)
    assert (b / "f").stat().st_size == 0 and (b / "f").read_bytes() == b""
    descriptor, page = os.open(b / "f", os.O_RDONLY | os.O_DIRECT), mmap.mmap(-1, 4096)
    assert os.preadv(descriptor, [page], 0) == 4096 and page[:] == b"x" * 4096
    os.close(descriptor)


def test_the_length_is_published_periodically() -> None:
    with lab("3fs-fuse,attr=0,sync=0.4") as (a, b), (a / "f").open("wb", buffering=0) as writer:
        writer.write(b"x" * 100)
        until(lambda: (b / "f").stat().st_size == 100)


def test_unlinked_data_are_readable_until_they_are_collected() -> None:
    with lab("3fs-fuse,attr=0,collect=1.5") as (a, b):
        (a / "f").write_bytes(b"x" * 5000)
        descriptor = os.open(b / "f", os.O_RDONLY | os.O_DIRECT)
        with (b / "f").open("rb", buffering=0) as held:
            (a / "f").unlink()
            assert held.read() == b"x" * 5000
            assert told((b / "f").read_bytes) == "ok"  # by its cached entry
            page = mmap.mmap(-1, 4096)
            until(lambda: os.preadv(descriptor, [page], 0) == 0)
            # Pages that the client's kernel had cached are dropped at the next open; the read is silent.
            assert (b / "f").read_bytes().strip(b"\0") == b""
        os.close(descriptor)


def test_what_is_refused(pair: tuple[Path, Path]) -> None:
    a, _ = pair
    for name in "xy":
        (a / name).write_text(name)
    assert told(lambda: renameat2(a / "x", a / "free", NOREPLACE)) == "EINVAL"
    assert told(lambda: os.setxattr(a / "x", "user.k", b"v")) in ("ENOTSUP", "EOPNOTSUPP")
    assert told(lambda: os.getxattr(a / "x", "user.k")) == "ENODATA" and os.listxattr(a / "x") == []
    with (a / "x").open("r+b") as file:
        assert told(lambda: fallocate(file.fileno(), 0, 0, 100)) in ("ENOTSUP", "EOPNOTSUPP")
    assert told(lambda: os.open(a, os.O_TMPFILE | os.O_RDWR)) in ("ENOTSUP", "EOPNOTSUPP")
    descriptor = os.open(a, os.O_RDONLY | os.O_DIRECTORY)
    os.fsync(descriptor)
    os.close(descriptor)


def test_locks_end_at_their_client(pair: tuple[Path, Path]) -> None:
    a, b = pair
    exclusive(a / "lock")
    with (a / "lock").open("r+b") as one, (b / "lock").open("r+b") as two, (a / "lock").open("r+b") as three:
        fcntl.flock(one, fcntl.LOCK_EX | fcntl.LOCK_NB)
        assert told(lambda: fcntl.flock(two, fcntl.LOCK_EX | fcntl.LOCK_NB)) == "ok"
        assert told(lambda: fcntl.flock(three, fcntl.LOCK_EX | fcntl.LOCK_NB)) == "EAGAIN"


def test_directories(pair: tuple[Path, Path]) -> None:
    a, b = pair
    before = b.stat()
    exclusive(a / "x")
    (a / "x").rename(a / "y")
    (a / "d").mkdir()
    (a / "y").unlink()
    assert os.stat(a).st_mtime_ns == before.st_mtime_ns == os.stat(b).st_mtime_ns
    assert os.stat(a / "d").st_nlink == 1
    with os.scandir(b) as entries:
        assert {entry.name for entry in entries} == {"d"}


def test_a_listing_fills_the_caches_of_the_reader(pair: tuple[Path, Path]) -> None:
    a, b = pair
    publish(a / "f", b"old")
    assert os.listdir(b) == ["f"]
    (a / "f").unlink()
    assert (b / "f").exists() and os.listdir(b) == []


def test_a_directory_handle_keeps_its_first_listing(pair: tuple[Path, Path]) -> None:
    a, b = pair
    exclusive(a / "early")
    descriptor = os.open(b, os.O_RDONLY | os.O_DIRECTORY)
    assert os.listdir(descriptor) == ["early"]
    exclusive(a / "late")
    assert os.listdir(descriptor) == ["early"] and sorted(os.listdir(b)) == ["early", "late"]
    os.close(descriptor)


def test_times_are_whole_seconds(pair: tuple[Path, Path]) -> None:
    (pair[0] / "f").write_bytes(b"x")
    status = (pair[1] / "f").stat()
    assert status.st_mtime_ns % 10**9 == status.st_ctime_ns % 10**9 == 0
    assert abs(status.st_mtime - time.time()) < 60


def test_mknod_is_not_exclusive(pair: tuple[Path, Path]) -> None:
    a, b = pair
    told_all = [
        answer
        for number in range(60)
        for answer in race(*[(lambda path=path: os.mknod(path, stat.S_IFREG | 0o600)) for path in
                             (a / f"n{number}", b / f"n{number}")])
    ]  # fmt: skip
    assert told_all.count("ok") > 60  # some rounds raced inside the server, and both were told success


def test_exclusive_creates_are(pair: tuple[Path, Path]) -> None:
    a, b = pair
    for number in range(30):
        assert sorted(race(lambda: exclusive(a / f"n{number}"), lambda: exclusive(b / f"n{number}"))) == [  # noqa: B023
            "EEXIST",
            "ok",
        ]


def test_appends_of_two_clients_overwrite_each_other(pair: tuple[Path, Path]) -> None:
    a, b = pair
    exclusive(a / "log")
    assert (b / "log").stat().st_size == 0
    for mount in (a, b):
        with (mount / "log").open("ab", buffering=0) as file:
            file.write(b"." * 10)
    assert (a / "log").stat().st_size == 10


def test_the_timeouts_in_force_can_be_read(model: tuple[Path, ...]) -> None:
    for mount in model:
        conf = mount / "3fs-virt" / "get-conf"
        values = {name: float(os.readlink(conf / name)) for name in os.listdir(conf)}
        assert values == {
            "usr.attr_timeout": 30,
            "usr.entry_timeout": 30,
            "usr.negative_timeout": 5,
            "usr.symlink_timeout": 5,
        }
        assert "3fs-virt" in os.listdir(mount)
    with lab("3fs-fuse,negative=0.25") as (a, _):
        assert float(os.readlink(a / "3fs-virt" / "get-conf" / "usr.negative_timeout")) == 0.25


def test_the_virtual_directory_cannot_be_changed(model: tuple[Path, ...]) -> None:
    virtual = model[0] / "3fs-virt"
    assert told((virtual / "new").mkdir) == "EPERM"
    assert told(virtual.rmdir) in ("EPERM", "ENOTEMPTY")
    assert told(lambda: virtual.rename(model[0] / "moved")) == "EPERM"
    assert told((virtual / "get-conf" / "usr.attr_timeout").unlink) == "EPERM"
    assert told(lambda: virtual.chmod(0o777)) == "EPERM"
