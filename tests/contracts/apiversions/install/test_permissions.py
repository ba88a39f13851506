"""What the operator may do is the table of section 2.7, and nothing besides."""

from __future__ import annotations

from fairlead.contracts.apiversions.install.values import CHART
from fairlead.engine.charts import data_of

CLUSTER = {
    ("apiextensions.k8s.io", "customresourcedefinitions"): {"get", "list", "watch", "create", "patch", "update"},
    ("apiextensions.k8s.io", "customresourcedefinitions/status"): {"get", "patch", "update"},
    ("admissionregistration.k8s.io", "mutatingwebhookconfigurations"): {"get", "list", "watch", "patch"},
    ("admissionregistration.k8s.io", "validatingwebhookconfigurations"): {"get", "list", "watch", "patch"},
    ("storagemigration.k8s.io", "storageversionmigrations"): {"get", "list", "watch", "create", "delete"},
    ("", "events"): {"create", "patch"},
    ("events.k8s.io", "events"): {"create", "patch"},
}


def granted(role: str) -> dict[tuple[str, str], set[str]]:
    return {
        (group, resource): set(rule["verbs"])
        for rule in data_of(CHART, "permissions.yaml")[role]
        if "resourceNames" not in rule
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }


def test_of_the_cluster_definitions_and_configurations_and_no_object_of_anybody() -> None:
    assert granted("manager") == CLUSTER


def test_secrets_are_read_in_its_own_namespace_and_by_name() -> None:
    named = [rule for rule in data_of(CHART, "permissions.yaml")["certificate"] if "resourceNames" in rule]

    assert granted("certificate") == {("", "secrets"): {"create"}}
    assert [rule["resourceNames"] for rule in named] == [["__SECRET__", "fairlead-webhooks"]]
    assert not any(resource == "secrets" for _, resource in granted("manager"))
