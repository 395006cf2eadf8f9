"""The processes that serve emulated mounts of this run: what can be stopped to see what a hang does."""

from __future__ import annotations

from collections.abc import Iterable

_SERVER = "fsconform.lab.server"


def emulation_servers(paths: Iterable[str]) -> tuple[int, ...]:
    """Process ids of our own lab servers that serve any of these mounts."""
    import psutil

    wanted, found = set(paths), []
    for child in psutil.Process().children(recursive=True):
        try:
            words = child.cmdline()
        except psutil.Error:
            continue
        if _SERVER in words and wanted & set(words):
            found.append(child.pid)
    return tuple(found)
