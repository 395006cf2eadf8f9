"""What the bench of the replay calls missed."""

from __future__ import annotations

import pytest

from bench.seed_case import BESIDE, CONTROLLER, TARGET_S, Figures, judged
from fsconform.run.workload.options import TIER, WorkloadOptions

OPTIONS = WorkloadOptions(TIER, ("/tmp",))
BUFFERS = OPTIONS.blocks * OPTIONS.sizes[0]


@pytest.mark.parametrize(
    ("figures", "bare", "missed"),
    [
        (Figures(TARGET_S, BUFFERS + BESIDE, CONTROLLER), 0.5, False),
        (Figures(TARGET_S + 0.1, 0, 0), 1.0, True),
        (Figures(TARGET_S + 0.1, 0, 0), 3.0, False),
        (Figures(1.0, BUFFERS + BESIDE + 1, 0), 0.5, True),
        (Figures(1.0, 0, CONTROLLER + 1), 0.5, True),
    ],
)
def test_targets(figures: Figures, bare: float, missed: bool) -> None:
    assert BUFFERS == 562_036_736
    line, over = judged(OPTIONS, figures, bare)
    assert over is missed
    assert ("MISSED" in line) is missed
