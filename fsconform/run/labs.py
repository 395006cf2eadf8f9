"""The only place that turns `lab=` sites into mounts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from fsconform.vocabulary.errors import CannotTestError
from fsconform.vocabulary.sites import LETTERS, SiteSpec, parse_site


def parse_sites(texts: Sequence[str]) -> tuple[SiteSpec, ...]:
    """All sites as written. Raises CannotTestError where there is none, or one cannot be read."""
    if not texts:
        raise CannotTestError("no site: give a mount path, or lab=NAME to practise on an emulated filesystem")
    return tuple(parse_site(text) for text in texts)


def count_mounts(specs: Sequence[SiteSpec]) -> int:
    """How many sites these are once labs are up, without bringing anything up."""
    from fsconform.lab.catalogue import count_clients

    count = sum(count_clients(spec.target) if spec.launcher == "lab" else 1 for spec in specs)
    if count > len(LETTERS):
        raise CannotTestError(f"{count} sites; at most {len(LETTERS)} can take part in one run")
    return count


@contextmanager
def mounted(specs: Sequence[SiteSpec]) -> Iterator[tuple[SiteSpec, ...]]:
    """The sites with every lab brought up and replaced by its mounts; labs go down at the end.

    Raises CannotTestError where a lab cannot be brought up here.
    """
    with ExitStack() as stack:
        found: list[SiteSpec] = []
        for spec in specs:
            if spec.launcher != "lab":
                found.append(spec)
                continue
            from fsconform.lab.catalogue import bring_up

            found += stack.enter_context(bring_up(spec.target))
        yield tuple(found)
