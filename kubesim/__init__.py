"""A Kubernetes in memory for the tests of any operator, in virtual time; README.md shows how.

What is named here is imported when it is asked for, so that `import kubesim` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kubesim.cluster import Cluster
    from kubesim.kubelet import Kubelet
    from kubesim.served import ServedCluster
    from kubesim.time import run
    from kubesim.virtual import VirtualCluster

__all__ = ["Cluster", "Kubelet", "ServedCluster", "VirtualCluster", "run"]

_HOMES = {
    "Cluster": "kubesim.cluster",
    "Kubelet": "kubesim.kubelet",
    "ServedCluster": "kubesim.served",
    "VirtualCluster": "kubesim.virtual",
    "run": "kubesim.time",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
