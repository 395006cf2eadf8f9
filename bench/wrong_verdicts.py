"""How often a wrong formulation of an oracle gives a wrong verdict: `python -m bench.wrong_verdicts [HISTORIES]`.

Random small histories with many ties, lost and ambiguous operations (`tests/oracles/histories.py`), judged by all
orders; the table of docs/oracles.md. Also counts the oracles' own disagreements, which must be none.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence

from fsconform.oracles.once import judge_once
from fsconform.oracles.replaceable import judge_versions
from fsconform.oracles.sessions import session_regressions
from tests.oracles import mutants, test_frontier, test_once, test_replaceable, test_sessions
from tests.oracles.columns import once_columns, register_columns
from tests.oracles.histories import bulk, life_history, once_history, register_history, session_history
from tests.oracles.twins import Op, linearizable, step_life

History = Sequence[Op]


def row(what: str, told: Iterable[int], true: Sequence[int]) -> None:
    """One line: how many violations were missed, innocents accused, and other numbers given."""
    missed = false = other = 0
    for verdict, truth in zip(told, true, strict=True):
        missed += verdict == 0 and truth > 0
        false += verdict > 0 and truth == 0
        other += verdict != truth and verdict > 0 and truth > 0
    share = [f"{100 * count / len(true):6.2f} %" for count in (missed, false, other)]
    print(f"{what:<48} missed {share[0]}   false {share[1]}   other number {share[2]}", flush=True)


def once_table(number: int) -> None:
    histories = list(bulk(once_history, number))
    true = [test_once.twin_delta(ops) for ops in histories]
    columns = once_columns(histories)
    row("create-once: the oracle", judge_once(*columns).delta.tolist(), true)
    for mutant in mutants.ONCE:
        row(f"  {_words(mutant)}", mutant(*columns).delta.tolist(), true)


def register_table(number: int) -> None:
    histories = list(bulk(register_history, number))
    true = [test_replaceable.twin_delta(ops) for ops in histories]
    row("replaceable: the oracle", judge_versions(*register_columns(histories)).delta.tolist(), true)
    for mutant in test_replaceable.MUTANTS:
        row(f"  {_words(mutant)}", mutant(histories), true)


def session_table(number: int) -> None:
    histories = list(bulk(session_history, number))
    true = [len(test_sessions.twin_regressing(ops) or ()) for ops in histories]
    own = [test_sessions.history(ops) for ops in histories]
    right = (len({found.op.session for found in session_regressions(ops)}) for ops in own)
    row("sessions: the oracle", right, true)
    for mutant in test_sessions.MUTANTS:
        row(f"  {_words(mutant)}", (len(mutant(ops)) for ops in own), true)


def life_table(number: int) -> None:
    histories = list(bulk(life_history, number))
    true = [int(not linearizable(ops, step_life)) for ops in histories]
    row("names that die: the frontier", (int(not test_frontier.passes(ops)) for ops in histories), true)
    for mutant in test_frontier.MUTANTS:
        row(f"  {_words(mutant)}", (int(not mutant(ops)) for ops in histories), true)


def _words(mutant: Callable[..., object]) -> str:
    return mutant.__name__.replace("_", " ")


def main(number: int) -> None:
    """Prints the table."""
    print(f"{number:,} random histories per object")
    for table in (once_table, register_table, session_table, life_table):
        table(number)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000)
