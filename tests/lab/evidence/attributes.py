"""Extended attributes, permissions, names as strings, times."""

from __future__ import annotations

import os
import time
from pathlib import Path

from tests.lab.bench import exclusive, told, until
from tests.lab.evidence.common import BLOCK, Evidence, refused

ACL = "system.nfs4_acl"


def _file(a: Path, name: str = "f") -> Path:
    (a / name).write_bytes(BLOCK)
    return a / name


def _xattr_forgotten(a: Path, b: Path) -> bool:
    os.setxattr(_file(a), "user.k", b"v")
    return refused(lambda: os.getxattr(a / "f", "user.k"), "ENODATA")


def _xattr_lost_at_rename(a: Path, b: Path) -> bool:
    os.setxattr(_file(a), "user.k", b"v")
    assert os.getxattr(b / "f", "user.k") == b"v"
    (a / "f").rename(a / "g")
    return refused(lambda: os.getxattr(b / "g", "user.k"), "ENODATA")


def _xattr_late(a: Path, b: Path) -> bool:
    os.setxattr(_file(a), "user.k", b"v")
    assert os.getxattr(a / "f", "user.k") == b"v"
    shown = refused(lambda: os.getxattr(b / "f", "user.k"), "ENODATA")
    until(lambda: told(lambda: os.getxattr(b / "f", "user.k")) == "ok")
    return shown


def _xattr_listed(a: Path, b: Path) -> bool:
    if ACL not in os.listxattr(_file(a)):
        return False
    value = os.getxattr(a / "f", ACL)
    return refused(lambda: os.setxattr(_file(a, "g"), ACL, value), "EOPNOTSUPP", "ENOTSUP")


def _chmod(a: Path, b: Path) -> bool:
    os.utime(_file(a))
    return refused(lambda: os.chmod(a / "f", 0o400), "EACCES")


def _case_folding(a: Path, b: Path) -> bool:
    _file(a, "Name")
    shown = (b / "nAME").exists() and (b / "nAME").read_bytes() == BLOCK
    assert shown == refused(lambda: exclusive(b / "name"), "EEXIST")
    assert os.listdir(b) == ["Name"] or not shown
    return shown


def _names_143(a: Path, b: Path) -> bool:
    assert os.statvfs(a).f_namemax == 255
    exclusive(a / ("x" * 143))
    shown = refused(lambda: exclusive(a / ("x" * 144)), "ENAMETOOLONG")
    assert shown == refused(lambda: _file(a).rename(a / ("y" * 144)), "ENAMETOOLONG")
    return shown


def _clock_skewed(a: Path, b: Path) -> bool:
    return abs(_file(a).stat().st_mtime - time.time()) > 30


def _clock_backward(a: Path, b: Path) -> bool:
    times = [_file(a, f"n{number}").stat().st_mtime_ns for number in range(8)]
    return times != sorted(times)


def _clock_coarse(a: Path, b: Path) -> bool:
    return all(_file(a, f"n{number}").stat().st_mtime_ns % (2 * 10**9) == 0 for number in range(3))


EVIDENCE: dict[str, Evidence] = {
    "xattr-forgotten": _xattr_forgotten,
    "xattr-lost-at-rename": _xattr_lost_at_rename,
    "xattr-late": _xattr_late,
    "xattr-listed-not-settable": _xattr_listed,
    "chmod-eacces": _chmod,
    "case-folding": _case_folding,
    "names-143": _names_143,
    "clock-skewed": _clock_skewed,
    "clock-backward": _clock_backward,
    "clock-coarse": _clock_coarse,
}
