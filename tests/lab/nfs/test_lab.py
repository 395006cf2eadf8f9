"""Real clients of a real server: what the sites are, workers inside, what one client sees of the other."""

from __future__ import annotations

import time
from typing import Any

import pytest

from fsconform.fleet.fleet import Fleet, Worker
from fsconform.fleet.launch import Launch
from fsconform.lab.nfs.lab import NfsLab
from fsconform.lab.nfs.spec import parse_nfs
from fsconform.vocabulary.errors import CannotTestError
from fsconform.vocabulary.sites import LETTERS, Site, SiteSpec, Topology, topology_of
from tests.lab.nfs.conftest import Mounted

pytestmark = pytest.mark.uml

# A function sent by `remote` keeps to the standard library; `path` is the mount path there.
_MAKE = "def do(path, name, data): open(path + '/' + name, 'wb').write(data)"
_SIZE = """
import os
def do(path, name):
    try:
        return os.stat(path + '/' + name).st_size
    except FileNotFoundError:
        return -1
"""

_TRY_LOCK = """
import errno, fcntl, os
def do(path, name):
    descriptor = os.open(path + '/' + name, os.O_RDWR)
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return errno.errorcode[error.errno]
    return "locked"
"""


def _crew(fleet: Fleet, sites: tuple[SiteSpec, ...], each: int = 1) -> list[Worker]:
    pairs = list(zip(LETTERS, sites, strict=False))
    return fleet.launch([Launch(spec, letter) for _ in range(each) for letter, spec in pairs], deadline_s=60.0)


def _remote(worker: Worker, source: str, *arguments: Any) -> Any:
    """Call `do` of `source` in the guest, beside the worker's own requests."""
    channel = worker.gateway.remote_exec(source + "\nchannel.send(do(*channel.receive()))")
    channel.send((worker.launch.spec.path, *arguments))
    return channel.receive(timeout=30.0)


def _facts(fleet: Fleet, worker: Worker) -> dict[str, Any]:
    found: dict[str, Any] = fleet.call(worker, "site_facts", worker.launch.spec.path)
    return found


def _site(fleet: Fleet, worker: Worker) -> Site:
    from fsconform.run.preflight import site_from

    return site_from(worker.letter, worker.launch.spec, _facts(fleet, worker))


def test_clients_are_hosts_that_show_their_real_options(mounted: Mounted, fleet: Fleet) -> None:
    a, b = (_site(fleet, worker) for worker in _crew(fleet, mounted("nfs3,acdirmin=2,lookupcache=none")))
    assert topology_of(a, b) is Topology.HOST
    assert (a.host, b.host) == ("nfs-a", "nfs-b")
    assert a.mount.fstype == b.mount.fstype == "nfs"
    assert a.mount.option("vers") == "3"
    assert a.mount.option("acdirmin") == "2"
    assert a.mount.option("lookupcache") == "none"
    assert a.mount.source.endswith(":/mnt/export")
    assert not a.read_only
    assert a.free_bytes > 100 << 20


def test_mounted_anew_on_the_same_guests(mounted: Mounted, fleet: Fleet, hosts: NfsLab) -> None:
    before = _crew(fleet, mounted("nfs4.1,noac"))[0]
    boot = _facts(fleet, before)["boot_id"]
    assert _site(fleet, before).mount.option("vers") == "4.1"
    assert _site(fleet, before).mount.option("noac") == ""
    hosts.remount("nfs4.0")  # idle workers do not keep the mount busy
    assert _site(fleet, before).mount.option("vers") == "4.0"
    held = _remote(before, "import os\ndef do(path): return os.open(path, os.O_RDONLY)")
    with pytest.raises(CannotTestError, match="Device or resource busy"):
        hosts.remount("nfs4.2")
    _remote(before, "import os\ndef do(path, held): os.close(held)", held)
    with pytest.raises(CannotTestError, match="needs other guests"):
        hosts.remount("nfs4.2,fs=ext4")
    assert _facts(fleet, before)["boot_id"] == boot


def test_four_workers_in_each_guest_see_one_tree(mounted: Mounted, fleet: Fleet) -> None:
    workers = _crew(fleet, mounted("nfs4.2,noac"), each=4)
    assert len({(worker.letter, worker.pid) for worker in workers}) == 8
    for number, worker in enumerate(workers):
        _remote(worker, _MAKE, f"tree-{number}", bytes(number))
    sizes = [[_remote(worker, _SIZE, f"tree-{number}") for number in range(8)] for worker in workers]
    assert sizes == [list(range(8))] * 8


def test_much_data_passes_the_line_unharmed(mounted: Mounted, fleet: Fleet) -> None:
    """Floods both ways, of four workers at once: nothing lost, nothing mixed up."""
    workers = _crew(fleet, mounted("nfs4.2"), each=2)
    channels = [
        worker.gateway.remote_exec("for _ in range(40): channel.send(channel.receive() * 3)") for worker in workers
    ]
    for turn in range(40):
        for number, channel in enumerate(channels):
            channel.send(bytes([number, turn]) * (17 * turn * turn))
    for number, channel in enumerate(channels):
        for turn in range(40):
            assert channel.receive(timeout=60.0) == bytes([number, turn]) * (3 * 17 * turn * turn)


def test_a_missed_name_stays_hidden_as_long_as_the_option_says(mounted: Mounted, fleet: Fleet) -> None:
    """nfs(5): the reader's negative entry lives while its directory's attributes do, here one second."""
    writer, reader = _crew(fleet, mounted("nfs3,actimeo=1"))
    _remote(writer, "import os\ndef do(path): os.mkdir(path + '/dir')")
    time.sleep(0.1)  # more than a tick of the server's clock, else the client may not notice the directory's change
    assert _remote(reader, _SIZE, "dir/name") == -1
    _remote(writer, _MAKE, "dir/name", b"12")
    published = time.monotonic()
    assert _remote(reader, _SIZE, "dir/name") == -1 or time.monotonic() - published > 0.5
    while _remote(reader, _SIZE, "dir/name") == -1:
        assert time.monotonic() - published < 20.0
    assert time.monotonic() - published < 20.0


def test_without_attribute_caching_a_name_is_seen_at_once(mounted: Mounted, fleet: Fleet) -> None:
    writer, reader = _crew(fleet, mounted("nfs3,noac"))
    for number in range(20):
        assert _remote(reader, _SIZE, f"seen-{number}") == -1
        time.sleep(0.03)
        _remote(writer, _MAKE, f"seen-{number}", b"1")
        assert _remote(reader, _SIZE, f"seen-{number}") == 1


def test_locks_of_version_3_are_answered_between_hosts(mounted: Mounted, fleet: Fleet) -> None:
    """The lock daemons of both ends find each other, without asking for names that nobody there can resolve."""
    first, second = _crew(fleet, mounted("nfs3"))
    assert _site(fleet, first).mount.option("local_lock") == "none"
    _remote(first, _MAKE, "locked", b"1")
    assert _remote(first, _TRY_LOCK, "locked") == "locked"
    assert _remote(second, _TRY_LOCK, "locked") == "EAGAIN"


def test_version_3_without_a_namespace_of_locks(fleet: Fleet) -> None:
    """One kernel: two clients by their namespaces; on a disk image, so with extended attributes."""
    with NfsLab(parse_nfs("nfs3,one-kernel,fs=ext4,actimeo=1")) as lab, fleet:
        first, second = _crew(fleet, lab.sites)
        a, b = _site(fleet, first), _site(fleet, second)
        assert topology_of(a, b) is Topology.MOUNT
        assert (a.host, b.host) == ("a", "b")
        assert a.mount.option("local_lock") == "all"
        _remote(first, _MAKE, "shared", b"123")
        assert _remote(second, _SIZE, "shared") == 3
        lab.remount("nfs4.2,one-kernel,fs=ext4")
        _remote(first, "import os\ndef do(path): os.setxattr(path + '/shared', 'user.a', b'1')")
