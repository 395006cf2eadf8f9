"""The kill matrix: which mutant was caught by which property, for the terminal and for docs."""

from __future__ import annotations

from fsconform.run.selftest import Attempt, Selftest


def attempt_line(attempt: Attempt) -> str:
    """One mutant in one line, as it is tried."""
    name = attempt.mutant or "(none: the truthful lab)"
    kills = ", ".join(f"{kill.property_id} {kill.violations}/{kill.trials}" for kill in attempt.kills) or "nothing"
    words = [f"{'ok ' if attempt.right else 'BAD'} {name:26} {attempt.seconds:5.1f} s  broke {kills}"]
    if attempt.survived:
        words.append(f"NOT CAUGHT by {', '.join(attempt.survived)}")
    if attempt.accused:
        words.append(f"INNOCENT BUT ACCUSED: {', '.join(attempt.accused)}")
    return "; ".join(words)


def summary_line(result: Selftest) -> str:
    """The last line but one."""
    tried = [attempt for attempt in result.attempts if attempt.mutant]
    right = sum(attempt.right for attempt in tried)
    words = [f"{right} of {len(tried)} mutants caught by exactly the properties that they break"]
    if result.without_mutant:
        words.append(f"no mutant breaks {', '.join(result.without_mutant)}")
    return "; ".join(words)


def matrix_markdown(result: Selftest) -> str:
    """A table for docs/kill-matrix.md."""
    lines = [
        "# Kill matrix",
        "",
        "Made by `fsconform selftest --output FILE`: every mutant of the emulated filesystem, the properties that",
        "caught it (violations of trials), and how long its run took. A mutant that survives is a hole; a property",
        "without a mutant is no check.",
        "",
        summary_line(result) + ".",
        "",
        "| mutant | caught by | missed | wrongly accused | seconds |",
        "|---|---|---|---|---|",
    ]
    for attempt in result.attempts:
        kills = "<br>".join(f"`{kill.property_id}` {kill.violations} of {kill.trials}" for kill in attempt.kills)
        lines.append(
            f"| {attempt.mutant or '(truthful)'} | {kills} | {', '.join(attempt.survived)} | "
            f"{', '.join(attempt.accused)} | {attempt.seconds:.1f} |"
        )
    return "\n".join(lines) + "\n"
