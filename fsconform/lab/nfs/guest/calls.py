"""What the keeper may ask of a guest beside workers: mounts, clocks, its end."""

from __future__ import annotations

import json
import os
import time
import traceback
from contextlib import nullcontext, suppress
from typing import Any

from fsconform.lab.nfs.guest import kernel, system

_PRELOAD = ("threading", "queue", "inspect", "importlib.resources", "hashlib", "mmap", "select", "resource", "platform")
"""Modules that workers import: loaded once, before the forks."""
_TICKS = 8
_TICK_NS = 10_000_000


class HaltError(Exception):
    """This guest is to end."""


class Calls:
    """The functions by name; every request is a dict with `call` and their arguments, every value is JSON."""

    def __init__(self, config: dict[str, Any]) -> None:
        """`config`: what this guest is (`machines.py`)."""
        self.config = config
        self.namespaces: dict[str, kernel.Namespace] = {}

    def perform(self, payload: bytes) -> bytes:
        """The answer to one request: `value`, or `error` where it failed. Raises HaltError."""
        request = json.loads(payload)
        try:
            value = getattr(self, "call_" + request.pop("call"))(**request)
            return json.dumps({"value": value, "error": ""}).encode()
        except (OSError, RuntimeError, TypeError, AttributeError, KeyError) as error:
            traceback.print_exc()
            return json.dumps({"value": None, "error": f"{type(error).__name__}: {error}"[:1000]}).encode()

    def call_set_up(self) -> None:
        """Become what the configuration says."""
        self.namespaces.update(system.set_up(self.config))
        for module in _PRELOAD:
            with suppress(ImportError):
                __import__(module)

    def call_mount(self, at: str, version: str, options: str, server: str, me: str, namespace: str) -> None:
        """Mount the export, as the client of `namespace` where given."""
        with self.namespaces[namespace] if namespace else nullcontext():
            system.mount_nfs(at, version, options, server, me)

    def call_unmount(self, at: str) -> None:
        """Unmount."""
        kernel.unmount(at)

    def call_clock(self) -> list[int]:
        """CLOCK_MONOTONIC and CLOCK_REALTIME here, ns."""
        return [time.monotonic_ns(), time.time_ns()]

    def call_first_tick(self) -> int:
        """When this kernel's ticks began to count, as ns of CLOCK_MONOTONIC here: times(2) returns ticks.

        A tick is seen late, never early; the earliest of some counts.
        """
        return min(_next_tick_ns() for _ in range(_TICKS))

    def call_set_clock(self, wall_minus_monotonic_ns: int) -> None:
        """Set CLOCK_REALTIME (a guest boots up to 0.2 s off)."""
        time.clock_settime_ns(time.CLOCK_REALTIME, time.monotonic_ns() + wall_minus_monotonic_ns)

    def call_halt(self) -> Any:
        """End this guest."""
        raise HaltError("told to")


def _next_tick_ns() -> int:
    """Wait for a tick; when it came, minus all ticks before it."""
    before = now = os.times().elapsed
    while now == before:
        now = os.times().elapsed
    return time.monotonic_ns() - round(now * 1e9 / _TICK_NS) * _TICK_NS
