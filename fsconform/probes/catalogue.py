"""Which probe serves which property."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fsconform.probes import (
    appends,
    atomic,
    capability,
    content,
    copies,
    exclusive,
    held,
    links,
    mapping,
    pieces,
    rewrite,
    size,
    visibility,
)
from fsconform.probes.experiment import Experiment
from fsconform.vocabulary.cells import Cell
from fsconform.vocabulary.trials import Trial

MakeTrial = Callable[[Cell, int, str, str], Trial]
"""(cell, number, directory, salt) -> one trial."""
Build = Callable[[Sequence[Cell], Sequence[str], str], Experiment]
"""(cells that share it, letters of the sites, salt) -> one experiment."""

TRIALS: dict[str, MakeTrial] = {
    "visibility.create": visibility.make_trial,
    "visibility.replace": visibility.make_trial,
    "visibility.unlink": visibility.make_trial,
    "size.grow": size.make_trial,
    "content.rewrite": rewrite.make_trial,
}
"""Properties that are measured as latencies."""

EXPERIMENTS: dict[str, Build] = {
    **exclusive.BUILDERS, **atomic.BUILDERS, **content.BUILDERS, **capability.BUILDERS, **size.BUILDERS,
    **pieces.BUILDERS, **copies.BUILDERS, **held.BUILDERS, **links.BUILDERS, **appends.BUILDERS, **mapping.BUILDERS,
}  # fmt: skip
"""Properties that are measured in rounds."""


def experiments(cells: Sequence[Cell], letters: Sequence[str], salt: str) -> list[Experiment]:
    """The experiments that serve the cells measured in rounds; cells of one program share it.

    Cells share an experiment when they differ only in the property and its builder is the same.
    """
    groups: dict[tuple[object, ...], list[Cell]] = {}
    for cell in cells:
        build = EXPERIMENTS.get(cell.property_id)
        if build is None:
            continue
        word = cell.property_id if cell.family == "capability" else ""
        groups.setdefault((build, word, cell.axes, cell.direction), []).append(cell)
    return [EXPERIMENTS[group[0].property_id](group, letters, salt) for group in groups.values()]
