"""What a `lab=` site says: `NAME[,key=value]...`, NAME a preset.

mounts=N            number of mounts, two where not said
entry= attr= negative= symlink=   what the clients' kernels are told to trust, seconds
data=direct|cached  whether reads bypass the client's page cache
capacity=SIZE       size of the filesystem, bytes, or with k, m, g
collect= sync=      3fs-fuse: delay of collecting unlinked data, interval of publishing lengths, seconds
mutant=NAME         a defect; may be given several times
p= window= ttl= site=   how often it strikes, how long (seconds), at whose requests (letters of mounts)
op= match=          what hangs, on which names (mutant=hang)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Any

from fsconform.lab.knobs import Knobs
from fsconform.lab.model import DataPath, Lab, Timeouts
from fsconform.lab.mutants import MUTANTS, Mutant
from fsconform.lab.presets import PRESETS, Preset
from fsconform.lab.store import Store
from fsconform.vocabulary.errors import CannotTestError, unknown

MOST_MOUNTS = 26
OPERATIONS = ("close", "create", "listing", "lookup", "open", "read", "rename", "stat", "sync", "write")
"""What a hang can strike."""
_TIMEOUTS = tuple(entry.name for entry in fields(Timeouts))
_PATHS = (DataPath.DIRECT.value, DataPath.CACHED.value)
_UNITS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


@dataclass(frozen=True, slots=True)
class LabSpec:
    """A lab as the user asked for it. `text` is what stood behind `lab=`."""

    text: str
    preset: Preset
    timeouts: Timeouts
    mutants: tuple[Mutant, ...] = ()
    mounts: int = 2
    knobs: Knobs = field(default_factory=Knobs)
    data_path: DataPath | None = None

    @property
    def source(self) -> str:
        """What mountinfo shows as source: `fsconform:` and the text, without the number of mounts."""
        words = [word.strip() for word in self.text.split(",")]
        return "fsconform:" + ",".join(word for word in words if word and not word.startswith("mounts="))

    def build(self) -> Lab:
        """The lab, with its preset's traits and its mutants installed."""
        lab = Lab(Store(self.knobs.capacity), self.timeouts)
        for trait in self.preset.traits:
            trait(lab, self.knobs)
        if self.data_path is not None:
            lab.session.data_path = self.data_path
        for mutant in self.mutants:
            mutant.install(lab, self.knobs)
        return lab


def parse_lab(text: str) -> LabSpec:
    """Read `NAME[,key[=value]...]`. Raises CannotTestError for an unknown preset, mutant or key, or a wrong value."""
    name, *words = [word.strip() for word in text.split(",")]
    if name not in PRESETS:
        raise unknown("lab", name, PRESETS, f"lab={text}")
    settings = [_setting(text, word) for word in words if word]
    mutants = tuple(value for key, value in settings if key == "mutant")
    values = {key: value for key, value in settings if key != "mutant"}
    knobs = {key: value for key, value in values.items() if key in _KNOBS}
    for mutant in mutants:
        knobs = {"window": mutant.window, "ttl": mutant.ttl} | knobs
    timeouts = {key: value for key, value in values.items() if key in _TIMEOUTS}
    preset = PRESETS[name]
    return LabSpec(
        text=text,
        preset=preset,
        timeouts=replace(preset.timeouts, **timeouts),
        mutants=mutants,
        mounts=values.get("mounts", 2),
        knobs=replace(Knobs(), **knobs),
        data_path=values.get("data"),
    )


def names() -> tuple[tuple[str, str, str], ...]:
    """(`preset` or `mutant`, name, summary) of everything that `lab list` shows."""
    presets = [("preset", preset.name, preset.summary) for preset in PRESETS.values()]
    return (*presets, *(("mutant", mutant.name, mutant.summary) for mutant in MUTANTS.values()))


def _setting(text: str, word: str) -> tuple[str, Any]:
    key, equals, value = word.partition("=")
    if key not in _KEYS:
        raise unknown("key", key, _KEYS, f"lab={text}")
    if not equals or not value or any(c.isspace() for c in value):
        raise CannotTestError(f"lab={text}: {key} needs a value, as in {key}={_EXAMPLES.get(key, '1')}")
    try:
        return key, _KEYS[key](value)
    except ValueError as error:
        raise CannotTestError(f"lab={text}: {key}={value}: {error}") from None
    except KeyError:
        raise unknown(key, value, _CHOICES[key], f"lab={text}") from None


def _seconds(value: str) -> float:
    number = _number(value)
    if not 0 <= number <= 1e9:
        raise ValueError("seconds, 0 or more")
    return number


def _number(value: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise ValueError("a number without unit (durations in seconds)") from None


def _probability(value: str) -> float:
    number = _number(value)
    if not 0 <= number <= 1:
        raise ValueError("a probability, 0 to 1")
    return number


def _count(value: str) -> int:
    if not value.isdigit() or not 1 <= int(value) <= MOST_MOUNTS:
        raise ValueError(f"a number of mounts, 1 to {MOST_MOUNTS}")
    return int(value)


def _size(value: str) -> int:
    digits, unit = (value[:-1], _UNITS[value[-1].lower()]) if value[-1].lower() in _UNITS else (value, 1)
    if not digits.isdigit():
        raise ValueError("bytes, or with k, m, g: 64m")
    return int(digits) * unit


def _letters(value: str) -> str:
    if not value.isalpha() or not value.islower():
        raise ValueError("letters of mounts, as in a or ab")
    return value


def _part_of_name(value: str) -> str:
    if not value.replace(".", "").replace("-", "").replace("_", "").isalnum() or not value.isascii():
        raise ValueError("a part of a name, of letters, digits and . _ -")
    return value


def _choose(choices: dict[str, Any]) -> Callable[[str], Any]:
    return lambda value: choices[value]


_CHOICES: dict[str, dict[str, Any]] = {
    "mutant": dict(MUTANTS),
    "data": {value: DataPath(value) for value in _PATHS},
    "op": {value: value for value in OPERATIONS},
}
_KNOBS: dict[str, Callable[[str], Any]] = {
    "p": _probability, "window": _seconds, "ttl": _seconds, "capacity": _size, "collect": _seconds,
    "sync": _seconds, "op": _choose(_CHOICES["op"]), "match": _part_of_name, "site": _letters,
}  # fmt: skip
_KEYS: dict[str, Callable[[str], Any]] = {
    "mounts": _count, **dict.fromkeys(_TIMEOUTS, _seconds), "mutant": _choose(_CHOICES["mutant"]),
    "data": _choose(_CHOICES["data"]), **_KNOBS,
}  # fmt: skip
_EXAMPLES = {"mutant": "rename-gap", "data": "cached", "op": "read", "match": "block", "site": "a", "capacity": "64m"}
