"""Create-once names: two extrema decide whether one moment of birth explains everything that was seen.

A birth T exists iff at most one exclusive create won, `born <= hi` and `max(absent.invoked) <= hi`, where `hi` is the
earliest return of anything that proves presence (success, EEXIST, a sighting) and `born` the invocation of the winner
(a winner *is* the birth: it proves absence before it), else of the first possible creator. T = hi then orders
everything; conversely T must not lie after `hi` and not before any look that missed began. O(n) once grouped by name.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from fsconform.oracles.outcomes import Bools
from fsconform.vocabulary.histories import INF, Ints


class OnceKind(IntEnum):
    """What an event says about the presence of a name that is never removed."""

    WIN = 0
    """An exclusive create (O_EXCL, link, mkdir, symlink, mknod, RENAME_NOREPLACE) succeeded."""
    LOSE = 1
    """An exclusive create was told EEXIST: a sighting."""
    PUBLISH = 2
    """A rename over the name or a plain O_CREAT succeeded; may repeat."""
    MAYBE = 3
    """Any creator whose outcome is open: may take effect at any time after it was invoked, or never."""
    PRESENT = 4
    ABSENT = 5
    NONE = 6
    """Says nothing."""


@dataclass(frozen=True, slots=True)
class OnceReport:
    """Per name (in the order of `names`) and, for `look_stale`, per event of the input."""

    names: Ints
    wins: Ints
    two_winners: Bools
    phantom: Bools
    """Seen, or told EEXIST, before any creator began."""
    win_over_existing: Bools
    """An exclusive success although a publish or sighting had ended before it began."""
    no_winner: Bools
    """Told EEXIST although nobody can have created it."""
    late: Bools
    """A look that missed began after the name was proved present."""
    delta: Ints
    """ns; least shift of the starts of all looks that makes the name atomic; INF: no shift helps."""
    stale: Ints
    """ns; for how long at most the name had surely been published when a look that missed began."""
    known: Ints
    """ns; earliest return of a successful create; INF where none."""
    present: Ints
    """ns; earliest return of anything that proves presence; INF where none."""
    look_stale: Ints
    """ns, per event: `stale` of that look; 0 for anything that is no miss."""
    opportunities: int
    """Looks that began after the name was known to be published."""

    @property
    def refuted(self) -> Bools:
        """Names that no moment of birth explains."""
        return self.delta > 0


def judge_once(name: Ints, kind: Ints, invoked: Ints, returned: Ints) -> OnceReport:
    """Judges events of many names at once; flat arrays of equal length.

    `name`: any integers; `kind`: OnceKind; `invoked`, `returned`: ns on one axis, widened by the clock error, INF where
    it did not return. The return of a MAYBE is ignored (it obliges nobody).
    """
    order = np.argsort(name, kind="stable")
    grouped = name[order]
    cut = np.flatnonzero(np.r_[True, grouped[1:] != grouped[:-1]]) if len(name) else np.zeros(0, np.int64)
    report = judge_grouped(grouped[cut], cut, kind[order], invoked[order], returned[order])
    aligned = np.zeros(len(name), np.int64)
    aligned[order] = report.look_stale
    report.look_stale[:] = aligned
    return report


def judge_grouped(names: Ints, cut: Ints, kind: Ints, invoked: Ints, returned: Ints) -> OnceReport:
    """The same for events already grouped: `names[g]` owns the events from `cut[g]` up to the next cut."""
    if not len(cut):
        none, no = np.zeros(0, np.int64), np.zeros(0, np.bool_)
        return OnceReport(none, none, no, no, no, no, no, none, none, none, none, none, 0)
    win, absent, maybe = kind == OnceKind.WIN, kind == OnceKind.ABSENT, kind == OnceKind.MAYBE
    done = win | (kind == OnceKind.PUBLISH)
    sighting = (kind == OnceKind.LOSE) | (kind == OnceKind.PRESENT)
    wins = np.add.reduceat(win.astype(np.int64), cut)
    known = np.minimum.reduceat(np.where(done, returned, INF), cut)
    present = np.minimum.reduceat(np.where(done | sighting, returned, INF), cut)
    missed = np.maximum.reduceat(np.where(absent, invoked, -INF), cut)
    first = np.minimum.reduceat(np.where(done | maybe, invoked, INF), cut)
    winner = np.maximum.reduceat(np.where(win, invoked, -INF), cut)
    lost = np.maximum.reduceat((kind == OnceKind.LOSE).astype(np.int64), cut)
    early = (present < INF) & (present < np.where(wins > 0, winner, first))
    impossible = early | (wins > 1)
    sizes = np.diff(np.append(cut, len(kind)))
    since = invoked - np.repeat(known, sizes)
    looks = absent | sighting
    return OnceReport(
        names=names, wins=wins, two_winners=wins > 1,
        phantom=early & (first > present), win_over_existing=early & (first <= present),
        no_winner=(lost > 0) & (first == INF), late=missed > present,
        delta=np.where(impossible, INF, np.maximum(0, missed - present)),
        stale=np.maximum(0, missed - known), known=known, present=present,
        look_stale=np.where(absent, np.maximum(0, since), 0),
        opportunities=int(np.count_nonzero(looks & (since > 0))),
    )  # fmt: skip
