"""Exclusive creation: who wins, what contenders are told, what they see."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from tests.lab.bench import exclusive, missing, publish, race, told, until
from tests.lab.evidence.common import (
    BLOCK,
    Evidence,
    all_win,
    elsewhere_too,
    link,
    noreplace,
    outcomes,
    prepare,
    rounds,
)


def _two_winners_excl(a: Path, b: Path) -> bool:
    return outcomes(a, b, exclusive, all_win)


def _two_winners_mkdir(a: Path, b: Path) -> bool:
    return outcomes(a, b, Path.mkdir, all_win)


def _no_winner(a: Path, b: Path) -> bool:
    return outcomes(a, b, exclusive, lambda results: results == ["EEXIST", "EEXIST"])


def _loser_told_eio(a: Path, b: Path) -> bool:
    prepare(a, b)
    acts = (exclusive, elsewhere_too(Path.mkdir, "d"), elsewhere_too(link, "l"))
    shown = [outcomes(a, b, act, lambda results: "EIO" in results) for act in acts]
    assert len(set(shown)) == 1, shown
    return shown[0]


def _eexist_after_unlink(a: Path, b: Path) -> bool:
    def attempt(number: int) -> bool:
        exclusive(a / f"n{number}")
        (a / f"n{number}").unlink()
        return told(lambda: exclusive(b / f"n{number}")) == "EEXIST" and missing((b / f"n{number}").stat)

    return rounds(attempt)


def _success_told_eexist(a: Path, b: Path) -> bool:
    prepare(a, b)

    def attempt(number: int) -> bool:
        results = race(lambda: link(a / f"n{number}"), lambda: link(b / f"n{number}"))
        return results == ["EEXIST", "EEXIST"] and (a / f"n{number}").stat().st_nlink == 2

    return rounds(attempt)


def _win_over_existing(a: Path, b: Path) -> bool:
    def attempt(number: int) -> bool:
        publish(a / f"n{number}", BLOCK)
        assert (b / f"n{number}").exists()
        return told(lambda: exclusive(b / f"n{number}")) == "ok"

    return rounds(attempt)


def _loser_cannot_open(a: Path, b: Path) -> bool:
    def create(path: Path) -> None:
        try:
            exclusive(path)
        except FileExistsError:
            path.read_bytes()

    return outcomes(a, b, create, lambda results: "ENOENT" in results)


def _loser_reads_half(a: Path, b: Path) -> bool:
    prepare(a, b)

    def link_and_read(path: Path) -> None:
        try:
            link(path)
        except FileExistsError:
            if path.read_bytes() != BLOCK:
                raise OSError(errno.EBADMSG, "short") from None

    return outcomes(a, b, link_and_read, lambda results: "EBADMSG" in results)


def _plain_create(a: Path, b: Path) -> bool:
    return outcomes(a, b, lambda path: path.write_bytes(b""), lambda results: "EEXIST" in results)


def _noreplace_ignored(a: Path, b: Path) -> bool:
    prepare(a, b)
    return outcomes(a, b, noreplace, all_win)


def _two_winners_link(a: Path, b: Path) -> bool:
    prepare(a, b)
    return outcomes(a, b, link, all_win)


def _two_winners_symlink(a: Path, b: Path) -> bool:
    return outcomes(a, b, lambda path: path.symlink_to(path.parent.parent.name), all_win)


def _mknod_not_exclusive(a: Path, b: Path) -> bool:
    return outcomes(a, b, os.mknod, all_win)


def _loser_told_eperm(a: Path, b: Path) -> bool:
    return outcomes(a, b, exclusive, lambda results: sorted(results) == ["EPERM", "ok"])


def _eio_though_done(a: Path, b: Path) -> bool:
    def attempt(number: int) -> bool:
        results = race(lambda: exclusive(a / f"n{number}"), lambda: exclusive(b / f"n{number}"))
        return sorted(results) == ["EEXIST", "EIO"] and (a / f"n{number}").exists()

    return rounds(attempt)


def _eio_done_later(a: Path, b: Path) -> bool:
    def attempt(number: int) -> bool:
        results = race(lambda: exclusive(a / f"n{number}"), lambda: exclusive(b / f"n{number}"))
        if results != ["EIO", "EIO"] or not missing((a / f"n{number}").stat):
            return False
        until((b / f"n{number}").exists)
        return True

    return rounds(attempt)


EVIDENCE: dict[str, Evidence] = {
    "two-winners-excl": _two_winners_excl,
    "two-winners-mkdir": _two_winners_mkdir,
    "two-winners-link": _two_winners_link,
    "two-winners-symlink": _two_winners_symlink,
    "mknod-not-exclusive": _mknod_not_exclusive,
    "noreplace-ignored": _noreplace_ignored,
    "noreplace-check-then-rename": _noreplace_ignored,
    "no-winner-excl": _no_winner,
    "loser-told-eio": _loser_told_eio,
    "loser-told-eperm": _loser_told_eperm,
    "success-told-eexist": _success_told_eexist,
    "eio-though-done": _eio_though_done,
    "eio-done-later": _eio_done_later,
    "eexist-after-unlink": _eexist_after_unlink,
    "win-over-existing": _win_over_existing,
    "loser-cannot-open": _loser_cannot_open,
    "loser-reads-half": _loser_reads_half,
    "plain-create-eexist": _plain_create,
}
