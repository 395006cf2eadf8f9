"""The kill matrix: which mutant was caught by which property, for the terminal and for docs."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from fsconform.lab.mutants import MUTANTS
from fsconform.run.selftest import Attempt, Kill, Selftest
from fsconform.vocabulary.properties import PROPERTIES


def attempt_line(attempt: Attempt) -> str:
    """One lab in one line, as it is tried."""
    name = attempt.mutant or f"({attempt.lab} without a mutant)"
    kills = ", ".join(_kill_words(kill) for kill in attempt.kills) or "nothing"
    words = [f"{'ok ' if attempt.right else 'BAD'} {name:28} {attempt.seconds:5.1f} s  broke {kills}"]
    if attempt.survived:
        words.append(f"NOT CAUGHT by {', '.join(attempt.survived)}")
    if attempt.accused:
        words.append(f"INNOCENT BUT ACCUSED: {', '.join(attempt.accused)}")
    words += [f"INCIDENT: {incident}" for incident in attempt.incidents]
    return "; ".join(words)


def _kill_words(kill: Kill) -> str:
    return f"{kill.property_id} {kill.violations}/{kill.trials}{_witness_words(kill, ' ({})')}"


def _witness_words(kill: Kill, form: str) -> str:
    if kill.witness_trials is None or kill.witness_s is None:
        return form.format("refused")
    return form.format(f"trial {kill.witness_trials}, {_seconds(kill.witness_s)}")


def _seconds(value: float) -> str:
    return f"{value * 1e3:.0f} ms" if value < 1 else f"{value:.1f} s"


def summary_lines(result: Selftest) -> list[str]:
    """The last lines but one."""
    tried = [attempt for attempt in result.attempts if attempt.mutant]
    right = sum(attempt.right for attempt in tried)
    lines = [f"{right} of {len(tried)} mutants caught by exactly the properties that they break"]
    times = [kill.witness_s for attempt in tried for kill in attempt.kills if kill.witness_s is not None]
    if times:
        lines.append(f"first witness after {_seconds(median(times))} in the median, {_seconds(max(times))} at most")
    if result.without_mutant:
        lines.append(f"NO MUTANT breaks {', '.join(result.without_mutant)}")
    if result.elsewhere:
        lines.append(f"not shown by these labs: {', '.join(result.elsewhere)}")
    return lines


def matrix_markdown(result: Selftest) -> str:
    """docs/kill-matrix.md."""
    tried = [attempt for attempt in result.attempts if attempt.mutant]
    lines = [
        "# Kill matrix",
        "",
        "Made by `fsconform selftest --output docs/kill-matrix.md`. Each row is one *mutant*: one defect of the",
        "emulated filesystem. It must be caught by the properties that it breaks, and by no other one. A mutant that",
        "survives is a hole; a property without a mutant is no check. Labs without a mutant must break nothing.",
        "",
        "*Caught by*: violations of trials; the trial that showed the first one, and how long that took from the first",
        "trial on. *Breaks too*: what it breaks by necessity; the reason stands in the mutant's definition",
        "([fsconform/lab/mutants](../fsconform/lab/mutants)).",
        "",
        *(f"- {line}." for line in summary_lines(result)),
        "",
        "| lab without a mutant | broke |",
        "|---|---|",
        *(f"| `{attempt.lab}` | {_cell(attempt.kills)} |" for attempt in result.attempts if not attempt.mutant),
        "",
        "| mutant | what it does | caught by | breaks too | wrong |",
        "|---|---|---|---|---|",
        *(_row(attempt) for attempt in tried),
        "",
        "Mutants that break no property of the catalogue, and what shows them:",
        "",
        *(f"- `{mutant.name}`: {mutant.summary}. Shown by {mutant.shown_by}."
          for mutant in MUTANTS.values() if mutant.shown_by),
        "",
        "## By property",
        "",
        "| property | mutants that it caught |",
        "|---|---|",
        *(f"| `{word}` | {_catchers(word, tried)} |" for word in PROPERTIES if word not in result.elsewhere),
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _row(attempt: Attempt) -> str:
    named = [kill for kill in attempt.kills if kill.property_id in attempt.named]
    others = [kill for kill in attempt.kills if kill.property_id not in attempt.named | set(attempt.accused)]
    wrong = [f"not caught by {word}" for word in attempt.survived]
    wrong += [f"accused {word}" for word in attempt.accused]
    wrong += attempt.incidents
    summary = MUTANTS[attempt.mutant].summary.replace("|", "\\|")
    return f"| `{attempt.mutant}` | {summary} | {_cell(named)} | {_cell(others)} | {'; '.join(wrong)} |"


def _cell(kills: Sequence[Kill]) -> str:
    return "<br>".join(
        f"`{kill.property_id}` {kill.violations} of {kill.trials}, {_witness_words(kill, '{}')}" for kill in kills
    )


def _catchers(word: str, tried: Sequence[Attempt]) -> str:
    caught = [attempt.mutant for attempt in tried if any(kill.property_id == word for kill in attempt.kills)]
    return ", ".join(f"`{name}`" for name in caught) or "none"
