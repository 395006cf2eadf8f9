"""What every page shares: templates that escape everything, one style sheet and one script inside, a strict policy."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from fsconform.report.escaping import shorten_keys, visible

_TEMPLATES = Path(__file__).parents[1] / "templates" / "html"
MOST_BYTES = 4_000_000
"""A page can be attached to an issue and opened anywhere."""


def render(name: str, **values: Any) -> str:
    """A page by the file name of its template."""
    return _environment().get_template(name).render(
        style=_asset("page.css"), script=_asset("page.js"), policy=_policy(), **values
    )  # fmt: skip


@cache
def _environment() -> Environment:
    # Every expression is made printable and then escaped unless it is Markup of ours: nothing can be forgotten.
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES), finalize=_printable, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, autoescape=True,
    )  # fmt: skip
    environment.filters["short"] = lambda text: shorten_keys(str(text))
    return environment


def _printable(value: Any) -> Any:
    return value if isinstance(value, Markup) else visible(str(value))


@cache
def _asset(name: str) -> Markup:
    return Markup((_TEMPLATES / name).read_text("utf-8"))


@cache
def _policy() -> str:
    """Nothing is fetched, and only our own style sheet and script act (Content Security Policy Level 3)."""
    hashes = {name: base64.b64encode(hashlib.sha256(_asset(name).encode()).digest()).decode() for name in _ASSETS}
    return (
        f"default-src 'none'; style-src 'sha256-{hashes['page.css']}'; script-src 'sha256-{hashes['page.js']}';"
        " base-uri 'none'; form-action 'none'"
    )


_ASSETS = ("page.css", "page.js")
