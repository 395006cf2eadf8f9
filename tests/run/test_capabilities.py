"""The capability probe on real filesystems of this machine, and what it says of refusals."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from fsconform.fleet.worker import calls, capabilities
from fsconform.vocabulary.properties import PROPERTIES


def test_features_are_the_capability_properties() -> None:
    catalogue = {entry.removeprefix("capability.") for entry in PROPERTIES if entry.startswith("capability.")}
    assert set(capabilities.FEATURES) == catalogue


def test_a_local_filesystem_offers_the_basic_ones_and_nothing_stays(tmp_path: Path) -> None:
    seen = capabilities.probe_capabilities(str(tmp_path), "c")
    assert set(seen) == set(capabilities.FEATURES)
    for feature in ("link", "flock", "fcntl-lock", "mmap", "fsync-dir", "rename-noreplace"):
        assert seen[feature] == "works", seen
    assert os.listdir(tmp_path) == []


def test_refusals_are_told_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(number: int) -> Any:
        def call(*arguments: Any, **options: Any) -> None:
            raise OSError(number, os.strerror(number))

        return call

    monkeypatch.setattr(os, "link", refuse(errno.EPERM))
    monkeypatch.setattr(os, "setxattr", refuse(errno.EOPNOTSUPP))
    monkeypatch.setattr(os, "fsync", refuse(errno.EINVAL))
    seen = capabilities.probe_capabilities(str(tmp_path), "c")
    assert (seen["link"], seen["xattr"], seen["fsync-dir"]) == ("EPERM", "ENOTSUP", "EINVAL")
    assert os.listdir(tmp_path) == []


def test_a_flag_that_is_ignored_silently_is_a_mismatch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "rename_exchange", os.rename)
    seen = capabilities.probe_capabilities(str(tmp_path), "c")
    assert seen["rename-exchange"] == "mismatch"
    assert os.listdir(tmp_path) == []


def test_without_the_call_it_is_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "O_TMPFILE")
    assert capabilities.probe_capabilities(str(tmp_path), "c")["o-tmpfile"] == "unknown"


def test_nothing_can_be_made_there(tmp_path: Path) -> None:
    assert set(capabilities.probe_capabilities(str(tmp_path / "none"), "c").values()) == {"ENOENT"}
