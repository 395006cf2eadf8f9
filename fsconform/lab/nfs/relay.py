"""The launcher of a worker in a guest: its standard input and output are the worker's.

    python relay.py SOCKET LETTER [OPTION]... -c CODE

`CODE` is what a Python interpreter in the guest of site LETTER is to run (execnet's bootstrap); options of the
interpreter before it are left out: the guest's runs isolated and unbuffered. Standard library only, so that it starts
soon; ends when the worker ends.
"""

from __future__ import annotations

import json
import os
import select
import socket
import sys

_PORTION = 1 << 20


def relay(path: str, letter: str, code: str) -> int:
    """Connect, ask for a worker, pass bytes both ways until it ends. Returns the exit status."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as keeper:
        try:
            keeper.connect(path)
        except OSError as error:
            return _fail(f"the lab is gone ({error.strerror})")
        keeper.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _PORTION)
        keeper.sendall(json.dumps({"worker": letter, "code": code}).encode() + b"\n")
        answer = _line(keeper)
        reason = json.loads(answer)["error"] if answer else "the lab ended"
        if reason:
            return _fail(reason)
        return _pass_on(keeper)


def _line(keeper: socket.socket) -> bytes:
    """The answer, byte by byte: what follows it is the worker's."""
    line = b""
    while not line.endswith(b"\n"):
        byte = keeper.recv(1)
        if not byte:
            return b""
        line += byte
    return line


def _pass_on(keeper: socket.socket) -> int:
    sources = [0, keeper.fileno()]
    while True:
        for source in select.select(sources, [], [])[0]:
            data = os.read(source, _PORTION) if source == 0 else keeper.recv(_PORTION)
            if source == 0 and data:
                keeper.sendall(data)
            elif source == 0:
                sources.remove(0)
                keeper.shutdown(socket.SHUT_WR)
            elif not data:
                return 0
            while source != 0 and data:
                data = data[os.write(1, data) :]


def _fail(reason: str) -> int:
    print(f"fsconform: {reason}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    try:
        sys.exit(relay(sys.argv[1], sys.argv[2], sys.argv[sys.argv.index("-c") + 1]))
    except (BrokenPipeError, ConnectionResetError):
        sys.exit(1)
