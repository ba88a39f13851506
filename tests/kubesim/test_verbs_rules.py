"""Stateful sets and pods take the specs and changes that the real API server takes, and refuse in its sentences."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.cluster import Cluster
from kubesim.errors import StatusError
from kubesim.kinds.registry import PODS, STATEFUL_SETS
from tests.kubesim.scripts import merge, on_a_cluster, refused
from tests.kubesim.trees import Tree, a_pod, a_set


@pytest.mark.parametrize("field", ["serviceName", "podManagementPolicy", "volumeClaimTemplates", "selector"])
def test_most_of_a_stateful_set_cannot_change(field: str) -> None:
    values: dict[str, Any] = {
        "serviceName": "other",
        "podManagementPolicy": "Parallel",
        "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {}}],
        "selector": {"matchLabels": {"app": "web", "tier": "x"}},
    }

    def script(cluster: Cluster) -> StatusError:
        labels = {"app": "web", "tier": "x"}
        cluster.verbs.create(STATEFUL_SETS, "default", a_set(labels=labels), user="me")
        return refused(lambda: merge(cluster.verbs, STATEFUL_SETS, "web", {"spec": {field: values[field]}}))

    error = on_a_cluster(script)

    text = (
        "Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', "
        "'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' "
        "are forbidden"
    )
    assert (error.code, error.reason) == (422, "Invalid")
    assert error.message == f'StatefulSet.apps "web" is invalid: spec: {text}'
    assert error.details["causes"] == [{"reason": "FieldValueForbidden", "message": text, "field": "spec"}]


@pytest.mark.parametrize(
    "change",
    [
        {"replicas": 4},
        {"minReadySeconds": 4},
        {"ordinals": {"start": 2}},
        {"revisionHistoryLimit": 1},
        {"updateStrategy": {"type": "OnDelete", "rollingUpdate": None}},
        {"persistentVolumeClaimRetentionPolicy": {"whenScaled": "Delete"}},
        {"template": {"metadata": {"annotations": {"a": "b"}}}},
    ],
)
def test_the_rest_of_a_stateful_set_can(change: Tree) -> None:
    def script(cluster: Cluster) -> int:
        cluster.verbs.create(STATEFUL_SETS, "default", a_set(), user="me")
        after = merge(cluster.verbs, STATEFUL_SETS, "web", {"spec": change})
        return int(after["metadata"]["generation"])

    assert on_a_cluster(script) == 2


@pytest.mark.parametrize(
    ("spec", "field", "message"),
    [
        (
            {"selector": {}},
            "spec.selector",
            "Invalid value: {}: empty selector is invalid for statefulset",
        ),
        (
            {"selector": {"matchLabels": {"app": "x"}}},
            "spec.template.metadata.labels",
            'Invalid value: {"app":"web"}: `selector` does not match template `labels`',
        ),
        ({"replicas": -1}, "spec.replicas", "Invalid value: -1: must be greater than or equal to 0"),
        (
            {"podManagementPolicy": "Random"},
            "spec.podManagementPolicy",
            "Invalid value: \"Random\": must be 'OrderedReady' or 'Parallel'",
        ),
        (
            {"template": {"metadata": {"labels": {"app": "web"}}, "spec": {}}},
            "spec.template.spec.containers",
            "Required value",
        ),
    ],
)
def test_a_stateful_set_that_makes_no_sense_is_invalid(spec: Tree, field: str, message: str) -> None:
    error = on_a_cluster(
        lambda cluster: refused(lambda: cluster.verbs.create(STATEFUL_SETS, "default", a_set(**spec), user="me"))
    )

    assert error.code == 422
    causes: Any = error.details["causes"]
    assert [(cause["field"], cause["message"]) for cause in causes] == [(field, message)]


def test_without_a_selector_nothing_matches_either() -> None:
    error = on_a_cluster(
        lambda cluster: refused(
            lambda: cluster.verbs.create(STATEFUL_SETS, "default", {"metadata": {"name": "e"}}, user="me")
        )
    )

    assert error.message == (
        'StatefulSet.apps "e" is invalid: [spec.selector: Required value, spec.template.metadata.labels: '
        "Invalid value: null: `selector` does not match template `labels`, "
        "spec.template.spec.containers: Required value]"
    )


def test_a_pod_can_change_its_image_and_little_else() -> None:
    def script(cluster: Cluster) -> tuple[int, StatusError]:
        verbs = cluster.verbs
        pod = verbs.create(PODS, "default", a_pod(), user="me")
        pod["spec"]["containers"][0]["image"] = "app:2"
        after = verbs.update(PODS, "default", "web-0", pod, user="me")
        after["spec"]["nodeName"] = "node-1"
        return pod["metadata"]["generation"] + 1, refused(
            lambda: verbs.update(PODS, "default", "web-0", after, user="me")
        )

    generation, error = on_a_cluster(script)

    assert generation == 2
    assert error.code == 422
    assert "pod updates may not change fields other than" in error.message
