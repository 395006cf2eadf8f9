"""Processors whose register state is larger than the guests' kernel has room for (Intel AMX).

User-Mode Linux 6.1 saves a process's registers by PTRACE_GETREGSET of NT_X86_XSTATE in a buffer of 2,696 bytes (legacy
area to PKRU) and writes them back by PTRACE_SETREGSET. The host refuses a shorter state than its own with EFAULT
(Linux arch/x86/kernel/fpu/regset.c, xstateregs_set; with AMX 11,008 bytes), and the guest panics: `ptrace set fp regs
failed, errno = 14`. Where its first PTRACE_GETREGSET fails it falls back to PTRACE_GETFPREGS (arch/x86/um/os-Linux/
registers.c), which leaves the upper halves of AVX registers out; so nothing in the guest may use them.
"""

from __future__ import annotations

import ctypes
import errno
import struct
from pathlib import Path

_AMX = "amx_tile"
WITHOUT_AVX = (
    "GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX,-AVX2,-AVX512F,-AVX512VL,-AVX512BW,-AVX_Fast_Unaligned_Load",
    "OPENSSL_ia32cap=~0x1000000000000000:~0x20",
)
"""Environment of every process of such a guest: the C library and OpenSSL choose code without AVX."""
_PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS, _SECCOMP_MODE_FILTER = 22, 38, 2
_AUDIT_ARCH_X86_64, _PTRACE, _PTRACE_GETREGSET, _NT_X86_XSTATE = 0xC000003E, 101, 0x4204, 0x202
_ALLOW, _FAIL = 0x7FFF0000, 0x00050000
_LOAD, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_NUMBER, _ARCHITECTURE, _REQUEST, _TYPE = 0, 4, 16, 32
"""Offsets in struct seccomp_data: system call, architecture, its first and third argument."""


def too_large() -> bool:
    """Whether this processor's state does not fit the guests' kernel."""
    try:
        text = Path("/proc/cpuinfo").read_text(errors="replace")
    except OSError:
        return False
    return _AMX in next((line.split() for line in text.splitlines() if line.startswith("flags")), [])


def hide_extended_state() -> None:
    """From here on this process cannot read NT_X86_XSTATE (seccomp(2)): called between fork and exec of a guest.

    Raises OSError.
    """
    filters = [
        (_LOAD, 0, 0, _ARCHITECTURE), (_JUMP_IF_EQUAL, 0, 6, _AUDIT_ARCH_X86_64),
        (_LOAD, 0, 0, _NUMBER), (_JUMP_IF_EQUAL, 0, 4, _PTRACE),
        (_LOAD, 0, 0, _REQUEST), (_JUMP_IF_EQUAL, 0, 2, _PTRACE_GETREGSET),
        (_LOAD, 0, 0, _TYPE), (_JUMP_IF_EQUAL, 1, 0, _NT_X86_XSTATE),
        (_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _FAIL | errno.EIO),
    ]  # fmt: skip
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *words) for words in filters))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(filters), ctypes.addressof(code)))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, program, 0, 0):
        raise OSError(ctypes.get_errno(), "seccomp")
