"""Where reports may go: to a directory that can be written, and never into what is tested."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from fsconform.vocabulary.errors import CannotTestError
from fsconform.vocabulary.sites import parse_site


def refuse_place(directory: Path, sites: Iterable[str], named: str) -> None:
    """Raises CannotTestError where `directory` cannot be made or written, or lies inside a local site.

    Asked before anything is measured, so that no finished run is left without its report. `named` is what the user
    knows the directory by. Sites are compared as words: they may not answer, so nobody touches them here.
    """
    place = os.path.realpath(directory)
    for text in sites:
        spec = parse_site(text)
        if spec.launcher == "local" and _inside_site(place, os.path.abspath(spec.path)):
            raise CannotTestError(f"{named}: inside the site {text!r}; give a directory elsewhere with --report")
    ground = next(path for path in (Path(place), *Path(place).parents) if path.exists())
    if not ground.is_dir():
        raise CannotTestError(f"{named}: {ground} is not a directory; give another one with --report")
    try:
        Path(tempfile.mkdtemp(prefix=".fsconform-report-", dir=ground)).rmdir()
    except OSError as error:
        why = f"nothing can be made in {ground} ({error.strerror})"
        raise CannotTestError(f"{named}: {why}; give another directory with --report") from None


def _inside_site(place: str, site: str) -> bool:
    if site in ("/", str(Path.home())):  # refused for what they are
        return False
    return place == site or place.startswith(site + "/")
