"""Every mistake in a profile is told as file, key, what is wrong and the nearest known word; never a traceback."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fsconform.judging.clauses import find_differences, find_problems, list_clauses
from fsconform.judging.contracts import check_profile, diff_profiles, list_profiles, show_profile
from fsconform.judging.durations import DurationError, format_duration, parse_duration
from fsconform.judging.profiles import load_profile, shipped_profiles
from fsconform.vocabulary.errors import CannotTestError
from fsconform.vocabulary.properties import PROPERTIES

GOOD = """\
[profile]
name = "own"
title = "Own"
shared = true
second_client = "Mount it again."

[match]
fstype = ["nfs4"]

[bounds.negative]
default = "5 s"
client_option = "usr.negative_timeout"
source = "the manual"

[[promise]]
property = "visibility.create"
where = { state = ["missed"], observer = "stat" }
within = "negative"
evidence = "source"
source = "the manual"

[[promise]]
property = "capability.xattr"
when = { fstype = "tmpfs", kernel_below = "6.6" }
unsupported = ["ENOTSUP"]
evidence = "derived"
source = "the manual"
"""

MISTAKES = [
    ('shared = true', 'shared = "yes"', "profile.shared: must be true or false, is text"),
    ('shared = true', '', "profile: 'shared' is missing"),
    ('second_client = "Mount it again."', '', "profile: 'second_client' is missing"),
    ('title = "Own"', 'titel = "Own"', "profile: unknown key 'titel'; did you mean 'title'?"),
    ('title = "Own"', 'title = 3', "profile.title: must be text, is a whole number"),
    ('title = "Own"', 'title = " "', "profile.title: is empty"),
    ('[match]', '[matches]', "unknown key 'matches'; did you mean 'match'?"),
    ('fstype = ["nfs4"]', 'fstype = 4', "match.fstype: must be text or a list of texts, is a whole number"),
    ('fstype = ["nfs4"]', 'fstype = []', "match.fstype: is an empty list"),
    ('fstype = ["nfs4"]', 'fstype = [4]', "match.fstype: must be a list of texts, has a whole number in it"),
    ('default = "5 s"', 'default = 5', 'bounds.negative.default: needs a unit: write "5 s" or "5 ms"'),
    ('default = "5 s"', 'default = "5"', "bounds.negative.default: '5' has no unit; write '5 s' or '5 ms'"),
    ('default = "5 s"', 'default = "5 sec"', "unknown unit 'sec' in '5 sec'; did you mean 's'?"),
    ('default = "5 s"', 'default = "5 parsec"', "unknown unit 'parsec' in '5 parsec'; known: ns, us, ms, s, min, h"),
    ('default = "5 s"', 'default = "-5 s"', "bounds.negative.default: '-5 s' is no duration"),
    ('default = "5 s"', 'default = true', "bounds.negative.default: must be text, is true or false"),
    ('default = "5 s"', '', "bounds.negative: 'default' is missing"),
    ('default = "5 s"', 'default = "5 s"\nunit = "sec"', "bounds.negative.unit: unknown unit 'sec'"),
    ('client_option = "usr', 'client_opt = "usr', "bounds.negative: unknown key 'client_opt'; did you mean 'client_op"),
    ('[bounds.negative]', '[bounds.5]', "bounds.5: the name of a bound begins with a letter"),
    ('[bounds.negative]', '[bounds]\nx = 3\n[bounds.negative]', "bounds.x: must be a table, is a whole number"),
    ('"visibility.create"', '"visibilty.create"', "unknown property 'visibilty.create'; did you mean 'visibility.c"),
    ('property = "visibility.create"', '', "promise[1]: 'property' is missing"),
    ('state = [', 'sate = [', "where: unknown key 'sate'; did you mean 'state'?"),
    ('"missed"', '"mised"', "where.state: unknown value for visibility.create 'mised'; did you mean 'missed'?"),
    ('observer = "stat"', 'after = "close"', "where.after: visibility.create has no such axis; its axes: publish, st"),
    ('observer = "stat"', 'observer = true', "where.observer: must be text or a list of texts, is true or false"),
    ('where = { state = ["missed"], observer = "stat" }', 'where = "missed"', ".where: must be a table, is text"),
    ('within = "negative"', 'within = "negativ"', ".within: unknown bound 'negativ'; did you mean 'negative'?"),
    ('within = "negative"', 'within = 5', '.within: needs a unit: write "5 s" or "5 ms"'),
    ('within = "negative"', 'within = "5 m"', ".within: unknown unit 'm' in '5 m'; did you mean 'min'?"),
    ('within = "negative"', 'strength = "guarantee"', ".strength: unknown strength 'guarantee'; did you mean 'guaran"),
    ('within = "negative"', 'strength = "within"', ".strength: unknown strength 'within'; known: guaranteed, not prom"),
    ('within = "negative"', '', "promises nothing; give exactly one of strength, within, unsupported"),
    ('within = "negative"', 'within = "negative"\nstrength = "optional"', "has strength and within; give exactly one"),
    ('within = "negative"', 'strength = "optional"\nslack = "1 s"', ".slack: only a promise 'within' has slack"),
    ('within = "negative"', 'within = "negative"\nslack = 1', '.slack: needs a unit: write "1 s" or "1 ms"'),
    ('evidence = "source"', 'evidence = "rumour"', ".evidence: unknown evidence 'rumour'"),
    ('evidence = "source"', '', "'evidence' is missing"),
    ('evidence = "source"\nsource = "the manual"', 'evidence = "source"', "(visibility.create): 'source' is missing"),
    ('client_option = "usr.negative_timeout"\nsource = "the manual"', '', "bounds.negative: 'source' is missing"),
    ('["ENOTSUP"]', '["ENOTSUPP"]', "unsupported: unknown errno 'ENOTSUPP'; did you mean 'ENOTSUP'?"),
    ('["ENOTSUP"]', '[]', "unsupported: is an empty list"),
    ('fstype = "tmpfs", kernel_below', 'fstyp = "tmpfs", kernel_below', "when: unknown key 'fstyp'; did you mean"),
    ('kernel_below = "6.6"', 'kernel_below = 6.6', "when.kernel_below: must be text, is a number"),
    ('kernel_below = "6.6"', 'kernel_below = "six"', "when.kernel_below: 'six' is no kernel version"),
    ('when = { fstype = "tmpfs", kernel_below = "6.6" }', 'when = {}', ".when: is empty; name one or more of"),
    ('[[promise]]', '[promise]', "is no TOML"),
    ('[profile]', '[profile', "is no TOML"),
]  # fmt: skip


def write(folder: Path, text: str) -> str:
    path = folder / "own.toml"
    path.write_text(text)
    return str(path)


def test_the_good_profile_loads(tmp_path: Path) -> None:
    assert len(load_profile(write(tmp_path, GOOD)).rules) == 2


@pytest.mark.parametrize(("good", "bad", "message"), MISTAKES, ids=[message[:40] for _, _, message in MISTAKES])
def test_a_mistake_is_told_in_one_line(tmp_path: Path, good: str, bad: str, message: str) -> None:
    assert good in GOOD
    path = write(tmp_path, GOOD.replace(good, bad, 1))
    with pytest.raises(CannotTestError) as caught:
        load_profile(path)
    told = str(caught.value)
    assert told.startswith(f"{path}: ")
    assert message in told
    assert "\n" not in told
    assert caught.value.status == 2


def test_the_promise_is_named_by_number_and_property(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD.replace('kernel_below = "6.6"', 'kernel_below = "six"'))
    with pytest.raises(CannotTestError, match=r"promise\[2\] \(capability.xattr\)\.when\.kernel_below"):
        load_profile(path)


def test_files_that_are_no_profiles(tmp_path: Path) -> None:
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    (tmp_path / "empty.toml").write_text("")
    (tmp_path / "head.toml").write_text(GOOD.partition("[bounds.negative]")[0])
    for name, message in [
        ("missing.toml", "cannot be read: No such file"),
        ("", "cannot be read: Is a directory"),
        ("bytes.toml", "is no UTF-8 text"),
        ("empty.toml", r"the table \[profile\] is missing"),
        ("head.toml", r"it has no \[\[promise\]\]"),
    ]:
        with pytest.raises(CannotTestError, match=message):
            load_profile(f"{tmp_path}/{name}")


def test_the_example_of_the_documentation_loads(tmp_path: Path) -> None:
    text = (Path(__file__).parents[2] / "docs" / "profiles.md").read_text()
    profile = load_profile(write(tmp_path, text.partition("```toml\n")[2].partition("```")[0]))
    assert (profile.name, len(profile.rules), list(profile.bound_rules)) == ("my-mount", 2, ["names"])


# ---------------------------------------------------------------- check


AGAIN = """
[[promise]]
property = "visibility.create"
where = { publish = "link", state = "missed" }
strength = "guaranteed"
evidence = "source"
source = "the manual"
"""


def test_check_tells_what_is_not_covered_and_what_is_ambiguous(tmp_path: Path) -> None:
    problems = find_problems(load_profile(write(tmp_path, GOOD + AGAIN)))
    assert any("size.grow: nothing is promised; add a [[promise]]" in problem for problem in problems)
    assert any("capability.xattr: nothing is promised" in problem for problem in problems)
    with pytest.raises(CannotTestError, match="nothing is promised"):
        check_profile(str(tmp_path / "own.toml"))
    fallback = AGAIN.replace('where = { publish = "link", state = "missed" }\n', "")
    problems = find_problems(load_profile(write(tmp_path, GOOD + AGAIN + fallback)))
    ambiguous = [problem for problem in problems if "visibility.create" in problem]
    assert len(ambiguous) == 1
    assert "promise[1] (visibility.create) and promise[3] (visibility.create) all speak of publish=link" in ambiguous[0]


def test_the_ambiguous_cell_itself_cannot_be_judged(tmp_path: Path) -> None:
    from fsconform.vocabulary.cells import make_cell
    from tests.judging.builders import make_site

    profile = load_profile(write(tmp_path, GOOD + AGAIN))
    cell = make_cell("visibility.create", "a-b", publish="link", state="missed", observer="stat")
    with pytest.raises(CannotTestError, match=r"promise\[1\].* and promise\[3\].* both speak of"):
        profile.promise(cell, make_site())


@pytest.mark.parametrize("name", shipped_profiles())
def test_the_shipped_profiles_pass_the_check(name: str) -> None:
    assert check_profile(name).endswith(f"promises cover every cell of {len(PROPERTIES)} properties")


# ---------------------------------------------------------------- list, show, diff


def test_list_names_every_profile_and_what_it_fits() -> None:
    told = list_profiles().splitlines()
    assert [line.split()[0] for line in told[1:]] == list(shipped_profiles())
    assert "fuse.hf3fs" in told[1]


def test_show_lists_every_promise_with_its_source() -> None:
    clauses = list_clauses(load_profile("3fs-fuse"))
    create = [clause for clause in clauses if clause.property_id == "visibility.create"]
    assert create[0].where == "everything else"
    assert create[0].promise == "within negative (5 s)"
    told = show_profile("3fs-fuse")
    assert "not a measurement of 3FS" in told
    assert "read from usr.negative_timeout" in told
    for clause in clauses:
        assert f"      {clause.evidence}: {clause.source}\n" in told + "\n"
    assert "needs no second client" in show_profile("posix-local")


def test_diff_tells_the_settings_in_which_two_contracts_differ() -> None:
    local, shared, fuse = (load_profile(name) for name in ("posix-local", "3fs-fuse", "fuse-default"))
    assert find_differences(shared, shared) == ()
    assert diff_profiles("3fs-fuse", "3fs-fuse") == "3fs-fuse and 3fs-fuse promise the same"
    rows = {(row.property_id, row.where): (row.left, row.right) for row in find_differences(local, shared)}
    assert rows["capability.xattr", "every cell"] == ("guaranteed", "unsupported(ENOTSUP)")
    assert rows["visibility.replace", "state not cold"] == ("guaranteed", "within entry (30 s)")
    assert rows["exclusive.winner", "publish=noreplace"] == ("guaranteed", "unsupported(EINVAL)")
    assert ("size.grow", "within attr (1 s)", "within attr (30 s)") in {
        (row.property_id, row.left, row.right) for row in find_differences(fuse, shared)
    }
    heads, *lines = diff_profiles("posix-local", "3fs-fuse").splitlines()
    assert heads.split() == ["PROPERTY", "WHERE", "POSIX-LOCAL", "3FS-FUSE"]
    assert len(lines) == len(rows)


# ---------------------------------------------------------------- durations


@settings(deadline=None)
@given(st.integers(0, 10**7))
def test_durations_are_read_back(milliseconds: int) -> None:
    assert parse_duration(f"{milliseconds} ms") == pytest.approx(milliseconds / 1e3)
    told = format_duration(milliseconds / 1e3)
    assert parse_duration(told) == pytest.approx(milliseconds / 1e3, rel=1e-5)


@settings(deadline=None)
@given(st.text(max_size=12))
def test_no_text_breaks_the_reader_of_durations(text: str) -> None:
    try:
        seconds = parse_duration(text)
    except DurationError as error:
        assert "\n" not in str(error) or "\n" in text
    else:
        assert 0 <= seconds < float("inf")


@pytest.mark.parametrize(
    ("text", "seconds"), [("5 s", 5), ("250 ms", 0.25), ("1.5min", 90), ("2 h", 7200), ("7", 7), ("5e-1", 0.5)]
)
def test_units(text: str, seconds: float) -> None:
    assert parse_duration(text, "s") == seconds
