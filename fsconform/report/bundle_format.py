"""What an evidence bundle is made of, and how its zip file is written."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from typing import Any

FORMAT = "fsconform-bundle/1"
MANIFEST, README, ENVIRONMENT = "manifest.json", "README.md", "environment.json"
WITNESS, REPRODUCER, HISTORY = "witness.json", "repro.py", "history.jsonl.gz"
REPORTS = ("report.html", "junit.xml")
PROFILES = "profile/"
MAIN_PROFILE = "profile/profile.toml"
_EPOCH = (1980, 1, 1, 0, 0, 0)
"""Equal contents give equal zip files."""


def manifest(files: Mapping[str, bytes], directories: Mapping[str, str], facts: Mapping[str, Any]) -> bytes:
    """manifest.json: every other member with its SHA-256; `directories`: name of a witness -> where its files are."""
    told = {
        "format": FORMAT, **facts,
        "witnesses": [{"name": name, "directory": place} for name, place in directories.items()],
        "files": {
            name: {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
            for name, content in sorted(files.items())
        },
    }  # fmt: skip
    return (json.dumps(told, indent=1) + "\n").encode("ascii")


def zipped(files: Mapping[str, bytes], first: Sequence[str] = (README, REPRODUCER, MANIFEST)) -> bytes:
    """The zip file, what people read first at its beginning."""
    out = io.BytesIO()
    order = [*(name for name in first if name in files), *(name for name in sorted(files) if name not in first)]
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in order:
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o755 if name.endswith(REPRODUCER) else 0o644) << 16
            archive.writestr(entry, files[name])
    return out.getvalue()
