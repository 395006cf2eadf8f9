"""Preflight and doctor on the emulated filesystem: what it says of itself, its server stopped, its server killed."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from fsconform.fleet.fleet import Fleet
from fsconform.fleet.launch import Launch
from fsconform.lab.emulation import Emulation
from fsconform.lab.spec import parse_lab
from fsconform.run import directory, preflight
from fsconform.run.doctor import examine_sites, lines_of
from fsconform.vocabulary.errors import CannotTestError
from fsconform.vocabulary.sites import SiteSpec, Topology, parse_site

pytestmark = pytest.mark.fuse


@pytest.fixture
def lab(request: pytest.FixtureRequest) -> Iterator[Emulation]:
    """An emulated 3FS with two mounts."""
    with Emulation(parse_lab(getattr(request, "param", "3fs-fuse"))) as emulation:
        yield emulation


def sites_of(lab: Emulation) -> list[SiteSpec]:
    return [parse_site(str(path)) for path in lab.mounts]


def test_the_doctor_sees_two_clients_and_what_they_are_set_to(lab: Emulation) -> None:
    found = examine_sites(sites_of(lab))
    assert found.survey.topologies == {"a-b": Topology.MOUNT, "b-a": Topology.MOUNT}
    assert all(shake.replaced == shake.removed == "works" for shake in found.survey.handshakes)
    assert found.profile.startswith("3fs-fuse: ")
    assert "not a measurement of 3FS" in found.model
    assert "a: negative 5 s (read: usr.negative_timeout)" in found.bounds
    offered = {(c.site, c.feature): c.result for c in found.survey.capabilities}
    assert (offered["a", "rename-noreplace"], offered["b", "xattr"], offered["b", "link"]) == (
        "EINVAL",
        "ENOTSUP",
        "works",
    )
    assert found.removal.left_behind == ()
    assert found.how_to == ""
    text = "\n".join(lines_of(found))
    assert "a-b: mount (two clients of one kernel)" in text
    assert "two hosts: clocks that differ" in text


@pytest.mark.parametrize("lab", ["3fs-fuse,mounts=1"], indirect=True)
def test_one_client_is_told_how_to_add_another(lab: Emulation) -> None:
    found = examine_sites(sites_of(lab))
    assert found.survey.one_client
    assert found.how_to
    assert any("visibility between clients" in line for line in lines_of(found))


def test_a_stopped_server_is_a_hung_mount(lab: Emulation) -> None:
    os.kill(lab.pid, signal.SIGSTOP)
    try:
        with pytest.raises(CannotTestError, match=r"hung: no answer to \w+ for 0.5 s"):
            preflight.first_contact(sites_of(lab)[:1], deadline_s=0.5)
        removal = directory.remove_locally(str(lab.mounts[0]), "aa", stall_s=0.5)
        assert removal.state == "stays"
        assert "no answer to" in removal.left_behind[0]
    finally:
        os.kill(lab.pid, signal.SIGCONT)


def test_a_server_stopped_after_first_contact(lab: Emulation, monkeypatch: pytest.MonkeyPatch) -> None:
    specs = preflight.first_contact(sites_of(lab))
    monkeypatch.setattr(preflight, "CONTACT_DEADLINE_S", 0.5)
    with Fleet() as fleet:
        workers = fleet.launch([Launch(spec, letter) for spec, letter in zip(specs, "ab", strict=True)])
        os.kill(lab.pid, signal.SIGSTOP)
        try:
            with pytest.raises(CannotTestError, match=r"no answer to site facts at .* after 0.5 s: worker \d+"):
                preflight.survey(fleet, workers, specs)
        finally:
            os.kill(lab.pid, signal.SIGCONT)


def test_a_killed_server_is_a_dead_mount_even_while_attributes_are_cached(lab: Emulation) -> None:
    for path in lab.mounts:
        os.stat(path)
    os.kill(lab.pid, signal.SIGKILL)
    with pytest.raises(CannotTestError, match=r"dead mount at .*ENOTCONN\): its FUSE server is gone; unmount it"):
        preflight.first_contact(sites_of(lab))


def test_different_labs_are_different_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preflight, "longest_wait_s", lambda sites, profile: 0.5)
    with Emulation(parse_lab("strict,mounts=1")) as first, Emulation(parse_lab("strict,mounts=1")) as second:
        with pytest.raises(CannotTestError, match="show different trees"):
            examine_sites(sites_of(first) + sites_of(second))
        assert os.listdir(first.mounts[0]) == os.listdir(second.mounts[0]) == []
