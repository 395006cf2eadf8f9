"""How each mutant shows by plain calls, one module per family."""

from tests.lab.evidence import caches, capabilities, contents, descriptors, exclusives, renames, writes
from tests.lab.evidence.common import Evidence

EVIDENCE: dict[str, Evidence] = {
    **exclusives.EVIDENCE,
    **renames.EVIDENCE,
    **contents.EVIDENCE,
    **writes.EVIDENCE,
    **descriptors.EVIDENCE,
    **caches.EVIDENCE,
    **capabilities.EVIDENCE,
}
"""Mutant -> its evidence."""
