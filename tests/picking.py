"""A pytest plugin for shards: tells which tests there are, and runs only those that were picked.

pytest -p tests.picking --collect-only --tell-tests FILE
pytest -p tests.picking --pick-tests FILE
"""

from __future__ import annotations

import gc
from pathlib import Path

import msgspec
import pytest

from kubesim.time import GC_THRESHOLD
from tests.fidelity import MARK
from tests.shards import Case

# This is imported before all others: to look for cycles among what they make takes a sixth of a shard's collection.
gc.set_threshold(*GC_THRESHOLD)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--tell-tests", type=Path, help="write all tests that would run to this file")
    parser.addoption("--pick-tests", type=Path, help="run only the tests whose names are in this file")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    file: Path | None = config.getoption("--pick-tests")
    if file is not None:
        picked = frozenset(msgspec.json.decode(file.read_bytes(), type=list[str]))
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in picked])
        items[:] = [item for item in items if item.nodeid in picked]


def pytest_collection_finish(session: pytest.Session) -> None:
    file: Path | None = session.config.getoption("--tell-tests")
    if file is not None:
        file.write_bytes(msgspec.json.encode([_case(item) for item in session.items]))


def _case(item: pytest.Item) -> Case:
    real, compares = item.get_closest_marker("real"), item.get_closest_marker(MARK) is not None
    controllers = real is not None and bool(real.kwargs.get("controllers"))
    return Case(item.nodeid, real is not None, compares=compares, controllers=controllers)
