"""Reading a bundle that anybody may have made: in memory, within limits, and only what the manifest names.

Nothing is unpacked to disk, so no member can lead out of a directory; members that would are refused all the same,
because whoever unpacks the bundle with another program should be warned.
"""

from __future__ import annotations

import hashlib
import json
import stat
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fsconform.report import bundle_format as layout
from fsconform.vocabulary.errors import CannotTestError

MOST_MEMBERS = 1000
MOST_BYTES = 256 << 20
"""Of all members together, unpacked."""
MOST_HISTORY_BYTES = 512 << 20
"""Of one history, unpacked a second time."""
LONGEST_LINE = 16 << 20
_PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED = 0x1


@dataclass(frozen=True, slots=True)
class Bundle:
    """The members of a bundle, and which of them differ from what the manifest says."""

    path: Path
    files: dict[str, bytes]
    manifest: dict[str, Any]
    altered: tuple[str, ...]
    """Members whose SHA-256 is another one, that are missing, or that the manifest does not name."""

    def wrong(self, name: str, what: str) -> CannotTestError:
        """The error for one member."""
        return CannotTestError(f"{self.path}: {name}: {what}")

    def content(self, name: str) -> bytes:
        """A member. Raises CannotTestError where it is missing."""
        if name not in self.files:
            raise self.wrong(name, "is missing")
        return self.files[name]

    def json(self, name: str) -> Any:
        """A member as JSON. Raises CannotTestError where it is none."""
        return parse_json(self.content(name), f"{self.path}: {name}")

    def lines(self, name: str) -> Iterator[Any]:
        """The lines of JSON of a gzipped member, one after the other. Raises CannotTestError within limits of size."""
        for line in _unzipped_lines(self.content(name), f"{self.path}: {name}"):
            yield parse_json(line, f"{self.path}: {name}")


def read_bundle(path: Path) -> Bundle:
    """The bundle. Raises CannotTestError for whatever is no bundle, or is made to do harm."""
    try:
        files = _read_members(path)
    except OSError as error:
        raise CannotTestError(f"{path}: cannot be read: {error.strerror or error}") from None
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError, RuntimeError, ValueError) as error:
        raise CannotTestError(f"{path}: is no zip file that can be read: {error}") from None
    if layout.MANIFEST not in files:
        raise CannotTestError(f"{path}: {layout.MANIFEST} is missing: not a bundle of fsconform evidence")
    manifest = parse_json(files[layout.MANIFEST], f"{path}: {layout.MANIFEST}")
    if not isinstance(manifest, dict) or manifest.get("format") != layout.FORMAT:
        told = manifest.get("format") if isinstance(manifest, dict) else None
        raise CannotTestError(f"{path}: {layout.MANIFEST}: format {told!r}, this version reads {layout.FORMAT}")
    listed = manifest.get("files")
    if not isinstance(listed, dict) or not all(isinstance(entry, dict) for entry in listed.values()):
        raise CannotTestError(f"{path}: {layout.MANIFEST}: files: must be an object of objects")
    return Bundle(path, files, manifest, tuple(_altered(files, listed)))


def parse_json(content: bytes, where: str) -> Any:
    """A value of JSON. Raises CannotTestError, beginning with `where`, for anything else, however deep."""
    try:
        return json.loads(content.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise CannotTestError(f"{where}: is no JSON: {str(error)[:200]}") from None


def _read_members(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        entries = archive.infolist()
        if len(entries) > MOST_MEMBERS:
            raise CannotTestError(f"{path}: {len(entries)} members, at most {MOST_MEMBERS} are read")
        if (size := sum(entry.file_size for entry in entries)) > MOST_BYTES:
            raise CannotTestError(f"{path}: unpacks to {size:,} bytes, at most {MOST_BYTES:,} are read")
        seen: set[str] = set()
        for entry in entries:
            if fault := _fault(entry, seen):
                raise CannotTestError(f"{path}: member {entry.filename[:100]!r} {fault}")
            seen.add(entry.filename)
        return {entry.filename: _read(archive, entry) for entry in entries if not entry.is_dir()}


def _fault(entry: zipfile.ZipInfo, seen: set[str]) -> str:
    """Why a member is refused; empty where it is not."""
    name = entry.filename
    if name in seen:
        return "is there twice"
    if name.startswith(("/", "\\")) or "\\" in name or ":" in name or ".." in name.split("/") or "\0" in name:
        return "leads out of the directory it is unpacked in"
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if kind and kind not in (stat.S_IFREG, stat.S_IFDIR):
        return "is a link or a special file"
    if entry.flag_bits & _ENCRYPTED:
        return "is encrypted"
    return "" if entry.compress_type in _PACKINGS else "is packed in a way that is not read"


def _read(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    """Not more than the entry says it is, whatever is packed."""
    with archive.open(entry) as stream:
        content = stream.read(entry.file_size + 1)
    if len(content) != entry.file_size:
        raise ValueError(f"{entry.filename[:100]!r} has another length than it says")
    return content


def _altered(files: dict[str, bytes], listed: dict[str, dict[str, Any]]) -> Iterator[str]:
    for name in sorted({*files, *listed} - {layout.MANIFEST}):
        content, entry = files.get(name), listed.get(name)
        if content is None or entry is None or hashlib.sha256(content).hexdigest() != entry.get("sha256"):
            yield name


def _unzipped_lines(content: bytes, where: str) -> Iterator[bytes]:
    unpacker, total, rest = zlib.decompressobj(31), 0, b""
    piece = content
    try:
        while piece and not unpacker.eof:
            text = unpacker.decompress(piece, 1 << 20)
            piece = unpacker.unconsumed_tail
            total += len(text)
            if total > MOST_HISTORY_BYTES:
                raise CannotTestError(f"{where}: unpacks to more than {MOST_HISTORY_BYTES:,} bytes")
            *lines, rest = (rest + text).split(b"\n")
            if len(rest) > LONGEST_LINE:
                raise CannotTestError(f"{where}: has a line of more than {LONGEST_LINE:,} bytes")
            yield from lines
    except zlib.error as error:
        raise CannotTestError(f"{where}: cannot be unpacked: {error}") from None
    if not unpacker.eof:
        raise CannotTestError(f"{where}: is cut off")
    if rest:
        yield rest
