"""docs/properties.md is what the catalogue and the profiles say."""

from __future__ import annotations

from pathlib import Path

import pytest

from fsconform.judging.profiles import shipped_profiles
from fsconform.report.catalogue_page import catalogue_page
from fsconform.vocabulary.measurements import MEASURED
from fsconform.vocabulary.properties import PROPERTIES, Property

PAGE = Path(__file__).resolve().parents[2] / "docs/properties.md"
MADE = catalogue_page()


def section(property_id: str) -> str:
    return MADE.partition(f"### {property_id}\n")[2].partition("\n#")[0]


def test_every_property_says_how_it_is_measured() -> None:
    assert set(MEASURED) == set(PROPERTIES)
    assert all(text.endswith((".", "?")) for text in MEASURED.values())


def test_the_page_in_the_documentation_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == MADE, "run: fsconform properties > docs/properties.md"


@pytest.mark.parametrize("entry", PROPERTIES.values(), ids=lambda entry: entry.id)
def test_an_entry_has_everything(entry: Property) -> None:
    told = section(entry.id)
    for part in (entry.question, entry.breaks, entry.source, MEASURED[entry.id]):
        assert part in told
    for name in shipped_profiles():
        assert f"- {name}: " in told


def test_exceptions_stand_behind_the_general_promise() -> None:
    assert "- 3fs-fuse: guaranteed; not promised where state=held" in section("content.rewrite")
    assert "- posix-local: not promised; guaranteed where (one client)" in section("mmap.truncate")
