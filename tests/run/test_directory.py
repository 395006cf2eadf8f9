"""The run's directory from the controller's side: removal in a child, `fsconform clean`, children that hang."""

from __future__ import annotations

import os
from pathlib import Path
from types import ModuleType

import pytest

from fsconform.fleet.worker import tree
from fsconform.run import children, directory
from fsconform.vocabulary.errors import CannotTestError


def make(parent: Path, run_id: str) -> Path:
    return Path(tree.make_run_directory(str(parent), run_id, 0o755)["path"])


def test_ids_make_names() -> None:
    first, second = directory.new_run_id(), directory.new_run_id()
    assert first != second
    assert tree.directory_name(first) == f".fsconform-{first}"


def test_removed_in_a_child(tmp_path: Path) -> None:
    top = make(tmp_path, "aa")
    (top / "x").write_text("")
    removal = directory.remove_locally(str(tmp_path), "aa")
    assert (removal.state, removal.left_behind) == ("removed", ())
    assert not top.exists()


def test_refused_without_marker_and_named(tmp_path: Path) -> None:
    top = make(tmp_path, "aa")
    (top / tree.MARKER).unlink()
    removal = directory.remove_locally(str(tmp_path), "aa")
    assert removal.left_behind == (f"{top}: refused: no marker (ENOENT)",)
    assert top.exists()


def test_many_remains_are_counted() -> None:
    answer = {"state": "stays", "stays": [["/m/x", "EBUSY"]], "count": 7}
    assert directory.removal_from("/m", answer).left_behind == ("/m/x: EBUSY", "/m: and 6 more")


def test_clean_takes_only_what_is_marked(tmp_path: Path) -> None:
    old = make(tmp_path, "01d")
    (old / "abc").mkdir()
    (tmp_path / ".fsconform-notes").mkdir()
    (tmp_path / ".fsconform-notes" / "mine").write_text("")
    (tmp_path / ".fsconform-UPPER").mkdir()
    (tmp_path / ".fsconform-link").symlink_to(old)
    (tmp_path / "data").write_text("")
    removals = {Path(r.path).name: r.state for r in directory.clean(str(tmp_path))}
    assert removals[".fsconform-01d"] == "removed"
    assert removals[".fsconform-notes"] == "refused: no marker (ENOENT)"
    assert removals[".fsconform-UPPER"] == "refused: its name is no run id"
    assert removals[".fsconform-link"].startswith("refused: not a directory")
    assert sorted(os.listdir(tmp_path)) == [".fsconform-UPPER", ".fsconform-link", ".fsconform-notes", "data"]


def test_clean_refuses_an_attribute_of_another_run(tmp_path: Path) -> None:
    top = make(tmp_path, "aa")
    try:
        os.setxattr(top, tree.XATTR, b"bb")
    except OSError:
        pytest.skip("no user attributes here")
    (removal,) = directory.clean(str(tmp_path))
    assert removal.state == f"refused: the run id in {tree.XATTR} is another one"
    assert top.exists()


def test_clean_of_a_missing_directory(tmp_path: Path) -> None:
    with pytest.raises(CannotTestError, match=r"cannot be listed .*No such file"):
        directory.clean(str(tmp_path / "none"))


def test_a_child_that_blocks_is_described_and_ended(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    module = tmp_path / "blocking.py"
    module.write_text("def block(path, tell):\n    tell('open')\n    open(path).read()\n")
    stuck = children.call_in_child(_module_at(module), "block", [str(tmp_path / "fifo")], 0.3)
    assert isinstance(stuck, children.Stuck)
    assert (stuck.step, stuck.seconds, stuck.ended, stuck.state) == ("open", 0.3, True, "S")
    assert str(stuck).startswith("no answer to open for 0.3 s (")
    with pytest.raises(ProcessLookupError):
        os.kill(stuck.pid, 0)


def test_children_are_out_of_reach_of_the_terminals_interrupt(tmp_path: Path) -> None:
    module = tmp_path / "session.py"
    module.write_text("import os\ndef leads(tell):\n    return os.getsid(0) == os.getpid()\n")
    assert children.call_in_child(_module_at(module), "leads", [], 5.0) is True


def test_a_child_that_fails_is_told_in_one_line(tmp_path: Path) -> None:
    module = tmp_path / "failing.py"
    module.write_text("def fail(tell):\n    raise ValueError('broken')\n")
    with pytest.raises(children.ChildFailedError, match="status 1: ValueError: broken"):
        children.call_in_child(_module_at(module), "fail", [], 5.0)


def _module_at(path: Path) -> ModuleType:
    module = ModuleType(path.stem)
    module.__file__ = str(path)
    return module
