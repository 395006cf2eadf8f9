"""One exception class per kind of anomaly: Hypothesis tells bugs apart by the class of what is raised."""

from __future__ import annotations

from functools import cache


class ViolationError(AssertionError):
    """An outcome that must not happen was seen. `kind` is the oracle's word for it."""

    kind = ""


@cache
def violation_class(kind: str) -> type[ViolationError]:
    """The class of one kind: `two-winners` -> `TwoWinnersError`, always the same object for the same word."""
    name = "".join(word.capitalize() for word in kind.replace("_", "-").split("-")) + "Error"
    return type(name, (ViolationError,), {"kind": kind, "__doc__": f"The search saw: {kind}.", "__module__": __name__})
