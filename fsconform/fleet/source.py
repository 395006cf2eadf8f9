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
    "watchdog", "barrier", "blocks", "calls", "descriptors", "looks", "steps", "requests", "loop", "acting",
    "observing", "tree", "facts", "capabilities", "handshake", "inquiries",
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
    _module.__package__ = {package!r}
    sys.modules[_name] = _module
    setattr(sys.modules[{package!r}], _name.rpartition(".")[2], _module)
    exec(compile(_source, "<" + _name + ">", "exec"), _module.__dict__)
"""
_SERVE = """
sys.modules["{package}.requests"].serve(channel)
"""


@cache
def joined_source() -> str:
    """The whole worker as one source text for `gateway.remote_exec`; needs Python >= 3.9 there, nothing else."""
    packages = ("fsconform", "fsconform.fleet", PACKAGE)
    modules = tuple((f"{PACKAGE}.{name}", _text(name)) for name in MODULES)
    installer = _INSTALLER.format(packages=packages, modules=modules, package=PACKAGE)
    return installer + _SERVE.format(package=PACKAGE)


def _text(module: str) -> str:
    return files(PACKAGE).joinpath(f"{module}.py").read_text(encoding="utf-8")
