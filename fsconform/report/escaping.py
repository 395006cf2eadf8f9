"""Text that came from filesystems and users, made fit to be shown."""

from __future__ import annotations

import re
from html import escape

_KEY = re.compile(r"(?<![0-9A-Za-z])([0-9a-f]{6})[0-9a-f]{10,58}(?![0-9A-Za-z])")
_SURROGATE_ESCAPES = range(0xDC80, 0xDD00)
"""How os.fsdecode keeps bytes that are not UTF-8 (PEP 383)."""


def visible(text: str) -> str:
    r"""The text on one line of printable characters: `\n`, `\x1b`, and `\xff` for a byte that is not UTF-8.

    Control characters, line breaks, bidirectional marks and lone surrogates cannot act on a terminal, a table or
    an XML document any more. Printable text comes back unchanged.
    """
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() else _escaped(character) for character in text)


def _escaped(character: str) -> str:
    code = ord(character)
    if code in _SURROGATE_ESCAPES:
        return f"\\x{code - 0xDC00:02x}"
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")


def shorten_keys(text: str) -> str:
    """Block ids (64 hex digits, or their first 16 or more) cut to their first six: `3f2a91….bin`."""
    return _KEY.sub(r"\1…", text)


_MARKDOWN = re.compile(r"([\\`*{}\[\]#|~$])|(?<![0-9A-Za-z])_|_(?![0-9A-Za-z])")


def markdown_text(text: str) -> str:
    """Plain text for a paragraph, a list or a table of GitHub-flavoured Markdown."""
    return _MARKDOWN.sub(lambda found: "\\" + found.group(), escape(visible(text), quote=False))


def markdown_code(text: str) -> str:
    """A code span that also holds back quotes and pipes, inside tables too."""
    shown = visible(text)
    if not shown.strip():
        return "(empty)"
    if shown == shown.strip() and not set(shown) & set("`|"):
        return f"`{shown}`"
    return f"<code>{re.sub(r'[^0-9A-Za-z ./:-]', lambda found: f'&#{ord(found.group())};', shown)}</code>"


def markdown_fence(lines: tuple[str, ...] | list[str], language: str = "") -> str:
    """A fenced block; the fence is longer than any run of back quotes in it."""
    body = [visible(line) for line in lines]
    longest = max((len(run) for line in body for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join([fence + language, *body, fence])
