"""Runs with witnesses that can be replayed, made without touching a filesystem."""

from __future__ import annotations

from dataclasses import replace

from fsconform.judging.judgement import judge
from fsconform.judging.profile_texts import profile_texts
from fsconform.judging.profiles import load_profile
from fsconform.probes.catalogue import TRIALS, experiments
from fsconform.probes.latency import WATCH, observe
from fsconform.vocabulary.cells import make_cell
from fsconform.vocabulary.environments import SiteEnvironment
from fsconform.vocabulary.findings import SearchSummary
from fsconform.vocabulary.histories import LaneColumns, RoundHistory
from fsconform.vocabulary.records import RunRecord
from fsconform.vocabulary.sites import Mount, parse_site
from fsconform.vocabulary.trials import TrialResult
from fsconform.vocabulary.verdicts import CellResult
from tests.report.examples import a_site, kept_run, race_history

PROFILE = "posix-local"
NEGATIVE = make_cell("visibility.create", "a-b", publish="rename", state="missed", observer="stat", age="fresh")
SIZE = make_cell("size.grow", "a-b", state="known", observer="stat", after="close", age="fresh")
RACE = make_cell("exclusive.winner", "all", publish="excl", state="cold", contenders="2")
PLACE = "/srv/projects of zoë/kv"
"""A mount with a user in its path, a blank and a letter that escapes differently in every format."""
HOSTS = ("kv-node-7.blue.example", "kv-node-8.blue.example")
USER = "zoë-m"
ADDRESS = "10.20.30.41"


def late_trial(number: int, cell: object = NEGATIVE) -> TrialResult:
    """A trial whose change was missed for 4 s, then seen."""
    assert cell in (NEGATIVE, SIZE)
    made = TRIALS[cell.property_id](cell, number, f"w/0/0/{number}", "salt")
    start = 1_000_000_000 * number
    return TrialResult(
        replace(made, label=WATCH, until_ns=10**9, give_up_ns=5 * 10**9), start + 1_000_000, start + 2_000_000, 0,
        start, start + 500_000, 0 if cell is SIZE else 2, 4096, start + 4_002_000_000, start + 4_012_000_000,
        start + 5_000_000_000, 40, 0, 900_000,
    )  # fmt: skip


def won_twice(rounds: int = 70) -> RoundHistory:
    """The race of two contenders in which both win in every third round."""
    program = experiments([RACE], "ab", "salt")[0].program
    shape = race_history(rounds).lanes
    lanes = []
    for number, lane in enumerate(program.lanes):
        wide = [column[:, :1].repeat(len(lane.steps), axis=1) for column in
                (shape[number].invoked, shape[number].returned, shape[number].errno * 0)]  # fmt: skip
        for k in range(len(lane.steps)):
            wide[0][:, k] += 1000 * k
            wide[1][:, k] += 1000 * k
        contest = next(k for k, step in enumerate(lane.steps) if step.kind == "excl_create")
        wide[2][:, contest] = [17 if number and r % 3 else 0 for r in range(rounds)]
        value = wide[0] * 0
        value[:, [k for k, step in enumerate(lane.steps) if step.kind == "open_read"]] = 1 << 8
        invoked, returned, errno = wide
        lanes.append(LaneColumns(invoked, returned, errno, value, value * 0))
    return RoundHistory(program, tuple(lanes), (0, 0))


def told_run() -> RunRecord:
    """A run on NFS with a stale name, a stale length and a race with two winners, on hosts with names."""
    profile = load_profile(PROFILE)
    sites = tuple(
        a_site(
            letter, f"ssh={USER}@{host}:{PLACE}", path=PLACE, host=host, boot_id=f"1b{letter}0-4c7e",
            spec=parse_site(f"ssh={USER}@{host}:{PLACE}"), client_options=(),
            mount=Mount("0:51", PLACE, "ext4", "filer.blue.example:/export/zoë", f"rw,addr={ADDRESS}"),
        )
        for letter, host in zip("ab", HOSTS, strict=True)
    )  # fmt: skip
    trials = {cell.id: tuple(late_trial(number, cell) for number in range(70)) for cell in (NEGATIVE, SIZE)}
    history = won_twice()
    seen = {
        NEGATIVE: observe(trials[NEGATIVE.id]), SIZE: observe(trials[SIZE.id]),
        RACE: experiments([RACE], "ab", "salt")[0].observe(RACE, history),
    }  # fmt: skip
    cells = []
    for cell, observation in seen.items():
        promise = profile.promise_among(cell, sites)
        cells.append(CellResult(cell, "host", promise, observation, judge(promise, observation, "quick")))
    around = tuple(
        SiteEnvironment(letter, USER, "Debian", f"Linux version 6 (root@{host})", f"41 1 0:51 / {PLACE} rw - ext4 x rw",
                        calls={"LOOKUP": 12}, looks=400)
        for letter, host in zip("ab", HOSTS, strict=True)
    )  # fmt: skip
    return replace(
        kept_run(), profile=PROFILE, sites=sites, cells=tuple(cells), search=SearchSummary(), model_note="",
        command=f"fsconform run --site 'ssh={USER}@{HOSTS[0]}:{PLACE}'", histories={RACE.id: history}, trials=trials,
        environments=around, profile_texts=profile_texts(profile),
        incidents=(f"worker 3 at {HOSTS[1]} was lost; {PLACE}/.fsconform-ab/x stays",),
    )  # fmt: skip
