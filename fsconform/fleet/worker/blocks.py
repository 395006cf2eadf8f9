"""Contents of blocks: every page says which block, page and version it is, so that every read judges itself.

Write-once block (version 0): page p of block h repeats SHA-256(h, p). Replaceable block (version >= 1): every page
starts with a header (magic, writer, sequence, length, page) and then repeats SHA-256(h, p, version);
`version` = writer << 32 | sequence. The numbers of the classes are those of `vocabulary.blocks.Content`.
"""

from __future__ import annotations

import hashlib
import struct
from collections import OrderedDict
from typing import NamedTuple, Optional

PAGE = 4096
EXACT, SHORT, LONG, ZERO, FOREIGN, TORN = range(6)

_HEADER = struct.Struct("<8sIIQQ")
_MAGIC = b"fsblock1"
_DIGEST = 32
_ZEROS = bytes(PAGE)
_LONGEST = 1 << 32
_CACHE_BYTES = 64 << 20
_cache: "OrderedDict[tuple[str, int, int], bytes]" = OrderedDict()


class Header(NamedTuple):
    """What a page of a replaceable block says of itself. `length` is of the whole block, bytes."""

    version: int
    length: int
    page: int


def digest(key: str, page: int, version: int) -> bytes:
    """The 32 bytes that a page repeats."""
    words = "{}:{}".format(key, page) if version == 0 else "{}:{}:{}".format(key, page, version)
    return hashlib.sha256(words.encode()).digest()


def make(key: str, version: int, size: int) -> bytes:
    """All bytes of a block; the most recently used ones are kept (64 MiB at most)."""
    name = (key, version, size)
    content = _cache.pop(name, None)
    if content is None:
        pages = (size + PAGE - 1) // PAGE
        content = b"".join(_page(key, page, version, size) for page in range(pages))[:size]
    if size <= _CACHE_BYTES // 4:
        _cache[name] = content
        while len(_cache) > 4 and sum(map(len, _cache.values())) > _CACHE_BYTES:
            _cache.popitem(last=False)
    return content


def _page(key: str, page: int, version: int, size: int) -> bytes:
    if version == 0:
        return digest(key, page, 0) * (PAGE // _DIGEST)
    header = _HEADER.pack(_MAGIC, version >> 32, version & 0xFFFFFFFF, size, page)
    return header + digest(key, page, version) * ((PAGE - _HEADER.size) // _DIGEST)


def verify(data: bytes, key: str, version: int, size: int) -> "tuple[int, int]":
    """(class | version << 8, length) of bytes that were read.

    size > 0, version 0: a write-once block. size 0: any version of a replaceable block. Otherwise that version is
    expected; another whole version is EXACT with the version found.
    """
    if size and data == make(key, version, size):
        return EXACT | version << 8, len(data)
    if not size or version:
        found = _claimed(data, key)
        if found is not None:
            version, size = found.version, found.length
            if data == make(key, version, size):
                return EXACT | version << 8, len(data)
    if not size:
        return _classify_unknown(data), len(data)
    return _classify(data, key, version, size) | version << 8, len(data)


def _claimed(data: bytes, key: str) -> Optional[Header]:
    """The first header that is a true page of any version of this block."""
    for page in range((len(data) + PAGE - 1) // PAGE):
        header = _header(data[page * PAGE : page * PAGE + _HEADER.size + _DIGEST])
        if header is not None and header.length < _LONGEST:
            start = page * PAGE + _HEADER.size
            seen = data[start : start + _DIGEST]
            if seen == digest(key, header.page, header.version)[: len(seen)]:
                return header
    return None


def _header(page: bytes) -> Optional[Header]:
    if len(page) < _HEADER.size:
        return None
    magic, writer, sequence, length, number = _HEADER.unpack_from(page)
    version = writer << 32 | sequence
    return Header(version, length, number) if magic == _MAGIC and version else None


def _classify_unknown(data: bytes) -> int:
    """The class of bytes in which no page names a version of the block."""
    if not data:
        return SHORT
    pages = [data[start : start + PAGE] for start in range(0, len(data), PAGE)]
    if all(_is_zero(page) for page in pages):
        return ZERO
    return FOREIGN if all(_is_zero(page) or _is_valid(page) for page in pages) else TORN


def _classify(data: bytes, key: str, version: int, size: int) -> int:
    """The class of bytes that differ from the block's."""
    expected = make(key, version, size)
    if len(data) < size and data == expected[: len(data)]:
        return SHORT
    if len(data) > size and data[:size] == expected:
        return LONG
    if len(data) != size:
        return TORN
    foreign = False
    for start in range(0, size, PAGE):
        page = data[start : start + PAGE]
        if page == expected[start : start + PAGE] or _is_zero(page):
            continue
        if not _is_valid(page) or _is_other_version(page, key, version):
            return TORN
        foreign = True
    return FOREIGN if foreign else ZERO


def _is_zero(page: bytes) -> bool:
    return page == _ZEROS[: len(page)]


def _is_valid(page: bytes) -> bool:
    """Whether bytes are a page (or the beginning of one) of some block: they repeat what they begin with."""
    body = page[_HEADER.size :] if _header(page) else page
    first = body[:_DIGEST]
    return len(body) > _DIGEST and body == (first * (PAGE // _DIGEST))[: len(body)]


def _is_other_version(page: bytes, key: str, version: int) -> bool:
    """Whether a page belongs to another version of this very block."""
    header = _header(page)
    if header is None or header.version == version:
        return False
    seen = page[_HEADER.size : _HEADER.size + _DIGEST]
    return seen == digest(key, header.page, header.version)[: len(seen)]
