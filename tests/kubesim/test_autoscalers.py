"""Autoscalers in two versions."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kubesim.cluster import Cluster
from kubesim.kinds.autoscalers import CARRIER, inward, outward
from kubesim.kinds.registry import AUTOSCALERS, AUTOSCALERS_V1
from kubesim.store.versions import Tree
from tests.kubesim.scripts import on_a_cluster

TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
CPU = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 70}}}
PODS = {
    "type": "Pods",
    "pods": {"metric": {"name": "m"}, "target": {"type": "AverageValue", "averageValue": "1500m"}},
}
OBJECT = {
    "type": "Object",
    "object": {
        "describedObject": {"kind": "Service", "name": "s"},
        "metric": {"name": "hits", "selector": {"matchLabels": {"a": "b"}}},
        "target": {"type": "Value", "value": "10k"},
    },
}
EXTERNAL = {
    "type": "External",
    "external": {"metric": {"name": "q"}, "target": {"type": "AverageValue", "averageValue": "5"}},
}
CONTAINER = {
    "type": "ContainerResource",
    "containerResource": {
        "name": "memory",
        "container": "main",
        "target": {"type": "AverageValue", "averageValue": "1Gi"},
    },
}


def an_autoscaler(*metrics: Tree, status: Tree | None = None, **spec: Any) -> Tree:
    tree: Tree = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web"},
        "spec": {"scaleTargetRef": TARGET, "maxReplicas": 5, "metrics": list(metrics), **spec},
    }
    return tree if status is None else tree | {"status": status}


def test_the_older_version_has_a_field_for_the_cpu() -> None:
    shown = outward(an_autoscaler(CPU, minReplicas=2))

    assert shown["apiVersion"] == "autoscaling/v1"
    assert shown["spec"] == {
        "scaleTargetRef": TARGET,
        "minReplicas": 2,
        "maxReplicas": 5,
        "targetCPUUtilizationPercentage": 70,
    }
    assert shown["status"] == {"currentReplicas": 0, "desiredReplicas": 0}
    assert shown["metadata"] == {"name": "web"}


@pytest.mark.parametrize("metric", [PODS, OBJECT, EXTERNAL, CONTAINER], ids=["pods", "object", "external", "container"])
def test_other_metrics_are_carried_in_an_annotation_and_back(metric: Tree) -> None:
    shown = outward(an_autoscaler(metric))

    assert json.loads(shown["metadata"]["annotations"][CARRIER]) == {"metrics": [metric]}
    assert "targetCPUUtilizationPercentage" not in shown["spec"]
    assert inward(shown)["spec"]["metrics"] == [metric]
    assert "annotations" not in inward(shown)["metadata"]


def test_a_client_of_the_older_version_changes_the_cpu_and_nothing_else() -> None:
    shown = outward(an_autoscaler(CPU, PODS))

    shown["spec"]["targetCPUUtilizationPercentage"] = 90

    [kept, cpu] = inward(shown)["spec"]["metrics"]
    assert (kept, cpu["resource"]["target"]["averageUtilization"]) == (PODS, 90)


def test_behaviour_is_carried_and_back() -> None:
    behavior = {
        "scaleUp": {"policies": [{"type": "Pods", "value": 2, "periodSeconds": 30}]},
        "scaleDown": {"stabilizationWindowSeconds": 60, "selectPolicy": "Disabled"},
    }

    shown = outward(an_autoscaler(CPU, behavior=behavior))

    assert json.loads(shown["metadata"]["annotations"][CARRIER]) == {"behavior": behavior}
    assert inward(shown)["spec"]["behavior"] == behavior


def test_the_status_is_carried_and_back() -> None:
    status = {
        "currentReplicas": 3,
        "desiredReplicas": 4,
        "currentMetrics": [
            {
                "type": "Resource",
                "resource": {"name": "cpu", "current": {"averageUtilization": 55, "averageValue": "1"}},
            }
        ],
        "conditions": [{"type": "AbleToScale", "status": "True", "reason": "R", "message": "m"}],
    }

    shown = outward(an_autoscaler(CPU, status=status))

    assert shown["status"] == {
        "currentReplicas": 3,
        "desiredReplicas": 4,
        "currentCPUUtilizationPercentage": 55,
    }
    assert inward(shown)["status"] == status


def test_what_asks_for_nothing_is_about_the_cpu() -> None:
    tree = {"apiVersion": "autoscaling/v1", "metadata": {"name": "web"}, "spec": {"maxReplicas": 2}}

    [metric] = inward(tree)["spec"]["metrics"]

    assert metric["resource"] == {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}


@pytest.mark.parametrize("carried", ["nonsense", "[]", '{"metrics": 3}', 7])
def test_an_annotation_that_cannot_be_read_is_dropped(carried: Any) -> None:
    tree = outward(an_autoscaler(CPU))
    tree["metadata"]["annotations"] = {CARRIER: carried, "own": "note"}

    assert inward(tree)["metadata"]["annotations"] == {"own": "note"}
    assert inward(tree)["spec"]["metrics"] == [CPU]


def test_both_versions_are_the_same_object() -> None:
    def script(cluster: Cluster) -> tuple[Tree, Tree]:
        tree = outward(an_autoscaler(CPU))
        cluster.verbs.create(AUTOSCALERS_V1, "default", tree, user="me")
        return (
            cluster.verbs.read(AUTOSCALERS, "default", "web"),
            cluster.verbs.read(AUTOSCALERS_V1, "default", "web"),
        )

    new, old = on_a_cluster(script)

    assert new["metadata"]["uid"] == old["metadata"]["uid"]
    assert (new["apiVersion"], new["spec"]["metrics"]) == ("autoscaling/v2", [CPU])
    assert (old["apiVersion"], old["spec"]["targetCPUUtilizationPercentage"]) == ("autoscaling/v1", 70)
