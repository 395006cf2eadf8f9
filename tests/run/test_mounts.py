"""Refusals and topologies on mounts made for the test: full, read-only, bound, different, hung and dead ones."""

from __future__ import annotations

import ctypes
import os
import stat
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from fsconform.fleet.worker import facts
from fsconform.run import directory, preflight, refusals
from fsconform.run.doctor import examine_sites
from fsconform.vocabulary.errors import CannotTestError
from fsconform.vocabulary.sites import Topology, parse_site

pytestmark = pytest.mark.root
Mounter = Callable[..., Path]


@pytest.fixture
def mounter(tmp_path: Path) -> Iterator[Mounter]:
    """Mounts that go away with the test: `mounter(name, *arguments of mount(8))`."""
    points: list[Path] = []

    def mount(name: str, *arguments: str) -> Path:
        point = tmp_path / name
        point.mkdir()
        subprocess.run(["mount", *arguments, str(point)], check=True, timeout=20)
        points.append(point)
        return point

    yield mount
    for point in reversed(points):
        subprocess.run(["umount", "-l", str(point)], check=False, timeout=20)


def tmpfs(mounter: Mounter, name: str, options: str = "size=16m") -> Path:
    return mounter(name, "-t", "tmpfs", "-o", options, "fsconform-test")


def refusal(*paths: Path) -> str:
    with pytest.raises(CannotTestError) as caught:
        examine_sites([parse_site(str(path)) for path in paths])
    return str(caught.value)


def test_full_filesystem(mounter: Mounter) -> None:
    point = tmpfs(mounter, "small", "size=64k")
    message = refusal(point)
    assert f"the filesystem at {point} is too full (64.0 KiB free, 1.0 MiB needed)" in message
    assert os.listdir(point) == []


def test_too_few_files(mounter: Mounter) -> None:
    point = tmpfs(mounter, "few", "size=16m,nr_inodes=20")
    assert "files free, 100 needed" in refusal(point)


def test_only_read_only_sites(mounter: Mounter) -> None:
    assert "is mounted read-only" in refusal(tmpfs(mounter, "ro", "size=16m,ro"))


def test_a_bind_mount_is_the_same_client(mounter: Mounter) -> None:
    point = tmpfs(mounter, "first")
    bound = mounter("bound", "--bind", str(point))
    found = examine_sites([parse_site(str(point)), parse_site(str(bound))])
    assert set(found.survey.topologies.values()) == {Topology.PROCESS}
    assert found.survey.one_client
    assert found.how_to == ""
    assert os.listdir(point) == []


def test_a_read_only_bind_mount_observes(mounter: Mounter) -> None:
    point = tmpfs(mounter, "first")
    bound = mounter("bound", "--bind", "-o", "ro", str(point))
    found = examine_sites([parse_site(str(bound)), parse_site(str(point))])
    assert [site.read_only for site in found.survey.sites] == [True, False]
    assert os.listdir(point) == []


def test_two_filesystems_are_different_trees(mounter: Mounter) -> None:
    first, second = tmpfs(mounter, "first"), tmpfs(mounter, "second")
    assert "show different trees: a directory made at the first" in refusal(first, second)
    assert os.listdir(first) == os.listdir(second) == []


def test_stacked_mounts_are_told_by_the_kernel(mounter: Mounter, tmp_path: Path) -> None:
    lower = tmpfs(mounter, "stack")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "upper", str(lower)], check=True, timeout=20)
    try:
        assert facts.site_facts(str(lower))["mount"]["source"] == "upper"
    finally:
        subprocess.run(["umount", str(lower)], check=True, timeout=20)


def test_a_mount_inside_our_directory_is_not_entered(mounter: Mounter, tmp_path: Path) -> None:
    from fsconform.fleet.worker import tree

    parent = tmp_path / "parent"
    parent.mkdir()
    top = Path(tree.make_run_directory(str(parent), "aa", 0o755)["path"])
    (top / "inner").mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "inner", str(top / "inner")], check=True, timeout=20)
    try:
        (top / "inner" / "precious").write_text("precious")
        removal = directory.remove_locally(str(parent), "aa")
        assert removal.left_behind == (f"{top}/inner: EXDEV",)
        assert (top / "inner" / "precious").exists()
    finally:
        subprocess.run(["umount", str(top / "inner")], check=True, timeout=20)
    assert directory.remove_locally(str(parent), "aa").state == "removed"


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory below which every user may go (pytest's own are private)."""
    with tempfile.TemporaryDirectory(prefix="fsconform-test-", dir="/dev/shm") as name:
        os.chmod(name, 0o755)
        yield Path(name)


def as_nobody(path: Path) -> dict[str, object]:
    os.seteuid(65534)
    try:
        return facts.site_facts(str(path))
    finally:
        os.seteuid(0)


def test_no_permission_to_enter(place: Path) -> None:
    (place / "private").mkdir(mode=0o700)
    with pytest.raises(CannotTestError, match=r"may not be entered \(open: EACCES for uid 65534\); run as a user"):
        refusals.refuse_facts(parse_site("/x"), as_nobody(place / "private"))
    with pytest.raises(CannotTestError, match=r"may not be entered \(stat: EACCES"):
        refusals.refuse_facts(parse_site("/x"), as_nobody(place / "private" / "below"))


def test_no_permission_to_write(place: Path) -> None:
    seen = as_nobody(place)
    assert seen["writable"] is False
    site = preflight.site_from("a", parse_site(str(place)), seen)
    with pytest.raises(CannotTestError, match=r"no writable site: .* is not writable for uid 65534 \(no permission\)"):
        refusals.refuse_unwritable([site])


@pytest.fixture
def silent_fuse(tmp_path: Path) -> Iterator[tuple[Path, int]]:
    """A FUSE mount whose server never answers: (mount point, descriptor of /dev/fuse)."""
    point = tmp_path / "fuse"
    point.mkdir()
    fd = os.open("/dev/fuse", os.O_RDWR)
    libc = ctypes.CDLL(None, use_errno=True)
    options = f"fd={fd},rootmode={stat.S_IFDIR:o},user_id=0,group_id=0".encode()
    if libc.mount(b"silent", os.fsencode(point), b"fuse.silent", 0, options) != 0:
        os.close(fd)
        raise OSError(ctypes.get_errno(), "mount")
    yield point, fd
    libc.umount2(os.fsencode(point), 2)  # MNT_DETACH
    with suppress(OSError):
        os.close(fd)


@pytest.mark.fuse
def test_hung_and_then_dead(silent_fuse: tuple[Path, int], monkeypatch: pytest.MonkeyPatch) -> None:
    point, fd = silent_fuse
    monkeypatch.setattr(directory, "STALL_DEADLINE_S", 0.5)
    with pytest.raises(CannotTestError, match=r"hung: no answer to stat for 0.5 s \(.*child \d+ (killed|abandoned)"):
        preflight.first_contact([parse_site(str(point))], deadline_s=0.5)
    with pytest.raises(CannotTestError, match=f"{point}: hung: no answer to list"):
        directory.clean(str(point))
    os.close(fd)
    with pytest.raises(CannotTestError, match=r"dead mount at .*: (ENOTCONN|ECONNABORTED)\): .*unmount it"):
        preflight.first_contact([parse_site(str(point))])
    removal = directory.remove_locally(str(point), "aa")
    assert removal.left_behind == (f"{point}/.fsconform-aa: ENOTCONN",)
