"""How each mutant shows by plain calls, one module per family."""

from tests.lab.evidence import (
    attributes,
    caches,
    capabilities,
    contents,
    descriptors,
    exclusives,
    removals,
    renames,
    spaces,
    writes,
)
from tests.lab.evidence.common import Evidence

EVIDENCE: dict[str, Evidence] = {
    **attributes.EVIDENCE,
    **caches.EVIDENCE,
    **capabilities.EVIDENCE,
    **contents.EVIDENCE,
    **descriptors.EVIDENCE,
    **exclusives.EVIDENCE,
    **removals.EVIDENCE,
    **renames.EVIDENCE,
    **spaces.EVIDENCE,
    **writes.EVIDENCE,
}
"""Mutant -> its evidence."""
