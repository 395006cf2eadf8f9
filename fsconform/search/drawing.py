"""Drawing byte strings with Hypothesis, under the settings that concurrent programs need.

Programs are drawn whole, before anything runs. No deadline (rounds wait for one another), no example database (a
race that was caught once need not show again), no explain phase (it compares runs, which differ here anyway), one bug
at a time. The seed decides what is drawn, so that `derandomize` would have nothing to add to a fixed one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from fsconform.search.encoding import LONGEST, SHORTEST
from fsconform.vocabulary.blocks import block_key

MOST_EXAMPLES = 20_000
"""Programs per run of Hypothesis; the hunt starts another one after it."""


def draw_programs(check: Callable[[bytes], None], seed: int, session: int = 0) -> None:
    """Calls `check` with byte strings until it raises; a failure is then shrunk by calling it with smaller ones.

    Raises what `check` raises for the smallest failing string, and at once what is no `Exception`. Returns after
    `MOST_EXAMPLES` strings that pass. Sessions of one seed draw different strings.
    """
    import hypothesis
    from hypothesis import HealthCheck, Phase, Verbosity, given, settings, strategies

    @hypothesis.seed(int(block_key("session", seed, session)[:16], 16))
    @settings(
        max_examples=MOST_EXAMPLES,
        deadline=None,
        database=None,
        phases=[Phase.generate, Phase.shrink],
        report_multiple_bugs=False,
        print_blob=False,
        verbosity=Verbosity.quiet,
        derandomize=False,
        suppress_health_check=list(HealthCheck),
    )
    @given(strategies.binary(min_size=SHORTEST, max_size=LONGEST))
    def search(data: bytes) -> None:
        check(data)

    with _without_local_constants():
        search()


@contextmanager
def _without_local_constants() -> Iterator[None]:
    """Hypothesis mixes constants of the modules that happen to be imported into what it draws: with them a seed would
    draw other programs in every surroundings. Internal to Hypothesis; left as it is where a version has no such thing.
    """
    from hypothesis.internal.conjecture import providers
    from hypothesis.internal.constants_ast import Constants

    name = "_get_local_constants"
    if not hasattr(providers, name):
        yield
        return
    before = getattr(providers, name)
    none = Constants()
    setattr(providers, name, lambda: none)
    try:
        yield
    finally:
        setattr(providers, name, before)
