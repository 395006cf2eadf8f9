"""Mount options as profiles name them: `nocto`, `lookupcache=none`, `vers=4.*`."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase


def find_option(options: str, patterns: Iterable[str]) -> str | None:
    """The first of the comma-separated `options` that fits a pattern, None where none does.

    A pattern without `=` fits the option of that name, whatever its value; one with `=` fits the whole word. Both may
    hold `*`, `?` and `[...]`.
    """
    wanted = tuple(patterns)
    return next((word for word in options.split(",") if word and any(_fits(word, item) for item in wanted)), None)


def _fits(word: str, pattern: str) -> bool:
    return fnmatchcase(word if "=" in pattern else word.partition("=")[0], pattern)
