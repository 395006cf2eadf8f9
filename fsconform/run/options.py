"""What the user asked for."""

from __future__ import annotations

import secrets
import shlex
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Options:
    """The options of one run, as given."""

    sites: tuple[str, ...]
    profile: str | None = None
    budget: str = "quick"
    seed: int = field(default_factory=lambda: secrets.randbelow(1 << 32))
    expression: str = ""
    cell_ids: tuple[str, ...] = ()
    search: bool = True
    step_deadline_s: float = 30.0

    def command(self, *extra: str) -> str:
        """The line that repeats this run, for a shell."""
        words = ["fsconform", "run"]
        for site in self.sites:
            words += ["--site", site]
        if self.profile:
            words += ["--profile", self.profile]
        if self.budget != "quick":
            words += ["--budget", self.budget]
        return shlex.join([*words, *extra, "--seed", str(self.seed)])
