"""The pytest face: after collection every selected item's cell goes into one plan, measured once; items only judge.

Verdicts: violated = failed, inconclusive = error, observed = passed, n/a = skipped; the session's exit status is that
of `fsconform run`. Loaded in every pytest run of the user, so nothing heavy is imported before a site is named.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from fsconform.run.options import Options
    from fsconform.run.table import Row
    from fsconform.vocabulary.records import RunRecord
    from fsconform.vocabulary.verdicts import CellResult

_ROWS = pytest.StashKey["list[Row]"]()
_CHOSEN = pytest.StashKey["list[str]"]()
_RECORD = pytest.StashKey["RunRecord"]()
_SEARCH = "fs_search"


class ViolatedError(AssertionError):
    """A promise was broken."""


class InconclusiveError(Exception):
    """A promise could not be judged: raised while an item is set up, so that it is an error, not a failure."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """All options are prefixed `--fs-`."""
    group = parser.getgroup("fsconform", "filesystem semantics conformance")
    group.addoption("--fs-site", action="append", default=[], metavar="SITE", help="a site; may be given several times")
    group.addoption("--fs-profile", default=None, metavar="NAME", help="hold against this profile")
    group.addoption("--fs-budget", default="quick", metavar="BUDGET", help="quick, standard, thorough or a duration")
    group.addoption("--fs-seed", type=int, default=None, metavar="N", help="seed of the search")
    group.addoption("--fs-report", default=None, metavar="DIR", help="write the report there")


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line(
        "markers",
        "fs_cells(property, **axes): one item per cell of a property (`visibility.create`) or family (`visibility`) "
        "with these axis values; the item asks for the fixture fs_result or fs_kept",
    )


@pytest.hookimpl(trylast=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Keep pytest's own cache off the mounts: it takes the value of `--fs-site PATH` for its root directory.

    (It does so before this plugin is loaded; `--fs-site=PATH` avoids it.)
    """
    config = session.config
    root = str(config.rootpath)
    if any(root == site or root.startswith(site.rstrip("/") + "/") for site in config.getoption("--fs-site")):
        for name in ("lfplugin", "nfplugin", "stepwiseplugin"):
            if config.pluginmanager.has_plugin(name):
                config.pluginmanager.unregister(name=name)


def _options(config: pytest.Config) -> Options:
    from fsconform.run.options import Options

    seed = config.getoption("--fs-seed")
    chosen: dict[str, Any] = {} if seed is None else {"seed": seed}
    return Options(
        tuple(config.getoption("--fs-site")),
        config.getoption("--fs-profile"),
        config.getoption("--fs-budget"),
        **chosen,
    )


def _rows(config: pytest.Config) -> list[Row]:
    """The cells that these options can have, from the number of sites alone: nothing is touched at collection."""
    if _ROWS not in config.stash:
        from fsconform.run.conduct import candidate_rows

        config.stash[_ROWS] = _in_pytest_terms(lambda: candidate_rows(_options(config)))
    return config.stash[_ROWS]


def _in_pytest_terms(action: Any) -> Any:
    from fsconform.vocabulary.errors import FsconformError

    try:
        return action()
    except FsconformError as error:
        raise pytest.UsageError(f"fsconform: {error}") from None


def _fits(row: Row, word: str, axes: Mapping[str, str]) -> bool:
    cell = row.cell
    return word in (cell.property_id, cell.family) and all(cell.axis(axis) == value for axis, value in axes.items())


def _why_none(rows: list[Row], word: str, axes: Mapping[str, str]) -> str:
    """An item that is never measured would pass for ever."""
    from fsconform.vocabulary.errors import unknown
    from fsconform.vocabulary.properties import FAMILIES, PROPERTIES

    if word not in PROPERTIES and word not in FAMILIES:
        return str(unknown("property", word, (*PROPERTIES, *FAMILIES)))
    return f"no cell of {word} in this budget has {dict(axes)}; `fsconform cells` lists them"


def _in_larger_budget(config: pytest.Config, marker: pytest.Mark) -> bool:
    """Whether the whole table has cells for this marker."""
    from dataclasses import replace

    from fsconform.run.conduct import candidate_rows
    from fsconform.run.table import BUDGETS

    options = replace(_options(config), budget=BUDGETS[-1])
    everything = _in_pytest_terms(lambda: candidate_rows(options))
    return any(_fits(row, marker.args[0], marker.kwargs) for row in everything)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One item per cell for functions that ask for a cell."""
    if "fs_cell" not in metafunc.fixturenames:
        return
    marker = metafunc.definition.get_closest_marker("fs_cells")
    if marker is None:
        raise pytest.UsageError(f"{metafunc.definition.nodeid}: say which cells with @pytest.mark.fs_cells(PROPERTY)")
    if not metafunc.config.getoption("--fs-site"):
        reason = "no site given: add --fs-site PATH (twice for two clients)"
        metafunc.parametrize("fs_cell", [pytest.param(None, marks=pytest.mark.skip(reason=reason))], ids=["no-site"])
        return
    rows = _rows(metafunc.config)
    cells = [row.cell for row in rows if _fits(row, marker.args[0], marker.kwargs)]
    if not cells and _in_larger_budget(metafunc.config, marker):
        reason = f"no cell of {marker.args[0]} in this budget; --fs-budget standard has some"
        metafunc.parametrize("fs_cell", [pytest.param(None, marks=pytest.mark.skip(reason=reason))], ids=["none-here"])
        return
    if not cells:
        raise pytest.UsageError(f"{metafunc.definition.nodeid}: {_why_none(rows, marker.args[0], marker.kwargs)}")
    metafunc.parametrize("fs_cell", cells, ids=[cell.id for cell in cells])


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Gather the cells of the items that survived -k and -m."""
    chosen: list[str] = []
    for item in items:
        callspec = getattr(item, "callspec", None)
        cell = callspec.params.get("fs_cell") if callspec else None
        if cell is not None:
            chosen.append(cell.id)
        elif _SEARCH in getattr(item, "fixturenames", ()) and config.getoption("--fs-site"):
            chosen.append(_SEARCH)
    config.stash[_CHOSEN] = list(dict.fromkeys(chosen))


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop(session: pytest.Session) -> Generator[None, object, object]:
    """Measure everything once, in one window, before the first item."""
    chosen = session.config.stash.get(_CHOSEN, [])
    if chosen and not session.config.option.collectonly and not session.testsfailed:
        _refuse_xdist(session.config)
        session.config.stash[_RECORD] = _measure(session.config, chosen)
    return (yield)


def _refuse_xdist(config: pytest.Config) -> None:
    if getattr(config.option, "numprocesses", None) or hasattr(config, "workerinput"):
        raise pytest.UsageError("fsconform: one window, one process: run without xdist (-p no:xdist, or -n 0)")


def _measure(config: pytest.Config, chosen: list[str]) -> RunRecord:
    from dataclasses import replace
    from pathlib import Path

    from fsconform.report.writing import write_report
    from fsconform.run.conduct import conduct
    from fsconform.run.progress import Silent

    cells = tuple(word for word in chosen if word != _SEARCH)
    options = replace(_options(config), cell_ids=cells, search=_SEARCH in chosen)
    record: RunRecord = _in_pytest_terms(lambda: conduct(options, Silent()))
    where = config.getoption("--fs-report")
    if where:
        write_report(record, Path(where))
    return record


def pytest_sessionfinish(session: pytest.Session) -> None:
    """The exit status comes from the verdicts; where those are fine, a failed item of another kind is still told."""
    record = session.config.stash.get(_RECORD, None)
    if record is not None and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        session.exitstatus = record.exit_status or session.exitstatus


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """One sentence, and what would repeat the run."""
    record = config.stash.get(_RECORD, None)
    if record is None:
        return
    from fsconform.report.verdict_text import sentence

    terminalreporter.section("fsconform")
    terminalreporter.write_line(sentence(record))
    terminalreporter.write_line(f"repeat: {record.command}")


@pytest.fixture
def fs_record(pytestconfig: pytest.Config) -> RunRecord:
    """The record of the window that measured this session's cells."""
    record = pytestconfig.stash.get(_RECORD, None)
    if record is None:
        pytest.skip("nothing was measured: add --fs-site PATH (twice for two clients)")
    return record


@pytest.fixture
def fs_result(fs_record: RunRecord, fs_cell: Any) -> CellResult:
    """What was promised, seen and judged of this item's cell."""
    by_id = {result.cell.id: result for result in fs_record.cells}
    if fs_cell.id not in by_id:
        raise InconclusiveError(f"{fs_cell.id} was not measured")
    return by_id[fs_cell.id]


@pytest.fixture
def fs_kept(fs_result: CellResult) -> CellResult:
    """The result, unless it is inconclusive (error) or does not apply (skip)."""
    from fsconform.vocabulary.verdicts import Verdict

    if fs_result.verdict is Verdict.INCONCLUSIVE:
        raise InconclusiveError(f"{fs_result.cell.id}: {fs_result.judgement.reason}")
    if fs_result.verdict is Verdict.NOT_APPLICABLE:
        pytest.skip(fs_result.judgement.reason)
    return fs_result


@pytest.fixture
def fs_search(fs_record: RunRecord) -> Any:
    """What the search found."""
    return fs_record.search


def hold(result: CellResult) -> None:
    """Raise ViolatedError where the promise was broken."""
    from fsconform.vocabulary.verdicts import Verdict

    if result.verdict is Verdict.VIOLATED:
        raise ViolatedError(f"{result.cell.id}: promised {result.promise}; {result.judgement.reason}")
