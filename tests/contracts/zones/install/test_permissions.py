"""What the operator may do: no more than the contract's table, each line for a reason that can be switched off."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from fairlead.contracts.zones.install.objects import objects
from fairlead.contracts.zones.install.values import Values
from fairlead.engine.charts import Object
from tests.contracts.zones.install.helm import NAMESPACE, render

Grant = tuple[str, str, str, str]
"""API group, resource, name (empty: any) and verb."""

ZONES = "rollout-operator.grafana.com"


def grants(group: str, resources: str, verbs: str, name: str = "") -> set[Grant]:
    return {(group, resource, name, verb) for resource in resources.split() for verb in verbs.split()}


ROLLING = (
    grants("", "pods", "list get watch delete")
    | grants("apps", "statefulsets", "list get watch")
    | grants("apps", "statefulsets/status", "update")
)
SCALING = grants("apps", "statefulsets", "patch") | grants(
    ZONES, "replicatemplates/scale replicatemplates/status", "get patch"
)
BUDGETS = grants("", "pods", "patch") | grants(ZONES, "zoneawarepoddisruptionbudgets", "get list watch")
HEALTH_CHECKS = grants(ZONES, "rollouthealthchecks", "get list watch")
EVENTS = grants("", "events", "create patch")
WEBHOOKS = (
    grants("", "secrets", "create")
    | grants("", "secrets", "get update", "certificate")
    | grants("apps", "deployments replicasets", "get")
)
TRACKER_NAME = "rollout-operator-zone-tracker"
TRACKER = grants("", "configmaps", "create") | grants("", "configmaps", "get update", TRACKER_NAME)
PHASED = grants("apps", "deployments", "list watch patch")
ELECTION = grants("coordination.k8s.io", "leases", "get create update list delete")
CLUSTER = grants(
    "admissionregistration.k8s.io",
    "validatingwebhookconfigurations mutatingwebhookconfigurations",
    "list patch watch",
)


def granted(rules: Iterable[dict[str, Any]]) -> list[Grant]:
    return [
        (group, resource, name, verb)
        for rule in rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for name in rule.get("resourceNames", [""])
        for verb in rule["verbs"]
    ]


def role(made: Iterable[Object], kind: str = "Role") -> list[Grant]:
    return granted(rule for one in made if one["kind"] == kind for rule in one["rules"])


def test_everything_switched_on_is_the_table_of_the_contract() -> None:
    values = Values(
        namespace=NAMESPACE, webhooks=True, zone_tracker=TRACKER_NAME, high_availability=True, phased_deployments=True
    )

    made = objects(values)

    inside = role(made)
    assert set(inside) == ROLLING | SCALING | BUDGETS | HEALTH_CHECKS | EVENTS | WEBHOOKS | PHASED | TRACKER | ELECTION
    assert len(inside) == len(set(inside)), "nothing is granted twice"
    assert set(role(made, "ClusterRole")) == CLUSTER


def test_without_webhooks_nothing_is_granted_outside_of_the_namespace() -> None:
    made = objects(Values(namespace=NAMESPACE))

    assert set(role(made)) == ROLLING | SCALING | BUDGETS | HEALTH_CHECKS | EVENTS
    assert not [one for one in made if one["kind"].startswith("ClusterRole")]


@pytest.mark.parametrize(
    ("values", "difference"),
    [
        ({"rbac": {"scaling": False}}, SCALING),
        ({"rbac": {"budgets": False}}, BUDGETS),
        ({"rbac": {"healthChecks": False}}, HEALTH_CHECKS),
        ({"rbac": {"events": False}}, EVENTS),
        ({"rbac": {"referenceResources": []}}, SCALING - grants("apps", "statefulsets", "patch")),
        ({"webhooks": {"enabled": False}}, WEBHOOKS),
        ({"zoneTracker": {"enabled": True}}, TRACKER),
        ({"highAvailability": {"enabled": True}}, ELECTION),
        ({"phasedDeployments": {"enabled": True}}, PHASED),
    ],
)
def test_every_switch_of_the_chart_changes_exactly_its_own(values: dict[str, Any], difference: set[Grant]) -> None:
    usual = set(role(render({}).values()))

    switched = set(role(render(values).values()))

    assert usual ^ switched == difference


def test_only_rolling_is_left_when_all_is_switched_off() -> None:
    """Rule 21: pods may be deleted and not created."""
    off = {"scaling": False, "budgets": False, "healthChecks": False, "events": False}

    made = render({"rbac": off, "webhooks": {"enabled": False}}).values()

    assert set(role(made)) == ROLLING


def test_no_roles_when_somebody_else_grants() -> None:
    made = render({"rbac": {"create": False}})

    assert not [kind for kind, _ in made if "Role" in kind]


def test_roles_are_bound_to_the_account_of_the_pods() -> None:
    made = {(one["kind"], one["metadata"]["name"]): one for one in objects(Values(namespace=NAMESPACE, webhooks=True))}

    subject = {"kind": "ServiceAccount", "name": "rollout-operator", "namespace": NAMESPACE}
    assert made["RoleBinding", "rollout-operator"]["subjects"] == [subject]
    assert made["ClusterRoleBinding", f"rollout-operator-{NAMESPACE}"]["subjects"] == [subject]
    pod = made["Deployment", "rollout-operator"]["spec"]["template"]["spec"]
    assert pod["serviceAccountName"] == "rollout-operator"
    assert ("ServiceAccount", "rollout-operator") in made
