"""Where the shipped profiles are."""

from __future__ import annotations

from pathlib import Path

import fsconform


def shelf() -> Path:
    """The folder of the profiles: inside the package (wheel), or beside it (checkout)."""
    package = Path(fsconform.__file__).parent
    inside = package / "profiles"
    return inside if inside.is_dir() else package.parent / "profiles"
