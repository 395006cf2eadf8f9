"""The joined source: complete, independent of what is installed, and good for Python 3.9."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from fsconform.fleet import source
from fsconform.fleet.fleet import Fleet
from fsconform.vocabulary.errnos import NOT_RUN
from fsconform.vocabulary.programs import Lane, Program
from fsconform.vocabulary.steps import Step
from tests.fleet.conftest import hire, old_python

FOLDER = Path(source.__file__).parent / "worker"


def imports_of(path: Path) -> set[str]:
    """Modules of the worker that a module imports."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("fsconform"):
            names = [alias.name for alias in node.names] if node.module == source.PACKAGE else []
            found.update(names or [str(node.module).rpartition(".")[2]])
        elif isinstance(node, ast.Import):
            assert not any(alias.name.startswith("fsconform") for alias in node.names), path
    return found


def test_every_module_is_joined_after_what_it_imports() -> None:
    assert {path.stem for path in FOLDER.glob("*.py")} - {"__init__"} == set(source.MODULES)
    for place, module in enumerate(source.MODULES):
        assert imports_of(FOLDER / f"{module}.py") <= set(source.MODULES[:place]), module


PRELUDE = """
import sys
class Channel:
    class gateway:
        class _io:
            infile = sys.stdin
    def send(self, message): print(message[1])
    def receive(self): return None
channel = Channel()
"""


@pytest.mark.parametrize("interpreter", [sys.executable, old_python()], ids=["this", "3.9"])
def test_runs_on_a_bare_interpreter(interpreter: str | None, tmp_path: Path) -> None:
    if interpreter is None:
        pytest.skip("no Python 3.9 on this machine")
    script = tmp_path / "joined.py"
    script.write_text(PRELUDE + source.joined_source())
    answer = subprocess.run(
        [interpreter, "-I", "-S", str(script)], cwd="/", stdin=subprocess.PIPE, capture_output=True, text=True,
        timeout=60, check=False,
    )  # fmt: skip
    assert (answer.stdout, answer.stderr) == ("hello\n", "")


def test_an_old_interpreter_as_worker(fleet: Fleet, root: str) -> None:
    interpreter = old_python()
    if interpreter is None:
        pytest.skip("no Python 3.9 on this machine")
    workers = hire(fleet, root, "ab", interpreter)
    assert [worker.python[:4] for worker in workers] == ["3.9.", "3.9."]
    held = ("write", "fsync", "fallocate", "fstat_held", "read_held", "scandir_held", "flock", "fcntl_lock", "close")
    never = tuple(Step(kind, fd=9, key="e" * 64, size=10, arg=1) for kind in held)
    lane = Lane("a", (Step("excl_create", "x"), Step("close"), Step("barrier"), Step("stat", "x"), *never))
    history = fleet.run_rounds(Program((lane, lane)), workers, "base", 10)
    assert history.lost == {}
    for number in range(10):
        assert sorted(int(columns.errno[number, 0]) for columns in history.lanes) == [0, 17]
        assert all(int(columns.errno[number, 3]) == 0 for columns in history.lanes)
        assert all(columns.errno[number, 4:].tolist() == [NOT_RUN] * len(held) for columns in history.lanes)
