"""Which handler answers which opcode, and what handlers may use."""

from __future__ import annotations

import errno
from collections.abc import Callable
from importlib import import_module

from fsconform.lab.calls import Call, RefusalError
from fsconform.lab.inodes import DirectoryHandle, Handle
from fsconform.lab.model import Lab
from fsconform.lab.operations.table import Operations
from fsconform.lab.protocol import Opcode
from fsconform.lab.requests.encoding import Encoder

Reply = bytes | None
"""The body of an answer; None: not answered now."""
Handler = Callable[["Dispatcher", Call, int, memoryview], Reply]

_HANDLERS: dict[int, Handler] = {}


def handles(opcode: Opcode) -> Callable[[Handler], Handler]:
    """Register the handler of an opcode."""

    def register(handler: Handler) -> Handler:
        _HANDLERS[int(opcode)] = handler
        return handler

    return register


class Dispatcher:
    """What one mount's requests are answered with."""

    def __init__(self, lab: Lab) -> None:
        for module in ("names", "data", "attributes", "listings", "sessions"):
            import_module(f"fsconform.lab.requests.{module}")
        self.lab = lab
        self.operations: Operations = lab.operations
        self.encoder = Encoder(lab)
        self.find = _HANDLERS.get
        """Opcode -> handler, None where the server does not know the request (ENOSYS)."""

    def handle(self, number: int) -> Handle:
        """An open file. Raises EBADF."""
        handle = self.lab.store.handles.get(number)
        if handle is None:
            raise RefusalError(errno.EBADF)
        return handle

    def directory(self, number: int) -> DirectoryHandle:
        """An open directory. Raises EBADF."""
        handle = self.lab.store.directories.get(number)
        if handle is None:
            raise RefusalError(errno.EBADF)
        return handle
