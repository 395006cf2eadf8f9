"""Hosts made of namespaces: network, PID, mount, UTS and time each, joined by a bridge in a namespace of its own.

The controller runs in the namespace of the bridge. Nothing here touches the network of this machine.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

NETWORK = "10.213.77"
CLOCK_S = 100_000
"""How far apart the monotonic clocks of two hosts are."""
_SSHD = """
HostKey {home}/host_key
AuthorizedKeysFile {home}/user_key.pub
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
PermitRootLogin prohibit-password
StrictModes no
PidFile none
LogLevel ERROR
"""
_SSH = """
Host *
  User root
  IdentityFile {home}/user_key
  IdentitiesOnly yes
  UserKnownHostsFile {home}/known_hosts
  GlobalKnownHostsFile /dev/null
  StrictHostKeyChecking yes
"""


class Rack:
    """A controller's network and `count` hosts with an sshd each, named h1, h2, ..."""

    def __init__(self, home: Path, count: int = 2) -> None:
        self.home = home
        self._processes: list[subprocess.Popen[bytes]] = []
        self._write_keys(count)
        self.hub = self._hold("--net")
        _inside(self.hub, "ip", "link", "add", "hub", "type", "bridge")
        _inside(self.hub, "ip", "addr", "add", f"{NETWORK}.1/24", "dev", "hub")
        for link in ("lo", "hub"):
            _inside(self.hub, "ip", "link", "set", link, "up")
        self.hosts = [self._add_host(number) for number in range(1, count + 1)]
        for number in range(1, count + 1):
            self._await_sshd(number)

    def site(self, number: int, path: Path | str) -> str:
        """An `ssh=` site at one host."""
        return f"ssh=-F {self.home}/ssh_config h{number}:{path}"

    def command(self, *words: str) -> list[str]:
        """A command as the controller's host runs it."""
        return ["nsenter", "--target", str(self.hub), "--net", *words]

    def fsconform(self, *words: str) -> list[str]:
        """The command line of fsconform, run at the controller's host."""
        return self.command(sys.executable, "-m", "fsconform.cli", *words)

    def cut(self, number: int) -> None:
        """Take the link of a host down."""
        _inside(self.hub, "ip", "link", "set", f"h{number}", "down")

    def kill(self, number: int) -> None:
        """End every process of a host at once."""
        self._processes[number].kill()

    def close(self) -> None:
        """End everything."""
        for process in self._processes:
            process.kill()
        for process in self._processes:
            process.wait(10)

    def _hold(self, *namespaces: str) -> int:
        """A process that keeps namespaces alive; its id."""
        process = subprocess.Popen(["unshare", *namespaces, "sleep", "infinity"])
        self._processes.append(process)
        _await(lambda: Path(f"/proc/{process.pid}/comm").read_text() == "sleep\n")
        return process.pid

    def _add_host(self, number: int) -> int:
        """One host; the id of its first process."""
        script = (
            f"hostname h{number}; mount -t tmpfs run /run; mkdir /run/sshd; ip link set lo up;"
            f"exec {shutil.which('sshd') or '/usr/sbin/sshd'} -D -e -f {self.home}/sshd_config"
        )
        words = ["--net", "--mount", "--uts", "--time", f"--monotonic={CLOCK_S * number}", "--pid", "--mount-proc",
                 "--fork", "--kill-child", "sh", "-c", script]  # fmt: skip
        log = (self.home / f"sshd{number}.log").open("wb")
        process = subprocess.Popen(["unshare", *words], stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        log.close()
        self._processes.append(process)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        _await(lambda: children.read_text().strip() != "")
        pid = int(children.read_text().split()[0])
        _inside(self.hub, "ip", "link", "add", f"h{number}", "type", "veth", "peer", "name", "up0", "netns", str(pid))
        _inside(self.hub, "ip", "link", "set", f"h{number}", "master", "hub", "up")
        _inside(pid, "ip", "addr", "add", f"{NETWORK}.{10 + number}/24", "dev", "up0")
        _inside(pid, "ip", "link", "set", "up0", "up")
        return pid

    def _await_sshd(self, number: int) -> None:
        probe = self.command("ssh", "-F", f"{self.home}/ssh_config", "-o", "BatchMode=yes", "-o", "ConnectTimeout=2",
                             f"h{number}", "true")  # fmt: skip
        _await(lambda: subprocess.run(probe, capture_output=True, check=False).returncode == 0, 30.0)

    def _write_keys(self, count: int) -> None:
        for name in ("host_key", "user_key"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.home / name], check=True)
        (self.home / "sshd_config").write_text(_SSHD.format(home=self.home))
        hosts = "".join(f"Host h{k}\n  HostName {NETWORK}.{10 + k}\n" for k in range(1, count + 1))
        (self.home / "ssh_config").write_text(hosts + _SSH.format(home=self.home))
        key = (self.home / "host_key.pub").read_text()
        known = "".join(f"{NETWORK}.{10 + k} {key}" for k in range(1, count + 1))
        (self.home / "known_hosts").write_text(known)


def _inside(pid: int, *words: str) -> None:
    """Run a command in the network namespace of a process."""
    subprocess.run(["nsenter", "--target", str(pid), "--net", *words], check=True, timeout=30)


def _await(condition: Callable[[], bool], seconds: float = 10.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "a host of namespaces did not come up"
        time.sleep(0.02)


@cache
def obstacle() -> str:
    """What is missing here for a rack; empty where nothing is."""
    for program in ("ip", "unshare", "nsenter", "ssh", "ssh-keygen", "hostname"):
        if shutil.which(program) is None:
            return f"needs {program}"
    if shutil.which("sshd") is None and not os.access("/usr/sbin/sshd", os.X_OK):
        return "needs sshd (openssh-server)"
    if os.geteuid() != 0:
        return "needs root"
    trial: Sequence[str] = ("unshare", "--net", "--time", "ip", "link", "add", "x", "type", "veth", "peer", "name", "y")
    done = subprocess.run(trial, capture_output=True, text=True, check=False, timeout=30)
    return f"needs network and time namespaces: {done.stderr.strip()}" if done.returncode else ""
