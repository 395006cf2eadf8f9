"""Family `unlink`: one item per cell; the window has measured it, the item only judges."""

from __future__ import annotations

import pytest

from fsconform.plugin import hold
from fsconform.vocabulary.verdicts import CellResult


@pytest.mark.fs_cells("unlink")
def test_unlink(fs_kept: CellResult) -> None:
    """The promise of the cell is kept."""
    hold(fs_kept)
