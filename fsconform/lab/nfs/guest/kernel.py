"""System calls of a guest that Python has no function for: mounts, modules, namespaces, power."""

from __future__ import annotations

import ctypes
import os
import subprocess
import time

MS_BIND = 4096
CLONE_NEWUTS, CLONE_NEWNET = 0x04000000, 0x40000000
_FINIT_MODULE = 313
"""Number of finit_module(2) on x86-64, the only architecture of User-Mode Linux in Debian."""
_EEXIST = 17
_libc = ctypes.CDLL(None, use_errno=True)


def check(result: int, what: str) -> int:
    """The result of a C call. Raises OSError where it failed."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)
    return result


def mount(source: str, target: str, fstype: str, options: str = "", flags: int = 0) -> None:
    """mount(2), with the mount point made. Raises OSError."""
    os.makedirs(target, exist_ok=True)
    result = _libc.mount(source.encode(), target.encode(), fstype.encode(), flags, options.encode())
    check(result, f"mount {fstype} {source} at {target} with {options or 'no options'}")


def cover(path: str, text: str) -> None:
    """Let a file of the host have another content here, where it exists. Raises OSError."""
    if os.path.exists(path):
        instead = "/run/" + os.path.basename(path)
        write(instead, text)
        check(_libc.mount(instead.encode(), path.encode(), b"", MS_BIND, None), f"cover {path}")


def unmount(target: str) -> None:
    """umount2(2). Raises OSError."""
    check(_libc.umount2(target.encode(), 0), f"unmount {target}")


def set_hostname(name: str) -> None:
    """sethostname(2). Raises OSError."""
    check(_libc.sethostname(name.encode(), len(name)), "sethostname")


def run(*command: str, text: str = "") -> None:
    """Run a program to its end. Raises RuntimeError with its output where it fails."""
    done = subprocess.run(command, input=text, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: status {done.returncode}: {done.stdout.strip()}")


def write(path: str, text: str) -> None:
    """Write a small file of /proc or /var in one call. Raises OSError."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


def load_modules(*names: str) -> None:
    """Load kernel modules and what they need. Raises OSError, KeyError for an unknown one."""
    base = f"/usr/lib/uml/modules/{os.uname().release}/"
    with open(base + "modules.dep") as file:
        needs = {path: rest.split() for path, rest in (line.split(":") for line in file)}
    paths = {os.path.basename(path)[: -len(".ko")].replace("-", "_"): path for path in needs}
    wanted = [path for name in names for path in (*reversed(needs[paths[name]]), paths[name])]
    for path in dict.fromkeys(wanted):
        descriptor = os.open(base + path, os.O_RDONLY)
        try:
            result = _libc.syscall(_FINIT_MODULE, descriptor, b"", 0)
            if result < 0 and ctypes.get_errno() != _EEXIST:
                check(result, f"load {path}")
        finally:
            os.close(descriptor)


class Namespace:
    """A network and UTS namespace: mounts made inside belong to an NFS client of its own.

    The kernel keeps one client (connection, client id, caches) per network namespace, and an NFSv4 client names itself
    by its UTS name.
    """

    def __init__(self, name: str) -> None:
        """Make it, named `name` for ip-netns(8) and as its host name; leave it again."""
        self._home = [os.open(f"/proc/self/ns/{kind}", os.O_RDONLY) for kind in ("net", "uts")]
        os.makedirs("/run/netns", exist_ok=True)
        write(f"/run/netns/{name}", "")
        check(_libc.unshare(CLONE_NEWNET | CLONE_NEWUTS), "unshare")
        set_hostname(name)
        self._inside = [os.open(f"/proc/self/ns/{kind}", os.O_RDONLY) for kind in ("net", "uts")]
        bound = _libc.mount(b"/proc/self/ns/net", f"/run/netns/{name}".encode(), b"", MS_BIND, None)
        check(bound, f"name the namespace {name}")
        self.leave()

    def enter(self) -> None:
        """Go in. Raises OSError."""
        for descriptor in self._inside:
            check(_libc.setns(descriptor, 0), "setns")

    def leave(self) -> None:
        """Go back. Raises OSError."""
        for descriptor in self._home:
            check(_libc.setns(descriptor, 0), "setns")

    def __enter__(self) -> None:
        self.enter()

    def __exit__(self, *_: object) -> None:
        self.leave()


def power_off() -> None:
    """End this kernel at once: what is in a guest is thrown away."""
    write("/proc/sysrq-trigger", "o")
    time.sleep(10)
