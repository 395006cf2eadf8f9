"""The pages in a real browser: nothing is logged, nothing is fetched, filters and keys work, and paper too."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench.chromium import Page, browser
from fsconform.report.comparison import compare
from fsconform.report.html.comparison_page import comparison_html
from fsconform.report.html.page import report_html
from fsconform.report.machine import report_text
from fsconform.report.reading import read_report
from tests.report.examples import hostile_run, kept_run, violated_run

pytestmark = pytest.mark.chromium
SHOWN = "[...document.querySelectorAll('details.row[data-verdict]')].filter(row => row.checkVisibility())"


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A page of every kind, written once."""
    folder = tmp_path_factory.mktemp("pages")
    evil = '"><script>document.title = "taken over"</script><img src=x onerror="document.title = 1">'
    texts = {
        "violated": report_html(violated_run()),
        "hostile": report_html(replace(hostile_run(), profile=evil, incidents=(evil,), command=evil)),
    }
    places = []
    for name, record in (("first", kept_run()), ("second", replace(violated_run(), profile="posix-local"))):
        (folder / name).mkdir()
        (folder / name / "report.json").write_text(report_text(record))
        places.append(str(folder / name))
    texts["compared"] = comparison_html(compare([read_report(place) for place in places]))
    files = {name: folder / f"{name}.html" for name in texts}
    for name, text in texts.items():
        files[name].write_text(text, "utf-8")
    return files


@pytest.fixture(scope="module")
def chromium() -> Iterator[Page]:
    """One browser for all tests."""
    with browser() as page:
        page.resize(1200, 900)
        yield page


@pytest.fixture
def page(chromium: Page) -> Iterator[Page]:
    """The browser as a reader finds it: scripts run, light, on a screen."""
    chromium.scripts(run=True)
    chromium.prefer("light")
    chromium.messages.clear()
    chromium.requests.clear()
    yield chromium


def shown(page: Page, key: str) -> set[str]:
    return set(page.evaluate(f"{SHOWN}.map(row => row.dataset.{key})"))


def test_the_browser_reports_what_a_page_must_not_do(page: Page, tmp_path: Path) -> None:
    """Without this the silence of the other tests would prove nothing."""
    bad = tmp_path / "bad.html"
    bad.write_text('<script>console.error("logged"); nothing()</script><img src="other.png">')
    page.open(bad)
    assert page.requests == [bad.as_uri(), (tmp_path / "other.png").as_uri()]
    assert any("logged" in line for line in page.messages) and any("nothing" in line for line in page.messages)


@pytest.mark.parametrize("name", ["violated", "hostile", "compared"])
@pytest.mark.parametrize("scripts", [True, False])
def test_nothing_is_logged_and_nothing_is_fetched(page: Page, pages: dict[str, Path], name: str, scripts: bool) -> None:
    page.scripts(scripts)
    page.open(pages[name])
    page.scripts(run=True)
    assert page.messages == []
    assert page.requests == [pages[name].as_uri()]


def test_hostile_text_is_shown_and_does_nothing(page: Page, pages: dict[str, Path]) -> None:
    page.open(pages["hostile"])
    assert "fsconform" in page.evaluate("document.title")
    assert page.evaluate("document.scripts.length") == 1 and page.evaluate("document.images.length") == 0
    assert '"><script>' in page.evaluate("document.body.innerText")


def test_without_scripts_all_can_be_read_and_the_pictures_are_there(page: Page, pages: dict[str, Path]) -> None:
    page.scripts(run=False)
    page.open(pages["violated"])
    page.scripts(run=True)
    assert page.evaluate("document.getElementById('filters').checkVisibility()") is False
    rows = page.evaluate("document.querySelectorAll('details[data-verdict]').length")
    assert page.evaluate(f"{SHOWN}.length") == rows > 10
    boxes = "[...document.querySelectorAll('.row[open] svg')].map(svg => svg.getBoundingClientRect())"
    assert page.evaluate(f"{boxes}.filter(box => box.width > 300 && box.height > 100).length") >= 3


def test_filters_choose_rows_and_say_how_many(page: Page, pages: dict[str, Path]) -> None:
    page.open(pages["violated"])
    everything = page.evaluate(f"{SHOWN}.length")
    assert page.evaluate("document.querySelector('output').value") == f"{everything} rows"
    click = "document.querySelector('input[name={}][value={}]').click()"
    page.evaluate(click.format("verdict", "kept"))
    assert "kept" not in shown(page, "verdict") and "violated" in shown(page, "verdict")
    page.evaluate(click.format("family", "capability"))
    assert "capability" not in shown(page, "family") and "exclusive" in shown(page, "family")
    page.evaluate("document.querySelector('button[type=reset]').click()")
    page.evaluate("new Promise(done => setTimeout(done, 50))")
    assert page.evaluate(f"{SHOWN}.length") == everything
    choose = (
        "(() => { const s = document.querySelector('select[data-axis=observer]'); s.value = 'scandir';"
        " s.dispatchEvent(new Event('input', {bubbles: true})) })()"
    )
    page.evaluate(choose)
    assert {axes for axes in shown(page, "axes") if "observer=scandir" not in axes} == set()
    assert page.evaluate("document.querySelector('output').value").endswith(f"of {everything} rows")


def test_keys_find_and_give_back(page: Page, pages: dict[str, Path]) -> None:
    page.open(pages["violated"])
    everything = page.evaluate(f"{SHOWN}.length")
    page.press("/")
    assert page.evaluate("document.activeElement.name") == "text"
    for letter in "mmap":
        page.press(letter)
    assert page.evaluate("document.querySelector('input[name=text]').value") == "mmap"
    assert page.evaluate(f"{SHOWN}.length") == 1
    page.press("Escape")
    page.evaluate("new Promise(done => setTimeout(done, 50))")
    assert page.evaluate(f"{SHOWN}.length") == everything
    page.evaluate(f"{SHOWN}[0].querySelector('summary').focus()")
    before = page.evaluate(f"{SHOWN}[0].open")
    page.press("Enter")
    assert page.evaluate(f"{SHOWN}[0].open") is not before


def test_a_link_to_a_cell_opens_it(page: Page, pages: dict[str, Path]) -> None:
    page.open(pages["violated"])
    anchor = page.evaluate("[...document.querySelectorAll('details.row:not([open])')].at(-1).id")
    page.evaluate(f"location.hash = '#' + {anchor!r}; new Promise(done => setTimeout(done, 50))")
    assert page.evaluate(f"document.getElementById({anchor!r}).open") is True


def test_light_and_dark_are_both_legible(page: Page, pages: dict[str, Path]) -> None:
    page.open(pages["violated"])
    seen = {}
    for scheme in ("light", "dark"):
        page.prefer(scheme)
        paper, ink, line = (
            luminance(page, f"getComputedStyle({where}).{what}")
            for where, what in (
                ("document.body", "backgroundColor"), ("document.body", "color"),
                ("document.querySelector('.chart svg path[stroke]:not([stroke=none])')", "stroke"),
            )
        )  # fmt: skip
        seen[scheme] = paper
        for other in (ink, line):
            bright, dim = max(paper, other), min(paper, other)
            assert (bright + 0.05) / (dim + 0.05) >= 3, "WCAG 2.1, 1.4.11"
    assert seen["light"] > 0.8 and seen["dark"] < 0.1


def luminance(page: Page, expression: str) -> float:
    """WCAG 2.1: the relative luminance of a CSS colour `rgb(r, g, b)`."""
    told: Any = page.evaluate(expression)
    channels = [int(word) / 255 for word in told.partition("(")[2].rstrip(")").split(",")[:3]]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_paper_shows_what_is_broken_and_no_controls(page: Page, pages: dict[str, Path]) -> None:
    page.open(pages["violated"])
    page.evaluate("document.querySelector('button[name=close]').click()")
    assert page.evaluate(f"{SHOWN}.filter(row => row.open).length") == 0
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.prefer("dark", "print")
    assert page.evaluate(f"{SHOWN}.filter(row => row.open).every(row => row.dataset.verdict != 'kept')")
    assert page.evaluate(f"{SHOWN}.filter(row => row.open).length") > 0
    assert page.evaluate("document.getElementById('filters').checkVisibility()") is False
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.evaluate(f"{SHOWN}.filter(row => row.open).length") == 0
    assert page.pdf().startswith(b"%PDF")


@pytest.mark.parametrize("width", [360, 1200])
def test_nothing_is_wider_than_the_window(page: Page, pages: dict[str, Path], width: int) -> None:
    page.resize(width, 900)
    for name in ("violated", "compared"):
        page.open(pages[name])
        page.evaluate("document.querySelectorAll('details.row').forEach(row => row.open = true)")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.resize(1200, 900)


def test_the_comparison_filters_too(page: Page, pages: dict[str, Path]) -> None:
    page.open(pages["compared"])
    page.evaluate("document.querySelector('input[value=ALIKE]').click()")
    assert "ALIKE" not in shown(page, "verdict") and "VERDICT" in shown(page, "verdict")
