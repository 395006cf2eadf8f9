"""Reading TOML tables whose mistakes are told as file, key, what is wrong, and the nearest known word."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping
from pathlib import Path

from fsconform.judging.durations import DurationError, parse_duration
from fsconform.vocabulary.errors import CannotTestError, unknown

_KINDS = {str: "text", bool: "true or false", int: "a whole number", float: "a number", list: "a list", dict: "a table"}


def kind_of(value: object) -> str:
    """What a TOML value is, in words."""
    return _KINDS.get(type(value), type(value).__name__)


class Table:
    """One table of a TOML file. `path` is its place there (`promise[3].where`), empty for the file itself.

    `keys` are the keys it may have (None: any); others are refused at once. Every method raises CannotTestError
    naming file, key and what is wrong.
    """

    def __init__(self, file: str, path: str, data: Mapping[str, object], keys: Collection[str] | None) -> None:
        self.file, self.path, self._data = file, path, data
        for key in data:
            if keys is not None and key not in keys:
                raise unknown("key", key, keys, self._place())

    def __contains__(self, key: str) -> bool:
        return key in self._data

    def has_text(self, key: str) -> bool:
        """Whether the key is there and its value is text."""
        return isinstance(self._data.get(key), str)

    def names(self) -> tuple[str, ...]:
        """The keys that are there."""
        return tuple(self._data)

    def _place(self, key: str = "") -> str:
        place = ".".join(part for part in (self.path, key) if part)
        return f"{self.file}: {place}" if place else self.file

    def error(self, key: str, what: str) -> CannotTestError:
        """The error for the value of one key (or of the table, where empty)."""
        return CannotTestError(f"{self._place(key)}: {what}")

    def unknown(self, key: str, what: str, word: str, choices: Collection[str]) -> CannotTestError:
        """The error for a word that is not in a closed set."""
        return unknown(what, word, choices, self._place(key))

    def text(self, key: str, default: str | None = None) -> str:
        """Text that is not empty; `default` where the key is absent, an error without one."""
        if key not in self._data:
            if default is None:
                raise self.error("", f"{key!r} is missing")
            return default
        value = self._data[key]
        if not isinstance(value, str):
            raise self.error(key, f"must be text, is {kind_of(value)}")
        if not value.strip():
            raise self.error(key, "is empty")
        return value.strip()

    def choice(self, key: str, what: str, choices: Collection[str]) -> str:
        """Text out of a closed set."""
        word = self.text(key)
        if word not in choices:
            raise self.unknown(key, what, word, choices)
        return word

    def flag(self, key: str) -> bool:
        """`true` or `false`."""
        if key not in self._data:
            raise self.error("", f"{key!r} is missing")
        value = self._data[key]
        if not isinstance(value, bool):
            raise self.error(key, f"must be true or false, is {kind_of(value)}")
        return value

    def words(self, key: str) -> tuple[str, ...]:
        """One text or a list of texts, none empty; nothing where the key is absent."""
        value = self._data.get(key, [])
        if isinstance(value, str):
            value = [value]
        elif isinstance(value, list) and not value and key in self._data:
            raise self.error(key, "is an empty list")
        if not isinstance(value, list):
            raise self.error(key, f"must be text or a list of texts, is {kind_of(value)}")
        for word in value:
            if not isinstance(word, str):
                raise self.error(key, f"must be a list of texts, has {kind_of(word)} in it")
            if not word.strip():
                raise self.error(key, "has an empty text in it")
        return tuple(value)

    def duration(self, key: str) -> float:
        """Seconds of a text with a unit, like `5 s`."""
        if key in self._data and type(self._data[key]) in (int, float):
            raise self.error(key, f'needs a unit: write "{self._data[key]} s" or "{self._data[key]} ms"')
        text = self.text(key)
        try:
            return parse_duration(text)
        except DurationError as error:
            raise self.error(key, str(error)) from None

    def table(self, key: str, keys: Collection[str] | None) -> Table:
        """A table inside this one; an empty one where the key is absent."""
        value = self._data.get(key, {})
        if not isinstance(value, dict):
            raise self.error(key, f"must be a table, is {kind_of(value)}")
        return Table(self.file, ".".join(part for part in (self.path, key) if part), value, keys)

    def tables(self, key: str, keys: Collection[str], named_by: str) -> tuple[Table, ...]:
        """An array of tables (`[[key]]`); empty where the key is absent.

        Messages count them from 1 and add the text under `named_by`, so that they can be found: TOML has no lines.
        """
        value = self._data.get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            raise self.error(key, f"must be a list of tables: begin each with [[{key}]]")
        return tuple(
            Table(self.file, f"{key}[{number}]{_name_of(item.get(named_by))}", item, keys)
            for number, item in enumerate(value, 1)
        )


def _name_of(value: object) -> str:
    names = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    return f" ({', '.join(map(str, names))})" if names else ""


def read_toml(path: Path, keys: Collection[str]) -> Table:
    """The outermost table of a file. Raises CannotTestError where it cannot be read or is no TOML."""
    try:
        return Table(str(path), "", tomllib.loads(path.read_text("utf-8")), keys)
    except OSError as error:
        raise CannotTestError(f"{path}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise CannotTestError(f"{path}: is no UTF-8 text (byte {error.start})") from None
    except tomllib.TOMLDecodeError as error:
        raise CannotTestError(f"{path}: is no TOML: {error}") from None
