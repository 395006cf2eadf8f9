"""Two winners of one exclusive create, by the kernel's own NFS clients: hosts that booted in step."""

from __future__ import annotations

import pytest

from fsconform.lab.nfs.requirements import require
from fsconform.lab.nfs.spec import parse_nfs
from fsconform.run.conduct import conduct
from fsconform.run.options import Options
from fsconform.run.progress import Silent
from fsconform.vocabulary.errors import CannotTestError
from fsconform.vocabulary.verdicts import Verdict

IN_STEP, WINNER = "exclusive.winner-in-step/excl/cold/4/all", "exclusive.winner/excl/cold/4/all"
LAB = "nfs3,collide"


@pytest.mark.uml
@pytest.mark.slow
def test_hosts_in_step_have_two_winners_and_only_a_profile_that_promises_one_is_broken() -> None:
    try:
        require(parse_nfs(LAB))
    except CannotTestError as error:
        pytest.skip(str(error))
    verdicts = {}
    for profile in ("nfsv3", "posix-local"):
        options = Options((f"lab={LAB}",), profile, "quick", cell_ids=(IN_STEP, WINNER), search=False)
        verdicts[profile] = {result.cell.id: result for result in conduct(options, Silent()).cells}
    ours = verdicts["nfsv3"]
    assert {ours[IN_STEP].verdict, ours[WINNER].verdict} == {Verdict.OBSERVED}
    assert any(outcome.startswith("2 won") for outcome in ours[IN_STEP].observation.outcomes)
    assert verdicts["posix-local"][IN_STEP].verdict is Verdict.VIOLATED
