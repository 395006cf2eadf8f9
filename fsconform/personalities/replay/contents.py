"""Contents of blocks: page p of a block repeats SHA-256(hash, p as 32 bits, big endian), so every read judges itself.

The numbers of the classes are those of `vocabulary.blocks.Content`.
"""

from __future__ import annotations

import hashlib
from typing import Sequence

PAGE = 4096
EXACT, SHORT, LONG, ZERO, FOREIGN, TORN = range(6)
NOBODY = -1
_DIGEST = 32
_ZEROS = bytes(PAGE)


def make(digest: bytes, size: int) -> bytes:
    """All bytes of a block."""
    pages = (size + PAGE - 1) // PAGE
    content = b"".join(_page(digest, page) for page in range(pages))
    return content if len(content) == size else content[:size]


def _page(digest: bytes, page: int) -> bytes:
    return hashlib.sha256(digest + page.to_bytes(4, "big")).digest() * (PAGE // _DIGEST)


def classify(data: bytes, digests: "Sequence[bytes]", block: int, size: int) -> "tuple[int, int]":
    """(class, whose): what was read in place of a block; `whose` is the block that a foreign page belongs to."""
    expected = make(digests[block], size)
    if data == expected:
        return EXACT, NOBODY
    if len(data) < size and data == expected[: len(data)]:
        return SHORT, NOBODY
    if len(data) > size and data[:size] == expected:
        return LONG, NOBODY
    if len(data) != size:
        return TORN, NOBODY
    return _classify_pages(data, expected, digests)


def _classify_pages(data: bytes, expected: bytes, digests: "Sequence[bytes]") -> "tuple[int, int]":
    found, whose = ZERO, NOBODY
    for start in range(0, len(data), PAGE):
        page = data[start : start + PAGE]
        if page == expected[start : start + PAGE] or page == _ZEROS[: len(page)]:
            continue
        owner = _owner(page, start // PAGE, digests, whose, (len(data) + PAGE - 1) // PAGE)
        if owner == NOBODY:
            return TORN, NOBODY
        found, whose = FOREIGN, owner
    return found, whose


def _owner(page: bytes, number: int, digests: "Sequence[bytes]", likely: int, pages: int) -> int:
    """The block whose page these bytes are: the same page of the likely one, of any, then any page of any."""
    first = page[:_DIGEST]
    if page != (first * (PAGE // _DIGEST))[: len(page)]:
        return NOBODY
    blocks = [likely] * (likely != NOBODY) + list(range(len(digests)))
    for numbers in ((number,), range(pages)):
        for block in blocks:
            for place in numbers:
                if hashlib.sha256(digests[block] + place.to_bytes(4, "big")).digest() == first:
                    return block
    return NOBODY
