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
