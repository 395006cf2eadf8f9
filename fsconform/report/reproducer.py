"""repro.py: one witness as a program of the standard library, for people who have neither fsconform nor its words.

`templates/repro.py.txt` is such a program already. The program of the witness takes the place of its example, block
ids get short names, and what this witness does not need is left out.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence
from importlib.resources import files
from itertools import count

from fsconform.report.escaping import shorten_keys, visible
from fsconform.search.replaying import fitting_rounds
from fsconform.vocabulary.blocks import Content
from fsconform.vocabulary.contradictions import Contradiction, Order, Result
from fsconform.vocabulary.errors import CannotTestError
from fsconform.vocabulary.programs import Program
from fsconform.vocabulary.steps import CONTENT_LOOKS, Step
from fsconform.vocabulary.stored_witnesses import StoredWitness

_KEY = re.compile(r"(?<![0-9a-z])[0-9a-f]{64}(?![0-9a-z])|(?<=\.t-)[0-9a-f]{16}(?![0-9a-z])")
_TEMPORARY = re.compile(r"(?<=\.t)(\d+)-[0-9a-f]{16}(?![0-9a-z])")
_WIDTH = 110
_ALL_BITS = -1


def reproducer_text(witness: StoredWitness, environment: Sequence[str] = ()) -> str:
    """The text of repro.py; `environment`: where it was seen, one line per site.

    Raises CannotTestError where a witness does not say what must not be together, or has a step that only workers of
    fsconform can perform.
    """
    if not witness.contradictions or not witness.program.lanes:
        raise CannotTestError("no reproducer: the witness does not say which results cannot be together")
    text = files("fsconform.report").joinpath("templates", "repro.py.txt").read_text(encoding="utf-8")
    head, _, rest = text.partition("# @PROGRAM@\n")
    _, _, interpreter = rest.partition("# @END@\n")
    names = _Names(witness.program)
    program = _program_text(witness, names)
    whole = _pruned(head + program + interpreter, set(_kinds(witness.program)))
    return whole.replace("@DOCUMENTATION@", _documentation(witness, environment, names), 1)


def _kinds(program: Program) -> Iterable[str]:
    for lane in program.lanes:
        for step in lane.steps:
            yield _word(step)
            if step.then:
                yield _word(step.then)


def _word(step: Step) -> str:
    """What repro.py calls a step."""
    if step.kind == "open" and step.arg == 1:
        return "open_rdonly"
    return {"barrier": "meet", "write_held": "write"}.get(step.kind, step.kind)


class _Names:
    """Short names for block ids, in the order in which a program mentions them."""

    def __init__(self, program: Program) -> None:
        numbers = count(1)
        self._known: dict[str, str] = {}
        for lane in program.lanes:
            for step in lane.steps:
                for key in re.findall(r"[0-9a-f]{64}", f"{step.path} {step.other} {step.key} {' '.join(step.names)}"):
                    if key not in self._known:
                        self._known[key] = f"block{next(numbers)}"
        self._short = {key[:16]: name for key, name in self._known.items()}

    def __call__(self, text: str) -> str:
        """A path, a name or a block id with short names in it."""
        short = _KEY.sub(lambda found: self._known.get(found[0], self._short.get(found[0], found[0])), text)
        return _TEMPORARY.sub(r"\1", short)


def _program_text(witness: StoredWitness, names: _Names) -> str:
    program = witness.program
    lines = [
        f"ROUNDS = {fitting_rounds(program)}",
        f"DIRECTORIES = {[names(directory) for directory in program.directories]!r}",
        "# What each worker does: its site, and its steps. A number is a descriptor's slot; all workers wait for one",
        "# another at `meet`, and start together. Written is: slot, block, version, offset, length.",
        "WORKERS = [",
    ]
    for lane in program.lanes:
        lines += [f'    ("{lane.site}", [', *_step_lines([_step(step, names) for step in lane.steps]), "    ]),"]
    return "\n".join([*lines, "]", "", "", *_wrong(witness, names), "", ""]) + "\n"


def _step_lines(steps: Sequence[str]) -> list[str]:
    """One line per step; what repeats itself stands once."""
    lines, at = [], 0
    while at < len(steps):
        length, times = _repetition(steps[at:])
        group = steps[at : at + length]
        lines += [f"        *[{', '.join(group)}] * {times},"] if times > 1 else [f"        {group[0]},"]
        at += length * times
    return lines


def _repetition(steps: Sequence[str]) -> tuple[int, int]:
    """(length, times) of what these steps begin with; (1, 1) where nothing comes three times."""
    for length in (1, 2, 3):
        times = 1
        while list(steps[:length]) == list(steps[length * times : length * (times + 1)]):
            times += 1
        if times > 2:
            return length, times
    return 1, 1


def _step(step: Step, names: _Names) -> str:
    """A step as repro.py has it: a tuple of its name and arguments."""
    kind = _word(step)
    return "(" + ", ".join(map(repr, (kind, *_arguments(kind, step, names)))) + ("," if kind == "meet" else "") + ")"


def _arguments(kind: str, step: Step, names: _Names) -> tuple[object, ...]:
    path, other, block = names(step.path) or ".", names(step.other), names(step.key)
    if kind in ("excl_create", "create", "open", "open_rdonly", "open_dir", "open_tmpfile", "open_append"):
        return path, step.fd
    if kind in ("rename", "rename_noreplace", "rename_exchange", "link", "symlink"):
        return path, other
    if kind == "write":
        return step.fd, block, step.version, step.offset, step.size
    if kind in ("open_read", "open_fstat_read", "open_direct", "mmap_read"):
        return path, block
    if kind == "read_held":
        return step.fd, block
    if kind == "scandir":
        return (path, *map(names, step.names))
    if kind == "scandir_held":
        return (step.fd, *map(names, step.names))
    if kind in ("setxattr", "getxattr"):
        return path, other if other.startswith("user.") else f"user.{other}", block
    if kind in ("close", "fsync", "fdatasync", "fstat_held"):
        return (step.fd,)
    if kind == "fallocate":
        return step.fd, step.offset, step.size
    if kind == "truncate":
        return step.fd, step.size
    if kind in ("flock", "fcntl_lock"):
        return step.fd, step.arg
    if kind == "watch" and step.then:
        inner = _word(step.then)
        return (step.arg / 1e9, inner, *_arguments(inner, step.then, names))
    if kind == "sleep":
        return (step.arg / 1e9,)
    return () if kind == "meet" else (path,)


def _wrong(witness: StoredWitness, names: _Names) -> list[str]:
    """The function `wrong` of repro.py: each contradiction alone is the violation."""
    program = witness.program
    cases = [" and ".join(_conditions(found, program, names)) for found in witness.contradictions]
    story = shorten_keys(visible(witness.story)).replace("\\", "\\\\").replace('"""', "'''")
    lines = ["def wrong(told, seen, gap):", *([f'    """{_wrapped(story, 4)}"""'] if story else [])]
    if len(cases) == 1:
        return [*lines, f"    return {cases[0]}"]
    return [*lines, "    return (", *(f"        {'or ' if k else ''}{case}" for k, case in enumerate(cases)), "    )"]


def _conditions(found: Contradiction, program: Program, names: _Names) -> Iterable[str]:
    for result in found.results:
        yield f"told[{result.place[0]}, {result.place[1]}] == {result.errno!r}"
        if result.errno == "ok" and result.mask:
            yield _seen(result, program.lanes[result.place[0]].steps[result.place[1]], names)
    for order in found.orders:
        yield _gap(order)


def _gap(order: Order) -> str:
    first, then = (f"({place[0]}, {place[1]})" for place in (order.first, order.then))
    return f"gap({first}, {then}) > {order.least_ns / 1e9:g}"


def _seen(result: Result, step: Step, names: _Names) -> str:
    place = f"seen[{result.place[0]}, {result.place[1]}]"
    look = step.then or step
    if look.kind in CONTENT_LOOKS:
        if result.mask != _ALL_BITS:
            return f'"whole" {"not in" if result.differs else "in"} {place}'
        version = result.value >> 8
        wanted = f"version {version} whole" if version else "whole"
        if result.value & 0xFF != Content.EXACT:
            return f'"whole" not in {place}'
        return f"{place} {'!=' if result.differs else '=='} {wanted!r}"
    if look.kind in ("scandir", "scandir_held"):
        return _listed(place, result, look, names)
    return f"{place} {'!=' if result.differs else '=='} {result.value}"


def _listed(place: str, result: Result, look: Step, names: _Names) -> str:
    """Bit i of a listing's value says that name i was seen."""
    if result.mask == 1:
        there = bool(result.value) != result.differs
        return f"{names(look.names[0])!r} {'in' if there else 'not in'} {place}"
    shown = sorted(names(name) for bit, name in enumerate(look.names) if result.value >> bit & 1)
    return f"{place} {'!=' if result.differs else '=='} {shown!r}"


def _wrapped(text: str, indent: int) -> str:
    """Words in lines that fit."""
    lines, line = [], ""
    for word in text.split():
        if line and len(line) + len(word) + indent >= _WIDTH:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}".strip()
    return f"\n{' ' * indent}".join([*lines, line])


def _documentation(witness: StoredWitness, environment: Sequence[str], names: _Names) -> str:
    sites = sorted({lane.site for lane in witness.program.lanes})
    rate = f"{witness.failures} of {witness.rounds}" if witness.rounds else "once"
    told = [
        visible(witness.name or witness.kind), "",
        *(_wrapped(f"{word}: {shorten_keys(visible(text))}", 0) for word, text in (
            ("expected", f"{witness.expected} ({witness.source})" if witness.source else witness.expected),
            ("got", witness.story), ("seen in", rate)) if text),
        *(_wrapped(visible(f"site {line}"), 0) for line in environment), "",
        f"    python3 repro.py {' '.join(f'DIRECTORY-OF-{site.upper()}' for site in sites)}",
    ]  # fmt: skip
    if len(sites) > 1:
        told += [
            f"    python3 repro.py DIRECTORY-OF-{sites[0].upper()} --serve 7000         on one host, and on the other",
            f"    python3 repro.py DIRECTORY-OF-{sites[-1].upper()} --join HOST:7000    (on a network you trust)",
        ]
    told += [
        "", "Ends with 1 where it was reproduced, with 0 where it was not. Works in a directory of its own, which it",
        "removes. Needs Linux and Python >= 3.9, nothing else.",
    ]  # fmt: skip
    return "\n".join(told).replace("\\", "\\\\").replace('"""', "'''")


def _pruned(text: str, kinds: set[str]) -> str:
    """The program without the steps it does not perform, and then without what nobody uses any more."""
    lines = text.splitlines()
    missing = kinds - {"meet"} - set(re.findall(r'^    "(\w+)": lambda', text, re.MULTILINE))
    if missing:
        raise CannotTestError(f"no reproducer: only workers of fsconform perform {', '.join(sorted(missing))}")
    unused = re.compile(r'    "(\w+)": lambda')
    lines = [line for line in lines if not ((found := unused.match(line)) and found[1] not in kinds)]
    while (shorter := _without_unused("\n".join(lines))) != "\n".join(lines):
        lines = shorter.splitlines()
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)) + "\n"


def _without_unused(text: str) -> str:
    """Without functions, constants and imports whose names stand nowhere else."""
    lines, dropped = text.splitlines(), set[int]()
    for node in ast.parse(text).body:
        place = range(node.lineno - 1, node.end_lineno or node.lineno)
        names, after = _defined(node), r"\." if isinstance(node, ast.Import) else r"\b"
        rest = "\n".join(line for k, line in enumerate(lines) if k not in place)
        if names and not any(re.search(rf"\b{name}{after}", rest) for name in names):
            dropped.update(place)
    return "\n".join(line for k, line in enumerate(lines) if k not in dropped)


def _defined(node: ast.stmt) -> tuple[str, ...]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return (node.name,)
    if isinstance(node, ast.Import):
        return tuple(alias.name for alias in node.names)
    if isinstance(node, ast.Assign):
        targets = [node.targets[0]] if isinstance(node.targets[0], ast.Name) else []
        return tuple(target.id for target in targets)
    return ()
