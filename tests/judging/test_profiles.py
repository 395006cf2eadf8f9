"""What profiles promise of cells and sites."""

from __future__ import annotations

from pathlib import Path

import pytest

from fsconform.judging.clauses import find_problems
from fsconform.judging.profiles import choose_profile, load_profile, match_profile, shipped_profiles
from fsconform.run.table import rows
from fsconform.vocabulary.axes import PROPERTY_AXES
from fsconform.vocabulary.cells import Cell, make_cell
from fsconform.vocabulary.errors import CannotTestError
from fsconform.vocabulary.promises import BoundOrigin, Strength
from fsconform.vocabulary.properties import PROPERTIES
from tests.judging.builders import make_site

TABLE = [row.cell for row in rows("thorough", "ab")]
SITE = make_site()


def create(direction: str = "a-b", publish: str = "rename", state: str = "missed", observer: str = "stat") -> Cell:
    return make_cell("visibility.create", direction, publish=publish, state=state, observer=observer, age="fresh")


# ---------------------------------------------------------------- shipped profiles


def test_the_shipped_profiles() -> None:
    assert shipped_profiles() == ("3fs-fuse", "fuse-default", "nfsv3", "nfsv4", "posix-local")


@pytest.mark.parametrize("name", shipped_profiles())
def test_every_shipped_profile_is_complete_and_named_as_its_file(name: str) -> None:
    profile = load_profile(name)
    assert find_problems(profile) == ()
    assert profile.name == name == Path(profile.file).stem
    assert profile.second_client or not profile.shared


@pytest.mark.parametrize("name", shipped_profiles())
@pytest.mark.parametrize("kernel", ["4.18.0", "5.10.0", "6.1.0-13-amd64", "6.12.3"])
@pytest.mark.parametrize("fstype", ["tmpfs", "overlay", "ext4", "fuse.hf3fs"])
def test_every_cell_of_the_table_has_one_sourced_promise(name: str, kernel: str, fstype: str) -> None:
    profile = load_profile(name)
    sites = [make_site(fstype, kernel=kernel, letter=letter) for letter in "ab"]
    for cell in TABLE:
        promise = profile.promise_among(cell, sites)
        assert len(promise.source) > 5
        assert (promise.bound is not None) == (promise.strength is Strength.WITHIN)


def test_the_table_of_cells_stays_inside_the_catalogue_of_axes() -> None:
    assert set(PROPERTY_AXES) == set(PROPERTIES)
    for cell in TABLE:
        for axis, value in cell.axes:
            assert value in PROPERTY_AXES[cell.property_id][axis], cell.id


THREE_FS = [
    ("visibility.create/rename/missed/stat", "within 5 s (negative, assumed)"),
    ("visibility.create/rename/missed/open_read", "within 5 s (negative, assumed)"),
    ("visibility.create/mkdir/missed/stat", "within 5 s (negative, assumed)"),
    ("visibility.create/rename/missed-ancestor/stat", "within 5 s (negative, assumed)"),
    ("visibility.create/rename/missed-ancestor/scandir", "within 5 s (negative, assumed)"),
    ("visibility.create/rename/missed/scandir", "guaranteed"),
    ("visibility.create/rename/cold/stat", "guaranteed"),
    ("visibility.create/noreplace/cold/stat", "unsupported(EINVAL)"),
    ("visibility.replace/rename/known/stat", "within 30 s (entry, assumed)"),
    ("visibility.replace/rename/known/open_read", "within 30 s (entry, assumed)"),
    ("visibility.replace/rename/cold/open_read", "guaranteed"),
    ("visibility.unlink//known/stat", "within 30 s (entry, assumed)"),
    ("visibility.unlink//listed/scandir", "guaranteed"),
    ("size.grow//known/stat", "within 30 s (attr, assumed)"),
    ("size.grow//known/open_fstat", "within 30 s (attr, assumed)"),
    ("size.grow//known/fstat_held", "within 30 s (attr, assumed)"),
    ("size.grow//cold/stat", "guaranteed"),
    ("exclusive.winner/excl/missed/", "guaranteed"),
    ("exclusive.winner/link/cold/", "guaranteed"),
    ("exclusive.winner/noreplace/ghost/", "unsupported(EINVAL)"),
    ("exclusive.over-existing/noreplace/missed/", "optional"),
    ("exclusive.loser-sees/excl/missed/", "guaranteed"),
    ("atomic.presence///open_read", "guaranteed"),
    ("atomic.order///", "within 5 s (negative, assumed)"),
    ("content.complete/excl//", "guaranteed"),
    ("capability.xattr///", "unsupported(ENOTSUP)"),
    ("capability.flock///", "not promised"),
    ("capability.o-tmpfile///", "unsupported(EOPNOTSUPP)"),
    ("capability.fsync-dir///", "guaranteed"),
]


@pytest.mark.parametrize(("words", "told"), THREE_FS)
def test_what_3fs_promises(words: str, told: str) -> None:
    property_id, *values = words.split("/")
    axes = {axis: value for axis, value in zip(("publish", "state", "observer"), values, strict=True) if value}
    assert str(load_profile("3fs-fuse").promise(make_cell(property_id, "a-b", **axes), SITE, SITE)) == told


def test_what_libfuse_implies() -> None:
    profile = load_profile("fuse-default")
    assert str(profile.promise(create(), SITE)) == "within 0 s (negative, assumed)"
    replace = make_cell("visibility.replace", "a-b", publish="rename", state="known", observer="stat")
    assert str(profile.promise(replace, SITE)) == "within 1 s (entry, assumed)"


# ---------------------------------------------------------------- conditions


@pytest.mark.parametrize("word", ["xattr", "o-direct"])
@pytest.mark.parametrize(
    ("fstype", "kernel", "strength"),
    [
        ("tmpfs", "6.1.0-13-amd64", Strength.OPTIONAL),
        ("tmpfs", "6.5.13", Strength.OPTIONAL),
        ("tmpfs", "6.6.0", Strength.GUARANTEED),
        ("tmpfs", "6.6-rc1", Strength.GUARANTEED),
        ("tmpfs", "6.12.1", Strength.GUARANTEED),
        ("ext4", "5.4.0", Strength.GUARANTEED),
        ("overlay", "6.12.1", Strength.OPTIONAL),
    ],
)
def test_tmpfs_of_older_kernels(word: str, fstype: str, kernel: str, strength: Strength) -> None:
    cell = make_cell(f"capability.{word}", "a-a")
    assert load_profile("posix-local").promise(cell, make_site(fstype, kernel=kernel)).strength is strength


def test_a_condition_holds_where_any_site_of_the_cell_fulfils_it() -> None:
    cell = make_cell("exclusive.loser-sees", "all", publish="excl", state="missed", contenders="2")
    old, new = make_site(kernel="5.15.0"), make_site(kernel="6.8.0")
    profile = load_profile("3fs-fuse")
    assert profile.promise(cell, new, new).strength is Strength.GUARANTEED
    assert profile.promise(cell, new, old).strength is Strength.NOT_PROMISED
    assert profile.promise(cell, new, new, old).strength is Strength.NOT_PROMISED


# ---------------------------------------------------------------- bounds


def test_bounds_are_read_from_the_observer() -> None:
    profile = load_profile("3fs-fuse")
    slow = make_site(letter="a", client={"usr.negative_timeout": "30"})
    quick = make_site(letter="b", client={"usr.negative_timeout": "250ms", "usr.entry_timeout": "2"})
    forward = profile.promise_among(create("a-b"), [slow, quick]).bound
    backward = profile.promise_among(create("b-a"), [slow, quick]).bound
    assert forward is not None
    assert backward is not None
    assert (forward.seconds, forward.origin) == (0.25, BoundOrigin.READ)
    assert backward.seconds == 30
    assert {bound.name: bound.seconds for bound in profile.bounds(quick)} == {"negative": 0.25, "entry": 2, "attr": 30}
    assert [bound.origin for bound in profile.bounds(make_site())] == [BoundOrigin.ASSUMED] * 3


def test_where_all_sites_observe_the_longest_bound_counts() -> None:
    sites = [make_site(letter="a"), make_site(letter="b", client={"usr.negative_timeout": "12"})]
    assert load_profile("3fs-fuse").promise_among(make_cell("atomic.order", "all"), sites).bound_s == 12


def test_the_longest_bound_in_play_is_of_promised_cells_only() -> None:
    profile = load_profile("3fs-fuse")
    sites = [make_site(letter="a"), make_site(letter="b")]
    unlink = make_cell("visibility.unlink", "a-b", state="known", observer="stat")
    cold = create(state="cold")
    assert profile.longest_bound([], sites) == 0
    assert profile.longest_bound([cold, make_cell("capability.flock", "a-b")], sites) == 0
    assert profile.longest_bound([cold, create()], sites) == 5
    assert profile.longest_bound([cold, create(), unlink], sites) == 30
    assert load_profile("posix-local").longest_bound(TABLE, sites) == 0


def test_an_emulated_mount_tells_its_timeouts_in_its_source() -> None:
    site = make_site("fuse.fsconform", "fsconform:fuse-default,entry=2,negative=0.5")
    bounds = load_profile("fuse-default").bounds(site)
    assert {bound.name: (bound.seconds, bound.origin.value) for bound in bounds} == {
        "negative": (0.5, "read"), "entry": (2, "read"), "attr": (1, "assumed"),
    }  # fmt: skip


@pytest.mark.parametrize("text", ["soon", "-1", "nan", "inf", "", "5 parsec"])
def test_a_mount_that_tells_no_duration(text: str) -> None:
    with pytest.raises(CannotTestError, match=r"site a \(/mnt\): usr.entry_timeout .*'entry'"):
        load_profile("3fs-fuse").bounds(make_site(client={"usr.entry_timeout": text}))


def test_a_bound_computed_from_a_mount_option(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text(
        """
        [profile]
        name = "own"
        title = "Own"
        shared = true
        second_client = "Mount it again."
        [bounds.acdirmax]
        default = "1 min"
        mount_option = "acdirmax"
        source = "nfs(5)"
        [[promise]]
        property = "visibility.create"
        within = "acdirmax"
        evidence = "source"
        source = "nfs(5)"
        slack = "2 s"
        """
    )
    profile = load_profile(str(path))
    promise = profile.promise(create(), make_site("nfs4", options="rw,acdirmax=7"))
    assert promise.bound is not None
    assert (promise.bound.seconds, promise.bound.origin, promise.slack_s) == (7, BoundOrigin.COMPUTED, 2)
    assert profile.promise(create(), make_site("nfs4")).bound_s == 60
    with pytest.raises(CannotTestError, match=r"no promise covers size\.grow/a-b"):
        profile.promise(make_cell("size.grow", "a-b"), SITE)
    assert any("size.grow: nothing is promised" in problem for problem in find_problems(profile))


# ---------------------------------------------------------------- matching


@pytest.mark.parametrize(
    ("fstype", "source", "name"),
    [
        ("ext4", "/dev/vda1", "posix-local"),
        ("tmpfs", "tmpfs", "posix-local"),
        ("overlay", "overlay", "posix-local"),
        ("fuse.hf3fs", "hf3fs.prod", "3fs-fuse"),
        ("fuse.fsconform", "fsconform:3fs-fuse", "3fs-fuse"),
        ("fuse.fsconform", "fsconform:3fs-fuse,negative=0.5", "3fs-fuse"),
        ("fuse.fsconform", "fsconform:fuse-default", "fuse-default"),
        ("fuse.fsconform", "fsconform:strict,mutant=torn", "posix-local"),
    ],
)
def test_mounts_find_their_profile(fstype: str, source: str, name: str) -> None:
    sites = [make_site(fstype, source, letter=letter) for letter in "ab"]
    profile = match_profile(sites)
    assert profile is not None
    assert profile.name == name
    assert choose_profile(None, sites).name == name
    assert choose_profile("fuse-default", sites).name == "fuse-default"


@pytest.mark.parametrize("fstype", ["nfs", "fuse.sshfs", "ceph"])
def test_an_unknown_kind_of_mount_must_be_told_its_profile(fstype: str) -> None:
    sites = [make_site(fstype, "server:/export")]
    assert match_profile(sites) is None
    with pytest.raises(CannotTestError, match=rf"{fstype}; .*--profile: 3fs-fuse, fuse-default, nfsv3, ") as caught:
        choose_profile(None, sites)
    assert caught.value.status == 2


def test_sites_of_different_kinds() -> None:
    sites = [make_site("ext4", letter="a"), make_site("cifs", letter="b")]
    with pytest.raises(CannotTestError, match=r"site a \(ext4, .*posix-local; site b \(cifs, .*none; .*--profile"):
        match_profile(sites)


def test_unknown_words() -> None:
    with pytest.raises(CannotTestError, match="unknown profile '3fs-fuze'; did you mean '3fs-fuse'"):
        load_profile("3fs-fuze")
    with pytest.raises(CannotTestError, match=r"unknown property 'visibility\.crate'; did you mean"):
        load_profile("3fs-fuse").promise(make_cell("visibility.crate", "a-b"), SITE)
    with pytest.raises(CannotTestError, match="unknown site 'c'"):
        load_profile("3fs-fuse").promise_among(create("a-c"), [SITE])
