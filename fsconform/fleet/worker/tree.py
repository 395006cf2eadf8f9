"""The run's own directory: made with a marker inside, and removed only where that marker is found.

Removal works on directory descriptors and never follows a symbolic link, so that neither a link planted inside nor
a directory swapped for one while we work can lead it outside (openat(2), O_NOFOLLOW; CVE-2022-21658 is that race).
"""

import errno
import os
import re
import time
from typing import Any, Callable

PREFIX = ".fsconform-"
MARKER = "fsconform-marker"
XATTR = "user.fsconform.run"
_RUN_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,63}\Z")
_OPEN_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_PASSES, _PAUSE_S = 4, 0.05
_DEEPEST = 60
_NAMED = 20


def _tree_word(error: OSError) -> str:
    return errno.errorcode.get(error.errno or 0, "errno %s" % error.errno)


def _shown(path: str) -> str:
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def marker_text(run_id: str) -> str:
    """What stands in the marker file of a run."""
    return "fsconform run %s\nThis directory belongs to a test run; fsconform clean removes it.\n" % run_id


def directory_name(run_id: str) -> str:
    """The name of a run's directory. Raises ValueError for an id outside `[a-z0-9-]`, 1-64 characters."""
    if not _RUN_ID.match(run_id):
        raise ValueError("run id %r: 1-64 characters of [a-z0-9-]" % run_id)
    return PREFIX + run_id


def make_run_directory(parent: str, run_id: str, mode: int) -> dict[str, str]:
    """Make `parent/.fsconform-<run id>` with marker and, where supported, user xattr.

    `mode`: its permissions, set in spite of the umask. Returns path, errno (`works` on success, then nothing else
    failed either), step (the call that failed) and xattr (`works` or the errno name: no failure).
    """
    path = os.path.join(parent, directory_name(run_id))
    made = {"path": path, "errno": "works", "step": "", "xattr": "unknown"}
    try:
        os.mkdir(path, 0o700)
    except OSError as error:
        return dict(made, errno=_tree_word(error), step="mkdir")
    step = "open"
    try:
        fd = os.open(path, _OPEN_DIRECTORY)
        try:
            step = "write the marker in"
            _write_marker(fd, run_id)
            made["xattr"] = _set_run_xattr(fd, run_id)
            step = "chmod"
            os.fchmod(fd, mode)
        finally:
            os.close(fd)
    except OSError as error:
        made.update(errno=_tree_word(error), step=step)
        _undo(path)
    return made


def _write_marker(top: int, run_id: str) -> None:
    fd = os.open(MARKER, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644, dir_fd=top)
    try:
        text = marker_text(run_id).encode()
        if os.write(fd, text) != len(text):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        os.fsync(fd)  # a full or quota-bound server may say so only here
    finally:
        os.close(fd)


def _set_run_xattr(top: int, run_id: str) -> str:
    if not hasattr(os, "setxattr"):
        return "unknown"
    try:
        os.setxattr(top, XATTR, run_id.encode())
    except OSError as error:
        return _tree_word(error)
    return "works"


def _undo(path: str) -> None:
    for call, target in ((os.unlink, os.path.join(path, MARKER)), (os.rmdir, path)):
        try:
            call(target)
        except OSError:
            continue


def marker_state(top: int, run_id: str) -> str:
    """`ours`, or why the open directory `top` is not this run's: no marker, another text, another xattr."""
    expected = marker_text(run_id).encode()
    try:
        fd = os.open(MARKER, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=top)
        try:
            found = os.read(fd, len(expected) + 1)
        finally:
            os.close(fd)
    except OSError as error:
        return "no marker (%s)" % _tree_word(error)
    if found != expected:
        return "the marker is of something else"
    try:
        written = os.getxattr(top, XATTR) if hasattr(os, "getxattr") else run_id.encode()
    except OSError:
        return "ours"
    return "ours" if written == run_id.encode() else "the run id in %s is another one" % XATTR


class _Sweep:
    """One removal: its deadline, the device it stays on, and what could not be removed."""

    def __init__(self, seconds: float, device: int, tell: Callable[[str], None]) -> None:
        self.end = time.monotonic() + seconds
        self.device = device
        self.tell = tell
        self.stays: dict[str, str] = {}

    def late(self) -> bool:
        return time.monotonic() > self.end

    def passes(self, top: int, where: str) -> None:
        """Empty the open directory `top` but for its marker, looking again a few times at what would not go."""
        for attempt in range(_PASSES):
            if attempt:
                time.sleep(_PAUSE_S)  # NFS renames what is held open to .nfsXXXX; it goes with its last holder
            self.stays.clear()
            self.empty(top, where, 0, MARKER)
            if self.late() or not (self.stays or self.listed(top, where, MARKER)):
                return

    def empty(self, fd: int, where: str, depth: int, kept: str = "") -> None:
        """Remove everything in the open directory `fd` but the name `kept`, as far as it goes."""
        for name in self.listed(fd, where, kept):
            if self.late():
                self.stays[where] = "time is up"
                return
            self.entry(fd, name, where, depth)

    def listed(self, fd: int, where: str, kept: str) -> list[str]:
        try:
            return [name for name in os.listdir(fd) if name != kept]
        except OSError as error:
            self.stays[where] = _tree_word(error)
            return []

    def entry(self, fd: int, name: str, where: str, depth: int) -> None:
        path = where + "/" + name
        self.tell("remove " + _shown(path))
        try:
            self.remove(fd, name, path, depth)
        except FileNotFoundError:
            return
        except OSError as error:
            self.stays.setdefault(path, _tree_word(error))  # "time is up" there is why it is not empty

    def remove(self, fd: int, name: str, path: str, depth: int) -> None:
        try:
            os.unlink(name, dir_fd=fd)
        except OSError as error:
            if error.errno not in (errno.EISDIR, errno.EPERM):
                raise
            self.subdirectory(fd, name, path, depth, error)

    def subdirectory(self, fd: int, name: str, path: str, depth: int, refusal: OSError) -> None:
        try:
            inner = os.open(name, _OPEN_DIRECTORY, dir_fd=fd)
        except OSError as error:
            raise (refusal if error.errno in (errno.ENOTDIR, errno.ELOOP) else error) from None
        try:
            if os.fstat(inner).st_dev != self.device:
                raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
            if depth >= _DEEPEST:
                raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG))
            self.empty(inner, path, depth + 1)
        finally:
            os.close(inner)
        os.rmdir(name, dir_fd=fd)


def _no_word(word: str) -> None:
    pass


def remove_run_directory(
    parent: str, run_id: str, seconds: float, tell: Callable[[str], None] = _no_word
) -> dict[str, Any]:
    """Remove `parent/.fsconform-<run id>` and all in it, if it carries this run's marker. Raises no OSError.

    `seconds`: when to stop between two entries. Returns state (`removed`, `absent`, `stays`, or `refused: WHY`),
    stays (at most 20 pairs of path and reason) and count (of all that stay). The marker goes last, so that what
    is left of an interrupted removal can still be recognised.
    """
    name = directory_name(run_id)
    top_path = os.path.join(parent, name)
    try:
        above = os.open(parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        return _remains({top_path: _tree_word(error)})
    try:
        tell("open " + _shown(top_path))
        top = os.open(name, _OPEN_DIRECTORY, dir_fd=above)
        try:
            state = marker_state(top, run_id)
            if state != "ours":
                return {"state": "refused: " + state, "stays": [], "count": 0}
            sweep = _Sweep(seconds, os.fstat(top).st_dev, tell)
            sweep.passes(top, top_path)
            if not sweep.stays:
                _remove_top(above, top, name, run_id)
            return _remains(sweep.stays)
        finally:
            os.close(top)
    except FileNotFoundError:
        return {"state": "absent", "stays": [], "count": 0}
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            return {"state": "refused: it is not a directory", "stays": [], "count": 0}
        return _remains({top_path: _tree_word(error)})
    finally:
        os.close(above)


def remove_finished(top_path: str, run_id: str, inside: str, seconds: float) -> "list[list[str]]":
    """Remove what an experiment made at `inside` (a relative path) in the run's directory. Raises no OSError.

    Returns pairs of path and reason of what stays; that is tried again when the whole directory goes.
    """
    opened: "list[int]" = []
    try:
        opened.append(os.open(top_path, _OPEN_DIRECTORY))
        state = marker_state(opened[0], run_id)
        if state != "ours":
            return [[_shown(top_path), state]]
        *parents, name = inside.split("/")
        for parent in parents:
            opened.append(os.open(parent, _OPEN_DIRECTORY, dir_fd=opened[-1]))
        sweep = _Sweep(seconds, os.fstat(opened[0]).st_dev, _no_word)
        sweep.entry(opened[-1], name, os.path.join(top_path, *parents), 0)
        return _remains(sweep.stays)["stays"]  # type: ignore[no-any-return]
    except OSError as error:
        return [[_shown(os.path.join(top_path, inside)), _tree_word(error)]]
    finally:
        for fd in reversed(opened):
            os.close(fd)


def _remove_top(above: int, top: int, name: str, run_id: str) -> None:
    os.unlink(MARKER, dir_fd=top)
    try:
        os.rmdir(name, dir_fd=above)
    except OSError:
        _write_marker(top, run_id)
        raise


def _remains(stays: dict[str, str]) -> dict[str, Any]:
    # A directory stays because of what stays in it: only the innermost are worth naming.
    inner = [path for path in stays if not any(other.startswith(path + "/") for other in stays)]
    pairs = [[_shown(path), stays[path]] for path in sorted(inner)]
    return {"state": "stays" if pairs else "removed", "stays": pairs[:_NAMED], "count": len(pairs)}


TREE: "dict[str, Callable[..., Any]]" = {
    "make_run_directory": make_run_directory,
    "remove_run_directory": remove_run_directory,
    "remove_finished": remove_finished,
}
