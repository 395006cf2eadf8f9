"""What the NFS profiles promise under the options that a mount was given."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fsconform.judging.profiles import load_profile, match_profile
from fsconform.run.table import rows
from fsconform.vocabulary.cells import Cell, make_cell
from fsconform.vocabulary.errors import CannotTestError
from fsconform.vocabulary.promises import Promise, Strength
from fsconform.vocabulary.sites import Site
from tests.judging.builders import make_site

V3 = (
    "rw,relatime,vers=3,rsize=131072,wsize=131072,namlen=255,hard,proto=tcp,timeo=600,retrans=2,sec=sys,local_lock=none"
)
V42 = V3.replace("vers=3", "vers=4.2")
ONE_SECOND = "acregmin=1,acregmax=1,acdirmin=1,acdirmax=1"
NOAC = "noac,acregmin=0,acregmax=0,acdirmin=0,acdirmax=0"


def nfs(options: str, letter: str = "a", **changes: object) -> Site:
    """A mount on a host of its own; options as the kernel tells them in mountinfo."""
    site = make_site("nfs" if "vers=3" in options else "nfs4", "server:/export", "6.1.0-18-amd64", letter, options)
    return replace(site, boot_id=f"boot-{letter}", **changes)  # type: ignore[arg-type]


def pair(more: str = "", options: str = V3) -> list[Site]:
    joined = f"{options},{more}" if more else options
    return [nfs(joined, "a"), nfs(joined, "b")]


def cell(words: str, direction: str = "a-b") -> Cell:
    """`visibility.create/publish=rename/state=missed/observer=stat`."""
    property_id, *axes = words.split("/")
    return make_cell(property_id, direction, **dict(axis.split("=") for axis in axes))


def promised(words: str, sites: list[Site], direction: str = "a-b") -> Promise:
    profile = match_profile(sites)
    assert profile is not None
    return profile.promise_among(cell(words, direction), sites)


MISSED = "visibility.create/publish=rename/state=missed/observer=stat/age=settled"
MISSED_OPEN = "visibility.create/publish=rename/state=missed/observer=open_read/age=fresh"
LISTED = "visibility.create/publish=rename/state=listed/observer=scandir/age=fresh"
REPLACED = "visibility.replace/publish=rename/state=known/observer=stat/age=fresh"
REPLACED_OPEN = "visibility.replace/publish=rename/state=known/observer=open_read/age=fresh"
REMOVED = "visibility.unlink/state=known/observer=stat/age=fresh"
REMOVED_OPEN = "visibility.unlink/state=known/observer=open_read/age=fresh"
GROWN = "size.grow/state=known/observer=stat/age=fresh/after=close"
GROWN_OPEN = "size.grow/state=known/observer=open_fstat/age=fresh/after=close"
GROWN_HELD = "size.grow/state=known/observer=fstat_held/age=fresh/after=fsync"
BOUNDS_S = {
    # options: missed, missed open, listed, replaced, replaced open, removed, removed open, grown, opened, held
    "": (60, 60, 0, 60, 0, 60, 0, 60, 0, 60),
    ONE_SECOND: (1, 1, 0, 1, 0, 1, 0, 1, 0, 1),
    "actimeo=7": (7, 7, 0, 7, 0, 7, 0, 7, 0, 7),
    "acdirmax=9": (9, 9, 0, 9, 0, 9, 0, 60, 0, 60),
    "acregmax=5": (60, 60, 0, 60, 0, 60, 0, 5, 0, 5),
    NOAC: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
    "acregmin=0,acregmax=0,acdirmin=0,acdirmax=0": (0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
    "lookupcache=none": (0, 0, 0, 0, 0, 0, 0, 60, 0, 60),
    "lookupcache=pos": (0, 0, 0, 60, 0, 60, 0, 60, 0, 60),
    "nocto": (60, 60, 60, 60, 60, 60, 60, 60, 60, 60),
    "nocto,acdirmax=8": (8, 8, 8, 8, 8, 8, 8, 60, 60, 60),
    f"nocto,{NOAC}": (0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
    "nocto,lookupcache=none": (0, 0, 60, 0, 0, 0, 0, 60, 60, 60),
}
QUESTIONS = (
    MISSED, MISSED_OPEN, LISTED, REPLACED, REPLACED_OPEN, REMOVED, REMOVED_OPEN, GROWN, GROWN_OPEN, GROWN_HELD,
)  # fmt: skip


@pytest.mark.parametrize("base", [V3, V42], ids=["v3", "v4.2"])
@pytest.mark.parametrize("more", BOUNDS_S)
def test_each_observer_has_the_bound_of_its_options(base: str, more: str) -> None:
    sites = pair(more, base)
    found = [promised(words, sites).bound_s for words in QUESTIONS]
    expected = list(BOUNDS_S[more])
    if base == V42:  # opened by handle: as long as the server keeps the file
        expected[QUESTIONS.index(REPLACED_OPEN)] = expected[QUESTIONS.index(REPLACED)]
        expected[QUESTIONS.index(REMOVED_OPEN)] = expected[QUESTIONS.index(REMOVED)]
    assert found == expected


def test_version_4_0_opens_by_name() -> None:
    sites = pair(options=V3.replace("vers=3", "vers=4.0"))
    assert promised(REMOVED_OPEN, sites).bound_s == promised(REPLACED_OPEN, sites).bound_s == 0


def test_the_options_of_the_observer_count_not_those_of_the_acting_site() -> None:
    sites = [nfs(f"{V3},lookupcache=none", "a"), nfs(f"{V3},acdirmax=11", "b")]
    assert promised(MISSED, sites, "a-b").bound_s == 11
    assert promised(MISSED, sites, "b-a").bound_s == 0


def test_a_bound_says_where_it_comes_from_and_what_is_usual() -> None:
    def told(more: str, name: str = "miss") -> tuple[str, str]:
        (site, _) = pair(more)
        (bound,) = [bound for bound in load_profile("nfsv3").bounds(site) if bound.name == name]
        return bound.origin.value, bound.note

    usual = "where the directory changed lately (acdirmin)"
    assert told("") == ("assumed", f"default: nfs(5) acdirmax, lookupcache; usually 30 s {usual}")
    assert told("acdirmin=4,acdirmax=40") == ("computed", f"acdirmax in the mount options; usually 4 s {usual}")
    assert told("acdirmax=20") == ("computed", "acdirmax in the mount options")
    assert told(ONE_SECOND) == ("computed", "acdirmax in the mount options")
    assert told("lookupcache=none") == ("computed", "lookupcache=none in the mount options")
    assert told("", "open-entry") == ("computed", "no nocto in the mount options")
    assert told("", "attr")[1].endswith("usually 3 s where the file changed lately (acregmin)")


def test_an_option_that_is_no_duration() -> None:
    for more in ("acdirmax=soon", "acdirmin=soon"):
        with pytest.raises(CannotTestError, match=r"site a \(/mnt\): .*'soon'"):
            load_profile("nfsv3").bounds(pair(more)[0])


@pytest.mark.parametrize("base", [V3, V42, V3.replace("vers=3", "vers=4.0")])
@pytest.mark.parametrize("more", ["", NOAC, "soft,nolock,local_lock=all,nocto"])
def test_every_cell_of_the_table_has_one_promise(base: str, more: str) -> None:
    profile = match_profile(pair(more, base))
    assert profile is not None
    for sites in (pair(more, base), pair(more, base)[:1]):
        for row in rows("thorough", [site.letter for site in sites]):
            assert profile.promise_among(row.cell, sites).source


# ---------------------------------------------------------------- matching


@pytest.mark.parametrize(("options", "name"), [(V3, "nfsv3"), (V42, "nfsv4"), (V3.replace("=3", "=4.1"), "nfsv4")])
def test_mounts_find_their_version(options: str, name: str) -> None:
    profile = match_profile(pair(options=options))
    assert profile is not None
    assert profile.name == name


def test_version_3_is_told_by_its_option() -> None:
    assert match_profile([make_site("nfs", options="rw,vers=2")]) is None


# ---------------------------------------------------------------- exclusive creation

WINNER = "exclusive.winner/publish={}/state=cold/contenders=2"


@pytest.mark.parametrize("base", [V3, V42])
def test_a_single_winner_needs_verifiers_that_differ(base: str) -> None:
    first, second = pair(options=base)
    known = [replace(first, booted_ns=(0, 10**6)), replace(second, booted_ns=(60 * 10**9, 60 * 10**9 + 10**6))]
    in_step = [known[0], replace(second, booted_ns=(50 * 10**6, 51 * 10**6))]
    one_kernel = [first, replace(second, boot_id=first.boot_id, mount=replace(second.mount, device="0:51"))]
    for sites, strength in (
        ([first, second], Strength.NOT_PROMISED), ([known[0], second], Strength.NOT_PROMISED),
        (in_step, Strength.NOT_PROMISED), (known, Strength.GUARANTEED), (one_kernel, Strength.GUARANTEED),
    ):  # fmt: skip
        promise = promised(WINNER.format("excl"), sites, "all")
        assert promise.strength is strength
        assert promised(WINNER.format("mkdir"), sites, "all").strength is Strength.GUARANTEED
        assert promised(WINNER.format("link"), sites, "all").strength is Strength.OPTIONAL
        assert "verifier" in promise.note or "booted in step" in promise.note


def test_a_third_site_whose_verifier_is_unknown_spoils_the_guarantee() -> None:
    sites = [nfs(V3, letter, booted_ns=(k * 10**11, k * 10**11 + 1)) for k, letter in enumerate("ab")]
    assert promised(WINNER.format("excl"), sites, "all").strength is Strength.GUARANTEED
    assert promised(WINNER.format("excl"), [*sites, nfs(V3, "c")], "all").strength is Strength.NOT_PROMISED


def test_answers_to_requests_sent_twice() -> None:
    told = {options: load_profile(name).retransmit_ambiguous(pair(options=options)) for options, name in (
        (V3, "nfsv3"), (V3.replace("=3", "=4.0"), "nfsv4"), (V42, "nfsv4"))}  # fmt: skip
    assert [bool(calls) for calls in told.values()] == [True, True, False]
    assert "link" in told[V3]
    assert "excl_create" not in told[V3], "the verifier tells a retransmission"
    assert load_profile("3fs-fuse").retransmit_ambiguous([make_site()]) == {"rename"}
    assert load_profile("posix-local").retransmit_ambiguous([make_site()]) == frozenset()


@pytest.mark.parametrize(
    ("version", "publish", "strength"),
    [
        ("3", "excl", Strength.GUARANTEED), ("3", "link", Strength.NOT_PROMISED), ("3", "mkdir", Strength.NOT_PROMISED),
        ("4.0", "excl", Strength.GUARANTEED), ("4.0", "mkdir", Strength.NOT_PROMISED),
        ("4.1", "link", Strength.OPTIONAL), ("4.2", "mkdir", Strength.GUARANTEED),
    ],
)  # fmt: skip
def test_whether_the_winner_is_told_so(version: str, publish: str, strength: Strength) -> None:
    sites = pair(options=V3.replace("vers=3", f"vers={version}"))
    words = f"exclusive.success-told/publish={publish}/state=cold/contenders=2"
    assert promised(words, sites, "all").strength is strength


# ---------------------------------------------------------------- the rest


def test_a_target_open_on_the_renaming_client_is_missing_for_a_moment() -> None:
    """For every client: nobody can tell from outside whether the renaming one has the target open."""
    words = "atomic.presence/observer=open_read/size=64k"
    first, second = pair()
    same = [first, replace(second, boot_id=first.boot_id)]
    for sites, direction in ((pair(), "a-b"), (pair()[:1], "a-a"), (same, "a-b")):
        assert promised(words, sites, direction).strength is Strength.NOT_PROMISED


@pytest.mark.parametrize(
    ("options", "feature", "told"),
    [
        (V3, "xattr", "unsupported(ENOTSUP)"),
        (V42, "xattr", "optional"),
        (V3.replace("=3", "=4.1"), "xattr", "unsupported(ENOTSUP)"),
        (V3, "fallocate", "unsupported(EOPNOTSUPP)"),
        (V42, "fallocate", "optional"),
        (V42, "o-tmpfile", "unsupported(EOPNOTSUPP)"),
        (V42, "rename-noreplace", "unsupported(EINVAL)"),
        (V3, "flock", "optional"),
        (V42, "flock", "guaranteed"),
        (V3.replace("local_lock=none", "local_lock=flock"), "flock", "not promised"),
        (V3.replace("local_lock=none", "local_lock=flock"), "fcntl-lock", "optional"),
        (V3.replace("local_lock=none", "nolock,local_lock=all"), "fcntl-lock", "not promised"),
    ],
)
def test_capabilities(options: str, feature: str, told: str) -> None:
    assert str(promised(f"capability.{feature}", pair(options=options))) == told


def test_a_soft_mount_may_tell_errors() -> None:
    words = "exclusive.loser-errno/publish=excl/state=cold/contenders=2"
    assert promised(words, pair(), "all").strength is Strength.GUARANTEED
    assert promised(words, pair(options=V3.replace("hard", "soft")), "all").strength is Strength.NOT_PROMISED


# ---------------------------------------------------------------- extends

CHILD = """
[profile]
name = "own"
title = "Own"
extends = "{base}"
shared = false
[bounds.miss]
default = "5 s"
source = "our own setting"
[[promise]]
property = ["visibility.unlink", "capability.xattr"]
{where}
strength = "not promised"
evidence = "source"
source = "our own rule"
"""


def child(tmp_path: Path, base: str = "nfsv3", where: str = "") -> str:
    path = tmp_path / "own.toml"
    path.write_text(CHILD.format(base=base, where=where))
    return str(path)


def test_a_profile_extends_another(tmp_path: Path) -> None:
    profile = load_profile(child(tmp_path))
    sites = pair()
    assert profile.promise_among(cell(REMOVED), sites).strength is Strength.NOT_PROMISED
    assert profile.promise_among(cell(REPLACED), sites).bound_s == 60
    assert profile.promise_among(cell(MISSED), sites).bound_s == 5
    cold = "visibility.unlink/state=cold/observer=stat"
    assert profile.promise_among(cell(cold), sites).strength is Strength.GUARANTEED
    assert profile.fstypes == ()
    assert "link" in profile.retransmit_ambiguous(sites)


def test_a_profile_extends_no_stranger_and_not_itself(tmp_path: Path) -> None:
    with pytest.raises(CannotTestError, match=r"own\.toml: extends: unknown profile 'nfsv5'; did you mean 'nfsv\d'"):
        load_profile(child(tmp_path, "nfsv5"))
    path = child(tmp_path, str(tmp_path / "own.toml"))
    with pytest.raises(CannotTestError, match=r"own\.toml: profile\.extends: profiles extend each other in a circle"):
        load_profile(path)


def test_an_inherited_promise_is_named_by_its_profile(tmp_path: Path) -> None:
    text = CHILD.format(base="nfsv3", where='where = { observer = "stat" }').replace(', "capability.xattr"', "")
    path = tmp_path / "own.toml"
    path.write_text(text)
    with pytest.raises(CannotTestError, match=r"promise\[\d+\] .*of nfsv3 and promise\[1\] .* both speak of"):
        load_profile(str(path)).promise_among(cell("visibility.unlink/state=cold/observer=stat"), pair())


def test_the_extending_example_of_the_documentation(tmp_path: Path) -> None:
    text = (Path(__file__).parents[2] / "docs" / "profiles.md").read_text()
    path = tmp_path / "scratch.toml"
    path.write_text(
        next(block for block in text.split("```toml\n") if 'extends = "nfsv4"\nshared' in block).partition("```")[0]
    )
    profile, sites = load_profile(str(path)), pair(options=V42)
    assert profile.promise_among(cell(MISSED), sites).bound_s == 2
    assert profile.promise_among(cell(REPLACED), sites).bound_s == 60
