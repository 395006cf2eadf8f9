"""What a seed draws is the same in all surroundings."""

from __future__ import annotations

import pytest
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

from fsconform.search import drawing
from fsconform.search.drawing import draw_programs
from fsconform.search.encoding import SHORTEST


def drawn(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    monkeypatch.setattr(drawing, "MOST_EXAMPLES", 200)
    found: list[bytes] = []
    draw_programs(found.append, seed=7)
    return found


def test_what_is_imported_changes_no_program(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = drawn(monkeypatch)
    constants = Constants(bytes={bytes([k]) * (SHORTEST + 1) for k in range(50)})
    monkeypatch.setattr(providers, "_get_local_constants", lambda: constants)
    monkeypatch.setattr(providers, "CONSTANTS_CACHE", {})
    assert drawn(monkeypatch) == alone
    assert providers._get_local_constants() is constants, "everybody else's draws are left as they are"
