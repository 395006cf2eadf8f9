"""The most memory that this process has had since it was told to forget (proc(5): VmHWM, clear_refs)."""

from __future__ import annotations

from contextlib import suppress


def forget_peak() -> None:
    """Count from what is resident now. Where that is refused the peak is that of the whole life of the process."""
    with suppress(OSError), open("/proc/self/clear_refs", "w") as file:
        file.write("5")


def peak_bytes() -> int:
    """The peak of the resident set; 0 where the system does not tell."""
    with suppress(OSError), open("/proc/self/status") as file:
        for line in file:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) << 10
    return 0
