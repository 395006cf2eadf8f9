"""What is refused before anything is touched: one message each, that says what, where and what to do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import NoReturn

from fsconform.run.children import Stuck
from fsconform.run.first_contact import CONTACT_DEADLINE_S, Facts
from fsconform.vocabulary.errors import CannotTestError
from fsconform.vocabulary.sites import Site, SiteSpec

PSEUDO_FSTYPES = frozenset(
    {
        "proc", "sysfs", "devtmpfs", "devpts", "cgroup", "cgroup2", "debugfs", "tracefs", "securityfs", "pstore", "bpf",
        "configfs", "efivarfs", "mqueue", "hugetlbfs", "fusectl", "fuse.gvfsd-fuse", "fuse.portal", "binfmt_misc",
        "autofs", "rpc_pipefs", "nsfs", "selinuxfs", "sockfs", "pipefs", "fuse.lxcfs", "resctrl",
    }
)  # fmt: skip
"""Filesystems that are windows into the kernel or into another program, not places for files."""
_KERNEL_TREES = ("/proc", "/sys", "/dev")
_FOR_FILES = ("/dev/shm",)
_DEAD = {
    "ENOTCONN": "its FUSE server is gone; unmount it (umount -l) and mount it again",
    "ECONNABORTED": "its FUSE connection was aborted; unmount it (umount -l) and mount it again",
    "ESTALE": "the server no longer knows this directory; unmount it and mount it again",
    "EHOSTDOWN": "its server does not answer; see whether it runs, then mount again",
    "ETIMEDOUT": "its server does not answer; see whether it runs, then mount again",
    "EIO": "the filesystem reports an I/O error; see the kernel's log (dmesg)",
}
VIRTUAL_3FS = "3fs-virt"
_CONTROL = f"{VIRTUAL_3FS} is 3FS's control directory, where creating a name is a command; give a directory of files"


def refuse_path(spec: SiteSpec) -> None:
    """What the word itself rules out: an empty or relative path at another host, 3FS's virtual directory.

    Creating names below `3fs-virt` moves, removes or reconfigures (3FS src/fuse/FuseOps.cc). Raises CannotTestError.
    """
    if not spec.path and spec.launcher != "lab":
        raise CannotTestError(f"site {spec.text!r}: it has no path; give the mount path to test")
    if VIRTUAL_3FS in spec.path.split("/"):
        raise CannotTestError(f"site {spec.text!r}: {_CONTROL}")


def refuse_stuck(spec: SiteSpec, stuck: Stuck) -> NoReturn:
    """Raises CannotTestError for a mount that does not answer."""
    raise CannotTestError(
        f"site {spec.text!r}: hung: {stuck}; see whether its server runs and answers, or unmount it (umount -l), "
        f"then try again (first contact waits {CONTACT_DEADLINE_S:g} s by default)"
    )


def refuse_facts(spec: SiteSpec, facts: Facts) -> None:
    """Raises CannotTestError where the path cannot be tested, whatever else is known."""
    message = _broken(facts) or _forbidden(facts)
    if message:
        raise CannotTestError(f"site {spec.text!r}: {message}")


def _broken(facts: Facts) -> str:
    path, errno, step = facts["path"], facts["errno"], facts["failed"]
    if errno in ("ENOENT", "ENOTDIR") and step == "stat":
        return f"{path} does not exist; {_nearest_mount(facts)}"
    if errno in ("EACCES", "EPERM"):
        return (
            f"{path} may not be entered ({step}: {errno} for uid {facts['uid']}); "
            "run as a user who may, or give a directory of your own"
        )
    if errno == "ELOOP":
        return f"{path} is a loop of symbolic links (ELOOP); give the directory itself"
    if errno:
        return f"dead mount at {path} ({step}: {errno}): {_DEAD.get(errno, 'see that it is mounted and answers')}"
    if facts["kind"] != "directory":
        return f"{path} is a {facts['kind']}, not a directory; give the directory to test in"
    if not facts["boot_id"] or not facts["mount"]:
        return "/proc is not readable there, so nobody can tell which mount and host this is; mount /proc"
    return ""


def _nearest_mount(facts: Facts) -> str:
    points = [point for point, fstype in facts["mounts"] if fstype not in PSEUDO_FSTYPES and point != "/"]
    near = get_close_matches(facts["path"], points, n=1, cutoff=0.6)
    return f"did you mean {near[0]!r}?" if near else "give an existing directory of the filesystem to test"


def _forbidden(facts: Facts) -> str:
    resolved, home, fstype = facts["resolved"], facts["home"], facts["mount"]["fstype"]
    if resolved == "/":
        return "it is the root directory /; give a directory made for tests, e.g. /mnt/NAME/fsconform"
    if resolved == home:
        return f"it is the home directory {home}; give a directory made for tests, e.g. {home}/fsconform-tests"
    if VIRTUAL_3FS in resolved.split("/"):
        return _CONTROL
    in_kernel = any(_inside(resolved, tree) for tree in _KERNEL_TREES)
    if fstype in PSEUDO_FSTYPES or (in_kernel and not any(_inside(resolved, tree) for tree in _FOR_FILES)):
        return (
            f"{resolved} is on {fstype}, a pseudo filesystem of the kernel; give a directory on a filesystem for files"
        )
    return ""


def _inside(path: str, tree: str) -> bool:
    return path == tree or path.startswith(tree + "/")


def refuse_repetition(specs: Sequence[SiteSpec], resolved: Sequence[str]) -> None:
    """Raises CannotTestError where two sites are one path seen by one launcher. `resolved`: path there, per spec."""
    seen: dict[tuple[str, str, str], SiteSpec] = {}
    for spec, path in zip(specs, resolved, strict=True):
        key = (spec.launcher, spec.target, path.rstrip("/"))
        if key in seen:
            same = "" if seen[key].text == spec.text else f" and {spec.text!r}"
            raise CannotTestError(
                f"site {seen[key].text!r}{same}: the same path twice; give it once: all workers run there, or give "
                "a second mount of the same filesystem"
            )
        seen[key] = spec


def refuse_unwritable(sites: Iterable[Site]) -> None:
    """Raises CannotTestError where no site can be written: all would only observe."""
    sites = list(sites)
    if any(not site.read_only for site in sites):
        return
    each = "; ".join(f"{site.spec.text!r} {_why_unwritable(site)}" for site in sites)
    raise CannotTestError(f"no writable site: {each}; give at least one site at which this user may create a directory")


def _why_unwritable(site: Site) -> str:
    if site.mount.option("ro") is not None:
        return f"is mounted read-only ({site.mount.point})"
    return f"is not writable for uid {site.uid} (no permission)"


def refuse_full(sites: Iterable[Site], needed_bytes: int, needed_files: int) -> None:
    """Raises CannotTestError where a writable site has fewer bytes or files free than the plan needs."""
    for site in sites:
        lacks = []
        if site.free_bytes < needed_bytes:
            lacks.append(f"{_size(site.free_bytes)} free, {_size(needed_bytes)} needed")
        if site.free_files < needed_files:
            lacks.append(f"{site.free_files} files free, {needed_files} needed")
        if lacks and not site.read_only:
            raise CannotTestError(
                f"site {site.spec.text!r}: the filesystem at {site.mount.point} is too full ({'; '.join(lacks)}); "
                "free space there or choose a smaller budget"
            )


def _size(count: int) -> str:
    for unit, scale in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= scale:
            return f"{count / scale:.1f} {unit}"
    return f"{count} bytes"


def different_trees(maker: Site, observer: Site, waited_s: float, last: str) -> CannotTestError:
    """The error for a site that never saw what another one made."""
    hint = ""
    if maker.boot_id == observer.boot_id and maker.mount.device == observer.mount.device:
        hint = f" (one filesystem, but {maker.path} and {observer.path} are different directories of it)"
    return CannotTestError(
        f"sites {maker.spec.text!r} and {observer.spec.text!r} show different trees{hint}: a directory made at the "
        f"first was not seen at the second within {waited_s:.1f} s ({last}); give the same directory of one "
        "filesystem at every site"
    )
