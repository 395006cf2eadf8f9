"""Sentences, figures, escapes, commands."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from dataclasses import replace
from html import unescape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from fsconform.report.accusations import accusations_of
from fsconform.report.asides import search_line
from fsconform.report.digest import families_of, rate_of
from fsconform.report.escaping import markdown_code, markdown_fence, markdown_text, shorten_keys, visible
from fsconform.report.machine import report_object
from fsconform.report.numbers import bytes_text, duration_text, span_text
from fsconform.report.verdict_text import repeat_command, sentence, status_line, verdict_meaning
from fsconform.vocabulary.cells import make_cell
from fsconform.vocabulary.findings import SearchSummary
from fsconform.vocabulary.observations import Observation
from fsconform.vocabulary.verdicts import Judgement, Verdict
from tests.report.examples import (
    GUARANTEED,
    a_result,
    a_site,
    interrupted_run,
    kept_run,
    one_client_run,
    violated_run,
)


def test_sentences() -> None:
    assert sentence(kept_run()) == "The two mounts keep what 3fs-fuse promises: 23 of 23 judged cells kept."
    assert sentence(violated_run()) == (
        "The two mounts break what 3fs-fuse promises: 3 of 25 judged cells violated"
        " (visibility.create, exclusive.winner, capability.mmap)."
    )
    assert sentence(one_client_run()) == (
        "The mount keeps what 3fs-fuse promises: 8 of 8 judged cells kept;"
        " inconclusive: one client, visibility between clients not tested."
    )
    assert sentence(interrupted_run()).endswith("5 of 5 judged cells kept; interrupted after 12 s.")
    nothing = replace(kept_run(), cells=())
    assert sentence(nothing).startswith("Nothing was judged")
    undecided = tuple(replace(row, judgement=Judgement(Verdict.INCONCLUSIVE, "")) for row in kept_run().cells[:2])
    assert "2 of 2 judged cells inconclusive, none violated" in sentence(replace(kept_run(), cells=undecided))


def test_a_finding_of_the_search_alone_is_a_violation() -> None:
    record = replace(kept_run(), search=violated_run().search)
    assert sentence(record) == (
        "The two mounts break what 3fs-fuse promises: the search found a violation of exclusive.winner;"
        " 0 of 23 judged cells violated."
    )
    assert status_line(record) == "exit status 1 (violated)"


def test_status_lines() -> None:
    assert status_line(kept_run()) == "exit status 0 (kept)"
    assert status_line(one_client_run()) == "exit status 4 (inconclusive)"
    assert status_line(interrupted_run()) == "exit status 130 (interrupted)"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (-1, "0 s"), (3.4e-4, "340 µs"), (1.2e-3, "1.20 ms"), (0.0399, "39.9 ms"), (0.9999, "1.00 s"),
     (5.006, "5.01 s"), (57.04, "57.0 s"), (99.96, "100 s"), (152.4, "152 s")],
)  # fmt: skip
def test_durations(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text


def test_spans_and_bytes() -> None:
    assert span_text((4.98, 5.01)) == "4.98–5.01 s"
    assert span_text((0.98, 1.01)) == "980 ms–1.01 s"
    assert span_text((5.0, 5.0)) == "5.00 s"
    assert [bytes_text(n) for n in (0, 1023, 1536, 8 << 30)] == ["0 B", "1023 B", "1.5 KiB", "8.0 GiB"]


def test_directions_share_a_row_only_where_they_ended_alike() -> None:
    rows = {row.name: row for family in families_of(violated_run()) for row in family.rows}
    assert rows["create/rename/missed/stat/a-b"].verdict is Verdict.VIOLATED
    assert rows["create/rename/missed/stat/b-a"].verdict is Verdict.KEPT
    assert rows["create/rename/missed/open"].directions == ("a-b", "b-a")
    assert rows["winner/excl/cold/2"].directions == ("all",)
    both = [replace(row, judgement=Judgement(Verdict.VIOLATED, "late")) for row in kept_run().cells]
    bad = {row.name for family in families_of(replace(kept_run(), cells=tuple(both))) for row in family.rows}
    assert {"create/rename/missed/open/a-b", "create/rename/missed/open/b-a"} <= bad
    one = tuple(row for row in kept_run().cells if row.cell.direction in ("a-b", "all"))
    assert not any(
        row.name.endswith("/a-b") for family in families_of(replace(kept_run(), cells=one)) for row in family.rows
    )
    shown = [cell_id for row in rows.values() for cell_id in row.cell_ids]
    assert sorted(shown) == sorted(result.cell.id for result in violated_run().cells)


def test_an_observed_cell_shows_what_was_seen() -> None:
    base = kept_run()
    row = next(result for result in base.cells if result.cell.family == "atomic")
    observed = replace(
        row, judgement=Judgement(Verdict.OBSERVED, "nothing promised"),
        observation=Observation(10, 10, outcomes={"exact": 7, "ENOENT": 3}),
    )  # fmt: skip
    (family,) = families_of(replace(base, cells=(observed,)))
    assert family.rows[0].seen == "exact 7, ENOENT 3"


def test_search_lines() -> None:
    assert search_line(kept_run()) == (
        "212 programs, 6,784 rounds (74 % contested), 81,408 operations in 11.7 s: nothing found"
    )
    assert search_line(replace(kept_run(), search=SearchSummary())) == "not run"


def test_the_command_repeats_a_cell_in_any_shell() -> None:
    odd = replace(
        kept_run(), budget="standard", profile="my profile.toml",
        sites=(a_site("a", "/mnt/it's"), a_site("b", "exec=kubectl exec -i pod-0 -- python3:/data")),
    )  # fmt: skip
    assert shlex.split(repeat_command(odd, "a.b/a-b")) == [
        "fsconform", "run", "--site", "/mnt/it's", "--site", "exec=kubectl exec -i pod-0 -- python3:/data",
        "--profile", "my profile.toml", "--budget", "standard", "--cell", "a.b/a-b", "--seed", "7",
    ]  # fmt: skip
    assert repeat_command(kept_run()).count("lab=3fs-fuse") == 1


@pytest.mark.parametrize("path", ["/mnt/\n\x1b[31m", "/mnt/\udcff'\\n", "/mnt/\u202e$(reboot)`"])
def test_the_command_names_unprintable_paths_for_bash(path: str) -> None:
    record = replace(kept_run(), sites=(a_site("a", path),))
    command = repeat_command(record).replace("fsconform run", "printf '%s\\0'")
    output = subprocess.run(["bash", "-c", command], capture_output=True, timeout=10, check=True,
                            env={"LC_ALL": "C.UTF-8", "PATH": os.environ["PATH"]})  # fmt: skip
    assert output.stdout.split(b"\0")[1] == os.fsencode(path)


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters(), max_size=20))
def test_visible_text_is_printable_and_stable(text: str) -> None:
    assert visible(text).isprintable()
    assert visible(visible(text)) == visible(text)


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs", "Cc", "Cf", "Zl", "Zp", "Co", "Cn"]), min_size=1, max_size=12))
def test_markdown_shows_text_as_it_is(text: str) -> None:
    render = MarkdownIt("gfm-like", {"linkify": False}).render
    code = render(f"| x |\n|---|\n| {markdown_code(text)} |\n")
    assert code.count("<td>") == 1
    assert render(markdown_fence([text])).startswith("<pre><code>")
    shown = render(f"x {markdown_text(text)} x")
    assert "<em>" not in shown and "<strong>" not in shown and "<code>" not in shown and "<a" not in shown


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters(categories=["L", "N", "P", "S"]), min_size=1, max_size=12))
def test_tables_of_markdown_show_every_character(text: str) -> None:
    for shown in (markdown_text(text), markdown_code(text)):
        table = MarkdownIt("gfm-like", {"linkify": False}).render(f"| x | y |\n|---|---|\n| {shown} | end |\n")
        cells = [unescape(re.sub("</?code>", "", cell)) for cell in re.findall("<td>(.*?)</td>", table)]
        assert cells == [visible(text), "end"]


def test_keys_are_shortened() -> None:
    key = "3f2a91" + "0" * 58
    assert shorten_keys(f"open({key}.bin, .t-{key[:16]})") == "open(3f2a91….bin, .t-3f2a91…)"
    assert shorten_keys(f"{key[:15]} {key}0 x{key}") == f"{key[:15]} {key}0 x{key}"


def test_a_refusal_convicts_though_no_trial_was_informative() -> None:
    cell = make_cell("capability.mmap", "a-a")
    observed = Observation(2, 0, refused="ENODEV")
    result = a_result(cell, GUARANTEED, observed, Verdict.VIOLATED, "unsupported", violations=2)
    assert rate_of(result).startswith("2 of 2 ")


def test_misses_within_the_bound_are_no_violations() -> None:
    record = kept_run()
    (cell,) = (c for c in report_object(record)["cells"] if c["id"] == "visibility.create/rename/missed/stat/a-b")
    assert cell["observation"]["violations"] == 0 and cell["observation"]["rate_95"].startswith("0 of 20")
    rows = {row.name: row for family in families_of(record) for row in family.rows}
    assert "too late" not in rows["grow/known/open-fstat/close"].seen


def test_reasons_of_both_directions_are_kept() -> None:
    base = kept_run()
    both = [replace(row, judgement=Judgement(Verdict.KEPT, f"seen {row.cell.direction}")) for row in base.cells]
    rows = {row.name: row for family in families_of(replace(base, cells=tuple(both))) for row in family.rows}
    assert rows["create/rename/missed/stat"].reason == "a-b: seen a-b; b-a: seen b-a"


def test_a_refused_call_does_not_claim_what_nobody_saw() -> None:
    cell = make_cell("exclusive.winner", "all", publish="noreplace", state="cold", contenders="2")
    observed = Observation(110, 0, refused="EINVAL")
    result = a_result(cell, GUARANTEED, observed, Verdict.VIOLATED, "unsupported: refused with EINVAL", violations=110)
    record = replace(kept_run(), cells=(result,))
    assert verdict_meaning(record) == ("exclusive.winner is not kept: unsupported: refused with EINVAL.",)
    assert accusations_of(record)[0].breaks == ""
    assert "two writers both believe" in " ".join(verdict_meaning(violated_run()))


def test_a_find_that_did_not_show_again_says_so() -> None:
    (finding,) = violated_run().search.findings
    assert replace(finding, failures=37, rounds=200).rate == "37 of 200 rounds"
    assert replace(finding, failures=0, rounds=196).rate == "seen, and not again in 196 rounds"
