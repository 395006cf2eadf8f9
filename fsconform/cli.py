"""The command line: `fsconform COMMAND`. Everything heavy is imported by the command that needs it."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from fsconform import __version__
from fsconform.evidence_commands import evidence, replay, verify
from fsconform.vocabulary.errors import FsconformError
from fsconform.vocabulary.verdicts import EXIT_CANNOT_TEST, EXIT_FAULT, EXIT_INTERRUPTED, EXIT_KEPT, EXIT_WORDS
from fsconform.workload_command import workload

app = typer.Typer(
    name="fsconform",
    help="What several clients see of each other on a shared filesystem, and whether that is what it promises.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
profile_app = typer.Typer(help="Profiles: what a kind of filesystem promises.", no_args_is_help=True)
lab_app = typer.Typer(help="Labs: filesystems to practise on.", no_args_is_help=True)
app.add_typer(profile_app, name="profile")
app.add_typer(lab_app, name="lab")

DEFAULT_REPORTS = Path("reports")
Hosts = Annotated[
    Path | None,
    typer.Option(help="File of sites, one per line: as for --site, or a host that ssh knows (at MOUNT there)."),
]
Sites = Annotated[list[str] | None, typer.Option("--site", "-s", help="One more site; may be given several times.")]


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"fsconform {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Options of the command itself."""


@app.command()
def run(
    mount: Annotated[str | None, typer.Argument(help="A mount path, or any other site.", show_default=False)] = None,
    site: Sites = None,
    hosts: Hosts = None,
    profile: Annotated[str | None, typer.Option(help="Hold against this profile (name or file).")] = None,
    budget: Annotated[str, typer.Option(help="quick, standard, thorough, or a duration such as 30m.")] = "quick",
    expression: Annotated[
        str, typer.Option("-k", help="Only cells whose id fits, e.g. 'visibility and not scandir'.")
    ] = "",
    also: Annotated[
        str, typer.Option(help="Besides, cells of larger budgets whose id fits, e.g. 'settled and missed'.")
    ] = "",
    cell: Annotated[
        list[str] | None, typer.Option(help="Only this cell (its id), of any budget; may be given several times.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the search; a run prints its own.")] = None,
    report: Annotated[Path | None, typer.Option(help="Directory for the report (default: below ./reports).")] = None,
    search: Annotated[bool, typer.Option(help="Search with generated programs besides the cells.")] = True,
    step_deadline: Annotated[float, typer.Option(help="Seconds after which a step counts as hung.")] = 30.0,
) -> None:
    """Measure what the sites see of each other and judge it. Ends with 0 kept, 1 violated, 2 could not test,
    3 fault of fsconform, 4 inconclusive, 130 interrupted."""
    from fsconform.run.hosts import all_sites
    from fsconform.run.options import Options

    sites = all_sites(mount, list(site or []), hosts)
    chosen: dict[str, Any] = {} if seed is None else {"seed": seed}
    options = Options(
        tuple(sites), profile, budget, expression=expression, also=also, cell_ids=tuple(cell or ()),
        search=search and not cell, step_deadline_s=step_deadline, **chosen,
    )  # fmt: skip
    _enter_namespace_for_labs(sites)
    _end(_conform(options, report))


def _conform(options: Any, report: Path | None) -> int:
    from fsconform.report.console import print_report
    from fsconform.report.places import refuse_place
    from fsconform.report.progress import live_progress
    from fsconform.report.writing import report_directory, write_report
    from fsconform.run.conduct import conduct

    named = f"--report {report}" if report else f"./{DEFAULT_REPORTS}"
    refuse_place(report or DEFAULT_REPORTS, options.sites, named)
    with live_progress() as progress:
        record = conduct(options, progress)
    written = write_report(record, report or report_directory(record, DEFAULT_REPORTS))
    print_report(record, written)
    return record.exit_status


class _ToldExit(SystemExit):
    """The end, after its status was printed."""


def _end(status: int) -> None:
    typer.echo(f"exit status {status} ({EXIT_WORDS[status]})")
    raise _ToldExit(status)


def _enter_namespace_for_labs(sites: list[str]) -> None:
    """Without root, labs are mounted inside a user namespace: the whole command is begun again there."""
    from fsconform.lab.catalogue import mounts_here

    # Before anything heavy is imported: who has threads (numpy's) may not enter a user namespace (unshare(2)).
    if mounts_here(sites):
        _enter_namespace()


def _enter_namespace() -> None:
    from fsconform.lab.namespaces import may_mount, own_command, reexec_with_mounts, require_fuse

    require_fuse()
    if not may_mount():
        reexec_with_mounts(own_command())


@app.command()
def cells(
    budget: Annotated[str, typer.Option(help="quick, standard or thorough.")] = "quick",
    sites: Annotated[int, typer.Option(help="How many sites.", min=1, max=26)] = 2,
) -> None:
    """List the cells of a budget."""
    from fsconform.run.table import parse_budget, rows
    from fsconform.vocabulary.sites import LETTERS

    for row in rows(parse_budget(budget).tier, LETTERS[:sites]):
        typer.echo(row.cell.id)


@app.command()
def properties() -> None:
    """Explain every property, as Markdown: the question, how it is measured, what it breaks, who promises it."""
    from fsconform.report.catalogue_page import catalogue_page

    typer.echo(catalogue_page(), nl=False)


@app.command()
def doctor(sites: Annotated[list[str], typer.Argument(help="Sites to look at.")]) -> None:
    """Say what these sites are, how they relate, what they can do and what they cannot show."""
    _enter_namespace_for_labs(sites)
    from fsconform.run.doctor import examine, print_examination

    print_examination(examine(sites))


def _add_command(command: Callable[..., int]) -> None:
    """A command of another module, which returns the exit status."""

    @app.command(name=command.__name__)
    @functools.wraps(command)
    def perform(*arguments: Any, **options: Any) -> None:
        _enter_namespace_for_labs(options.get("sites", []))
        _end(command(*arguments, **options))


for _command in (workload, replay):
    _add_command(_command)
app.command()(evidence)
app.command()(verify)


@app.command()
def compare(
    runs: Annotated[list[str], typer.Argument(help="Two reports or more: their directories, or report.json files.")],
    output: Annotated[Path | None, typer.Option(help="Write compare.html, compare.md and compare.json here.")] = None,
) -> None:
    """Show runs side by side: what was promised, what was seen, and how they differ."""
    from fsconform.report.comparison import compare as side_by_side
    from fsconform.report.comparison_console import print_comparison
    from fsconform.report.comparison_files import write_comparison
    from fsconform.report.reading import read_report

    comparison = side_by_side([read_report(place) for place in runs])
    written = write_comparison(comparison, output) if output else ()
    print_comparison(comparison)
    for path in written:
        typer.echo(f"written: {path}")


@app.command()
def clean(mount: Annotated[str, typer.Argument(help="The directory that was tested.")]) -> None:
    """Remove what earlier runs left behind: only directories that carry our marker."""
    from fsconform.run.directory import clean as clean_up

    removals = clean_up(mount)
    if not removals:
        typer.echo(f"{mount}: nothing of ours is there")
    for removal in removals:
        typer.echo(f"{removal.path}: {removal.state}")
        for line in removal.stays:
            typer.echo(f"  {line}")
    if any(removal.left_behind for removal in removals):
        raise typer.Exit(EXIT_CANNOT_TEST)


@app.command()
def selftest(
    mutant: Annotated[list[str] | None, typer.Option(help="Only this mutant; may be given several times.")] = None,
    property_id: Annotated[
        list[str] | None, typer.Option("--property", help="Only mutants that break this property.")
    ] = None,
    full: Annotated[bool, typer.Option(help="Try every mutant by every cell: the full matrix, half an hour.")] = False,
    output: Annotated[Path | None, typer.Option(help="Write the kill matrix to this Markdown file.")] = None,
) -> None:
    """Let the emulated filesystem lie in every way it knows, and see that every lie is caught. Ends with 0 or 3."""
    _enter_namespace()
    from fsconform.report.kill_matrix import attempt_line, matrix_markdown, summary_lines
    from fsconform.run.selftest import selftest as perform

    result = perform(mutant or (), property_id or (), full, tell=lambda attempt: typer.echo(attempt_line(attempt)))
    for line in summary_lines(result):
        typer.echo(line)
    if output:
        output.write_text(matrix_markdown(result), encoding="utf-8")
    _end(result.exit_status)


@profile_app.command("list")
def profile_list() -> None:
    """The profiles that come with fsconform."""
    from fsconform.judging.contracts import list_profiles

    typer.echo(list_profiles())


@profile_app.command("show")
def profile_show(name: Annotated[str, typer.Argument(help="Name or file.")]) -> None:
    """Everything one profile promises, with its sources."""
    from fsconform.judging.contracts import show_profile

    typer.echo(show_profile(name))


@profile_app.command("check")
def profile_check(file: Annotated[str, typer.Argument(help="Name or file.")]) -> None:
    """Read a profile strictly and say whether every cell is covered."""
    from fsconform.judging.contracts import check_profile

    typer.echo(check_profile(file))


@profile_app.command("diff")
def profile_diff(first: str, second: str) -> None:
    """Two contracts side by side."""
    from fsconform.judging.contracts import diff_profiles

    typer.echo(diff_profiles(first, second))


@lab_app.command("list")
def lab_list() -> None:
    """Emulated and real filesystems, and the defects that can be switched on in the emulated ones."""
    from fsconform.lab.catalogue import names

    for kind, name, summary in names():
        typer.echo(f"{kind:8} {name:28} {summary}")


@lab_app.command("up")
def lab_up(
    preset: Annotated[str, typer.Argument(help="PRESET[,key[=value]...], e.g. 3fs-fuse or strict,mutant=NAME.")],
    directory: Annotated[Path, typer.Argument(help="An empty directory; mounts appear below it.")],
) -> None:
    """Mount an emulated filesystem and keep it until Ctrl-C."""
    from fsconform.lab.standing import keep_up

    _enter_namespace()
    keep_up(preset, directory, typer.echo)


def main() -> None:
    """Entry point: errors of the user become one message and the right exit status, never a traceback."""
    try:
        app(standalone_mode=True)
    except SystemExit as end:
        if end.code == EXIT_INTERRUPTED:
            _end_interrupted(told=isinstance(end, _ToldExit))
        raise
    except FsconformError as error:
        typer.echo(f"fsconform: {error}", err=True)
        typer.echo(f"exit status {error.status} ({EXIT_WORDS[error.status]})", err=True)
        sys.exit(error.status)
    except KeyboardInterrupt:
        _end_interrupted(told=False)
    except Exception as error:  # whatever it is, it is ours, and the user must learn how to report it
        import traceback

        traceback.print_exc()
        typer.echo(f"fsconform: this is a fault of fsconform, please report it: {error!r}", err=True)
        typer.echo(f"exit status {EXIT_FAULT} ({EXIT_WORDS[EXIT_FAULT]})", err=True)
        sys.exit(EXIT_FAULT)


def _end_interrupted(told: bool) -> NoReturn:
    if not told:
        typer.echo(f"exit status {EXIT_INTERRUPTED} ({EXIT_WORDS[EXIT_INTERRUPTED]})", err=True)
    # CPython remembers an interrupt that passed an exec of text (every dataclass has one), and would end by SIGINT
    # although it was handled; the next exec of text makes it forget (run_eval_code_obj in Python/pythonrun.c).
    exec("")
    sys.exit(EXIT_INTERRUPTED)


__all__ = ["EXIT_KEPT", "app", "main"]

if __name__ == "__main__":
    main()
