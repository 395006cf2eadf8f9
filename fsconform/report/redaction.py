"""Taking names of hosts, users, addresses and paths out of texts, the same alias for the same name everywhere.

Known names (`Secret`s, read from the facts of a run) are replaced wherever they stand, in every form in which a report
may have written them. What merely looks like a name (`user@host`, an IP address, an absolute path) is found in `text`
and then known, too.
"""

from __future__ import annotations

import html
import ipaddress
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from fsconform.report.escaping import markdown_text, visible
from fsconform.vocabulary.errnos import PSEUDO_NAMES
from fsconform.vocabulary.steps import KINDS

HOST, USER, ADDRESS, PATH, BOOT = "host", "user", "address", "path", "boot"
_GENERIC = frozenset(
    {"root", "nobody", "localhost", "none", "a", "b", "tmpfs", "overlay", *KINDS, *PSEUDO_NAMES.values()}
)
"""Words that name nobody, or stand everywhere for something else."""
_OPEN_PATH = re.compile(r"/(proc|sys|bin|usr/bin)(/|\Z)|/dev/\w+\Z|/etc/os-release\Z|/\.fsconform-")
"""Paths that every machine has."""
_OURS = "/.fsconform-"
_ACCOUNT = re.compile(r"(?<![\w.+@-])([\w.+-]+)@([\w-]+(?:\.[\w-]+)*)")
_NUMBERS = re.compile(r"(?<![\w.:])[0-9A-Fa-f:.]{3,45}(?![\w:])")
_ABSOLUTE = re.compile(r"(?<![\w.:/<>@~*-])/[^\s\"'`<>,;:()\[\]{}|*]+")
_MAY_GO_ON = r"[^\s\"'`<>,;:()\[\]{}|&\\]"


@dataclass(frozen=True, slots=True)
class Secret:
    """One name that must not be told."""

    kind: str
    word: str
    alias: str = ""
    """What stands for it; empty: the next free one, `host-1`."""


@dataclass(slots=True)
class Redactor:
    """Replaces secrets. `aliases` is the map from alias to name that stays at home."""

    aliases: dict[str, str] = field(default_factory=dict)
    _known: dict[tuple[str, str], str] = field(default_factory=dict)
    _pattern: re.Pattern[str] | None = None
    _forms: dict[str, tuple[str, str]] = field(default_factory=dict)
    """A form of a secret -> (its kind, its alias)."""

    def learn(self, secrets: Collection[Secret]) -> None:
        """Make names known, the longest first."""
        for secret in sorted(secrets, key=lambda secret: (-len(secret.word), secret.word)):
            word = secret.word.rstrip("/") if secret.kind == PATH else secret.word
            if len(word) > 1 and word.lower() not in _GENERIC:
                self._alias(secret.kind, word, secret.alias)

    def known(self, text: str) -> str:
        """The text with known names replaced, whatever language it is written in."""
        if not self._forms:
            return text
        if self._pattern is None:
            words = sorted(self._forms, key=lambda form: (-len(form), form))
            self._pattern = re.compile("|".join(map(self._expression, words)), re.IGNORECASE)
        return self._pattern.sub(self._replacement, text)

    def text(self, text: str) -> str:
        """Plain text with known names replaced, and whatever else looks like one."""
        text = _ACCOUNT.sub(self._account, self.known(text))
        text = _NUMBERS.sub(lambda found: self._address(found[0]), text)
        return _ABSOLUTE.sub(lambda found: self._absolute(found[0]), text)

    def plain(self, value: Any, keep: Collection[str] = ()) -> Any:
        """A value of JSON with all its texts redacted, but for what stands under the keys `keep`."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            told = {key: entry if key in keep else self.plain(entry, keep) for key, entry in value.items()}
            return {self.text(str(key)): entry for key, entry in told.items()}
        if isinstance(value, list | tuple):
            return [self.plain(entry, keep) for entry in value]
        return value

    def leaks(self, text: str) -> Iterator[str]:
        """Aliases of the names that a text still has in it."""
        if self._forms and self.known(text) != text:
            for form, (_, alias) in self._forms.items():
                if re.search(self._expression(form), text, re.IGNORECASE):
                    yield alias

    def _alias(self, kind: str, word: str, alias: str = "") -> str:
        name = word if kind == PATH else word.lower()
        if (kind, name) not in self._known:
            number = 1 + sum(known == kind for known, _ in self._known)
            chosen = alias or self._same_host(kind, name) or f"{'/' if kind == PATH else ''}{kind}-{number}"
            if alias in self.aliases:
                chosen = f"{chosen}-{number}"
            self._known[kind, name] = chosen
            self.aliases.setdefault(chosen, word)
            for form in _forms(word):
                self._forms.setdefault(form.lower() if kind != PATH else form, (kind, chosen))
            self._pattern = None
        return self._known[kind, name]

    def _same_host(self, kind: str, name: str) -> str:
        """The alias of the host that is known with its domain, or without it; empty where there is none."""
        stem = name.partition(".")[0]
        known = (alias for (other, word), alias in self._known.items() if other == kind and word.startswith(stem)
                 and word.partition(".")[0] == stem and not stem.isdigit())  # fmt: skip
        return next(known, "") if kind == HOST else ""

    def _expression(self, form: str) -> str:
        kind, _ = self._forms[form]
        if kind == PATH:
            return rf"(?-i:(?<![\w]){re.escape(form)}(?:/{_MAY_GO_ON}*)?(?![\w-]))"
        return rf"(?<![A-Za-z0-9_]){re.escape(form)}(?![A-Za-z0-9_])"

    def _replacement(self, found: re.Match[str]) -> str:
        whole = found[0]
        if whole.lower() in self._forms:
            return self._forms[whole.lower()][1]
        if whole in self._forms:
            return self._forms[whole][1]
        form = max((form for form in self._forms if whole.startswith(f"{form}/")), key=len)
        alias, rest = self._forms[form][1], whole[len(form) :]
        return alias + (rest if rest.startswith(_OURS) else "/…")

    def _account(self, found: re.Match[str]) -> str:
        user, host = found.groups()
        if user in _GENERIC or user in self.aliases or user.startswith(f"{USER}-"):
            told = user
        else:
            told = self._alias(USER, user)
        return f"{told}@{host if host in self.aliases or host in _GENERIC else self._alias(HOST, host)}"

    def _address(self, word: str) -> str:
        stripped = word.strip(".")
        try:
            address = ipaddress.ip_address(stripped)
        except ValueError:
            return word
        if address.is_loopback or address.is_unspecified:
            return word
        return word.replace(stripped, self._alias(ADDRESS, stripped))

    def _absolute(self, path: str) -> str:
        if _OPEN_PATH.match(path) or any(path == alias or path.startswith(f"{alias}/") for alias in self.aliases):
            return path
        return self._alias(PATH, path.rstrip("/."))


def _forms(word: str) -> frozenset[str]:
    """In which forms reports, shells, HTML, JSON and /proc/self/mountinfo write a name."""
    octal = "".join(f"\\{ord(c):03o}" if c in " \t\n\\" else c for c in word)
    plain = (word, visible(word), octal, word.replace("'", "'\"'\"'"), markdown_text(word))
    escapes: tuple[Callable[[str], str], ...] = (
        str, html.escape, lambda text: html.escape(text, quote=False), lambda text: json.dumps(text)[1:-1],
        lambda text: json.dumps(text, ensure_ascii=False)[1:-1], lambda text: html.escape(json.dumps(text)[1:-1]),
    )  # fmt: skip
    return frozenset(escape(form) for form in plain for escape in escapes)
