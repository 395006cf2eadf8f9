"""What an instance counts: vLLM's metrics under vLLM's names and rules (vllm/v1/kv_offload/tiering/metrics.py), and
beside them what they leave out. The gauge is kept as samples and as the exact log of its changes."""

from __future__ import annotations

import threading
import time
from array import array
from typing import Any

PRIMARY, TIER = "0:primary", "1:fs"
_clock = time.monotonic_ns


class Counters:
    """Numbers of one instance. Only its scheduler changes them, except `add_actual`."""

    def __init__(self) -> None:
        self.numbers = dict.fromkeys(
            (
                "chunk_queries:" + PRIMARY, "chunk_queries:" + TIER, "chunk_hits:" + PRIMARY, "chunk_hits:" + TIER,
                "read_bytes", "write_bytes", "write_bytes_actual", "promotion_allocation_failures",
                "promotion_job_failures", "cascade_job_failures", "promotion_jobs_started", "cascade_jobs_started",
                "external_prefix_cache_hits", "dedup_skips", "short_reads", "short_writes", "would_unlink",
            ),
            0,
        )  # fmt: skip
        self.times: "dict[str, list[int]]" = {"lookup_async_delay": [], "read_time": [], "write_time": []}
        """ns."""
        self.log: "list[str]" = []
        """The lines that vLLM would log (thread_pool.py, pull request 49152)."""
        self._lock = threading.Lock()

    def add(self, name: str, count: int = 1) -> None:
        """Count."""
        with self._lock:
            self.numbers[name] += count

    def to_wire(self) -> "dict[str, Any]":
        """Builtins."""
        return {"numbers": dict(self.numbers), "times": self.times, "log": list(self.log)}


class Gauges:
    """active_promotion_jobs and active_cascade_jobs: jobs registered minus jobs noticed as finished, sampled."""

    def __init__(self, period_s: float) -> None:
        self.promotions = 0
        self.cascades = 0
        self._period_s = period_s
        self._samples = array("q")
        self._changes = array("q")
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self._thread.start()

    def change(self, promotions: int, cascades: int) -> None:
        """Count jobs up or down."""
        self.promotions += promotions
        self.cascades += cascades
        self._changes.extend((_clock(), promotions, cascades))

    def _sample(self) -> None:
        due = _clock()
        period = int(self._period_s * 1e9)
        while not self._ending.is_set():
            self._samples.extend((_clock(), self.promotions, self.cascades))
            due = max(due + period, _clock())
            self._ending.wait(max(0, due - _clock()) / 1e9)

    def close(self) -> None:
        """Take a last sample."""
        self._ending.set()
        self._thread.join(5.0)
        self._samples.extend((_clock(), self.promotions, self.cascades))

    def to_wire(self) -> "tuple[bytes, bytes]":
        """Samples and changes: rows of (ns, promotions, cascades)."""
        return self._samples.tobytes(), self._changes.tobytes()
