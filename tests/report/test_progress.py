"""Progress on terminals and elsewhere."""

from __future__ import annotations

import io

from rich.console import Console

from fsconform.report.progress import LiveProgress, PlainProgress, live_progress


def test_plain_lines_come_every_ten_seconds() -> None:
    clock = [0.0]
    stream = io.StringIO()
    progress = PlainProgress(stream, now=lambda: clock[0])
    progress.phase("one window of 48 cells")
    for second in range(25):
        clock[0] = second
        progress.waiting("negative entries of 5 s to expire", second, 36)
    progress.done()
    assert stream.getvalue().splitlines() == [
        "one window of 48 cells",
        "waiting for negative entries of 5 s to expire: 10 of 36 s",
        "waiting for negative entries of 5 s to expire: 20 of 36 s",
    ]


def test_a_closed_or_poor_stream_does_not_end_a_run() -> None:
    stream = io.StringIO()
    progress = PlainProgress(stream)
    stream.close()
    progress.phase("checking")
    raw = io.BytesIO()
    poor = io.TextIOWrapper(raw, encoding="ascii")
    PlainProgress(poor).phase("site \udcff\x1b[2J …")
    assert raw.getvalue() == b"site \\xff\\x1b[2J ?\n"


def test_a_terminal_shows_what_is_waited_for_and_is_left_clean() -> None:
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=100, color_system=None)
    progress = LiveProgress(console)
    progress.phase("[red]checking[/]")
    progress.waiting("entries of 30 s to expire", 12, 36)
    progress.waiting("the mount b to answer", 3, 0)
    progress.done()
    progress.done()
    text = stream.getvalue()
    assert "[red]checking[/]" in text and "waiting for the mount b to answer" in text
    assert text.rstrip("\n").endswith("\x1b[2K") or "\x1b[?25h" in text


def test_phases_that_are_over_at_once_are_not_told_in_lines() -> None:
    clock = [0.0]
    stream = io.StringIO()
    progress = PlainProgress(stream, now=lambda: clock[0])
    for number in range(30):
        clock[0] = number / 10
        progress.phase(f"experiment {number}")
    assert stream.getvalue().splitlines() == ["experiment 0", "experiment 20"]


def test_the_kind_follows_the_output() -> None:
    with live_progress(Console(file=io.StringIO(), force_terminal=True)) as live:
        assert isinstance(live, LiveProgress)
    with live_progress(Console(file=io.StringIO(), force_terminal=False)) as plain:
        assert isinstance(plain, PlainProgress)
