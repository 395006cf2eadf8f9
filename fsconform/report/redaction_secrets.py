"""The names that a run knows: hosts, users, addresses and paths of its sites, and of the machine that bundles it."""

from __future__ import annotations

import getpass
import platform
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from fsconform.report.redaction import BOOT, HOST, PATH, USER, Secret


def secrets_of(environment: Mapping[str, Any]) -> tuple[Secret, ...]:
    """Of the sites in environment.json."""
    return tuple(secret for site in environment["sites"] for secret in _of_site(site))


def secrets_here(run: Path) -> tuple[Secret, ...]:
    """Of this machine and user, and where the run's files are."""
    try:
        user = getpass.getuser()
    except (OSError, KeyError):
        user = ""
    home = str(Path.home())
    return (
        *_host(platform.node()), Secret(USER, user), Secret(PATH, home), Secret(USER, Path(home).name),
        Secret(PATH, str(run.absolute())),
    )  # fmt: skip


def _of_site(site: Mapping[str, Any]) -> Iterator[Secret]:
    letter = site["letter"]
    yield from _host(site["host"])
    yield Secret(BOOT, site["boot_id"])
    yield Secret(PATH, site["path"], f"/site-{letter}")
    yield Secret(PATH, site["mount_point"])
    yield Secret(PATH, site.get("mount_root", "/"))
    yield from _place(site["source"])
    yield from _place(site.get("target", "") + ":")
    yield Secret(USER, (site.get("around") or {}).get("user", ""))
    spec = site["spec"].partition("=")[2]
    if site["spec"].startswith(("ssh=", "exec=")):
        target, _, path = spec.rpartition(":/")
        yield from _place(f"{target}:/{path}")


def _place(source: str) -> Iterator[Secret]:
    """What `user@host:/path` names; nothing of a label such as `fsconform:strict`."""
    target, colon, path = source.partition(":")
    if colon and (path.startswith("/") or not path) and " " not in target and "/" not in target:
        user, _, host = target.rpartition("@")
        yield Secret(USER, user)
        yield from _host(host)
        yield Secret(PATH, path)
    elif source.startswith("/"):
        yield Secret(PATH, source)


def _host(name: str) -> Iterator[Secret]:
    """A host, with and without its domain."""
    yield Secret(HOST, name)
    if not name.replace(".", "").isdigit():
        yield Secret(HOST, name.partition(".")[0])
