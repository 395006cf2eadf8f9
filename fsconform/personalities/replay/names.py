"""Names of blocks as an engine derives them: a chain of SHA-256 over canonical CBOR, portable between interpreters.

block_hash = SHA-256(CBOR [parent hash, token ids, null]), the first parent being SHA-256(CBOR seed string): vLLM's
`sha256_cbor` (vllm/utils/hashing.py, vllm/v1/core/kv_cache_utils.py NONE_HASH, init_none_hash). The seed string is
$PYTHONHASHSEED as text; nothing here depends on the interpreter's own hash().
Paths are those of vllm/v1/kv_offload/file_mapper.py: `<base>_r0/<hex 0-2>/<hex 3-4>_g0/<hex>.bin`.
"""

from __future__ import annotations

import hashlib
import struct
from typing import Any

BASE = "fsconform_replay-8b_89e1016d7b3a"
"""Directory of the model: its name and a digest over its layout."""
CONFIG = BASE + "/config.json"
BLOCKS = BASE + "_r0"
VOCABULARY = 128_000


def cbor(value: Any) -> bytes:
    """Canonical CBOR (RFC 8949, 4.2) of None, ints >= 0, bytes, text and lists of them. Raises TypeError for others."""
    if value is None:
        return b"\xf6"
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return _head(0, value)
    if isinstance(value, bytes):
        return _head(2, len(value)) + value
    if isinstance(value, str):
        text = value.encode()
        return _head(3, len(text)) + text
    if isinstance(value, (list, tuple)):
        return _head(4, len(value)) + b"".join(map(cbor, value))
    raise TypeError("no canonical form for {!r}".format(type(value)))


def _head(major: int, value: int) -> bytes:
    if value < 24:
        return bytes([major << 5 | value])
    for code, form, limit in ((24, ">B", 1 << 8), (25, ">H", 1 << 16), (26, ">I", 1 << 32), (27, ">Q", 1 << 64)):
        if value < limit:
            return bytes([major << 5 | code]) + struct.pack(form, value)
    raise TypeError("{} does not fit 64 bits".format(value))


def none_hash(seed: str) -> bytes:
    """The parent of the first block."""
    return hashlib.sha256(cbor(seed)).digest()


def block_hashes(seed: str, blocks: int, tokens: int) -> "list[bytes]":
    """The hashes of a prompt whose token j of block i is (tokens * i + j) mod 128,000."""
    parent, found = none_hash(seed), []
    for block in range(blocks):
        ids = [(tokens * block + place) % VOCABULARY for place in range(tokens)]
        parent = hashlib.sha256(cbor([parent, ids, None])).digest()
        found.append(parent)
    return found


def block_path(digest: bytes) -> str:
    """Where a block lies, relative to the shared root."""
    name = digest.hex()
    return "{}/{}/{}_g0/{}.bin".format(BLOCKS, name[:3], name[3:5], name)
