"""Which calls a filesystem offers at this site, each asked with a free target in a directory of its own.

NOREPLACE must be asked so: over an existing name the kernel answers EEXIST by itself, and the filesystem is never
asked whether it knows the flag (renameat2(2); Linux fs/namei.c).
"""

import errno
import fcntl
import os
from typing import Any, Callable

from fsconform.fleet.worker import calls

WORKS = "works"
UNKNOWN = "unknown"
"""This interpreter or C library has no such call: says nothing about the filesystem."""
MISMATCH = "mismatch"
"""The call succeeded and gave back, or left behind, something else than it should."""
_PAGE = 4096
_FIRST, _SECOND = b"first page " * 372 + b"....", b"other page " * 372 + b"...."


def _make_file(path: str, body: bytes = _FIRST) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        os.write(fd, body)
    finally:
        os.close(fd)


def _content(path: str) -> bytes:
    with open(path, "rb", buffering=0) as handle:
        return handle.read(2 * _PAGE) or b""


def _probe_link(at: str) -> bool:
    _make_file(at + "/a")
    os.link(at + "/a", at + "/b")
    return _content(at + "/b") == _FIRST


def _probe_noreplace(at: str) -> bool:
    _make_file(at + "/a")
    calls.rename_noreplace(at + "/a", at + "/b")
    return os.listdir(at) == ["b"]


def _probe_exchange(at: str) -> bool:
    _make_file(at + "/a", _FIRST)
    _make_file(at + "/b", _SECOND)
    calls.rename_exchange(at + "/a", at + "/b")
    return sorted(os.listdir(at)) == ["a", "b"] and _content(at + "/a") == _SECOND


def _probe_xattr(at: str) -> bool:
    _make_file(at + "/a")
    os.setxattr(at + "/a", "user.fsconform", b"value")
    return os.getxattr(at + "/a", "user.fsconform") == b"value"


def _with_descriptor(at: str, action: Callable[[int], Any]) -> bool:
    _make_file(at + "/a")
    fd = os.open(at + "/a", os.O_RDWR | os.O_CLOEXEC)
    try:
        action(fd)
    finally:
        os.close(fd)
    return True


def _probe_flock(at: str) -> bool:
    return _with_descriptor(at, lambda fd: fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB))


def _probe_fcntl_lock(at: str) -> bool:
    return _with_descriptor(at, lambda fd: fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB))


def _probe_direct(at: str) -> bool:
    _make_file(at + "/a")
    return calls.read_direct(at + "/a", _PAGE) == _FIRST


def _probe_mmap(at: str) -> bool:
    _make_file(at + "/a")
    return calls.read_mapped(at + "/a") == _FIRST


def _probe_fallocate(at: str) -> bool:
    _with_descriptor(at, lambda fd: calls.fallocate(fd, 0, 4 * _PAGE))
    return os.stat(at + "/a").st_size == 4 * _PAGE


def _probe_tmpfile(at: str) -> bool:
    os.close(os.open(at, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600))
    return os.listdir(at) == []


def _probe_fsync_dir(at: str) -> bool:
    calls.sync_directory(at)
    return True


FEATURES: "dict[str, Callable[[str], bool]]" = {
    "link": _probe_link,
    "rename-noreplace": _probe_noreplace,
    "rename-exchange": _probe_exchange,
    "xattr": _probe_xattr,
    "flock": _probe_flock,
    "fcntl-lock": _probe_fcntl_lock,
    "o-direct": _probe_direct,
    "mmap": _probe_mmap,
    "fallocate": _probe_fallocate,
    "o-tmpfile": _probe_tmpfile,
    "fsync-dir": _probe_fsync_dir,
}
"""Named as the properties `capability.*`."""


def _word(error: OSError) -> str:
    if error.errno == calls.UNSUPPORTED_HERE:
        return UNKNOWN
    if error.errno == errno.EOPNOTSUPP:  # equals ENOTSUP on Linux; POSIX calls of files say ENOTSUP
        return "ENOTSUP"
    return errno.errorcode.get(error.errno or 0, "errno %s" % error.errno)


def _probe_one(place: str, feature: str) -> str:
    try:
        os.mkdir(place, 0o700)
    except OSError as error:
        return _word(error)
    try:
        return WORKS if FEATURES[feature](place) else MISMATCH
    except OSError as error:
        return _word(error)
    except AttributeError:  # an `os` without the call or the flag
        return UNKNOWN
    finally:
        _clear(place)


def _clear(place: str) -> None:
    for name in ("a", "b"):
        try:
            os.unlink(place + "/" + name)
        except OSError:
            continue
    try:
        os.rmdir(place)
    except OSError:
        return


def probe_capabilities(directory: str, prefix: str) -> "dict[str, str]":
    """Feature -> `works`, the errno name of the refusal, `mismatch` or `unknown`.

    Each is asked in a directory of its own, `directory/prefix.feature`, which is removed again.
    """
    return {feature: _probe_one(os.path.join(directory, prefix + "." + feature), feature) for feature in FEATURES}


CAPABILITIES: "dict[str, Callable[..., Any]]" = {"probe_capabilities": probe_capabilities}
