"""Fixtures for tests of operators: `pytest_plugins = ["kubesim.pytest_plugin"]` in the conftest.py of the root folder.

`kubesim` is a cluster of the kind that the test chooses, `virtual_cluster` one in virtual time.
`--kubesim-seed N` plays every test in another order of what is simultaneous; a failure says its seed.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeVar

import pytest

from kubesim.served import ServedCluster
from kubesim.virtual import VirtualCluster

SEED = pytest.StashKey[int]()
SEED_OPTION = "--kubesim-seed"
KINDS: dict[object, type[ServedCluster | VirtualCluster]] = {"served": ServedCluster, "virtual": VirtualCluster}
MARKER = (
    "kubesim(kind, **settings): the cluster of the test is 'served' (the default) or 'virtual', with these settings"
)

C = TypeVar("C", bound=ServedCluster | VirtualCluster)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("kubesim", "the embedded cluster")
    group.addoption(SEED_OPTION, type=int, default=0, metavar="N", help="seed of all that is left to chance")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARKER)


@pytest.fixture
def kubesim_seed(request: pytest.FixtureRequest) -> int:
    """Of the test's cluster; `@pytest.mark.parametrize("kubesim_seed", range(20))` plays a test with each of them."""
    seed: int = request.config.getoption(SEED_OPTION)
    return seed


@pytest.fixture
def kubesim(request: pytest.FixtureRequest, kubesim_seed: int) -> Iterator[ServedCluster | VirtualCluster]:
    """A ServedCluster that is up, or a VirtualCluster to play on: as `@pytest.mark.kubesim("virtual")` says.

    `@pytest.mark.parametrize("kubesim", ["served", "virtual"], indirect=True)` has the test run on one of each.
    """
    kind = getattr(request, "param", None) or _settings(request)[0]
    if kind not in KINDS:
        pytest.fail(f"a cluster is 'served' or 'virtual', not {kind!r}", pytrace=False)
    cluster = _made(KINDS[kind], request, kubesim_seed)
    entered: AbstractContextManager[Any] = cluster if isinstance(cluster, ServedCluster) else nullcontext()
    with entered:
        yield cluster


@pytest.fixture
def virtual_cluster(request: pytest.FixtureRequest, kubesim_seed: int) -> VirtualCluster:
    """A cluster in virtual time with controllers and nodes; `virtual_cluster.play(scenario)` runs the test on it."""
    return _made(VirtualCluster, request, kubesim_seed)


def _made(kind: type[C], request: pytest.FixtureRequest, seed: int) -> C:
    """A cluster with the settings of the test's marks; its seed is told should the test fail."""
    request.node.stash[SEED] = seed
    try:
        return kind(seed, **_settings(request)[1])
    except TypeError as problem:
        pytest.fail(f"@pytest.mark.kubesim has a setting that this cluster does not take: {problem}", pytrace=False)


def _settings(request: pytest.FixtureRequest) -> tuple[object, dict[str, Any]]:
    """The kind, and the settings; what is marked closer to the test counts."""
    kind, settings = None, dict[str, Any]()
    for mark in request.node.iter_markers("kubesim"):
        kind = kind or next(iter(mark.args), None)
        settings = mark.kwargs | settings
    return kind or "served", settings


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if SEED in item.stash and report.failed:
        report.sections.append(("kubesim", _seed_told(item.stash[SEED], item.config.getoption(SEED_OPTION))))
    return report


def _seed_told(seed: int, option: int) -> str:
    if seed == option:
        return f"play it again with {SEED_OPTION} {seed}"
    return f"its seed is {seed}, which the test has chosen itself"
