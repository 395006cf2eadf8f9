"""`fsconform replay`, `evidence` and `verify`: their options, and nothing else. Each returns the exit status."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fsconform.vocabulary.verdicts import EXIT_INCONCLUSIVE, EXIT_KEPT, EXIT_VIOLATED


def replay(
    witness: Annotated[Path, typer.Argument(help="witness.json of a run, of a bundle, or of an older version.")],
    sites: Annotated[list[str], typer.Argument(help="As many sites as the witness has, in its order.")],
    rounds: Annotated[int | None, typer.Option(min=1, help="How often (default: 100, fewer where it sleeps).")] = None,
    profile: Annotated[
        str | None, typer.Option(help="For witnesses of old versions: hold against this profile (name or file).")
    ] = None,
) -> int:
    """Perform the program of a witness again. Ends with 1 where it shows again what it showed, with 0 where not."""
    from fsconform.report.progress import live_progress
    from fsconform.report.reproducer_console import replay_lines
    from fsconform.run.replay import perform_replay
    from fsconform.search.replaying import fitting_rounds, load_witness

    stored = load_witness(witness)
    with live_progress() as progress:
        replayed = perform_replay(stored, sites, profile, rounds or fitting_rounds(stored.program), progress)
    for line in replay_lines(stored, replayed):
        typer.echo(line)
    if not replayed.replay.rounds:
        return EXIT_INCONCLUSIVE
    return EXIT_VIOLATED if replayed.replay.failures else EXIT_KEPT


def evidence(
    run: Annotated[Path, typer.Argument(help="The directory of a report.")],
    cells: Annotated[
        list[str] | None, typer.Argument(help="Violated cells, or names of findings (default: one per property).")
    ] = None,
    output: Annotated[Path | None, typer.Option(help="The zip file (default: in the report's directory).")] = None,
    redact: Annotated[bool, typer.Option(help="Replace names of hosts and users, addresses and paths.")] = True,
) -> int:
    """Bundle what a stranger needs to act on a violation: README, reproducer, history, environment. Ends with 0."""
    from fsconform.report.escaping import visible
    from fsconform.report.evidence import write_evidence

    written = write_evidence(run, cells or [], output, redact)
    typer.echo(f"written: {visible(str(written.bundle))}")
    for name in written.members:
        typer.echo(f"  {name}")
    for name in written.left_out:
        typer.echo(f"left out, it would tell names: {name}")
    if written.aliases:
        typer.echo(f"what stands for what (keep it): {visible(str(written.aliases))}")
    return EXIT_KEPT


def verify(bundle: Annotated[Path, typer.Argument(help="evidence-….zip")]) -> None:
    """Compute a bundle's observations and verdicts again. Ends with 0 where all agree, 1 where something does not, 2
    where it is no sound bundle."""
    from fsconform.report.bundle_verification import verify as compute_again
    from fsconform.report.escaping import visible

    checks = compute_again(bundle)
    for check in checks:
        where = f"{visible(check.witness)}: " if check.witness else ""
        verb = "agrees " if check.agrees else "DIFFERS"
        difference = "" if check.agrees else f" (the bundle says {visible(check.told)})"
        typer.echo(f"{verb}  {where}{check.what}: {visible(check.found)}{difference}")
    differing = sum(not check.agrees for check in checks)
    typer.echo(f"{len(checks) - differing} of {len(checks)} agree")
    raise typer.Exit(EXIT_VIOLATED if differing else EXIT_KEPT)
