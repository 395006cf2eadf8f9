"""Files of hosts: one site per line, and errors that name the line."""

from __future__ import annotations

from pathlib import Path

import pytest

from fsconform.run.hosts import all_sites, read_hosts
from fsconform.vocabulary.errors import CannotTestError


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "rack.txt"


def test_lines_are_sites_or_hosts(file: Path) -> None:
    file.write_text(
        "# rack 7\n\nh1\n  root@h2   # its disk is slow\nssh=h3:/srv/x\nexec=kubectl exec -i p -- python3:/d\n"
    )
    assert read_hosts(file, "/mnt/3fs") == [
        "ssh=h1:/mnt/3fs", "ssh=root@h2:/mnt/3fs", "ssh=h3:/srv/x", "exec=kubectl exec -i p -- python3:/d",
    ]  # fmt: skip


def test_mount_is_this_hosts_unless_it_is_the_path_of_others(file: Path) -> None:
    file.write_text("h1\nh2\n")
    assert all_sites("/mnt/x", [], file) == ["ssh=h1:/mnt/x", "ssh=h2:/mnt/x"]
    assert all_sites("/mnt/x", ["/mnt/x"], file) == ["/mnt/x", "ssh=h1:/mnt/x", "ssh=h2:/mnt/x"]
    file.write_text("ssh=h1:/mnt/x\n")
    assert all_sites("/mnt/x", [], file) == ["/mnt/x", "ssh=h1:/mnt/x"]
    assert all_sites(None, [], file) == ["ssh=h1:/mnt/x"]
    assert all_sites("/mnt/x", ["/mnt/y"], None) == ["/mnt/x", "/mnt/y"]


@pytest.mark.parametrize(
    ("text", "mount", "expected"),
    [
        ("h1\nssh=h2\n", "/m", "line 2: site 'ssh=h2': ssh= needs TARGET:/absolute/path"),
        ("h1\n", None, "line 1: the host 'h1' needs a path: give MOUNT, or write ssh=h1:/path"),
        ("h1\n", "m", "line 1: the host 'h1' needs an absolute MOUNT"),
        ("h1\n\nh1\n", "/m", "line 3: 'ssh=h1:/m' is in line 1 already"),
        ("h1:/m\n", "/m", "line 1: 'h1:/m' is no site; did you mean 'ssh=h1:/m'?"),
        ("-oProxyCommand=x\n", "/m", "line 1: '-oProxyCommand=x' is no site"),
        ("-v\n", "/m", "line 1: '-v' is neither a site nor the name of a host"),
        ("h1 h2\n", "/m", "line 1: 'h1 h2' is neither a site nor the name of a host"),
        ("# nobody\n", "/m", "no site in it"),
    ],
)
def test_a_mistake_is_named_with_its_line(file: Path, text: str, mount: str | None, expected: str) -> None:
    file.write_text(text)
    with pytest.raises(CannotTestError) as caught:
        read_hosts(file, mount)
    assert expected in str(caught.value) and str(caught.value).startswith(f"--hosts {file}")


def test_a_file_that_cannot_be_read(file: Path) -> None:
    with pytest.raises(CannotTestError, match="No such file"):
        read_hosts(file, "/m")
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(CannotTestError, match="UTF-8"):
        read_hosts(file, "/m")
