"""Choosing cells: by id, or by an expression over the words of their ids (`visibility and not open_read`)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from fsconform.judging.verifiers import booted_in_step
from fsconform.run.options import Options
from fsconform.run.table import BUDGETS, Row, rows
from fsconform.vocabulary.errors import CannotTestError, unknown
from fsconform.vocabulary.sites import Site

_TOKEN = re.compile(r"\s*(\(|\)|[^\s()]+)")


def select(options: Options, tier: str, letters: Sequence[str], acting: Sequence[str] | None = None) -> list[Row]:
    """The cells that these options ask for: of the tier and what `also` adds, or those named, of whatever budget.

    Raises CannotTestError as `choose` does.
    """
    everything = rows(BUDGETS[-1], letters, acting)
    if options.cell_ids:
        return choose(everything, options.cell_ids, options.expression)
    chosen = choose(rows(tier, letters, acting), expression=options.expression)
    if not options.also:
        return chosen
    known = {row.cell.id for row in chosen}
    return chosen + [
        row for row in choose(everything, expression=options.also, option="--also") if row.cell.id not in known
    ]


def choose(rows: Sequence[Row], cell_ids: Sequence[str] = (), expression: str = "", option: str = "-k") -> list[Row]:
    """The rows with one of these ids (all, where none is given) that the expression of an option holds for.

    Raises CannotTestError for an unknown id, an expression that cannot be read, or when nothing is left.
    """
    known = {row.cell.id: row for row in rows}
    for cell_id in cell_ids:
        if cell_id not in known:
            raise unknown("cell", cell_id, known)
    chosen = [known[cell_id] for cell_id in cell_ids] if cell_ids else list(rows)
    if expression:
        chosen = [row for row in chosen if matches(expression, row.cell.id, option)]
        if not chosen:
            raise CannotTestError(
                f"{option} {expression!r} selects none of {len(rows)} cells; `fsconform cells` lists them"
            )
    return chosen


def applicable(rows: Sequence[Row], sites: Sequence[Site], cell_ids: Sequence[str] = ()) -> list[Row]:
    """The rows that have a meaning for these sites.

    Raises CannotTestError where a cell that was asked for by its id is not among them.
    """
    in_step = booted_in_step(sites)
    for row in rows:
        if row.only and not in_step and row.cell.id in cell_ids:
            raise CannotTestError(
                f"cell {row.cell.id}: needs sites on kernels that booted at the same moment, "
                "such as --site lab=nfs3,collide"
            )
    return [row for row in rows if not row.only or in_step]


def matches(expression: str, text: str, option: str = "-k") -> bool:
    """Whether an expression of substrings, `and`, `or`, `not` and parentheses holds for `text`.

    Raises CannotTestError where it cannot be read.
    """
    tokens = _TOKEN.findall(expression)
    reader = _Reader(tokens, text.lower(), f"{option} {expression!r}")
    value = reader.disjunction()
    reader.expect_end()
    return value


class _Reader:
    """Recursive descent over the tokens of one expression."""

    def __init__(self, tokens: Sequence[str], text: str, source: str) -> None:
        self._tokens: Iterator[str] = iter(tokens)
        self._text, self._source = text, source
        self._next: str | None = next(self._tokens, None)

    def _take(self) -> str:
        token, self._next = self._next, next(self._tokens, None)
        if token is None:
            raise CannotTestError(f"{self._source} ends too early; example: 'visibility and not open_read'")
        return token

    def expect_end(self) -> None:
        """Raises CannotTestError where something is left over."""
        if self._next is not None:
            raise CannotTestError(f"{self._source}: {self._next!r} is not expected; join words with and, or, not")

    def disjunction(self) -> bool:
        """`a or b`."""
        value = self._conjunction()
        while self._next == "or":
            self._take()
            value = self._conjunction() or value
        return value

    def _conjunction(self) -> bool:
        value = self._factor()
        while self._next == "and":
            self._take()
            value = self._factor() and value
        return value

    def _factor(self) -> bool:
        token = self._take()
        if token == "not":
            return not self._factor()
        if token == "(":
            value = self.disjunction()
            if self._take() != ")":
                raise CannotTestError(f"{self._source}: a parenthesis is not closed")
            return value
        if token in (")", "and", "or"):
            raise CannotTestError(f"{self._source}: {token!r} is not expected here")
        return token.lower() in self._text
