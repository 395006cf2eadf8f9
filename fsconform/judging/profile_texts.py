"""The texts of a profile and of those it extends, so that a verdict can be told again without them being at hand."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

from fsconform.judging.profiles import Profile
from fsconform.judging.shelf import shelf
from fsconform.vocabulary.errors import CannotTestError

MAIN = "profile.toml"
_EXTENDS = re.compile(r"^(\s*extends\s*=\s*).*$", re.MULTILINE)
_DEEPEST = 8


def profile_texts(profile: Profile) -> dict[str, str]:
    """File name -> text: `profile.toml`, and the profiles that it extends under their names.

    Each extends the next by its name, whatever path stood there. Raises CannotTestError where one cannot be read.
    """
    texts: dict[str, str] = {}
    path, name = Path(profile.file), MAIN
    while len(texts) < _DEEPEST:
        try:
            text = path.read_text("utf-8")
            base = tomllib.loads(text).get("profile", {}).get("extends")
        except (OSError, ValueError) as error:
            raise CannotTestError(f"{path}: cannot be read: {error}") from None
        if not base:
            texts[name] = text
            break
        following = _base(path, str(base))
        # Every line of that name is one: no profile has another key `extends`.
        texts[name] = _EXTENDS.sub(lambda found, stem=following.stem: found[1] + json.dumps(stem), text)  # type: ignore[misc]
        path, name = following, f"{following.stem}.toml"
    return texts


def _base(path: Path, base: str) -> Path:
    """Where the profile is that this one extends (`profiles.load_profile` has the same rule)."""
    if "/" in base or base.endswith(".toml"):
        return Path(base)
    beside = path.parent / f"{base}.toml"
    return beside if beside.is_file() else shelf() / f"{base}.toml"
