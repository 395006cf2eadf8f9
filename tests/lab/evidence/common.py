"""What the evidence of all families shares: rounds, contests, watching while a change is made."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

from tests.lab.bench import NOREPLACE, race, renameat2, told

Evidence = Callable[[Path, Path], bool]
"""Whether a mutant shows between two mounts, in an empty directory."""
ROUNDS = 12
BLOCK = b"A" * 4096 + b"B" * 4096


def rounds(attempt: Callable[[int], bool]) -> bool:
    """Whether any round shows it: a mutant strikes most contested rounds, `strict` none."""
    return any(attempt(number) for number in range(ROUNDS))


def outcomes(a: Path, b: Path, act: Callable[[Path], object], wanted: Callable[[list[str]], bool]) -> bool:
    return rounds(lambda n: wanted(race(lambda: act(a / f"n{n}"), lambda: act(b / f"n{n}"))))


def all_win(results: list[str]) -> bool:
    return results == ["ok", "ok"]


def elsewhere_too(act: Callable[[Path], object], prefix: str) -> Callable[[Path], object]:
    """The same act on other names."""

    def elsewhere(path: Path) -> None:
        act(path.with_name(prefix + path.name))

    return elsewhere


def from_temporary(act: Callable[[Path, Path], object]) -> Callable[[Path], object]:
    """Make a temporary file on that mount, and publish it."""

    def publish_temporary(path: Path) -> None:
        temporary = path.parent / f"temp-{path.parent.parent.name}-{path.name}"
        if not temporary.exists():
            temporary.write_bytes(BLOCK)
        act(temporary, path)

    return publish_temporary


def prepare(a: Path, b: Path) -> None:
    for mount in (a, b):
        for number in range(ROUNDS):
            (mount / f"temp-{mount.parent.name}-n{number}").write_bytes(BLOCK)


link = from_temporary(os.link)
noreplace = from_temporary(lambda old, new: renameat2(old, new, NOREPLACE))


def watch(path: Path, wrong: Callable[[Path], bool], change: Callable[[], object]) -> bool:
    """Whether a look was wrong while, or right after, the change was made."""
    seen, done = [False], threading.Event()

    def look() -> None:
        while not done.is_set():
            seen[0] = seen[0] or wrong(path)

    watcher = threading.Thread(target=look)
    watcher.start()
    change()
    done.set()
    watcher.join(30)
    return seen[0]


def refused(action: Callable[[], object], *names: str) -> bool:
    answer = told(action)
    assert answer == "ok" or answer in names, answer
    return answer != "ok"
