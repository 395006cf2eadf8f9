"""Makes the pictures of docs/images: real runs on the emulated 3FS, opened in headless Chromium.

python -m bench.screenshots [--directory DIR] [--reports DIR]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench.chromium import Page, browser
from fsconform.report.comparison import compare
from fsconform.report.comparison_files import write_comparison
from fsconform.report.reading import read_report
from fsconform.report.writing import write_report
from fsconform.run.conduct import conduct
from fsconform.run.options import Options
from fsconform.run.progress import Silent
from fsconform.vocabulary.errors import CannotTestError

SITE, PROFILES, SEED = "lab=3fs-fuse", ("3fs-fuse", "posix-local"), 4209
"""One filesystem, held against two contracts: it keeps its own and breaks the other."""
WIDTH, HEIGHT = 1080, 660
CELL = "cell-visibility.create,rename,missed,stat,fresh,a-b"
ROW = f"[id='{CELL}']"


def main(words: Sequence[str]) -> int:
    """Measure, write the reports, photograph them. Returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--directory", type=Path, default=Path("docs/images"), help="where the pictures go")
    parser.add_argument("--reports", type=Path, help="where the reports are kept, or are already (default: nowhere)")
    asked = parser.parse_args(words)
    asked.directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="fsconform-screenshots-") as scratch:
        reports = asked.reports or Path(scratch)
        try:
            _measure(reports)
            _photograph(reports, asked.directory)
        except (CannotTestError, FileNotFoundError) as error:
            print(f"screenshots: {error}", file=sys.stderr)
            return 2
    return 0


def _measure(reports: Path) -> None:
    places = [reports / profile for profile in PROFILES]
    for profile, place in zip(PROFILES, places, strict=True):
        if not (place / "report.json").exists():
            print(f"measuring {SITE} against {profile}")
            write_report(conduct(Options((SITE,), profile, seed=SEED), Silent()), place)
    write_comparison(compare([read_report(str(place)) for place in places]), reports / "compared")


def _photograph(reports: Path, pictures: Path) -> None:
    kept, broken = (reports / profile / "report.html" for profile in PROFILES)
    with browser() as page:
        page.resize(WIDTH, HEIGHT)
        page.open(kept)
        _save(page, pictures / "verdict.png")
        page.open(broken)
        page.prefer("dark")
        _save(page, pictures / "violation.png", ROW)
        page.prefer("light")
        page.open(reports / "compared" / "compare.html")
        page.evaluate("document.querySelector('#asked details.row').open = true")
        page.evaluate("document.querySelector('#verdict').scrollIntoView()")
        _save(page, pictures / "comparison.png")


def _save(page: Page, path: Path, selector: str = "") -> None:
    path.write_bytes(page.picture(selector))
    print(f"written: {path}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
