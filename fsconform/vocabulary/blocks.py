"""Names and contents of blocks: the name says what the bytes must be, so every read judges itself.

The bytes themselves are made and told apart in `fleet/worker` (standard library, sent to the other side);
this module has the numbers both sides agree on.
"""

from __future__ import annotations

import hashlib
from enum import IntEnum

PAGE = 4096
SIZES = {"4k": 4096, "64k": 65536, "1m": 1 << 20, "8m": 8 << 20}


class Content(IntEnum):
    """What a content look found, low byte of its `value`."""

    EXACT = 0
    SHORT = 1
    """A proper prefix of the expected bytes (length 0 included)."""
    LONG = 2
    """The expected bytes and more after them."""
    ZERO = 3
    """Expected length, at least one whole page of zeros, everything else right."""
    FOREIGN = 4
    """Expected length, at least one page that is a valid page of another block or another page of this one."""
    TORN = 5
    """Pages of two versions mixed, or bytes that are no page of anything."""


def block_key(*parts: object) -> str:
    """The id of a block, 64 hex digits: SHA-256 over the parts, so that names cannot collide between trials."""
    return hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()


def block_name(key: str) -> str:
    """`<sha256>.bin`."""
    return f"{key}.bin"


def fan_out(key: str) -> str:
    """The two-level path `<3 hex>/<2 hex>/<sha256>.bin`."""
    return f"{key[:3]}/{key[3:5]}/{key}.bin"


def content_of(value: int) -> Content:
    """The class in a content look's `value`."""
    return Content(value & 0xFF)


def version_of(value: int) -> int:
    """The version in a content look's `value`: 0 for write-once content, the sequence number found else."""
    return value >> 8
