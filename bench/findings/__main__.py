"""Reproduces findings and writes docs/findings.md: `python -m bench.findings [NAME...] [--site SITE] [--output FILE]`.

With names: only these, told on the console (`--site`: at this site only). Without: all, and the page is written. Ends
with 2 where a lab cannot be had here.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from bench.findings.catalogue import FINDINGS, Finding
from bench.findings.measuring import measure
from fsconform.vocabulary.errors import FsconformError

LABS_AT_ONCE = 4
HEAD = """\
# What real NFS does that surprises

Every finding below was reproduced by the command that stands with it, on the lab that it names: the kernel's own NFS
server and clients in guests of User-Mode Linux ([nfs-lab.md](nfs-lab.md)). `make findings` measured the figures and
wrote this page. A finding is not a violation: most are within what nfs(5) promises, and the profiles say so. They are
what an application must be ready for.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """0 where everything could be tried, else 2."""
    parser = argparse.ArgumentParser(prog="python -m bench.findings", description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help=", ".join(finding.name for finding in FINDINGS))
    parser.add_argument("--site", help="try it at this site only")
    parser.add_argument("--output", type=Path, default=Path("docs/findings.md"))
    options = parser.parse_args(arguments)
    known = {finding.name: finding for finding in FINDINGS}
    if unknown := set(options.names) - known.keys():
        parser.error(f"no finding is called {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    chosen = [known[name] for name in options.names] or list(FINDINGS)
    tries = [(finding, site) for finding in chosen for site in ([options.site] if options.site else finding.sites)]
    told: dict[str, dict[str, list[str]]] = {}
    try:
        for name, site, lines in _measure_all(tries):
            print(f"{name} at {site}:", *lines, sep="\n    ", flush=True)
            told.setdefault(name, {})[site] = lines
    except FsconformError as error:
        print(error, file=sys.stderr)
        return 2
    if not options.names:
        options.output.write_text("\n".join(page(told)) + "\n", encoding="utf-8")
        print(f"written: {options.output}")
    return 0


def _measure_all(tries: Sequence[tuple[Finding, str]]) -> Iterator[tuple[str, str, list[str]]]:
    """First what needs a calm machine, one after another; then what does nothing but wait for caches, side by side."""
    waiting = [(finding, site) for finding, site in tries if finding.waits]
    for finding, site in tries:
        if not finding.waits:
            yield finding.name, site, measure(finding, site)
    with ProcessPoolExecutor(LABS_AT_ONCE, get_context("spawn")) as pool:
        running = [(finding, site, pool.submit(measure, finding, site)) for finding, site in waiting]
        for finding, site, future in running:
            yield finding.name, site, future.result()


def page(told: Mapping[str, Mapping[str, Sequence[str]]]) -> Iterator[str]:
    """The lines of docs/findings.md."""
    yield from HEAD.splitlines()
    for finding in FINDINGS:
        yield from ("", f"## {finding.title}", "", finding.sequence, "", f"*Why.* {finding.cause}", "")
        for site in finding.sites:
            lines = told[finding.name][site]
            yield f"- `{site.removeprefix('lab=')}`: {lines[0]}"
            yield from (f"    - {line}" for line in lines[1:])
        yield from ("", f"Source: {finding.source}.", "", "```sh", *finding.commands(), "```")


if __name__ == "__main__":
    sys.exit(main())
