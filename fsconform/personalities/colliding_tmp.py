"""vLLM's sequence with temporary names that are not unique between instances.

So draw: engines that seed Python's global random alike (vLLM's default seed is 0), a suffix of process and thread id
in containers that all begin with pid 1 (torch/_inductor/codecache.py write_atomic), a generator seeded by a constant
(LMCache gds_backend.py).
"""

from __future__ import annotations

from typing import Type

from fsconform.personalities.protocol import Protocol
from fsconform.personalities.vllm_c import VllmC


class CollidingTemp(VllmC):
    """As vllm-c, every instance drawing the same suffixes."""

    seeded = True


PROTOCOL: "Type[Protocol]" = CollidingTemp
