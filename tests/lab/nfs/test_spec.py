"""What a `lab=nfs…` site may say, and what is told where it says something else."""

from __future__ import annotations

from pathlib import Path

import pytest

from fsconform.lab.catalogue import count_clients, mounts_here, names
from fsconform.lab.nfs.spec import NfsSpec, parse_nfs
from fsconform.lab.standing import keep_up
from fsconform.vocabulary.errors import CannotTestError


def test_everything_that_can_be_said() -> None:
    text = "nfs3, actimeo=1,noac,lookupcache=none,fs=ext4,mounts=3,one-kernel"
    assert parse_nfs(text) == NfsSpec(
        text, "3", "actimeo=1,noac,lookupcache=none", fs="ext4", one_kernel=True, mounts=3
    )
    assert parse_nfs("nfs4.2") == NfsSpec("nfs4.2", "4.2")
    assert parse_nfs("nfs4.0,collide").collide
    assert parse_nfs("nfs3").letters == "ab"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("nfs5", ["unknown lab 'nfs5'", "did you mean 'nfs3'?"]),
        ("nfs4.1,actime=1", ["unknown key 'actime'", "did you mean 'actimeo'?", "lab=nfs4.1,actime=1"]),
        ("nfs3,actimeo", ["write actimeo=1"]),
        ("nfs3,noac=1", ["write noac"]),
        ("nfs3,actimeo=0.5", ["whole seconds"]),
        ("nfs3,lookupcache=some", ["one of all, none, pos, positive"]),
        ("nfs3,fs=xfs", ["one of ext4, tmpfs"]),
        ("nfs3,mounts=0", ["1 to 6"]),
        ("nfs3,collide,one-kernel", ["never collide"]),
    ],
)
def test_what_cannot_be_read_is_told_with_what_can(text: str, words: list[str]) -> None:
    with pytest.raises(CannotTestError) as caught:
        parse_nfs(text)
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_all_labs_are_behind_one_door() -> None:
    assert count_clients("nfs3,mounts=3") == 3
    assert count_clients("3fs-fuse") == 2
    with pytest.raises(CannotTestError, match=r"unknown lab 'nsf3'; did you mean 'nfs3'\?"):
        count_clients("nsf3")
    assert mounts_here(["lab=strict", "/mnt/a"])
    assert not mounts_here(["lab=nfs4.2,noac", "/mnt/a"])
    listed = {name: (kind, summary) for kind, name, summary in names()}
    assert listed["nfs4.2"][0] == "real"
    assert listed["strict"][0] == "preset"


def test_it_cannot_stand_below_a_directory(tmp_path: Path) -> None:
    with pytest.raises(CannotTestError, match=r"inside guests.*fsconform run lab=nfs3,noac"):
        keep_up("nfs3,noac", tmp_path, print)
