"""One served cluster for the tests of each client, which use it as they would any other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kubesim import ServedCluster

SPEED = 5.0
"""Pods that become ready in a second would be most of the tests' time."""


@pytest.fixture(scope="module")
def served() -> Iterator[ServedCluster]:
    with ServedCluster(speed=SPEED) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def kubeconfig(served: ServedCluster) -> Path:
    return served.kubeconfig
