"""What can go wrong, in the user's terms, with the exit status it means (docs/design.md, Command line)."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class FsconformError(Exception):
    """A failure that is told in one message, without a traceback. `status` is the exit status it means."""

    status = 3


class CannotTestError(FsconformError):
    """Nothing could be judged: a path, a site, a profile or a word of the command line is not usable."""

    status = 2


def nearest(word: str, choices: Iterable[str]) -> str:
    """The known word nearest to `word`, as a hint to append to a message; all choices where none is near."""
    known = sorted(choices)
    near = get_close_matches(word, known, n=1, cutoff=0.5)
    if near:
        return f"did you mean {near[0]!r}?"
    return f"known: {', '.join(known)}" if known else "none is known"


def unknown(what: str, word: str, choices: Iterable[str], where: str = "") -> CannotTestError:
    """The error for a word that is not in a closed set: what it names, where it stands, the nearest valid choice."""
    place = f"{where}: " if where else ""
    return CannotTestError(f"{place}unknown {what} {word!r}; {nearest(word, choices)}")
