"""Every mutant is seen to misbehave by plain calls, and `strict` is not, by the same ones."""

from __future__ import annotations

import errno
import fcntl
import mmap
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fsconform.lab.mutants import MUTANTS
from tests.lab.bench import EXCHANGE, NOREPLACE, exclusive, fallocate, lab, missing, publish, race, renameat2, told

pytestmark = pytest.mark.fuse
Evidence = Callable[[Path, Path], bool]
"""Whether the mutant shows between two mounts, in an empty directory."""
ROUNDS = 12
BLOCK = b"A" * 4096 + b"B" * 4096


def _rounds(attempt: Callable[[int], bool]) -> bool:
    """Whether any round shows it: a mutant strikes most contested rounds, `strict` none."""
    return any(attempt(number) for number in range(ROUNDS))


def _outcomes(a: Path, b: Path, act: Callable[[Path], object], wanted: Callable[[list[str]], bool]) -> bool:
    return _rounds(lambda n: wanted(race(lambda: act(a / f"n{n}"), lambda: act(b / f"n{n}"))))


def _all_win(results: list[str]) -> bool:
    return results == ["ok", "ok"]


def _from_temporary(act: Callable[[Path, Path], object]) -> Callable[[Path], object]:
    """Make a temporary file on that mount, and publish it."""

    def publish_temporary(path: Path) -> None:
        temporary = path.parent / f"temp-{path.parent.parent.name}-{path.name}"
        if not temporary.exists():
            temporary.write_bytes(BLOCK)
        act(temporary, path)

    return publish_temporary


def _prepare(a: Path, b: Path) -> None:
    for mount in (a, b):
        for number in range(ROUNDS):
            (mount / f"temp-{mount.parent.name}-n{number}").write_bytes(BLOCK)


_link = _from_temporary(os.link)
_noreplace = _from_temporary(lambda old, new: renameat2(old, new, NOREPLACE))


def _two_winners_excl(a: Path, b: Path) -> bool:
    return _outcomes(a, b, exclusive, _all_win)


def _two_winners_mkdir(a: Path, b: Path) -> bool:
    return _outcomes(a, b, Path.mkdir, _all_win)


def _no_winner(a: Path, b: Path) -> bool:
    return _outcomes(a, b, exclusive, lambda results: results == ["EEXIST", "EEXIST"])


def _loser_told_eio(a: Path, b: Path) -> bool:
    _prepare(a, b)
    acts = (exclusive, _in(Path.mkdir, "d"), _in(_link, "l"))
    shown = [_outcomes(a, b, act, lambda results: "EIO" in results) for act in acts]
    assert len(set(shown)) == 1, shown
    return shown[0]


def _in(act: Callable[[Path], object], prefix: str) -> Callable[[Path], object]:
    """The same act on other names."""

    def elsewhere(path: Path) -> None:
        act(path.with_name(prefix + path.name))

    return elsewhere


def _eexist_after_unlink(a: Path, b: Path) -> bool:
    def attempt(number: int) -> bool:
        exclusive(a / f"n{number}")
        (a / f"n{number}").unlink()
        return told(lambda: exclusive(b / f"n{number}")) == "EEXIST" and missing((b / f"n{number}").stat)

    return _rounds(attempt)


def _watch(path: Path, wrong: Callable[[Path], bool], change: Callable[[], object]) -> bool:
    """Whether a look was wrong while, or right after, the change was made."""
    seen, done = [False], threading.Event()

    def look() -> None:
        while not done.is_set():
            seen[0] = seen[0] or wrong(path)

    watcher = threading.Thread(target=look)
    watcher.start()
    change()
    done.set()
    watcher.join(30)
    return seen[0]


def _rename_gap(a: Path, b: Path) -> bool:
    publish(a / "f", BLOCK)
    return _rounds(lambda n: _watch(b / "f", lambda path: missing(path.stat), lambda: publish(a / "f", BLOCK)))


def _rename_neither(a: Path, b: Path) -> bool:
    def neither(path: Path) -> bool:
        return missing(path.with_suffix(".old").stat) and missing(path.stat)

    def attempt(number: int) -> bool:
        old = a / f"n{number}.old"
        old.write_bytes(BLOCK)
        return _watch(b / f"n{number}.new", neither, lambda: old.rename(a / f"n{number}.new"))

    return _rounds(attempt)


def _read_after_publish(a: Path, b: Path, wrong: Callable[[bytes], bool]) -> bool:
    def attempt(number: int) -> bool:
        content = bytes([number]) * 4096 + bytes([100 + number]) * 4096
        publish(a / f"fresh{number}", content)
        fresh = (b / f"fresh{number}").read_bytes()
        publish(a / "replaced", content)
        replaced = (b / "replaced").read_bytes()
        assert len(fresh) == len(replaced) == len(content)
        assert (fresh == content) == (replaced == content)
        return fresh != content and wrong(fresh)

    return _rounds(attempt)


def _zero(a: Path, b: Path) -> bool:
    return _read_after_publish(a, b, lambda data: not any(data))


def _torn(a: Path, b: Path) -> bool:
    return _read_after_publish(a, b, lambda data: data[0] + 100 != data[-1])


def _foreign(a: Path, b: Path) -> bool:
    return _read_after_publish(a, b, lambda data: len(set(data[:4096])) == 1 and data[0] + 100 != data[-1])


def _negative_forever(a: Path, b: Path) -> bool:
    def attempt(number: int) -> bool:
        assert missing((b / f"n{number}").stat)
        publish(a / f"n{number}", BLOCK)
        return missing((b / f"n{number}").stat) and told(lambda: exclusive(b / f"n{number}")) == "EEXIST"

    return _rounds(attempt)


def _success_told_eexist(a: Path, b: Path) -> bool:
    _prepare(a, b)

    def attempt(number: int) -> bool:
        results = race(lambda: _link(a / f"n{number}"), lambda: _link(b / f"n{number}"))
        return results == ["EEXIST", "EEXIST"] and (a / f"n{number}").stat().st_nlink == 2

    return _rounds(attempt)


def _win_over_existing(a: Path, b: Path) -> bool:
    def attempt(number: int) -> bool:
        publish(a / f"n{number}", BLOCK)
        assert (b / f"n{number}").exists()
        return told(lambda: exclusive(b / f"n{number}")) == "ok"

    return _rounds(attempt)


def _loser_cannot_open(a: Path, b: Path) -> bool:
    def create(path: Path) -> None:
        try:
            exclusive(path)
        except FileExistsError:
            path.read_bytes()

    return _outcomes(a, b, create, lambda results: "ENOENT" in results)


def _loser_reads_half(a: Path, b: Path) -> bool:
    _prepare(a, b)
    short: list[str] = []

    def link(path: Path) -> None:
        try:
            _link(path)
        except FileExistsError:
            if path.read_bytes() != BLOCK:
                raise OSError(errno.EBADMSG, "short") from None

    assert not short
    return _outcomes(a, b, link, lambda results: "EBADMSG" in results)


def _plain_create(a: Path, b: Path) -> bool:
    return _outcomes(a, b, lambda path: path.write_bytes(b""), lambda results: "EEXIST" in results)


def _noreplace_ignored(a: Path, b: Path) -> bool:
    _prepare(a, b)
    return _outcomes(a, b, _noreplace, _all_win)


def _stale_entry(a: Path, b: Path) -> bool:
    publish(a / "f", b"old")
    publish(a / "g", b"old")
    assert (b / "f").exists() and (b / "g").exists()
    publish(a / "f", b"newer")
    (a / "g").unlink()
    shown = (b / "g").exists()
    assert shown == ((b / "f").read_bytes() == b"old")
    assert told(lambda: exclusive(b / "g")) == "ok"
    return shown


def _stale_replace(a: Path, b: Path) -> bool:
    publish(a / "f", b"old")
    assert (b / "f").exists()
    publish(a / "f", b"newer")
    shown = (b / "f").read_bytes() == b"old"
    assert (a / "f").read_bytes() == b"newer"
    (a / "f").unlink()
    assert missing((b / "f").stat)
    return shown


def _stale_length(a: Path, b: Path) -> bool:
    (a / "f").write_bytes(b"x" * 10)
    assert (b / "f").stat().st_size == 10
    with (a / "f").open("ab") as writer:
        writer.write(b"x" * 10)
    assert (a / "f").stat().st_size == 20
    return (b / "f").stat().st_size == 10


def _stale_listing(a: Path, b: Path) -> bool:
    exclusive(a / "f")
    assert os.listdir(b) == ["f"]
    exclusive(a / "g")
    assert (b / "g").exists()
    shown = "g" not in os.listdir(b)
    (a / "f").unlink()
    assert "f" not in os.listdir(b)
    return shown


def _refused(action: Callable[[], object], *names: str) -> bool:
    answer = told(action)
    assert answer == "ok" or answer in names, answer
    return answer != "ok"


def _file(a: Path) -> Path:
    (a / "f").write_bytes(BLOCK)
    return a / "f"


def _map_shared(path: Path) -> None:
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        assert mapped[:] == BLOCK


def _allocate(path: Path) -> None:
    with path.open("r+b") as file:
        fallocate(file.fileno(), 0, 0, 1 << 14)


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _exchange(a: Path) -> None:
    (a / "x").write_text("x")
    (a / "y").write_text("y")
    renameat2(a / "x", a / "y", EXCHANGE)


def _exchange_lost(a: Path, b: Path) -> bool:
    _exchange(a)
    assert (b / "y").read_text() == "x"
    return not (b / "x").exists()


def _granted_to_both(a: Path, b: Path, lock: Callable[..., object]) -> bool:
    exclusive(a / f"lock-{lock.__name__}")
    with (a / f"lock-{lock.__name__}").open("r+b") as one, (b / f"lock-{lock.__name__}").open("r+b") as two:
        lock(one, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return not _refused(lambda: lock(two, fcntl.LOCK_EX | fcntl.LOCK_NB), "EAGAIN", "EACCES")


def _flock(a: Path, b: Path) -> bool:
    return _granted_to_both(a, b, fcntl.flock)


def _fcntl(a: Path, b: Path) -> bool:
    return _granted_to_both(a, b, fcntl.lockf)


def _hang(a: Path, b: Path) -> bool:
    (a / "f").write_bytes(BLOCK)
    reader = subprocess.Popen([sys.executable, "-c", "import sys; open(sys.argv[1], 'rb').read()", str(b / "f")])
    try:
        reader.wait(2)
    except subprocess.TimeoutExpired:
        return True
    return False


EVIDENCE: dict[str, Evidence] = {
    "two-winners-excl": _two_winners_excl,
    "two-winners-mkdir": _two_winners_mkdir,
    "no-winner-excl": _no_winner,
    "loser-told-eio": _loser_told_eio,
    "eexist-after-unlink": _eexist_after_unlink,
    "rename-gap": _rename_gap,
    "rename-neither": _rename_neither,
    "zero-after-publish": _zero,
    "torn-after-publish": _torn,
    "foreign-page": _foreign,
    "negative-forever": _negative_forever,
    "success-told-eexist": _success_told_eexist,
    "win-over-existing": _win_over_existing,
    "loser-cannot-open": _loser_cannot_open,
    "loser-reads-half": _loser_reads_half,
    "plain-create-eexist": _plain_create,
    "noreplace-ignored": _noreplace_ignored,
    "stale-entry": _stale_entry,
    "stale-replace": _stale_replace,
    "stale-length": _stale_length,
    "stale-listing": _stale_listing,
    "no-link": lambda a, b: _refused(lambda: os.link(_file(a), a / "g"), "EPERM"),
    "no-rename-noreplace": lambda a, b: _refused(lambda: renameat2(_file(a), a / "g", NOREPLACE), "EINVAL"),
    "no-rename-exchange": lambda a, b: _refused(lambda: _exchange(a), "EINVAL"),
    "exchange-as-rename": _exchange_lost,
    "no-xattr": lambda a, b: _refused(lambda: os.setxattr(_file(a), "user.k", b"v"), "ENOTSUP", "EOPNOTSUPP"),
    "no-o-direct": lambda a, b: _refused(lambda: os.open(_file(a), os.O_RDONLY | os.O_DIRECT), "EINVAL"),
    "no-mmap": lambda a, b: _refused(lambda: _map_shared(_file(a)), "ENODEV"),
    "no-fallocate": lambda a, b: _refused(lambda: _allocate(_file(a)), "ENOTSUP", "EOPNOTSUPP"),
    "no-o-tmpfile": lambda a, b: _refused(lambda: os.open(a, os.O_TMPFILE | os.O_RDWR), "ENOTSUP", "EOPNOTSUPP"),
    "no-fsync-dir": lambda a, b: _refused(lambda: _sync_directory(a), "EINVAL"),
    "locks-for-all": lambda a, b: _flock(a, b) and _fcntl(a, b),
    "flock-local": _flock,
    "fcntl-local": _fcntl,
    "hang": _hang,
}


@pytest.fixture(scope="module")
def strict() -> Iterator[tuple[Path, ...]]:
    with lab("strict") as mounts:
        yield mounts


def test_every_mutant_has_its_evidence() -> None:
    assert set(EVIDENCE) == set(MUTANTS)


@pytest.mark.parametrize("name", MUTANTS)
def test_the_mutant_shows(name: str) -> None:
    keys = ",window=4" if name == "hang" else ",ttl=30" if name.startswith("stale") else ""
    with lab(f"strict,mutant={name}{keys}") as (a, b):
        (a / "d").mkdir()
        assert EVIDENCE[name](a / "d", b / "d")


@pytest.mark.parametrize("name", MUTANTS)
def test_strict_does_not_show_it(name: str, strict: tuple[Path, ...]) -> None:
    (strict[0] / name).mkdir()
    assert not EVIDENCE[name](strict[0] / name, strict[1] / name)


def test_p_strikes_now_and_then() -> None:
    with lab("strict,mutant=zero-after-publish,p=0.5,window=5") as (a, b):
        zeros = 0
        for number in range(60):
            publish(a / f"n{number}", BLOCK)
            zeros += (b / f"n{number}").read_bytes() != BLOCK
    assert 5 < zeros < 55


def test_site_confines_a_mutant_to_a_mount() -> None:
    with lab("strict,mutant=eexist-after-unlink,site=b") as (a, b):
        for mount, answer in ((a, "ok"), (b, "EEXIST")):
            exclusive(mount / mount.name)
            (mount / mount.name).unlink()
            assert told(lambda: exclusive(a / mount.name)) == answer  # noqa: B023


def test_what_a_mutant_keeps_ends_with_its_ttl() -> None:
    with lab("strict,mutant=stale-length,ttl=1") as (a, b):
        assert _stale_length(a, b)
        time.sleep(1.2)
        assert (b / "f").stat().st_size == 20


def test_two_mutants_at_once() -> None:
    with lab("strict,mutant=no-link,mutant=no-xattr") as (a, b):
        assert EVIDENCE["no-link"](a, b) and EVIDENCE["no-xattr"](a, b)
