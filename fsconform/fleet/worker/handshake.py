"""The handshake: each site leaves marks, looks at those of the others, and tries to replace and remove them.

Whether two paths are one directory, whose files a server says they are (squashed users) and whether a sticky
directory keeps one site from touching what another made all show here, before any promise is judged.
"""

import errno
import os
from typing import Any, Callable

WORKS = "works"


def _mark_word(error: OSError) -> str:
    return errno.errorcode.get(error.errno or 0, "errno %s" % error.errno)


def _write_mark(path: str, text: str) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)


def leave_mark(directory: str, name: str, text: str) -> dict[str, Any]:
    """Create `directory/name` with `text`, and say whose it became: errno (`works` on success), uid, gid."""
    path = os.path.join(directory, name)
    try:
        _write_mark(path, text)
        info = os.stat(path)
    except OSError as error:
        return {"errno": _mark_word(error), "uid": -1, "gid": -1}
    return {"errno": WORKS, "uid": info.st_uid, "gid": info.st_gid}


def look_at_mark(directory: str, name: str, text: str) -> dict[str, Any]:
    """One look: errno, same (whether the text is the expected one), uid and gid as they show here."""
    seen: dict[str, Any] = {"errno": WORKS, "same": False, "uid": -1, "gid": -1}
    try:
        fd = os.open(os.path.join(directory, name), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            info = os.fstat(fd)
            seen["uid"], seen["gid"] = info.st_uid, info.st_gid
            seen["same"] = os.read(fd, len(text.encode()) + 1) == text.encode()
        finally:
            os.close(fd)
    except OSError as error:
        seen["errno"] = _mark_word(error)
    return seen


def replace_mark(directory: str, name: str, text: str) -> str:
    """Rename a file of our own over `name`: `works` or the errno name. Leaves no temporary file."""
    temporary = os.path.join(directory, name + ".new")
    try:
        _write_mark(temporary, text)
    except OSError as error:
        return _mark_word(error)
    try:
        os.rename(temporary, os.path.join(directory, name))
    except OSError as error:
        remove_mark(directory, name + ".new")
        return _mark_word(error)
    return WORKS


def remove_mark(directory: str, name: str) -> str:
    """Unlink `name`: `works` or the errno name."""
    try:
        os.unlink(os.path.join(directory, name))
    except OSError as error:
        return _mark_word(error)
    return WORKS


HANDSHAKE: "dict[str, Callable[..., Any]]" = {
    "leave_mark": leave_mark,
    "look_at_mark": look_at_mark,
    "replace_mark": replace_mark,
    "remove_mark": remove_mark,
}
