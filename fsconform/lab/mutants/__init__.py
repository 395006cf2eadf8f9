"""The lying lab: mutants, each one switchable defect of the emulated filesystem.

To add one: write a function (lab, knobs) -> None in a module of its family here, decorate it with `@mutant`, and
import the module below.
"""

from fsconform.lab.mutants import (
    attributes,
    caches,
    capabilities,
    contents,
    cuts,
    descriptors,
    hangs,
    incarnations,
    lengths,
    links,
    listings,
    losers,
    removals,
    renames,
    restarts,
    spaces,
    winners,
    writes,
)
from fsconform.lab.mutants.registry import MUTANTS, Mutant

__all__ = [
    "MUTANTS", "Mutant", "attributes", "caches", "capabilities", "contents", "cuts", "descriptors", "hangs",
    "incarnations", "lengths", "links", "listings", "losers", "removals", "renames", "restarts", "spaces",
    "winners", "writes",
]  # fmt: skip
