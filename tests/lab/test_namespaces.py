"""The lab without root: inside a user namespace."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from fsconform.lab.mountpoints import emulated_mounts
from fsconform.lab.namespaces import enter_line, may_mount, own_command

_WITHOUT_MOUNTS = """
import ctypes, os, sys
if os.geteuid() == 0:  # a root that may not mount is as good as an ordinary user here
    assert ctypes.CDLL(None).prctl(24, 21, 0, 0, 0) == 0  # PR_CAPBSET_DROP, CAP_SYS_ADMIN
os.execv(sys.executable, [sys.executable, "-c", sys.argv[1]])
"""
_INSIDE = """
import os, sys
from pathlib import Path
from fsconform.lab.emulation import Emulation
from fsconform.lab.namespaces import may_mount, reexec_with_mounts
from fsconform.lab.spec import parse_lab
from fsconform.vocabulary.errors import CannotTestError
try:
    if not may_mount():
        reexec_with_mounts(sys.orig_argv)
    with Emulation(parse_lab("strict"), start_timeout_s=60) as emulation:
        a, b = emulation.mounts
        (a / "f").write_text("seen")
        print("saw", (b / "f").read_text(), "by", os.environ["FSCONFORM_NAMESPACE"], flush=True)
except CannotTestError as error:
    print("refused", error, flush=True)
"""


@pytest.mark.fuse
def test_an_ordinary_user_gets_a_lab_in_a_namespace_of_his_own() -> None:
    before = emulated_mounts()
    done = subprocess.run(
        [sys.executable, "-c", _WITHOUT_MOUNTS, _INSIDE], capture_output=True, text=True, timeout=60, check=False
    )
    if done.stdout.startswith("refused"):
        pytest.skip(f"no user namespaces here: {done.stdout}")
    assert done.stdout == "saw seen by 1\n", done.stderr
    assert emulated_mounts() == before


def test_the_line_to_type_is_a_shell_line() -> None:
    line = enter_line(["fsconform", "lab", "up", "strict", "/tmp/lab dir"])
    assert line == "unshare --user --map-root-user --mount fsconform lab up strict '/tmp/lab dir'"


def test_our_own_command_can_be_done_again() -> None:
    assert own_command()[0] == sys.executable
    assert may_mount() or os.geteuid() != 0
