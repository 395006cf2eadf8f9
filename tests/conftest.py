"""Markers that need something of the machine: skipped with the reason, but a failure inside .ci/run."""

from __future__ import annotations

import os
from collections.abc import Generator

import pytest
from hypothesis import settings

# A busy machine is no failure: numbers come from `make bench`, never from a deadline in a test.
settings.register_profile("fsconform", deadline=None, print_blob=True)
settings.load_profile("fsconform")

INSIDE_CI = os.environ.get("FSCONFORM_CI") == "1"


def _missing(item: pytest.Item) -> str:
    if item.get_closest_marker("fuse") and not os.access("/dev/fuse", os.R_OK | os.W_OK):
        return "needs a usable /dev/fuse"
    if item.get_closest_marker("root") and os.geteuid() != 0:
        return "needs root"
    if item.get_closest_marker("hosts"):
        from tests.hosts.rack import obstacle

        return obstacle()
    if item.get_closest_marker("chromium") and not _browser():
        return "needs Chromium (make lab-deps)"
    return _uml_obstacle() if item.get_closest_marker("uml") else ""


def _browser() -> str:
    from bench.chromium import installed

    return installed()


def _uml_obstacle() -> str:
    from fsconform.lab.nfs.requirements import obstacle

    return obstacle(disk=True)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what cannot run here, with the reason."""
    reason = _missing(item)
    if reason and INSIDE_CI:
        pytest.fail(f"{reason}: a skip inside .ci/run is a failure", pytrace=False)
    if reason:
        pytest.skip(reason)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Inside .ci/run a marked test that skips itself is a failure, too."""
    report = yield
    marked = any(item.get_closest_marker(name) for name in ("fuse", "root", "hosts", "uml", "chromium"))
    if INSIDE_CI and marked and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid}: skipped inside .ci/run: {report.longrepr}"
    return report
