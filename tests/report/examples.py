"""Run records to show: one per kind of end that a run can have."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np

from fsconform.vocabulary.blocks import block_key, block_name
from fsconform.vocabulary.cells import Cell, make_cell
from fsconform.vocabulary.findings import Finding, SearchSummary
from fsconform.vocabulary.histories import INF, LaneColumns, RoundHistory
from fsconform.vocabulary.observations import INF_NS, Cure, LatencyTrial, Observation, Witness
from fsconform.vocabulary.programs import Lane, Program
from fsconform.vocabulary.promises import Bound, BoundOrigin, Evidence, Promise, Strength
from fsconform.vocabulary.records import Capability, RunRecord
from fsconform.vocabulary.sites import Mount, Site, parse_site
from fsconform.vocabulary.steps import Step
from fsconform.vocabulary.verdicts import CellResult, Judgement, Verdict

SOURCE = "3FS src/fuse/FuseConfig.h"
GUARANTEED = Promise(Strength.GUARANTEED, Evidence.SOURCE, "POSIX.1-2024 XSH open() O_EXCL")
NEGATIVE = Bound("negative", 5.0, BoundOrigin.READ, "usr.negative_timeout of 3fs-virt/get-conf")
ENTRY = Bound("entry", 30.0, BoundOrigin.READ, "usr.entry_timeout of 3fs-virt/get-conf")
NOTHING = Promise(Strength.NOT_PROMISED, Evidence.DERIVED, SOURCE)
OPTIONAL = Promise(Strength.OPTIONAL, Evidence.SOURCE, "xattr(7)")
REFUSED = Promise(Strength.UNSUPPORTED, Evidence.SOURCE, "3FS src/fuse/FuseOps.cc", errnos=("EINVAL",))
MODEL_NOTE = (
    "The emulated 3FS is a model of the 3FS source (commit 1c2f1f5), not a measurement of 3FS;"
    " a run on fuse.hf3fs replaces it."
)


def within(bound: Bound) -> Promise:
    """A promise with a bound."""
    return Promise(Strength.WITHIN, Evidence.SOURCE, SOURCE, bound)


def a_site(letter: str, text: str = "lab=3fs-fuse", **changes: object) -> Site:
    """A site of the emulated 3FS; fields replaced by name."""
    path = f"/tmp/fsconform-lab/{letter}"
    mount = Mount(f"0:{51 + ord(letter) - ord('a')}", path, "fuse.fsconform", "fsconform:3fs-fuse",
                  "rw,nosuid,nodev,relatime,user_id=0,group_id=0,default_permissions,allow_other")  # fmt: skip
    site = Site(letter, parse_site(text), path, "node1", "5b2c-boot", "time:[4026531834]", "6.1.0-18-amd64", "3.11.2",
                0, 0, mount, False, 8 << 30, 1 << 20, (("usr.negative_timeout", "5"),))  # fmt: skip
    return replace(site, **changes)  # type: ignore[arg-type]


def latency(median_s: float, trials: int, seed: int = 1, never: int = 0) -> tuple[LatencyTrial, ...]:
    """Trials around a median, 10 ms between looks; `never` more of them are never seen."""
    draw = random.Random(seed)
    result = []
    for _ in range(trials):
        lo = int((median_s + draw.uniform(-0.008, 0.002)) * 1e9) if median_s else 0
        hi = max(0, lo) + draw.randrange(200_000, 10_000_000)
        prime = 2_000_000
        result.append(LatencyTrial(max(0, lo), hi, int(40e9), max(0, lo) + prime, hi + prime))
    result += [LatencyTrial(int(36e9), INF_NS, int(36e9), int(36e9), INF_NS) for _ in range(never)]
    return tuple(result)


def a_result(
    cell: Cell, promise: Promise, observation: Observation, verdict: Verdict, reason: str = "", **counts: int
) -> CellResult:
    """One row on two mounts of one kernel."""
    return CellResult(cell, "mount", promise, observation, Judgement(verdict, reason, **counts))


def latency_observation(trials: tuple[LatencyTrial, ...], **changes: object) -> Observation:
    """An observation of latency trials."""
    seen = sum(trial.hi < INF_NS for trial in trials)
    outcomes = {"seen": seen} | ({"never": len(trials) - seen} if seen < len(trials) else {})
    missed = sum(trial.lo > 0 for trial in trials)
    base = Observation(len(trials) + 1, len(trials), missed, outcomes=outcomes | {"primed late": 1}, latency=trials,
                       longest_fill_ns=900_000)  # fmt: skip
    return replace(base, **changes)  # type: ignore[arg-type]


def kept_cells() -> tuple[CellResult, ...]:
    """What a well-behaved 3FS keeps."""
    rows: list[CellResult] = []
    for direction in ("a-b", "b-a"):
        for observer in ("stat", "open", "scandir"):
            cell = make_cell("visibility.create", direction, publish="rename", state="missed", observer=observer)
            observed = latency_observation(
                latency(5.0, 20, seed=len(rows)),
                cures=(
                    Cure("listing", 9, 10, 0, 10, True), Cure("O_CREAT", 10, 10, 0, 10, False),
                ) if observer == "stat" else (),
                single_shot={"0.1": (0, 10), "1": (0, 10), "4": (0, 10), "5.5": (10, 10)} if observer == "stat" else {},
            )  # fmt: skip
            rows.append(a_result(cell, within(NEGATIVE), observed, Verdict.KEPT, "all 20 trials seen within 5.031 s",
                                 near_misses=1 if observer == "open" and direction == "a-b" else 0))  # fmt: skip
            cell = make_cell("visibility.create", direction, publish="excl", state="cold", observer=observer)
            observed = latency_observation(latency(0, 60, seed=len(rows)))
            rows.append(a_result(cell, GUARANTEED, observed, Verdict.KEPT, "no look after the change missed"))
        cell = make_cell("visibility.replace", direction, publish="rename", state="known", observer="stat")
        rows.append(a_result(cell, within(ENTRY), latency_observation(latency(30, 20)), Verdict.KEPT, "all in time"))
        cell = make_cell("size.grow", direction, state="known", observer="open-fstat", after="close")
        rows.append(
            a_result(
                cell,
                NOTHING,
                latency_observation(latency(29.9, 20)),
                Verdict.OBSERVED,
                "nothing promised",
                violations=20,
            )
        )
    for publish in ("excl", "link", "mkdir"):
        for contenders in ("2", "4"):
            cell = make_cell("exclusive.winner", "all", publish=publish, state="cold", contenders=contenders)
            observed = Observation(312, 300, outcomes={"1 winner": 300, "no overlap": 12})
            rows.append(a_result(cell, GUARANTEED, observed, Verdict.KEPT, "always exactly one"))
    cell = make_cell("atomic.content", "a-b", publish="rename", observer="open-read", size="64k")
    rows.append(
        a_result(cell, GUARANTEED, Observation(400, 400, outcomes={"exact": 391, "stale by 1": 9}), Verdict.KEPT)
    )
    for feature, promise, refused, verdict in (
        ("link", GUARANTEED, "works", Verdict.KEPT),
        ("rename-noreplace", REFUSED, "EINVAL", Verdict.KEPT),
        ("xattr", OPTIONAL, "ENOTSUP", Verdict.NOT_APPLICABLE),
    ):
        observed = Observation(2, 2, refused=refused, outcomes={refused: 2})
        rows.append(a_result(make_cell(f"capability.{feature}", "all"), promise, observed, verdict, "as promised"))
    return tuple(rows)


def kept_run() -> RunRecord:
    """Two mounts of the emulated 3FS, everything kept."""
    return RunRecord(
        run_id="20261129T190242Z-7f3a", version="0.1.0", started="2026-11-29T19:02:42+00:00", duration_s=66.4,
        budget="quick", seed=7, profile="3fs-fuse", profile_title="3FS through its FUSE client",
        model_note=MODEL_NOTE, sites=(a_site("a"), a_site("b")), topologies={"a-b": "mount", "b-a": "mount"},
        capabilities=tuple(
            Capability(feature, site, result)
            for feature, result in (("link", "works"), ("rename-noreplace", "EINVAL"), ("xattr", "ENOTSUP"),
                                    ("flock", "works"), ("o-direct", "works"))
            for site in "ab"
        ),
        cells=kept_cells(),
        search=SearchSummary(212, 6784, 5022, 81_408, 11.7, 0, {"exclusive.winner": 4012, "content.complete": 9120}),
        command="fsconform run lab=3fs-fuse --profile 3fs-fuse --seed 7", operations=412_004,
        blind_spots=("two kernels: both mounts are of one kernel; give a site on another host",),
        bounds=("negative 5 s (read: usr.negative_timeout of 3fs-virt/get-conf)",
                "entry 30 s (read: usr.entry_timeout of 3fs-virt/get-conf)"),
    )  # fmt: skip


def race_program() -> Program:
    """Two contenders for one name."""
    name = block_name(block_key("race"))
    lane = (Step("barrier"), Step("excl_create", path=f"3f2/9a/{name}"), Step("close"))
    return Program((Lane("a", lane), Lane("b", lane)), ("3f2/9a",), (f"3f2/9a/{name}",))


def race_history(rounds: int = 3) -> RoundHistory:
    """Rounds in which both win; in the last one worker 1 never returns from its close."""
    program = race_program()
    lanes = []
    for number in range(2):
        invoked = np.array([[1_000_000 * r + 100 * k + 40 * number for k in range(3)] for r in range(rounds)])
        returned = invoked + 90
        errno = np.zeros_like(invoked)
        if number:
            returned[-1, 2], errno[-1, 2] = INF, -1
        lanes.append(LaneColumns(invoked, returned, errno, np.zeros_like(invoked), np.zeros_like(invoked)))
    return RoundHistory(program, tuple(lanes), (0, 25_000), {1: "hung in close"})


def violated_run() -> RunRecord:
    """A name seen far too late, names never seen, two winners, a refused link, a finding of the search."""
    base = kept_run()
    late = make_cell("visibility.create", "a-b", publish="rename", state="missed", observer="stat")
    late_witness = Witness(
        {"change": "rename(.t1, 3f2/9a/x.bin) at a", "prime": "stat(3f2/9a/x.bin) at b", "look": "stat at b"},
        ({"worker": 1, "site": "b", "step": "stat", "path": f"3f2/9a/{block_name(block_key(1))}", "invoked_ns": 0,
          "returned_ns": 310_000, "errno": "ENOENT", "value": 0},
         {"worker": 0, "site": "a", "step": "rename", "path": ".t1", "other": f"3f2/9a/{block_name(block_key(1))}",
          "invoked_ns": 420_000, "returned_ns": 900_000, "errno": "ok", "value": 0},
         {"worker": 1, "site": "b", "step": "stat", "path": f"3f2/9a/{block_name(block_key(1))}",
          "invoked_ns": 35_999_000_000, "returned_ns": 35_999_300_000, "errno": "ENOENT", "value": 0}),
        "expected: seen 5 s after the rename; got: still ENOENT after 36.0 s",
    )  # fmt: skip
    race = make_cell("exclusive.winner", "all", publish="excl", state="cold", contenders="2")
    history = race_history()
    race_witness = Witness(history.program.to_json(), tuple(history.events(0)),
                           "expected: one winner; got: a and b both created the name")  # fmt: skip
    violated = {
        late.id: a_result(
            late, within(NEGATIVE), latency_observation(latency(5.0, 17, never=3), witness=late_witness),
            Verdict.VIOLATED, "3 of 20 trials missed later than 5.07 s after the change", violations=3),
        race.id: a_result(
            race, GUARANTEED,
            Observation(312, 300, 41, {"1 winner": 259, "2 winners": 41, "no overlap": 12}, witness=race_witness),
            Verdict.VIOLATED, "two winners in 41 of 300 contested rounds", violations=41),
    }  # fmt: skip
    cells = [violated.get(result.cell.id, result) for result in base.cells]
    cells.append(
        a_result(make_cell("capability.mmap", "all"), GUARANTEED, Observation(2, 2, refused="ENODEV"),
                 Verdict.VIOLATED, "unsupported: ENODEV", violations=2))  # fmt: skip
    cells.append(
        a_result(make_cell("atomic.presence", "b-a", publish="rename", observer="stat", size="64k"), GUARANTEED,
                 Observation(400, 12, outcomes={"there": 12, "no overlap": 388}, reason="388 rounds did not overlap"),
                 Verdict.INCONCLUSIVE, "12 informative trials, 60 needed: 388 rounds did not overlap; run longer")
    )  # fmt: skip
    finding = Finding("two-winners", "exclusive.winner", "expected: one winner; got: workers 0 and 1 both won",
                      replace(race_witness), 37, 200, True)  # fmt: skip
    return replace(
        base, cells=tuple(cells), search=replace(base.search, findings=(finding,)),
        histories={race.id: history}, incidents=("worker 1 at b hung in close for 30 s (fuse_wait), replaced",),
    )  # fmt: skip


def one_client_run() -> RunRecord:
    """One client of a shared filesystem."""
    base = kept_run()
    return replace(
        base, sites=(a_site("a", "/mnt/3fs"),), topologies={"a-a": "process"}, model_note="",
        cells=tuple(replace(row, topology="process") for row in base.cells if row.cell.direction in ("all",)),
        inconclusive="one client, visibility between clients not tested",
        how_to="mount the filesystem a second time (hf3fs_fuse_main with its own token) and give --site /mnt/second,"
        " or give a site on another host: --site ssh=user@host:/mnt/3fs",
    )  # fmt: skip


def interrupted_run() -> RunRecord:
    """Ctrl-C after 12 s."""
    base = kept_run()
    return replace(base, interrupted=True, duration_s=12.2, cells=base.cells[-6:], search=SearchSummary(),
                   left_behind=("/mnt/3fs/.fsconform-7f3a at a: Device or resource busy",))  # fmt: skip


HOSTILE = "/mnt/[bold red]x[/]|`a`\n\x1b[31m<script>&amp;</script>\udcff\u202e]]>$(reboot)'\"_*#"


def hostile_run() -> RunRecord:
    """Every text that a filesystem or a user can choose is hostile."""
    base = violated_run()
    mount = Mount("0:51", HOSTILE, "fuse.x|y`[/]", HOSTILE, f"rw,{HOSTILE}")
    site = a_site("a", HOSTILE, path=HOSTILE, host=HOSTILE, mount=mount, client_options=((HOSTILE, HOSTILE),))
    witness = Witness(
        {HOSTILE: HOSTILE}, ({"site": HOSTILE, "step": HOSTILE, "path": HOSTILE, "errno": HOSTILE},), HOSTILE
    )
    cells = tuple(
        replace(row, judgement=replace(row.judgement, reason=HOSTILE),
                promise=replace(row.promise, source=HOSTILE, note=HOSTILE),
                observation=replace(row.observation, outcomes={HOSTILE: 1}, reason=HOSTILE,
                                    witness=witness if row.observation.witness else None))
        for row in base.cells
    )  # fmt: skip
    return replace(
        base, sites=(site, replace(site, letter="b")), cells=cells, profile=HOSTILE, profile_title=HOSTILE,
        model_note=HOSTILE, command=HOSTILE, incidents=(HOSTILE,), left_behind=(HOSTILE,), bounds=(HOSTILE,),
        blind_spots=(HOSTILE,), how_to=HOSTILE, capabilities=(Capability(HOSTILE, "a", HOSTILE),),
    )  # fmt: skip


RUNS = {
    "kept": kept_run, "violated": violated_run, "one-client": one_client_run, "interrupted": interrupted_run,
    "hostile": hostile_run,
}  # fmt: skip
