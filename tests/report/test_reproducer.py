"""repro.py: finds what it was made for, is silent elsewhere, and is a program for anybody."""

from __future__ import annotations

import ast
import os
import re
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from fsconform.report.reproducer import reproducer_text
from fsconform.report.reproducer_witnesses import stored_witness
from fsconform.run.replay_refusals import refuse_program
from fsconform.search.drafts import Act, Draft, Move
from fsconform.search.replaying import fitting_rounds, load_witness
from fsconform.vocabulary.contradictions import Contradiction, Order, Result
from fsconform.vocabulary.errors import CannotTestError
from fsconform.vocabulary.programs import Lane, Program
from fsconform.vocabulary.steps import KINDS, Step
from fsconform.vocabulary.stored_witnesses import StoredWitness
from tests.product.conftest import Lab
from tests.product.conftest import lab as lab  # a fixture
from tests.report.witnesses import NEGATIVE, RACE, SIZE, told_run

NAMES = (NEGATIVE.id, SIZE.id, RACE.id)


@pytest.fixture
def place() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        yield Path(name)


def search_witness() -> StoredWitness:
    """A publish that a watch of another site misses after it had returned, as the search would have it."""
    draft = Draft(("a", "b"), (((), (Move(Act.OPEN, 0),)), ((Move(Act.PUBLISH, 0),), ()), ((), (Move(Act.WATCH, 0),))))
    program = draft.program(7)
    published = (0, next(k for k, step in enumerate(program.lanes[0].steps) if step.kind == "rename"))
    watched = (1, next(k for k, step in enumerate(program.lanes[1].steps) if step.kind == "watch"))
    found = Contradiction((Result(published, "ok"), Result(watched, "ENOENT")), (Order(published, watched),))
    return StoredWitness(
        "stale", "visibility.create", "a miss", program, 7, 1, "search: stale", contradictions=(found,)
    )


def play(directory: Path, witness: StoredWitness, *words: object, python: str = sys.executable) -> tuple[int, str]:
    script = directory / "repro.py"
    script.write_text(reproducer_text(witness), encoding="utf-8")
    done = subprocess.run(
        [python, "-I", str(script), *map(str, words)], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.stderr == ""
    return done.returncode, done.stdout


def witnesses() -> dict[str, StoredWitness]:
    record = told_run()
    return {name: stored_witness(record, name) for name in NAMES} | {"search": search_witness()}


@pytest.mark.parametrize("name", [*NAMES, "search"])
def test_it_is_silent_where_all_is_well_and_leaves_nothing(name: str, place: Path, tmp_path: Path) -> None:
    for directory in (place, tmp_path / "ext4"):
        directory.mkdir(exist_ok=True)
        told = play(tmp_path, witnesses()[name], directory, directory, "--rounds", 20)
        assert told == (0, "reproduced 0 of 20\nremoved what was made\n") and list(directory.iterdir()) == []


@pytest.mark.fuse
@pytest.mark.parametrize("name", [NEGATIVE.id, SIZE.id, "search"])
def test_it_finds_what_an_emulated_3fs_does(name: str, lab: Lab, tmp_path: Path) -> None:
    mounts = lab("3fs-fuse").mounts
    status, told = play(tmp_path, witnesses()[name], *mounts, "--rounds", 5)
    assert status == 1 and "round 0 shows it:" in told and "reproduced 5 of 5\nremoved what was made\n" in told
    timeline = re.findall(r"^ +[0-9.]+ - [0-9.]+ ms  ([ab][01])  (\w+) ", told, re.MULTILINE)
    assert {site for site, _ in timeline} == {"a0", "b1"} and timeline[-1][0] == "b1"
    assert [name for name in os.listdir(mounts[0]) if name != "3fs-virt"] == []


@pytest.mark.fuse
def test_it_finds_two_winners(lab: Lab, tmp_path: Path) -> None:
    mutant, strict = lab("strict,mutant=two-winners-excl").mounts, lab("strict").mounts
    race = witnesses()[RACE.id]
    assert play(tmp_path, race, *mutant, "--rounds", 20)[0] == 1
    assert play(tmp_path, race, *strict, "--rounds", 20)[0] == 0


def test_two_hosts_play_together(place: Path, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    script = tmp_path / "repro.py"
    script.write_text(reproducer_text(witnesses()[SIZE.id]), encoding="utf-8")
    serving = subprocess.Popen(
        [sys.executable, script, place, "--serve", str(port), "--rounds", "5"], stdout=subprocess.PIPE, text=True
    )
    for _ in range(100):
        joined = subprocess.run(
            [sys.executable, script, place, "--join", f"localhost:{port}"], capture_output=True, text=True, timeout=60,
            check=False,
        )  # fmt: skip
        if "ConnectionRefused" not in joined.stderr:
            break
    assert serving.communicate(timeout=60)[0] == "reproduced 0 of 5\nremoved what was made\n"
    assert (serving.returncode, joined.returncode, list(place.iterdir())) == (0, 0, [])


@pytest.mark.parametrize("name", [*NAMES, "search"])
def test_it_is_one_readable_file_of_the_standard_library(name: str) -> None:
    text = reproducer_text(witnesses()[name], ["a: ext4"])
    tree = ast.parse(text, feature_version=(3, 9))
    imported = {alias.name for node in tree.body if isinstance(node, ast.Import) for alias in node.names}
    imported |= {node.module or "" for node in tree.body if isinstance(node, ast.ImportFrom)}
    assert {word.partition(".")[0] for word in imported} <= sys.stdlib_module_names
    lines = text.splitlines()
    assert len(lines) < 250 and max(map(len, lines)) <= 120 and not re.search(r"[0-9a-f]{32}", text)


def test_every_step_of_the_vocabulary_is_known_to_it_or_refused() -> None:
    """Never half a program: a step that repro.py cannot perform is told when it is made, not when it runs."""
    refused = set()
    for kind in sorted(set(KINDS) - {"watch"}):
        step = Step(kind, "x", "y", names=("x",), arg=1)
        program = Program((Lane("a", (step,)),))
        witness = StoredWitness("k", "p", "s", program, 1, 1, contradictions=(Contradiction((Result((0, 0), "EIO"),)),))
        try:
            compile(reproducer_text(witness), kind, "exec")
        except CannotTestError as error:
            assert kind in str(error)
            refused.add(kind)
    assert refused <= {"wait", "signal", "copy_range", "map_held", "read_mapping", "read_records"}


def test_slow_programs_are_performed_less_often() -> None:
    program = Program((Lane("a", (Step("sleep", arg=10**10),)),))
    assert fitting_rounds(program) == 6 and fitting_rounds(Program((Lane("a", ()),))) == 100


def test_witnesses_of_newer_versions_and_harmful_ones_are_refused(tmp_path: Path) -> None:
    import json

    path, witness = tmp_path / "witness.json", search_witness()
    path.write_text(json.dumps(witness.to_json() | {"encoding": 99}))
    with pytest.raises(
        CannotTestError, match="drawn with encoding 99, this version of fsconform knows encodings up to"
    ):
        load_witness(path)
    path.write_text(json.dumps(witness.to_json()))
    assert load_witness(path) == replace(witness, events=())
    for step in (Step("unlink", "/etc/passwd"), Step("rename", "x", "../../y"), Step("symlink", "mv:x", "y"),
                 Step("write", size=1 << 40), Step("sleep", arg=10**15), Step("stat", "3fs-virt/rm-rf/x")):  # fmt: skip
        with pytest.raises(CannotTestError, match="this program is not performed"):
            refuse_program(Program((Lane("a", (step,)),)))
    with pytest.raises(CannotTestError, match="this program is not performed"):
        refuse_program(Program((Lane("a", ()),), directories=("../x",)))
    refuse_program(witness.program)
