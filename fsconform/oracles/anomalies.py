"""What an examination of a history says: anomalies with their rounds, and how often one could have been found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Anomaly:
    """One kind of outcome that no order of the operations explains, on one name, with the rounds that show it."""

    kind: str
    """One word: `two-winners`, `no-winner`, `phantom`, `win-over-existing`, `stale`, `gap`, `short`, `torn`, ..."""
    property_id: str
    """The property it speaks about (`vocabulary.properties`)."""
    rounds: tuple[int, ...]
    """Violating rounds, ascending."""
    name: str
    steps: tuple[tuple[int, int], ...]
    """(lane, step) of the operations involved in the first violating round."""
    story: str
    """One line: expected, got."""
    staleness_ns: tuple[int, ...] = ()
    """Per violating round, aligned with `rounds`: for how long at least (ns, the worst look of the round) the right
    answer had been the only right one when the look began. Empty where no delay excuses the outcome."""
    observer: str = ""
    """`stat`, `statx`, `access`, `open`, `listing`: the register that was looked at; empty where it does not matter."""
    state: str = ""
    """Reader state at the look: `cold`, `missed` or `known`; empty where it does not matter."""
    publish: str = ""
    """Step kind of the publish that was missed."""
    acting: str = ""
    """Letter of the site that published."""
    observing: str = ""
    """Letter of the site that looked."""

    @property
    def worst_ns(self) -> int:
        """The greatest proven staleness, ns; 0 where the anomaly is none of delay."""
        return max(self.staleness_ns, default=0)


@dataclass(frozen=True, slots=True)
class Examination:
    """What the oracles say about R rounds of one program."""

    anomalies: tuple[Anomaly, ...]
    contested: int
    """Rounds in which exclusive calls on one name, or a publish and a look at its name, truly overlapped."""
    opportunities: Mapping[str, int] = field(default_factory=dict)
    """Property -> how often it could have been found broken. Absent or 0: not tested."""
    undecided: int = 0
    """Rounds in which an oracle could not decide for some name (open outcomes, or too many of them at once)."""
    inversions: int = 0
    """Rounds in which a look missed a name after somebody saw it, while its publish was still in flight: no staleness,
    but a new-old inversion (evidence for the consistency class, never a broken bound)."""
