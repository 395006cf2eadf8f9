"""How to add a second client of a filesystem, by its type, where no profile says so."""

from __future__ import annotations

from fsconform.vocabulary.sites import Site

LOCAL_FSTYPES = frozenset(
    {"ext2", "ext3", "ext4", "xfs", "btrfs", "tmpfs", "zfs", "f2fs", "ramfs", "overlay", "vfat", "exfat"}
)
"""Filesystems of one kernel: there is no second client."""
_NETWORK = {
    "nfs": "mount the same export on another host and give it as ssh=user@host:/path; a second mount of this host, "
    "even with nosharecache, is not a second NFS client",
    "cifs": "mount the same share on another host and give it as ssh=user@host:/path, or here with nosharesock",
    "ceph": "mount it on another host and give it as ssh=user@host:/path, or here once more with the option noshare",
    "lustre": "mount it on another host and give it as ssh=user@host:/path",
    "9p": "give the same directory of another guest as ssh=user@host:/path",
    "virtiofs": "give the same directory of another guest as ssh=user@host:/path",
}
_FUSE = (
    "start a second daemon of the same filesystem on another mount point here (its caches are its own) and give that "
    "path, or mount it on another host and give it as ssh=user@host:/path"
)


def second_client(site: Site) -> str:
    """One sentence that tells how to add a client; empty for a filesystem that has only one."""
    fstype = site.mount.fstype
    if fstype in LOCAL_FSTYPES:
        return ""
    if fstype == "nfs4":
        fstype = "nfs"
    if fstype in ("smb3", "smbfs"):
        fstype = "cifs"
    if fstype in _NETWORK:
        return _NETWORK[fstype]
    if fstype.startswith("fuse"):
        return _FUSE
    return "mount it on another host and give it as ssh=user@host:/path"
