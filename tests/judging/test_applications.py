"""Verdicts per application: what each store leans on, held against cells."""

from __future__ import annotations

from pathlib import Path

import pytest

from fsconform.judging.applications import judge_applications, load_applications
from fsconform.judging.replays import judge_replays
from fsconform.personalities.catalogue import PERSONALITIES
from fsconform.vocabulary.applications import ApplicationVerdict, Safety
from fsconform.vocabulary.cells import make_cell
from fsconform.vocabulary.errors import CannotTestError
from fsconform.vocabulary.observations import Observation
from fsconform.vocabulary.promises import Bound, BoundOrigin, Evidence, Promise, Strength
from fsconform.vocabulary.verdicts import CellResult, Judgement, Verdict

HEAD = '[[application]]\nname = "x"\ntitle = "a store"\n'
NEED = """
[[application.needs]]
property = "visibility.create"
where = { observer = "stat" }
late = "safe within"
without = "wastes work"
refused = "cannot run"
why = "blocks are missed"
cure = "look again"
source = "somewhere"
"""
FLAW = """
[[application.flaw]]
safety = "unsafe"
why = "fixed names"
cure = "unique names"
source = "somewhere"
"""


def cell(verdict: Verdict, strength: Strength = Strength.GUARANTEED, seconds: float = 0.0, refused: str = "",
         observer: str = "stat", property_id: str = "visibility.create",
         violations: int = 0) -> CellResult:  # fmt: skip
    """One cell as a run would judge it."""
    bound = Bound("negative", seconds, BoundOrigin.READ) if strength is Strength.WITHIN else None
    promise = Promise(strength, Evidence.SOURCE, "a source", bound, ("EINVAL",) if refused else ())
    made = make_cell(property_id, "a-b", publish="rename", state="missed", observer=observer)
    return CellResult(made, "mount", promise, Observation(1, 1, violations, refused=refused), Judgement(verdict, "so"))


def judged(tmp_path: Path, text: str, *results: CellResult) -> ApplicationVerdict | None:
    """The verdict of the one store of a file."""
    path = tmp_path / "applications.toml"
    path.write_text(HEAD + text)
    found = judge_applications(results, load_applications(path))
    return found[0] if found else None


@pytest.mark.parametrize(
    ("results", "expected"),
    [
        ([cell(Verdict.KEPT)], "safe"),
        ([cell(Verdict.KEPT, Strength.WITHIN, 5.0)], "safe within 5 s"),
        ([cell(Verdict.KEPT, Strength.WITHIN, 0.0)], "safe"),
        ([cell(Verdict.KEPT, Strength.WITHIN, 5.0), cell(Verdict.KEPT, Strength.WITHIN, 30.0)], "safe within 30 s"),
        ([cell(Verdict.VIOLATED), cell(Verdict.KEPT)], "wastes work"),
        ([cell(Verdict.OBSERVED, Strength.NOT_PROMISED, violations=1)], "wastes work"),
        ([cell(Verdict.KEPT, Strength.UNSUPPORTED, refused="EINVAL")], "cannot run"),
        ([cell(Verdict.NOT_APPLICABLE, Strength.OPTIONAL, refused="ENOTSUP")], "cannot run"),
        ([cell(Verdict.KEPT), cell(Verdict.INCONCLUSIVE)], "safe"),
    ],
)
def test_the_worst_cell_decides(tmp_path: Path, results: list[CellResult], expected: str) -> None:
    found = judged(tmp_path, NEED, *results)
    assert found is not None
    assert str(found) == expected
    assert found.evidence == "inferred from properties"


@pytest.mark.parametrize(
    "results",
    [
        [],
        [cell(Verdict.INCONCLUSIVE)],
        [cell(Verdict.VIOLATED, observer="access")],
        [cell(Verdict.OBSERVED, Strength.NOT_PROMISED)],
    ],
)
def test_nothing_decided_is_no_verdict(tmp_path: Path, results: list[CellResult]) -> None:
    assert judged(tmp_path, NEED, *results) is None


def test_a_need_that_was_not_measured_leaves_it_undecided(tmp_path: Path) -> None:
    two = NEED.replace('"visibility.create"', '["visibility.create", "visibility.unlink"]')
    found = judged(tmp_path, two, cell(Verdict.KEPT))
    assert found is not None
    assert (found.safety, found.untested) == (Safety.UNDECIDED, ("visibility.unlink",))
    worse = judged(tmp_path, two, cell(Verdict.VIOLATED))
    assert worse is not None
    assert worse.safety is Safety.WASTES_WORK


def test_a_flaw_counts_everywhere(tmp_path: Path) -> None:
    found = judged(tmp_path, FLAW, cell(Verdict.KEPT))
    assert found is not None
    assert (found.safety, found.why, found.evidence) == (Safety.UNSAFE, "fixed names", "its own design")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (NEED.replace("visibility.create", "visibility.creat"), "did you mean 'visibility.create'"),
        (NEED.replace("observer", "observers"), "did you mean 'observer'"),
        (NEED.replace('"stat"', '"stats"'), "did you mean 'stat'"),
        (NEED.replace('"wastes work"', '"waste"'), "did you mean 'wastes work'"),
        (NEED.replace('source = "somewhere"', ""), "'source' is missing"),
        ("", "neither needs nor a flaw"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(CannotTestError, match=told):
        judged(tmp_path, text, cell(Verdict.KEPT))


def test_every_personality_has_an_application() -> None:
    names = {application.name for application in load_applications()}
    assert {personality.application for personality in PERSONALITIES.values()} <= names


def test_every_need_names_cells_of_the_quick_table() -> None:
    """A store that leans on what quick never measures could never be called safe."""
    from fsconform.run.table import rows

    cells = [row.cell for row in rows("quick", "ab")]
    promise = Promise(Strength.GUARANTEED, Evidence.SOURCE, "a source")
    results = [CellResult(c, "mount", promise, Observation(1, 1), Judgement(Verdict.KEPT, "so")) for c in cells]
    verdicts = {verdict.name: verdict for verdict in judge_applications(results)}
    assert {verdict.name: verdict.untested for verdict in verdicts.values() if verdict.untested} == {}
    unsafe = {name for name, verdict in verdicts.items() if verdict.safety is not Safety.SAFE}
    assert unsafe == {"fixed-tmp", "in-place", "colliding-tmp"}


def test_no_replay_no_verdict() -> None:
    assert judge_replays("vllm-c", ()) == ()
