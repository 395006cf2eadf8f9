"""Removal of the run's directory: only with its marker, never out of it, and what stays is named."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconform.fleet.worker import tree

RUN = "0123abcd"


def made(parent: Path) -> Path:
    answer = tree.make_run_directory(str(parent), RUN, 0o755)
    assert answer["errno"] == "works", answer
    return Path(answer["path"])


def remove(parent: Path, tell: Callable[[str], None] = lambda word: None) -> dict[str, Any]:
    return tree.remove_run_directory(str(parent), RUN, 10.0, tell)


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    place = tmp_path / "outside"
    place.mkdir()
    (place / "precious").write_text("precious")
    return place


@pytest.fixture
def mount(tmp_path: Path) -> Path:
    place = tmp_path / "mount"
    place.mkdir()
    return place


def test_made_with_marker_and_mode(mount: Path) -> None:
    old = os.umask(0o077)
    try:
        top = made(mount)
    finally:
        os.umask(old)
    assert top == mount / f".fsconform-{RUN}"
    assert (top / tree.MARKER).read_text() == tree.marker_text(RUN)
    assert stat.S_IMODE(top.stat().st_mode) == 0o755


def test_made_only_once(mount: Path) -> None:
    made(mount)
    assert tree.make_run_directory(str(mount), RUN, 0o755)["errno"] == "EEXIST"


def test_removed_with_all_in_it(mount: Path) -> None:
    top = made(mount)
    for name in ("abc/de/x.bin", "abc/df/y.bin", "z"):
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text("")
    os.mkfifo(top / "fifo")
    assert remove(mount) == {"state": "removed", "stays": [], "count": 0}
    assert os.listdir(mount) == []
    assert remove(mount)["state"] == "absent"


def test_the_marker_is_mandatory(mount: Path) -> None:
    top = made(mount)
    (top / "file").write_text("")
    (top / tree.MARKER).unlink()
    assert remove(mount)["state"] == "refused: no marker (ENOENT)"
    (top / tree.MARKER).write_text("fsconform run other\n")
    assert remove(mount)["state"].startswith("refused: the marker is of something else")
    (top / tree.MARKER).unlink()
    os.mkfifo(top / tree.MARKER)
    assert remove(mount)["state"].startswith("refused: ")
    (top / tree.MARKER).unlink()
    real = mount / "elsewhere"
    real.write_text(tree.marker_text(RUN))
    (top / tree.MARKER).symlink_to(real)
    assert remove(mount)["state"] == "refused: no marker (ELOOP)"
    assert (top / "file").exists()


def test_an_attribute_of_another_run_refuses(mount: Path) -> None:
    top = made(mount)
    try:
        os.setxattr(top, tree.XATTR, b"another")
    except OSError:
        pytest.skip("no user attributes here")
    assert remove(mount)["state"] == f"refused: the run id in {tree.XATTR} is another one"


def test_links_to_outside_are_removed_not_followed(mount: Path, outside: Path) -> None:
    top = made(mount)
    (top / "link").symlink_to(outside)
    (top / "up").symlink_to("..")
    (top / "dangling").symlink_to("/nowhere")
    (top / "sub").mkdir()
    (top / "sub" / "file-link").symlink_to(outside / "precious")
    assert remove(mount)["state"] == "removed"
    assert (outside / "precious").read_text() == "precious"


def test_the_top_itself_may_not_be_a_link(mount: Path, outside: Path) -> None:
    (outside / tree.MARKER).write_text(tree.marker_text(RUN))
    (mount / f".fsconform-{RUN}").symlink_to(outside)
    assert remove(mount)["state"] == "refused: it is not a directory"
    assert (outside / "precious").exists()


def test_a_directory_swapped_for_a_link_midway_leads_nowhere(mount: Path, outside: Path) -> None:
    top = made(mount)
    for name in ("a", "b", "c"):
        (top / name).mkdir()
        (top / name / "precious").write_text("ours")
    swapped: list[Path] = []

    def swap(word: str) -> None:
        victim = Path(word.removeprefix("remove "))
        if word.startswith("remove ") and victim.parent == top and not swapped:
            swapped.append(victim)
            for name in os.listdir(top):
                if (top / name).is_dir():
                    (top / name).rename(mount / name)
                    (top / name).symlink_to(outside)

    assert remove(mount, swap)["state"] == "removed"
    assert swapped
    assert (outside / "precious").read_text() == "precious"
    assert all((mount / name / "precious").exists() for name in ("a", "b", "c"))


def test_a_directory_swapped_between_unlink_and_open(
    mount: Path, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    top = made(mount)
    (top / "sub").mkdir()
    opened = os.open

    def swapping_open(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if path == "sub":
            (top / "sub").rename(mount / "moved")
            (top / "sub").symlink_to(outside)
        return opened(path, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", swapping_open)
    answer = remove(mount)
    monkeypatch.undo()
    assert answer["state"] == "removed"  # the second look finds a link and removes the link
    assert (outside / "precious").exists()


def test_what_stays_is_named_and_can_be_cleaned_later(mount: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    top = made(mount)
    (top / "sub").mkdir()
    (top / "sub" / "held").write_text("")
    unlink = os.unlink

    def refusing(path: str, *, dir_fd: int | None = None) -> None:
        if path == "held":
            raise OSError(16, "busy")
        unlink(path, dir_fd=dir_fd)

    monkeypatch.setattr(os, "unlink", refusing)
    monkeypatch.setattr(tree, "_PAUSE_S", 0.0)
    answer = remove(mount)
    monkeypatch.undo()
    assert answer["state"] == "stays"
    assert [f"{top}/sub/held", "EBUSY"] in answer["stays"]
    assert (top / tree.MARKER).exists()
    assert remove(mount)["state"] == "removed"


def test_the_marker_returns_where_the_top_cannot_go(mount: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    top = made(mount)

    def refusing(path: str, *, dir_fd: int | None = None) -> None:
        raise OSError(39, "not empty")

    monkeypatch.setattr(os, "rmdir", refusing)
    answer = remove(mount)
    monkeypatch.undo()
    assert answer["stays"] == [[str(top), "ENOTEMPTY"]]
    assert remove(mount)["state"] == "removed"


def test_time_is_up(mount: Path) -> None:
    top = made(mount)
    (top / "file").write_text("")
    answer = tree.remove_run_directory(str(mount), RUN, -1.0)
    assert answer["stays"] == [[str(top), "time is up"]]
    assert (top / "file").exists()


def test_time_is_up_below(mount: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    top = made(mount)
    (top / "sub").mkdir()
    (top / "sub" / "file").write_text("")
    late = iter([False, True, True])
    monkeypatch.setattr(tree._Sweep, "late", lambda sweep: next(late))
    assert remove(mount)["stays"] == [[f"{top}/sub", "time is up"]]


def test_no_endless_descent(mount: Path) -> None:
    at = made(mount)
    for _ in range(80):
        at = at / "d"
        at.mkdir()
    answer = remove(mount)
    assert answer["state"] == "stays"
    assert [why for _, why in answer["stays"]] == ["ENAMETOOLONG"]


def test_a_missing_parent_is_named(tmp_path: Path) -> None:
    assert remove(tmp_path / "none")["stays"] == [[str(tmp_path / "none" / f".fsconform-{RUN}"), "ENOENT"]]


@pytest.mark.parametrize("run_id", ["", "../x", "A", "a/b", "x" * 65, "a\n"])
def test_run_ids_cannot_be_paths(run_id: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="run id"):
        tree.make_run_directory(str(tmp_path), run_id, 0o755)
    with pytest.raises(ValueError, match="run id"):
        tree.remove_run_directory(str(tmp_path), run_id, 1.0)


@given(names=st.lists(st.binary(min_size=1, max_size=20), max_size=8))
def test_any_name_can_be_removed(tmp_path_factory: pytest.TempPathFactory, names: list[bytes]) -> None:
    mount = tmp_path_factory.mktemp("names")
    top = os.fsencode(made(mount))
    for name in names:
        if b"/" not in name and b"\0" not in name and name not in (b".", b".."):
            Path(os.fsdecode(top + b"/" + name)).touch()
    assert remove(mount)["state"] == "removed"
