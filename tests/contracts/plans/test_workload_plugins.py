"""Kinds of workloads that other packages bring, by entry points."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import EntryPoint, EntryPoints

import pytest
from msgspec.structs import replace

from fairlead.contracts.plans import workload_plugins
from fairlead.contracts.plans.decide.why import Why
from fairlead.contracts.plans.decide.workloads import handlers
from fairlead.contracts.plans.decide.workloads.answers import Fail, Retry, Verified
from fairlead.contracts.plans.decide.workloads.attempt import Attempt
from fairlead.contracts.plans.decide.workloads.kind_table import DEPLOYMENT
from fairlead.contracts.plans.decide.workloads.plugged import Plugin, unplug
from fairlead.contracts.plans.workload_plugins import GROUP, PluginUnusable, load
from kubeloop.objects.meta import Resource
from tests.contracts.plans.decide.cluster import Cluster, a_pair

GIZMOS = Resource("toys.example.com", "v1", "gizmos", "Gizmo")
NAME = "toys.example.com/Gizmo"
HERE = __name__


def _careful(attempt: Attempt) -> Verified | Retry | Fail:
    """As a pair of Deployments, but never of more than five."""
    found = handlers.PAIR.verify(attempt)
    if isinstance(found, Verified) and found.target_size > 5:
        return Fail(Why.SPEC_INVALID, "no more than five gizmos are rolled at once")
    return found


GIZMO = Plugin(DEPLOYMENT, replace(handlers.PAIR, verify=_careful))
NO_PLUGIN = "gizmo"


@pytest.fixture(autouse=True)
def only_here() -> Iterator[None]:
    yield
    unplug(GIZMOS.group, GIZMOS.kind)


def installed(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    point = EntryPoint(name, value, GROUP)

    def found(*, group: str) -> EntryPoints:
        return EntryPoints([point] if group == GROUP else [])

    monkeypatch.setattr(workload_plugins, "entry_points", found)


def gizmos(size: int = 5) -> Cluster:
    """The pair of `a_pair`, of another kind; its controller is that of Deployments."""
    cluster = a_pair(old=size)
    for name, (_, tree) in list(cluster.objects.items()):
        cluster.put(GIZMOS, {**tree, "apiVersion": GIZMOS.api_version, "kind": GIZMOS.kind})
        assert cluster.objects[name][0] == GIZMOS
    cluster.spec |= {
        "targetRef": {"apiVersion": GIZMOS.api_version, "kind": GIZMOS.kind, "name": "d2"},
        "sourceRef": [{"apiVersion": GIZMOS.api_version, "kind": GIZMOS.kind, "name": "d1"}],
    }
    return cluster


def until_end(cluster: Cluster) -> None:
    for _ in range(80):
        if cluster.state in ("rolloutSucceed", "rolloutFailed"):
            return
        cluster.run()
        for name, (resource, tree) in list(cluster.objects.items()):
            count = tree["spec"]["replicas"]
            status = {"replicas": count, "readyReplicas": count, "updatedReplicas": count}
            observed = {**status, "observedGeneration": tree["metadata"]["generation"]}
            cluster.objects[name] = (resource, {**tree, "status": observed})


def test_a_kind_of_another_package_is_rolled_by_its_own_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, NAME, f"{HERE}:GIZMO")

    assert load() == (NAME,)
    cluster, too_many = gizmos(), gizmos(6)
    until_end(cluster)
    until_end(too_many)

    assert cluster.state == "rolloutSucceed"
    assert (cluster.size("d1"), cluster.size("d2")) == (0, 5)
    assert too_many.state == "rolloutFailed"
    assert too_many.condition("RolloutSpecVerifying") == ("False", "no more than five gizmos are rolled at once")


def test_without_the_package_the_kind_is_not_supported() -> None:
    cluster = gizmos()

    until_end(cluster)

    assert cluster.condition("RolloutSpecVerifying") == ("False", "the workload kind `Gizmo` is not supported")


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("Gizmo", f"{HERE}:GIZMO", "is named wrongly: write GROUP/KIND"),
        ("apps/Deployment", f"{HERE}:GIZMO", "names a built-in kind"),
        (NAME, f"{HERE}:ABSENT", "cannot be loaded"),
        (NAME, "no.such.module:GIZMO", "cannot be loaded"),
        (NAME, f"{HERE}:NO_PLUGIN", "is no Plugin"),
    ],
)
def test_one_that_cannot_be_used_is_told_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, said: str
) -> None:
    installed(monkeypatch, name, value)

    with pytest.raises(PluginUnusable, match=said):
        load()
