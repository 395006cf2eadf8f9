"""The closed vocabulary of steps: everything a worker can do to a filesystem, and what each step's result means.

A step's result is three integers: errno (0 = success; see `errnos`), `value` and `detail`. Their meaning per kind
is the table `KINDS`. Contents are told apart by the worker (see `blocks.Content`), so no file data travels home.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

AT_ROUND = ""
"""Paths of steps are relative to the directory of the current round, or absolute."""


class Kind(NamedTuple):
    """One word of the vocabulary."""

    family: str
    """`mutation` changes names or data, `look` only observes, `control` neither."""
    value: str
    detail: str


_CONTENT = ("blocks.Content | version << 8", "length read, bytes")

KINDS: dict[str, Kind] = {
    # names
    "excl_create": Kind("mutation", "0", "0"),  # open(O_CREAT|O_EXCL|O_WRONLY) into descriptor slot `fd`
    "create": Kind("mutation", "0", "0"),  # open(O_CREAT|O_WRONLY) into `fd`
    "open": Kind("mutation", "0", "0"),  # open(O_RDWR), or O_RDONLY where arg=1, into `fd`
    "open_append": Kind("mutation", "0", "0"),  # open(O_WRONLY|O_APPEND) into `fd`
    "open_tmpfile": Kind("mutation", "0", "0"),  # open(O_TMPFILE|O_RDWR) in directory `path` into `fd`
    "open_dir": Kind("look", "0", "0"),  # open(O_RDONLY|O_DIRECTORY) into `fd`
    "close": Kind("mutation", "0", "0"),
    "rename": Kind("mutation", "0", "0"),  # path -> other
    "rename_noreplace": Kind("mutation", "0", "0"),
    "rename_exchange": Kind("mutation", "0", "0"),
    "link": Kind("mutation", "0", "0"),  # path -> other
    "symlink": Kind("mutation", "0", "0"),  # text `path` at `other`
    "mkdir": Kind("mutation", "0", "0"),
    "rmdir": Kind("mutation", "0", "0"),
    "unlink": Kind("mutation", "0", "0"),
    "mknod": Kind("mutation", "0", "0"),  # regular file
    # data
    "write": Kind("mutation", "bytes written", "0"),  # one pwrite call on `fd`: `size` bytes of the block at `offset`
    # (`arg`: length of the whole block where a versioned one is written in pieces)
    "write_held": Kind("mutation", "bytes written", "0"),  # the same on a descriptor opened in an earlier phase
    "truncate": Kind("mutation", "0", "0"),  # ftruncate of `fd` to `size`
    "copy_range": Kind("mutation", "bytes copied", "0"),  # copy_file_range of `size` bytes of path to a new file other
    "fsync": Kind("mutation", "0", "0"),
    "fdatasync": Kind("mutation", "0", "0"),
    "fsync_dir": Kind("mutation", "0", "0"),  # open directory, fsync, close
    "fallocate": Kind("mutation", "0", "0"),  # `fd`, `offset`, `size`
    # looks at a name
    "stat": Kind("look", "st_size, bytes", "st_ino"),
    "stat_links": Kind("look", "st_nlink", "st_ino"),
    "access": Kind("look", "0", "0"),
    "statx_force_sync": Kind("look", "st_size, bytes", "st_ino"),
    "scandir": Kind("look", "bit i: names[i] seen; bit 32+i: seen twice", "entries seen"),
    "scandir_held": Kind("look", "as scandir, from rewound descriptor `fd`", "entries seen"),
    # looks at data
    "open_read": Kind("look", *_CONTENT),  # open, read to end of file, close
    "open_fstat_read": Kind("look", *_CONTENT),  # open, fstat, read exactly st_size, close
    "open_fstat": Kind("look", "st_size, bytes", "st_ino"),  # open, fstat, close
    "open_direct": Kind("look", *_CONTENT),  # the same as open_read through O_DIRECT
    "read_held": Kind("look", *_CONTENT),
    "fstat_held": Kind("look", "st_size, bytes", "st_ino"),
    "mmap_read": Kind("look", *_CONTENT),
    "map_held": Kind("look", "0", "0"),  # map `size` bytes of `fd`, shared and read-only, until the round is over
    "read_mapping": Kind("look", *_CONTENT),  # what that mapping shows, up to the first page that cannot be had
    "read_records": Kind("look", "bit v: the record of version v is there, whole and once", "length read, bytes"),
    # (open_read of a file of records of `size` bytes each, `arg` of them, versions 0 to arg - 1)
    # attributes and locks
    "setxattr": Kind("mutation", "0", "0"),  # user attribute `other` of `path` = `key`
    "getxattr": Kind("look", "1 where equal to `key`, else 0", "length, bytes"),
    "flock": Kind("mutation", "0", "0"),  # `fd`; arg: 1 exclusive try, 2 exclusive wait, 8 unlock
    "fcntl_lock": Kind("mutation", "0", "0"),  # the same with a POSIX record lock of the whole file
    # control
    "watch": Kind(
        "look", "as `then`", "as `then`"
    ),  # repeat `then` for `arg` ns; the first wrong result, else the last
    "barrier": Kind("control", "0", "0"),
    "wait": Kind("control", "0", "0"),  # until word `offset` of the shared page is >= `arg`
    "signal": Kind("control", "0", "0"),  # word `offset` of the shared page = `arg`
    "sleep": Kind("control", "0", "0"),  # `arg` ns
}
LOOKS = frozenset(name for name, kind in KINDS.items() if kind.family == "look")
_ON_DESCRIPTOR = frozenset(
    {"close", "fsync", "fdatasync", "truncate", "fstat_held", "read_held", "scandir_held", "flock", "fcntl_lock",
     "map_held", "read_mapping"}
)  # fmt: skip
CONTENT_LOOKS = frozenset({"open_read", "open_fstat_read", "open_direct", "read_held", "mmap_read", "read_mapping"})


@dataclass(frozen=True, slots=True)
class Step:
    """One operation. Fields that a kind does not use keep their defaults.

    Raises ValueError for a kind outside the vocabulary.
    """

    kind: str
    path: str = ""
    other: str = ""
    """Second path (target of rename, link, symlink), or the name of an attribute."""
    fd: int = 0
    """Descriptor slot, 0-63: where an opening step puts its descriptor, where a held step takes it from."""
    key: str = ""
    """Block id, 64 hex digits: what the bytes must be (written, or verified); or the value of an attribute."""
    version: int = 0
    """0: write-once content; >= 1: version of a replaceable name's content, writer << 32 | sequence.

    In a read of such a name: the version wanted (another whole one is EXACT, with the version found), or 0 with size 0:
    any version."""
    size: int = 0
    """Length of the block, bytes (verified by content looks; 0 in a versioned read: taken from the page header)."""
    offset: int = 0
    arg: int = 0
    names: tuple[str, ...] = ()
    """Names of interest of a listing, at most 31."""
    then: Step | None = None
    """The look that a watch repeats."""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"step kind {self.kind!r} is not in the vocabulary")

    def to_wire(self) -> tuple[Any, ...]:
        """Builtins only, in field order: what a worker compiles."""
        then = self.then.to_wire() if self.then else None
        return (self.kind, self.path, self.other, self.fd, self.key, self.version, self.size, self.offset,
                self.arg, self.names, then)  # fmt: skip

    @classmethod
    def from_wire(cls, wire: tuple[Any, ...]) -> Step:
        """The inverse of `to_wire`; lists are taken for tuples (JSON)."""
        kind, path, other, fd, key, version, size, offset, arg, names, then = wire
        inner = cls.from_wire(tuple(then)) if then else None
        return cls(kind, path, other, fd, key, version, size, offset, arg, tuple(names), inner)

    def __str__(self) -> str:
        """For people: `rename(.t1, 3f…bin)`."""
        words = [self.path, self.other] if self.other else [self.path] if self.path else []
        if self.kind in ("write", "write_held"):
            words.append(f"{self.size} bytes")
        if self.kind in _ON_DESCRIPTOR:
            words.append(f"fd {self.fd}")
        if self.then:
            words = [str(self.then), f"{self.arg / 1e6:g} ms"]
        return f"{self.kind}({', '.join(words)})"

    def at(self, directory: str) -> Step:
        """The same step below `directory` (relative paths are joined)."""

        def join(path: str) -> str:
            return path if not path or path.startswith("/") else f"{directory}/{path}"

        other = self.other if self.kind in ("setxattr", "getxattr") else join(self.other)
        path = self.path if self.kind == "symlink" else join(self.path)
        return replace(self, path=path, other=other, then=self.then.at(directory) if self.then else None)
