"""`--hosts FILE`: the sites of a rack, one per line."""

from __future__ import annotations

import re
from pathlib import Path

from fsconform.vocabulary.errors import CannotTestError
from fsconform.vocabulary.sites import parse_site

_HOST = re.compile(r"[A-Za-z0-9_.:@\[\]-]+")


def read_hosts(file: Path, mount: str | None) -> list[str]:
    """The sites of a file as texts: per line a site as `--site` takes it, or the name of a host that ssh knows, which
    stands for `mount` on that host. Empty lines and what follows `#` at the start or after a space do not count.

    Raises CannotTestError, naming file and line.
    """
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a text in UTF-8"
        raise CannotTestError(f"--hosts {file}: {reason}") from None
    sites: dict[str, int] = {}
    for number, line in enumerate(lines, start=1):
        text = re.sub(r"(^|\s)#.*", "", line).strip()
        if text:
            site = _site(text, mount, f"--hosts {file}, line {number}")
            if site in sites:
                raise CannotTestError(f"--hosts {file}, line {number}: {site!r} is in line {sites[site]} already")
            sites[site] = number
    if not sites:
        raise CannotTestError(f"--hosts {file}: no site in it; give one site or host per line")
    return list(sites)


def names_hosts(file: Path) -> bool:
    """Whether some line is the bare name of a host. Raises CannotTestError as `read_hosts` does."""
    return any(site.endswith(":/?") for site in read_hosts(file, "/?"))


def _site(text: str, mount: str | None, where: str) -> str:
    if "=" in text or text.startswith("/"):
        try:
            parse_site(text)
        except CannotTestError as error:
            raise CannotTestError(f"{where}: {error}") from None
        if text.partition("=")[0] not in ("ssh", "exec", "lab") and not text.startswith("/"):
            raise CannotTestError(f"{where}: {text!r} is no site; give /path, ssh=HOST:/path, exec=COMMAND:/path")
        return text
    if ":/" in text:
        raise CannotTestError(f"{where}: {text!r} is no site; did you mean {'ssh=' + text!r}?")
    if not _HOST.fullmatch(text) or text.startswith("-"):
        raise CannotTestError(f"{where}: {text!r} is neither a site nor the name of a host")
    if mount is None:
        raise CannotTestError(f"{where}: the host {text!r} needs a path: give MOUNT, or write ssh={text}:/path")
    if not mount.startswith("/"):
        raise CannotTestError(f"{where}: the host {text!r} needs an absolute MOUNT, not {mount!r}")
    return f"ssh={text}:{mount}"


def all_sites(mount: str | None, sites: list[str], hosts: Path | None) -> list[str]:
    """Every site of a command line. MOUNT is a site of this host, unless it is the path of bare host names."""
    if hosts is None:
        return ([] if mount is None else [mount]) + sites
    of_hosts = mount is not None and names_hosts(hosts)
    return ([] if mount is None or of_hosts else [mount]) + sites + read_hosts(hosts, mount)
