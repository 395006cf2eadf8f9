"""Bringing a guest up: its own filesystems over the host's root, network, server, NFS mounts."""

from __future__ import annotations

import os
from typing import Any

from fsconform.lab.nfs.guest import kernel

SESSION = "/run/lab"
"""Where a guest sees its directory of the session."""
EXPORT = "/mnt/export"
_NAMES = "".join(f"{base}: files\n" for base in ("passwd", "group", "hosts", "services", "protocols", "rpc"))
"""nsswitch.conf(5) of a guest: nobody there answers DNS, and daemons would wait for it."""
_LEASE_S = "10"
_MOST_BYTES_PER_CALL = str(1 << 20)
"""Else the server offers 32 KiB where memory is small."""


def mount_base(session: str) -> None:
    """/proc, /sys and writable places over the host's root, which is read-only."""
    kernel.mount("proc", "/proc", "proc")
    kernel.mount("sysfs", "/sys", "sysfs")
    kernel.mount("tmpfs", "/run", "tmpfs")
    kernel.mount("none", SESSION, "hostfs", session)
    for directory in ("/mnt", "/var/lib/nfs", "/tmp", "/dev/shm"):
        kernel.mount("tmpfs", directory, "tmpfs")
    kernel.cover("/etc/nsswitch.conf", _NAMES)


def set_up(config: dict[str, Any]) -> dict[str, kernel.Namespace]:
    """Host name, modules, network, daemons, server as `config` says (`machines.py` writes it).

    Returns the namespaces by name. Raises OSError, RuntimeError.
    """
    kernel.set_hostname(config["name"])
    namespaces = {name: kernel.Namespace(name) for name, _ in config["namespaces"]}
    kernel.load_modules("nfsv3", "nfsv4", *(["veth"] if namespaces else []))
    _set_up_network(config, namespaces)
    _start_rpc()
    if config["server"]:
        _start_server(config["server"]["fs"], config["server"]["threads"])
    return namespaces


def _set_up_network(config: dict[str, Any], namespaces: dict[str, kernel.Namespace]) -> None:
    lines = ["link set lo up"]
    for device, address in config["interfaces"]:
        lines += [f"addr add {address} dev {device}", f"link set {device} up"]
    lines += [f"route add {route}" for route in config["routes"]]
    for number, name in enumerate(namespaces):
        lines += [
            f"link add cable{number} type veth peer name eth0 netns {name}",
            f"addr add 10.77.{number}.1/24 dev cable{number}",
            f"link set cable{number} up",
        ]
    _ip(lines)
    for number, (name, route) in enumerate(config["namespaces"]):
        with namespaces[name]:
            address = f"addr add 10.77.{number}.2/24 dev eth0"
            _ip(["link set lo up", address, "link set eth0 up", f"route add {route}"])


def _ip(lines: list[str]) -> None:
    """ip(8) with one command per line. Raises RuntimeError."""
    kernel.run("ip", "-batch", "-", text="\n".join(lines) + "\n")


def _start_rpc() -> None:
    """rpcbind and statd: what the lock manager of NFSv3 needs, on the server and on every client."""
    for directory in ("sm", "sm.bak"):
        os.makedirs("/var/lib/nfs/" + directory)
    kernel.run("rpcbind", "-w")
    kernel.run("rpc.statd", "--no-notify")


def _start_server(fs: str, threads: int) -> None:
    kernel.load_modules("nfsd")
    if fs == "tmpfs":
        kernel.mount("tmpfs", EXPORT, "tmpfs", "size=80%")
    else:
        kernel.mount("/dev/ubda", EXPORT, fs)
    os.chmod(EXPORT, 0o1777)
    for directory in ("v4recovery", "nfsdcld"):
        os.makedirs("/var/lib/nfs/" + directory)
    for name in ("etab", "rmtab"):
        kernel.write("/var/lib/nfs/" + name, "")
    kernel.mount("nfsd", "/proc/fs/nfsd", "nfsd")
    kernel.mount("sunrpc", "/run/rpc_pipefs", "rpc_pipefs")
    kernel.run("nfsdcld")  # without it the server waits for it, and then for its grace period
    kernel.run("exportfs", "-o", "rw,no_root_squash,no_subtree_check,insecure,fsid=0,sync", f"*:{EXPORT}")
    kernel.run("rpc.mountd", "--no-udp")
    for name, value in (
        ("nfsv4leasetime", _LEASE_S),
        ("nfsv4gracetime", _LEASE_S),
        ("max_block_size", _MOST_BYTES_PER_CALL),
        ("threads", str(threads)),
    ):
        kernel.write("/proc/fs/nfsd/" + name, value)
    for path in ("/proc/fs/nfsd/v4_end_grace", "/proc/fs/lockd/nlm_end_grace"):
        try:
            kernel.write(path, "Y")  # nobody has anything to reclaim
        except OSError:
            continue  # it has ended by itself


def mount_nfs(at: str, version: str, options: str, server: str, me: str) -> None:
    """Mount the export at `at`; both ends by address. Raises OSError."""
    words = [f"vers={version}", f"addr={server}", "proto=tcp"]
    words.append("mountproto=tcp" if version == "3" else f"clientaddr={me}")
    words += [options] if options else []
    kernel.mount(f"{server}:{EXPORT if version == '3' else '/'}", at, "nfs", ",".join(words))
