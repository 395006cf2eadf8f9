"""The survey: topologies, handshake, observers, squash, different trees; nothing stays where it refuses."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from fsconform.fleet.worker import tree
from fsconform.run import directory, introductions, preflight
from fsconform.run.surveys import Survey
from fsconform.vocabulary.errors import CannotTestError
from fsconform.vocabulary.sites import Topology, parse_site
from tests.run.troupe import Actor, Troupe

Act = Callable[..., Any]


@pytest.fixture
def mount(tmp_path: Path) -> Path:
    place = tmp_path / "mount"
    place.mkdir()
    return place


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Different trees are told after a moment, not after a profile's bound."""
    monkeypatch.setattr(preflight, "longest_wait_s", lambda sites, profile: 0.2)


def views(mount: Path, count: int) -> list[str]:
    """Names under which one directory can be given several times: `exec=` sites in this process."""
    return [f"exec=client{n}:{mount}" for n in range(count)]


def take(mount: Path, actors: Sequence[Actor]) -> Survey:
    specs = [parse_site(text) for text in views(mount, len(actors))]
    preflight.first_contact(specs)
    return preflight.survey(Troupe(), actors, specs, run_id="cafe")


def device(name: str) -> dict[str, Any]:
    return {"mount": {"device": name, "point": "/m", "fstype": "fuse.x", "source": "s", "options": "rw", "root": "/"}}


def test_one_site(mount: Path) -> None:
    found = take(mount, [Actor()])
    assert [site.letter for site in found.sites] == ["a"]
    assert found.topologies == {"a-a": Topology.PROCESS}
    assert found.one_client
    assert found.handshakes == ()
    assert {capability.feature for capability in found.capabilities} >= {"link", "o-direct"}
    assert found.directory.paths == {"a": str(mount / ".fsconform-cafe")}
    assert (mount / ".fsconform-cafe" / tree.MARKER).exists()


def test_one_client_of_a_shared_filesystem_cannot_show_visibility(mount: Path) -> None:
    spots = take(mount, [Actor(facts=device("0:1"))]).blind_spots
    assert any("visibility between clients" in spot for spot in spots)


def test_relative_paths_are_those_of_our_own_directory(mount: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(mount.parent)
    (spec,) = preflight.first_contact([parse_site("mount")])
    assert (spec.path, spec.text) == (str(mount), "mount")
    found = preflight.survey(Troupe(), [Actor()], [parse_site("mount/.")], run_id="cafe")
    assert found.sites[0].path == str(mount)


def test_topologies_of_processes_mounts_and_hosts(mount: Path) -> None:
    other_host = {**device("0:1"), "boot_id": "other"}
    actors = [Actor(facts=device("0:1")), Actor(facts=device("0:1")), Actor(facts=device("0:2")), Actor(other_host)]
    found = take(mount, actors)
    words = {direction: topology.value for direction, topology in found.topologies.items()}
    assert (words["a-b"], words["a-c"], words["b-c"]) == ("process", "mount", "mount")
    assert (words["a-d"], words["d-a"], words["c-d"]) == ("host", "host", "host")
    assert len(words) == len(found.handshakes) == 12
    assert not found.one_client
    assert not any("two hosts" in spot for spot in found.blind_spots)


def test_two_mounts_cannot_show_two_hosts(mount: Path) -> None:
    found = take(mount, [Actor(facts=device("0:1")), Actor(facts=device("0:2"))])
    assert any("two hosts: clocks that differ, a partitioned network" in spot for spot in found.blind_spots)
    assert not any("visibility between clients" in spot for spot in found.blind_spots)


def test_handshake_tries_to_replace_and_remove(mount: Path) -> None:
    found = take(mount, [Actor(), Actor()])
    assert [(s.direction, s.replaced, s.removed) for s in found.handshakes] == [
        ("a-b", "works", "works"),
        ("b-a", "works", "works"),
    ]
    assert all(s.made_as == s.seen_as == (os.geteuid(), os.getegid()) for s in found.handshakes)
    assert os.listdir(mount / ".fsconform-cafe") == [tree.MARKER]


def test_a_read_only_observer_is_legal(mount: Path) -> None:
    observer = Actor(facts={"read_only": True})
    found = take(mount, [observer, Actor()])
    assert [site.read_only for site in found.sites] == [True, False]
    assert found.directory.maker == "b"
    assert [s.direction for s in found.handshakes] == ["b-a"]
    assert (found.handshakes[0].replaced, found.handshakes[0].removed) == ("", "")
    assert not {"make_run_directory", "leave_mark", "replace_mark", "remove_mark"} & set(observer.asked)
    assert {c.result for c in found.capabilities if c.site == "a"} == {"unknown"}
    assert "what site a makes: it can only observe" in found.blind_spots
    assert any(warning.startswith("site a can only observe") for warning in found.warnings)


def late_looks(misses: int) -> Act:
    left = [misses]

    def act(real: Act, *arguments: Any) -> Any:
        left[0] -= 1
        return real(*arguments) if left[0] < 0 else {"errno": "ENOENT", "same": False, "uid": -1, "gid": -1}

    return act


def test_a_late_observer_is_waited_for(mount: Path) -> None:
    found = take(mount, [Actor(), Actor(acts={"look_at_mark": late_looks(3)})])
    assert len(found.handshakes) == 2


def test_different_trees_are_told_and_nothing_stays(mount: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    specs = [parse_site(str(mount)), parse_site(str(other))]
    with pytest.raises(CannotTestError, match=r"show different trees .*are different directories of it") as caught:
        preflight.survey(Troupe(), [Actor(), Actor()], specs)
    assert "last look: ENOENT" in str(caught.value)
    assert os.listdir(mount) == os.listdir(other) == []


def test_another_file_of_the_same_name_is_another_tree(mount: Path) -> None:
    def other(real: Act, *arguments: Any) -> Any:
        return {**real(*arguments), "same": False}

    with pytest.raises(CannotTestError, match="last look: another content"):
        take(mount, [Actor(), Actor(acts={"look_at_mark": other})])


def refused(errno: str) -> Act:
    return lambda real, *arguments: errno


def test_a_sticky_directory_makes_an_observer(mount: Path) -> None:
    found = take(mount, [Actor(), Actor(acts={"replace_mark": refused("EPERM"), "remove_mark": refused("EPERM")})])
    assert [site.read_only for site in found.sites] == [False, True]
    (warning,) = [w for w in found.warnings if w.startswith("site b")]
    assert "may not make, replace or remove files where the others do (EPERM); run all sites as one user" in warning


def test_no_permission_in_the_directory_of_another(mount: Path) -> None:
    mark = {"errno": "EACCES", "uid": -1, "gid": -1}
    found = take(mount, [Actor(), Actor(acts={"leave_mark": lambda real, *arguments: mark})])
    assert [site.read_only for site in found.sites] == [False, True]
    assert [s.direction for s in found.handshakes] == ["a-b"]


def test_a_filesystem_without_rename_is_no_observer(mount: Path) -> None:
    found = take(mount, [Actor(), Actor(acts={"replace_mark": refused("ENOTSUP")})])
    assert [site.read_only for site in found.sites] == [False, False]
    assert "site b could not replace a file of site a: ENOTSUP" in found.warnings


def test_squashed_users_are_told(mount: Path) -> None:
    def squashed(real: Act, *arguments: Any) -> Any:
        return {**real(*arguments), "uid": 65534, "gid": 65534}

    found = take(mount, [Actor(acts={"leave_mark": squashed}), Actor()])
    assert any(f"makes as uid {os.geteuid()} belong to uid 65534: the server maps users" in w for w in found.warnings)
    assert any(w.startswith("site b sees files of site a as owned by") for w in found.warnings)


def test_different_options_users_and_clocks_are_told(mount: Path) -> None:
    first, second = device("0:1"), device("0:2")
    first["mount"]["options"], second["mount"]["options"] = "rw,acregmin=3,fd=5", "rw,acregmin=0,fd=6"
    second.update(uid=4711, time_namespace="time:[2]", client_options={"usr.attr_timeout": "3"})
    found = take(mount, [Actor(facts={**first, "client_options": {"usr.attr_timeout": "30"}}), Actor(facts=second)])
    text = "\n".join(found.warnings)
    assert "options differ between sites a and b: acregmin=0, acregmin=3" in text
    assert "set differently: usr.attr_timeout=3, usr.attr_timeout=30" in text
    assert "in different time namespaces" in text
    assert f"run as different users (uid {os.geteuid()}, 4711)" in text


def test_nothing_to_say_of_equal_sites(mount: Path) -> None:
    assert take(mount, [Actor(), Actor()]).warnings == ()


def test_a_maker_that_is_refused_gives_way(mount: Path) -> None:
    made = {"path": "x", "errno": "EACCES", "step": "mkdir", "xattr": "unknown"}
    found = take(mount, [Actor(acts={"make_run_directory": lambda real, *arguments: made}), Actor()])
    assert found.directory.maker == "b"
    assert [site.read_only for site in found.sites] == [True, False]


@pytest.mark.parametrize(
    ("errno", "advice"),
    [("EACCES", "no permission for uid"), ("ENOSPC", "full or over quota"), ("EIO", "created there by hand")],
)
def test_nobody_can_make_the_directory(mount: Path, errno: str, advice: str) -> None:
    made = {"path": "/m/.fsconform-cafe", "errno": errno, "step": "mkdir", "xattr": "unknown"}
    with pytest.raises(CannotTestError, match=rf"no writable site: .*cannot mkdir .*: {errno}.*{advice}"):
        take(mount, [Actor(acts={"make_run_directory": lambda real, *arguments: made})])


def test_nothing_stays_after_an_interrupt(mount: Path) -> None:
    def interrupt(real: Act, *arguments: Any) -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        take(mount, [Actor(), Actor(acts={"leave_mark": interrupt})])
    assert os.listdir(mount) == []


def test_what_stays_after_a_refusal_is_named(mount: Path) -> None:
    stays = {"state": "stays", "stays": [["/m/x", "EBUSY"]], "count": 1}
    actors = [
        Actor(acts={"remove_run_directory": lambda real, *arguments: stays}),
        Actor(acts={"look_at_mark": late_looks(1000), "remove_run_directory": lambda real, *arguments: stays}),
    ]
    with pytest.raises(CannotTestError, match=r"different trees.*left behind: /m/x: EBUSY"):
        take(mount, actors)


def test_removed_by_the_first_site_that_can(mount: Path) -> None:
    found = take(mount, [Actor(), Actor()])
    stays = {"state": "stays", "stays": [["/m/x", "EBUSY"]], "count": 1}
    unable = Actor(acts={"remove_run_directory": lambda real, *arguments: stays})
    removal = directory.remove(Troupe(), {"a": unable, "b": Actor()}, found.sites, found.directory)
    assert removal.left_behind == ()
    assert os.listdir(mount) == []


def test_no_worker_left_to_remove_it(mount: Path) -> None:
    found = take(mount, [Actor()])
    removal = directory.remove(Troupe(), {}, found.sites, found.directory)
    assert removal.left_behind == (f"exec=client0:{mount}: {mount}/.fsconform-cafe: no worker is left there",)


def test_two_names_of_one_directory_are_the_same_path_twice(mount: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(mount)
    with pytest.raises(CannotTestError, match="the same path twice; give it once"):
        preflight.first_contact([parse_site(str(mount)), parse_site(str(tmp_path / "link"))])
    assert os.listdir(mount) == []


def test_waiting_is_told(mount: Path) -> None:
    told = []

    class Listening:
        def phase(self, text: str) -> None:
            told.append(text)

        def waiting(self, what: str, elapsed_s: float, total_s: float) -> None:
            told.append(f"{what} ({total_s:g} s)")

        def done(self) -> None:
            pass

    actors = [Actor(), Actor(acts={"look_at_mark": late_looks(1)})]
    specs = [parse_site(text) for text in views(mount, 2)]
    preflight.survey(Troupe(), actors, specs, progress=Listening())
    assert "site b to see what site a made (0.2 s)" in told
    assert introductions.WORKS == "works"
