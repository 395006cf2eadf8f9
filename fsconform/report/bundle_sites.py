"""Sites and profile of a bundle, as the run had them."""

from __future__ import annotations

import re
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fsconform.judging.profiles import Profile, load_profile
from fsconform.report import bundle_format as layout
from fsconform.report.bundle_reading import Bundle
from fsconform.vocabulary.errors import CannotTestError
from fsconform.vocabulary.sites import LETTERS, Mount, Site, SiteSpec

_PROFILE = re.compile(r"profile/[A-Za-z0-9._-]+\.toml\Z")
_TEXTS = ("letter", "path", "host", "boot_id", "time_namespace", "kernel", "python", "fstype", "source", "device",
          "mount_point", "options", "spec")  # fmt: skip


def sites_of(environment: Mapping[str, Any]) -> tuple[Site, ...]:
    """The sites of environment.json. Raises ValueError, TypeError or KeyError where it does not describe any."""
    sites = tuple(_site(entry) for entry in environment["sites"])
    if [site.letter for site in sites] != list(LETTERS[: len(sites)]) or not sites:
        raise ValueError("sites: are not lettered a, b, c, ...")
    return sites


def _site(entry: Mapping[str, Any]) -> Site:
    texts = {key: entry[key] for key in _TEXTS}
    if wrong := [key for key, value in texts.items() if not isinstance(value, str)]:
        raise ValueError(f"sites: {', '.join(wrong)} must be text")
    booted = entry.get("booted_ns")
    mount = Mount(texts["device"], texts["mount_point"], texts["fstype"], texts["source"], texts["options"])
    spec = SiteSpec(texts["spec"], "local", "", texts["path"])
    options = tuple(sorted((str(key), str(value)) for key, value in entry["client_options"].items()))
    return Site(
        texts["letter"], spec, texts["path"], texts["host"], texts["boot_id"], texts["time_namespace"],
        texts["kernel"], texts["python"], int(entry["uid"]), int(entry["gid"]), mount, bool(entry["read_only"]),
        int(entry["free_bytes"]), int(entry.get("free_files", 0)), options,
        (int(booted[0]), int(booted[1])) if booted else None,
    )  # fmt: skip


def profile_of(bundle: Bundle) -> Profile:
    """The profile inside a bundle; what it extends is looked for there, then among ours. Raises CannotTestError."""
    names = [name for name in bundle.files if _PROFILE.match(name)]
    bundle.content(layout.MAIN_PROFILE)
    with tempfile.TemporaryDirectory(prefix="fsconform-verify-") as place:
        for name in names:
            content = bundle.files[name]
            _refuse_paths(bundle, name, content)
            (Path(place) / name.removeprefix(layout.PROFILES)).write_bytes(content)
        try:
            return load_profile(str(Path(place) / layout.MAIN_PROFILE.removeprefix(layout.PROFILES)))
        except CannotTestError as error:  # told with the bundle's path: ours was there for a moment only
            raise CannotTestError(str(error).replace(f"{place}/", f"{bundle.path}: {layout.PROFILES}")) from None


def _refuse_paths(bundle: Bundle, name: str, content: bytes) -> None:
    """A profile of a stranger must not make us read files of ours."""
    try:
        head = tomllib.loads(content.decode("utf-8")).get("profile", {})
    except (ValueError, RecursionError) as error:
        raise bundle.wrong(name, f"is no TOML: {str(error)[:200]}") from None
    base = head.get("extends", "") if isinstance(head, dict) else ""
    if base and not (isinstance(base, str) and re.fullmatch(r"[A-Za-z0-9._-]+", base) and not base.endswith(".toml")):
        raise bundle.wrong(name, "profile.extends must be the name of a profile")


def letters_of(sites: Sequence[Site]) -> str:
    """The letters of sites."""
    return "".join(site.letter for site in sites)
