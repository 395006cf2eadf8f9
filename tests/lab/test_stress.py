"""`strict` under concurrency from two mounts: what readers see is what a local filesystem may show them."""

from __future__ import annotations

import errno
import os
import random
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.lab.bench import exclusive, lab, publish, told

pytestmark = pytest.mark.fuse
PAGE = 4096


@pytest.fixture(scope="module", params=["strict", "strict,data=cached", "tmpfs"])
def pair(request: pytest.FixtureRequest) -> Iterator[tuple[Path, Path]]:
    """Two mounts of the lab; the same loads run on a local directory, so that they ask for no more than it gives."""
    if request.param == "tmpfs":
        directory = Path(request.getfixturevalue("tmp_path_factory").mktemp("local"))
        yield directory, directory
    else:
        with lab(request.param) as (a, b):
            yield a, b


def _together(*workers: Callable[[], None]) -> None:
    """Run all; raise the first failure of any."""
    failures: list[BaseException] = []

    def run(worker: Callable[[], None]) -> None:
        try:
            worker()
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=run, args=(worker,)) for worker in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    if failures:
        raise failures[0]


def _version(number: int, pages: int) -> bytes:
    return number.to_bytes(8, "little") * (pages * PAGE // 8)


def _check_whole(data: bytes) -> int:
    """The version that these bytes are, all of them."""
    number = int.from_bytes(data[:8], "little")
    assert data and data == _version(number, len(data) // PAGE), "torn, short or empty"
    return number


@pytest.mark.parametrize("pages", [1, 16, 64])
def test_readers_of_a_replaced_name_find_one_whole_version(pair: tuple[Path, Path], pages: int) -> None:
    a, b = (mount / f"replace{pages}" for mount in pair)
    a.mkdir()
    publish(a / "f", _version(0, pages))
    done = threading.Event()
    floor = [0]

    def write() -> None:
        for number in range(1, 150):
            publish(a / "f", _version(number, pages))
            floor[0] = number
        done.set()

    def read_to_end(mount: Path) -> None:
        while not done.is_set():
            least = floor[0]
            assert _check_whole((mount / "f").read_bytes()) >= least

    def read_as_long_as_fstat_says(mount: Path) -> None:
        while not done.is_set():
            descriptor = os.open(mount / "f", os.O_RDONLY)
            size = os.fstat(descriptor).st_size
            data = os.read(descriptor, size)
            os.close(descriptor)
            assert len(data) == size == pages * PAGE
            _check_whole(data)

    def stat(mount: Path) -> None:
        while not done.is_set():
            assert (mount / "f").stat().st_size == pages * PAGE

    _together(write, *(lambda work=work: work(b) for work in (read_to_end, read_as_long_as_fstat_says, stat)))


def test_names_that_stay_are_listed_once_while_others_come_and_go(pair: tuple[Path, Path]) -> None:
    a, b = (mount / "listing" for mount in pair)
    a.mkdir()
    stable = {f"stable-{number:03}" for number in range(300)}
    for name in sorted(stable):
        (a / name).touch()
    done = threading.Event()

    def churn() -> None:
        for number in range(300):
            (a / f"new-{number:03}").touch()
            if number >= 20:
                (a / f"new-{number - 20:03}").unlink()
            (a / f"new-{number:03}").rename(a / f"new-{number:03}")
        done.set()

    def look(mount: Path) -> None:
        while not done.is_set():
            names = [name for name in os.listdir(mount) if name.startswith("stable")]
            assert len(names) == len(stable) and set(names) == stable

    _together(churn, lambda: look(a), lambda: look(b))


def test_a_moved_file_is_always_under_one_of_its_names(pair: tuple[Path, Path]) -> None:
    a, b = (mount / "moves" for mount in pair)
    a.mkdir()
    for number in range(100):
        old, new = f"old{number}", f"new{number}"
        (a / old).write_bytes(b"x")
        done = threading.Event()

        def move() -> None:
            (a / old).rename(a / new)  # noqa: B023
            done.set()  # noqa: B023

        def look() -> None:
            while not done.is_set():  # noqa: B023
                if told((b / old).stat) == "ENOENT":  # noqa: B023
                    assert (b / new).stat().st_size == 1  # noqa: B023

        _together(move, look)


def _publish_by(call: Callable[[Path, Path], object], one: Path, temporary: Path) -> None:
    temporary.write_bytes(_version(1, 2))
    call(temporary, one)


_ACTS: tuple[Callable[[Path, Path, Path], object], ...] = (
    lambda one, other, temporary: exclusive(one),
    lambda one, other, temporary: one.rename(other),
    lambda one, other, temporary: os.link(one, other),
    lambda one, other, temporary: one.unlink(),
    lambda one, other, temporary: one.stat(),
    lambda one, other, temporary: one.read_bytes(),
    lambda one, other, temporary: os.listdir(one.parent),
    lambda one, other, temporary: _publish_by(os.rename, one, temporary),
    lambda one, other, temporary: _publish_by(os.link, one, temporary),
)


def test_random_programs_fail_only_as_locally(pair: tuple[Path, Path]) -> None:
    """Any of these calls may lose a race; what it is told then is in the POSIX list of its errors, never ESTALE."""
    a, b = (mount / "random" for mount in pair)
    a.mkdir()
    innocent = {"ok", "ENOENT", "EEXIST"}
    names = [f"n{number}" for number in range(4)]
    seen: set[str] = set()

    def work(mount: Path, seed: int) -> None:
        chance = random.Random(seed)
        for count in range(400):
            act = chance.choice(_ACTS)
            one, other = (mount / chance.choice(names) for _ in range(2))
            seen.add(told(partial(act, one, other, mount / f"t{seed}-{count}")))

    _together(*(lambda mount=mount, seed=seed: work(mount, seed) for seed, mount in enumerate((a, b, a, b))))
    assert seen <= innocent, seen
    left = {name for name in os.listdir(b) if name in names}
    assert left == {name for name in names if (a / name).exists()}
    for name in left:
        assert (a / name).stat().st_nlink == (b / name).stat().st_nlink >= 1
        assert (a / name).read_bytes() == (b / name).read_bytes()


def test_the_last_link_decides_what_stays(pair: tuple[Path, Path]) -> None:
    a, b = (mount / "links" for mount in pair)
    a.mkdir()
    for number in range(60):
        (a / "f").write_bytes(b"x" * number)

        def link() -> None:
            try:
                os.link(b / "f", b / "g")
            except OSError as error:
                assert error.errno == errno.ENOENT

        _together(link, lambda: (a / "f").unlink())
        if (a / "g").exists():
            status = (b / "g").stat()
            assert (status.st_nlink, status.st_size) == (1, number)
            (b / "g").unlink()
        assert os.listdir(a) == os.listdir(b) == []
