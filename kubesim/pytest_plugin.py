"""Fixtures for tests of operators: `pytest_plugins = ["kubesim.pytest_plugin"]` in the conftest.py of the root folder.

`--kubesim-seed N` plays every test in another order of what is simultaneous; a failure says its seed.
"""

from __future__ import annotations

from collections.abc import Generator

import pytest

from kubesim.virtual import VirtualCluster

SEED = pytest.StashKey[int]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("kubesim", "the embedded cluster")
    group.addoption("--kubesim-seed", type=int, default=0, metavar="N", help="seed of all that is left to chance")


@pytest.fixture
def virtual_cluster(request: pytest.FixtureRequest) -> VirtualCluster:
    """A cluster in virtual time with controllers and nodes; `virtual_cluster.play(scenario)` runs the test on it."""
    seed: int = request.config.getoption("--kubesim-seed")
    request.node.stash[SEED] = seed
    return VirtualCluster(seed)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if SEED in item.stash and report.failed:
        report.sections.append(("kubesim", f"play it again with --kubesim-seed {item.stash[SEED]}"))
    return report
