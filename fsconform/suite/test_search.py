"""The search: generated programs found nothing that the profile rules out."""

from __future__ import annotations

from fsconform.plugin import ViolatedError
from fsconform.vocabulary.findings import SearchSummary


def test_search(fs_search: SearchSummary) -> None:
    """No finding breaks a promise."""
    broken = [finding.story for finding in fs_search.findings if finding.promised]
    if broken:
        raise ViolatedError("; ".join(broken))
