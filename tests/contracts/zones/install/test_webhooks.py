"""The webhook configurations that the contract expects."""

from __future__ import annotations

import pytest

from fairlead.contracts.zones.install.objects import objects
from fairlead.contracts.zones.install.values import Values

SCALABLE = ["deployments", "replicasets", "statefulsets"]
EXPECTED = {
    "no-downscale": (
        "ValidatingWebhookConfiguration",
        "None",
        ["UPDATE"],
        "apps",
        sorted([*SCALABLE, *(f"{plural}/scale" for plural in SCALABLE)]),
    ),
    "prepare-downscale": (
        "MutatingWebhookConfiguration",
        "NoneOnDryRun",
        ["UPDATE"],
        "apps",
        ["statefulsets", "statefulsets/scale"],
    ),
    "pod-eviction": ("ValidatingWebhookConfiguration", "None", ["CREATE"], "", ["pods/eviction"]),
    "zpdb-validation": (
        "ValidatingWebhookConfiguration",
        "None",
        ["CREATE", "UPDATE"],
        "rollout-operator.grafana.com",
        ["zoneawarepoddisruptionbudgets"],
    ),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_configuration(name: str) -> None:
    kind, side_effects, operations, group, resources = EXPECTED[name]

    made = {one["metadata"]["name"]: one for one in objects(Values(namespace="mimir", webhooks=True))}

    configuration = made[f"{name}-mimir"]
    assert configuration["kind"] == kind
    labels = configuration["metadata"]["labels"]
    assert labels["grafana.com/inject-rollout-operator-ca"] == "true"
    assert labels["grafana.com/namespace"] == "mimir"
    asked = []
    for webhook in configuration["webhooks"]:
        (rule,) = webhook["rules"]
        assert (rule["apiGroups"], rule["apiVersions"], sorted(rule["operations"])) == ([group], ["v1"], operations)
        asked += rule["resources"]
        assert webhook["sideEffects"] == side_effects
        policies = (webhook["failurePolicy"], webhook["matchPolicy"], webhook["timeoutSeconds"])
        assert policies == ("Fail", "Equivalent", 10)
        assert webhook["namespaceSelector"] == {"matchLabels": {"kubernetes.io/metadata.name": "mimir"}}
        service = webhook["clientConfig"]["service"]
        assert (service["name"], service["namespace"]) == ("rollout-operator", "mimir")
        assert (service["path"], service["port"]) == (f"/admission/{name}", 443)
        assert "caBundle" not in webhook["clientConfig"], "the operator puts it in"
    assert sorted(asked) == resources
    assert configuration["webhooks"][0]["name"] == f"{name}-mimir.grafana.com"


def test_requests_without_labels_of_the_object_are_never_selected_by_labels() -> None:
    """Those for /scale and evictions would pass by, and so would StatefulSets that somebody labels."""
    made = objects(Values(namespace="mimir", webhooks=True))

    chosen = {
        resource
        for one in made
        for webhook in one.get("webhooks", ())
        if "objectSelector" in webhook
        for resource in webhook["rules"][0]["resources"]
    }
    assert chosen == {"deployments", "replicasets"}


def test_there_are_no_others() -> None:
    made = objects(Values(namespace="mimir", webhooks=True))

    found = [one["metadata"]["name"] for one in made if one["kind"].endswith("WebhookConfiguration")]
    assert sorted(found) == sorted(f"{name}-mimir" for name in EXPECTED)


def test_phased_deployments_add_one_that_is_asked_about_labelled_ones_only() -> None:
    """It is asked again when another webhook changes the object after it; the operator itself is never held."""
    made = {
        one["metadata"]["name"]: one
        for one in objects(Values(namespace="mimir", webhooks=True, phased_deployments=True))
        if one["kind"].endswith("WebhookConfiguration")
    }

    assert set(made) == {f"{name}-mimir" for name in (*EXPECTED, "phased-deployment")}
    (webhook,) = made["phased-deployment-mimir"]["webhooks"]
    assert webhook["clientConfig"]["service"]["path"] == "/admission/phased-deployment"
    assert webhook["rules"][0]["resources"] == ["deployments"]
    assert webhook["objectSelector"] == {
        "matchLabels": {"grafana.com/rollout-phased": "true"},
        "matchExpressions": [{"key": "app.kubernetes.io/name", "operator": "NotIn", "values": ["rollout-operator"]}],
    }
    assert (webhook["sideEffects"], webhook["reinvocationPolicy"]) == ("None", "IfNeeded")


def test_webhooks_are_applied_last() -> None:
    """They refuse what nobody answers yet, the operator's own Deployment not among it."""
    kinds = [one["kind"] for one in objects(Values(namespace="mimir", webhooks=True, monitoring=True))]

    assert all(kind.endswith("WebhookConfiguration") for kind in kinds[-4:])
    assert not any(kind.endswith("WebhookConfiguration") for kind in kinds[:-4])
