"""The source text that is sent to the other side: the modules of `fleet/worker`, joined.

Each module keeps its own namespace and its own name: the text carries them all, installs them one after the other
under the names by which they import one another, and then serves the channel. So the same files are imported by our
tests and run on a bare interpreter that has nothing of ours.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

PACKAGE = "fsconform.fleet.worker"
MODULES = (
    "watchdog", "barrier", "line", "blocks", "calls", "descriptors", "looks", "steps", "requests", "loop", "acting",
    "observing", "tree", "facts", "environment", "capabilities", "handshake", "inquiries",
)  # fmt: skip
"""In the order of their imports: what a module imports stands before it."""

_INSTALLER = """
import sys, types
for _name in {packages!r}:
    if _name not in sys.modules or not hasattr(sys.modules[_name], "_joined"):
        _package = types.ModuleType(_name)
        _package.__path__ = []
        _package._joined = True
        sys.modules[_name] = _package
for _name, _source in {modules!r}:
    _module = types.ModuleType(_name)
    _module.__package__ = _name.rpartition(".")[0]
    sys.modules[_name] = _module
    setattr(sys.modules[_module.__package__], _name.rpartition(".")[2], _module)
    exec(compile(_source, "<" + _name + ">", "exec"), _module.__dict__)
"""
_SERVE = """
sys.modules["{package}.requests"].serve(channel)
"""


@cache
def joined_source(extra: tuple[str, ...] = ()) -> str:
    """The whole worker as one source text for `gateway.remote_exec`; needs Python >= 3.9 there, nothing else.

    `extra`: further modules of ours that go along, by their full names, in the order of their imports; they import the
    standard library, the worker's modules and one another.
    """
    names = (*(f"{PACKAGE}.{name}" for name in MODULES), *extra)
    modules = tuple((name, _text(name)) for name in names)
    packages = tuple(dict.fromkeys(package for name in names for package in _packages(name)))
    return _INSTALLER.format(packages=packages, modules=modules) + _SERVE.format(package=PACKAGE)


def _packages(module: str) -> list[str]:
    """The packages that a module lies in, the outermost first."""
    words = module.split(".")[:-1]
    return [".".join(words[:length]) for length in range(1, len(words) + 1)]


def _text(module: str) -> str:
    package, _, name = module.rpartition(".")
    return files(package).joinpath(f"{name}.py").read_text(encoding="utf-8")
