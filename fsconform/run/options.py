"""What the user asked for."""

from __future__ import annotations

import secrets
import shlex
from dataclasses import dataclass, field

from fsconform.vocabulary.errors import CannotTestError

SHORTEST_DEADLINE_S, LONGEST_DEADLINE_S = 1.0, 3600.0


@dataclass(frozen=True, slots=True)
class Options:
    """The options of one run, as given."""

    sites: tuple[str, ...]
    profile: str | None = None
    budget: str = "quick"
    seed: int = field(default_factory=lambda: secrets.randbelow(1 << 32))
    expression: str = ""
    also: str = ""
    """Cells of larger budgets that fit this expression, besides those of the budget."""
    cell_ids: tuple[str, ...] = ()
    """Only these, of whatever budget."""
    search: bool = True
    step_deadline_s: float = 30.0

    def refuse_deadline(self) -> None:
        """Raises CannotTestError for a deadline of steps that would call every step hung, or none."""
        if not SHORTEST_DEADLINE_S <= self.step_deadline_s <= LONGEST_DEADLINE_S:
            between = f"seconds between {SHORTEST_DEADLINE_S:g} and {LONGEST_DEADLINE_S:g}"
            raise CannotTestError(f"--step-deadline {self.step_deadline_s:g}: {between}")

    def command(self, *extra: str) -> str:
        """The line that repeats this run, for a shell."""
        words = ["fsconform", "run"]
        for site in self.sites:
            words += ["--site", site]
        if self.profile:
            words += ["--profile", self.profile]
        if self.budget != "quick":
            words += ["--budget", self.budget]
        if self.also:
            words += ["--also", self.also]
        return shlex.join([*words, *extra, "--seed", str(self.seed)])
