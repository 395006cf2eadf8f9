"""Names that are created, removed and re-created, at any concurrency: for how long a look has surely been false.

Near-linear and sound, but not complete (alone it misses about half of all violations: `frontier` decides). Staleness:

- a read of incarnation i is false since the first return of a later birth, or of any successful removal, that began
  after i was known to be there (a removal either killed i, or i was gone already);
- absent is false since the first return of a birth begun after the end of every removal begun before the look ended;
- present is false since the first return of a removal begun after the end of every birth begun before the look ended.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from fsconform.oracles.outcomes import Bools
from fsconform.oracles.segments import After, Until
from fsconform.vocabulary.histories import INF, Ints


class LifeKind(IntEnum):
    """What an event does to, or says about, a name (see `objects.life`)."""

    CREATE = 0
    REPLACE = 1
    MAYBE_CREATE = 2
    UNLINK = 3
    MAYBE_UNLINK = 4
    READ = 5
    PRESENT = 6
    ABSENT = 7
    NONE = 8
    ENSURE = 9
    """A plain O_CREAT succeeded: it made the name, or opened what was there."""


@dataclass(frozen=True, slots=True)
class LifeReport:
    """Per event of the input."""

    staleness: Ints
    """ns, 0 for anything but looks; INF: seen although it had not begun to be born."""
    opportunities: int
    """Looks that began after some birth or removal had returned."""


def judge_lifetimes(name: Ints, kind: Ints, value: Ints, invoked: Ints, returned: Ints) -> LifeReport:
    """Judges many names at once; flat arrays of equal length.

    `name`: integers >= 0; `kind`: LifeKind; `value`: id of the incarnation of births and reads (unique per name);
    stamps in ns, widened by the clock error. The return of MAYBE events is taken for INF.
    """
    maybe = (kind == LifeKind.MAYBE_CREATE) | (kind == LifeKind.MAYBE_UNLINK)
    life = _Life(name, kind, value, invoked, np.where(maybe, INF, returned))
    staleness = np.zeros(len(name), np.int64)
    for look, judge in ((LifeKind.READ, life.read), (LifeKind.ABSENT, life.absent), (LifeKind.PRESENT, life.present)):
        chosen = np.flatnonzero(kind == look)
        staleness[chosen] = judge(chosen)
    looks = (kind >= LifeKind.READ) & (kind <= LifeKind.ABSENT)
    changes = ((kind <= LifeKind.UNLINK) & (kind != LifeKind.MAYBE_CREATE)) | (kind == LifeKind.ENSURE)
    ended = After(name[changes], -returned[changes], name[looks], -invoked[looks]).owner(returned[changes]) >= 0
    return LifeReport(staleness, int(np.count_nonzero(ended)))


class _Life:
    def __init__(self, name: Ints, kind: Ints, value: Ints, invoked: Ints, returned: Ints) -> None:
        self.name, self.kind, self.value, self.invoked, self.returned = name, kind, value, invoked, returned
        ensures = kind == LifeKind.ENSURE
        self.births = np.flatnonzero((kind <= LifeKind.MAYBE_CREATE) | ensures)
        self.replacements = np.flatnonzero(kind <= LifeKind.REPLACE)
        self.sure_births = np.flatnonzero((kind <= LifeKind.REPLACE) | ensures)
        self.removals = np.flatnonzero((kind == LifeKind.UNLINK) | (kind == LifeKind.MAYBE_UNLINK))
        self.sure_removals = np.flatnonzero(kind == LifeKind.UNLINK)

    def read(self, looks: Ints) -> Ints:
        began, first = self._incarnations(looks)
        enders = np.r_[self.replacements, self.sure_removals]
        since = self._earliest_return(enders, looks, first)
        phantom = self.returned[looks] < began
        return np.asarray(np.where(phantom, INF, self._late(looks, since)), np.int64)

    def absent(self, looks: Ints) -> Ints:
        return self._late(looks, self._earliest_return(self.sure_births, looks, self._last_end(self.removals, looks)))

    def present(self, looks: Ints) -> Ints:
        unborn = self._last_end(self.births, looks)
        since = self._earliest_return(self.sure_removals, looks, unborn)
        return np.asarray(np.where(unborn == -INF, INF, self._late(looks, since)), np.int64)

    def _late(self, looks: Ints, since: Ints) -> Ints:
        return np.asarray(np.maximum(0, self.invoked[looks] - since), np.int64)

    def _last_end(self, events: Ints, looks: Ints) -> Ints:
        """Latest end among the events that began before each look ended; -INF where there are none."""
        until = Until(self.name[events], self.invoked[events], self.name[looks], self.returned[looks])
        return until.maximum(self.returned[events], -INF)

    def _earliest_return(self, events: Ints, looks: Ints, after: Ints) -> Ints:
        """Earliest return among the events that began after a moment of each look; INF where there are none."""
        later = After(self.name[events], self.invoked[events], self.name[looks], after)
        return later.minimum(self.returned[events], INF)

    def _incarnations(self, looks: Ints) -> tuple[Ints, Ints]:
        """When the incarnation that each look read began to be born (INF: never), and the first proof of it."""
        both = np.r_[self.births, looks]
        order = np.lexsort((self.value[both], self.name[both]))
        events = both[order]
        new: Bools = np.append(True, (np.diff(self.name[events]) != 0) | (np.diff(self.value[events]) != 0))[
            : len(both)
        ]
        cut = np.flatnonzero(new)
        if not len(cut):
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        is_birth = self.kind[events] != LifeKind.READ
        began = np.minimum.reduceat(np.where(is_birth, self.invoked[events], INF), cut)
        first = np.minimum.reduceat(self.returned[events], cut)
        place = np.empty(len(both), np.int64)
        place[order] = np.cumsum(new) - 1
        mine = place[len(self.births) :]
        # A read from before the birth (a finding of its own) is no proof of it.
        return began[mine], np.maximum(first, began)[mine]
