"""How a filesystem differs from a local one: pieces that replace entries of the table of operations.

A trait is a function (lab, knobs) -> None, called once before the first mount. Presets list traits; mutants are made
of the same stuff.
"""

from collections.abc import Callable

from fsconform.lab.knobs import Knobs
from fsconform.lab.model import Lab

Trait = Callable[[Lab, Knobs], None]
