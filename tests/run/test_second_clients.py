"""What the doctor advises where there is one client only."""

from __future__ import annotations

import pytest

from fsconform.run.second_clients import second_client
from fsconform.vocabulary.sites import Mount
from tests.run.test_refusals import site


@pytest.mark.parametrize(
    ("fstype", "word"),
    [
        ("ext4", ""),
        ("nfs4", "nosharecache"),
        ("cifs", "nosharesock"),
        ("fuse.hf3fs", "second daemon"),
        ("beegfs", "ssh="),
    ],
)
def test_advice_by_fstype(fstype: str, word: str) -> None:
    advice = second_client(site("/mnt/a", mount=Mount("0:1", "/mnt/a", fstype, "s", "rw")))
    assert bool(advice) == bool(word)
    assert word in advice
