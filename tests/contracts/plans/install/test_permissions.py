"""What the operator and its users may do is the table of section 2.15, and nothing besides."""

from __future__ import annotations

from fairlead.contracts.plans.install.objects import objects
from fairlead.contracts.plans.install.values import CHART, Values
from fairlead.contracts.plans.webhooks import (
    DEFAULT_APP_ROLLOUT,
    DEFAULT_DEPLOYMENT,
    DEFAULT_ROLLOUT,
    DEFAULT_TRAIT,
    VALIDATE_APP_ROLLOUT,
    VALIDATE_APPLICATION,
    VALIDATE_CONFIGURATION,
    VALIDATE_DEPLOYMENT,
    VALIDATE_ROLLOUT,
    VALIDATE_TRAIT,
)
from fairlead.engine.charts import Object, data_of

CRUD = {"create", "delete", "get", "list", "patch", "update", "watch"}
ROUTES = {"get", "list", "patch", "update", "watch"}
OURS = {
    ("standard.oam.dev", "rollouttraits"),
    ("standard.oam.dev", "rollouts"),
    ("standard.oam.dev", "metrictemplates"),
    ("standard.oam.dev", "alertproviders"),
    ("core.oam.dev", "applicationdeployments"),
    ("core.oam.dev", "approllouts"),
    ("core.oam.dev", "applications"),
    ("core.oam.dev", "applicationrevisions"),
    ("core.oam.dev", "components"),
    ("core.oam.dev", "applicationconfigurations"),
    ("core.oam.dev", "workloaddefinitions"),
    ("core.oam.dev", "traitdefinitions"),
}
WITHOUT_STATUS = {
    ("standard.oam.dev", "metrictemplates"),
    ("standard.oam.dev", "alertproviders"),
    ("core.oam.dev", "applicationrevisions"),
}
TABLE: dict[tuple[str, str], set[str]] = {
    **dict.fromkeys(OURS, CRUD),
    **{(group, f"{plural}/status"): CRUD for group, plural in OURS - WITHOUT_STATUS},
    ("apps", "deployments"): CRUD,
    ("apps", "statefulsets"): CRUD,
    ("apps", "daemonsets"): CRUD,
    ("apps", "controllerrevisions"): CRUD,
    ("apps", "deployments/status"): {"get"},
    ("apps", "statefulsets/status"): {"get"},
    ("apps", "daemonsets/status"): {"get"},
    ("apps.kruise.io", "clonesets"): CRUD,
    ("apps.kruise.io", "clonesets/status"): {"get"},
    ("", "pods"): {"get", "list", "watch", "delete"},
    ("", "services"): CRUD,
    ("autoscaling", "horizontalpodautoscalers"): CRUD,
    ("gateway.networking.k8s.io", "httproutes"): ROUTES,
    ("networking.istio.io", "virtualservices"): ROUTES,
    ("split.smi-spec.io", "trafficsplits"): ROUTES | {"create"},
    ("discovery.k8s.io", "endpointslices"): {"get", "list", "watch"},
    ("", "namespaces"): {"get"},
    ("", "secrets"): {"get"},
    ("flagger.app", "metrictemplates"): {"get"},
    ("flagger.app", "alertproviders"): {"get"},
    ("apiextensions.k8s.io", "customresourcedefinitions"): {"get", "list", "watch", "create", "patch"},
    ("", "events"): {"create", "patch"},
    ("events.k8s.io", "events"): {"create", "patch"},
}
TRUST = {
    ("admissionregistration.k8s.io", "mutatingwebhookconfigurations"): {"get", "list", "patch", "watch"},
    ("admissionregistration.k8s.io", "validatingwebhookconfigurations"): {"get", "list", "patch", "watch"},
}
PLAIN = Values(namespace="vela-system")


def role(values: Values, kind: str, name: str) -> Object:
    (found,) = (one for one in objects(values) if (one["kind"], one["metadata"]["name"]) == (kind, name))
    return found


def granted(values: Values, kind: str, name: str) -> dict[tuple[str, str], set[str]]:
    found: dict[tuple[str, str], set[str]] = {}
    for rule in role(values, kind, name)["rules"]:
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                assert (group, resource) not in found
                found[(group, resource)] = set(rule["verbs"])
    return found


def test_the_operator_may_do_what_the_table_says_and_nothing_else() -> None:
    assert granted(Values(namespace="vela-system", webhooks=False), "ClusterRole", "vela-core:manager") == TABLE


def test_a_certificate_of_its_own_needs_a_secret_and_trust() -> None:
    assert granted(PLAIN, "ClusterRole", "vela-core:manager") == TABLE | TRUST
    rules = role(PLAIN, "Role", "vela-core:own")["rules"]
    assert [each for each in rules if "secrets" in each["resources"]] == [
        {"apiGroups": [""], "resources": ["secrets"], "verbs": ["create"]},
        {
            "apiGroups": [""],
            "resources": ["secrets"],
            "resourceNames": ["vela-core-admission"],
            "verbs": ["get", "update"],
        },
    ]


def test_the_election_is_in_the_own_namespace() -> None:
    found = granted(Values(namespace="vela-system", webhooks=False), "Role", "vela-core:own")

    assert found == {("coordination.k8s.io", "leases"): CRUD}


def test_custom_kinds_come_from_roles_with_the_label() -> None:
    found = role(PLAIN, "ClusterRole", "vela-core:custom-kinds")

    assert found["rules"] == []
    assert found["aggregationRule"] == {
        "clusterRoleSelectors": [{"matchLabels": {"fairlead.dev/aggregate-to-plans": "true"}}]
    }
    assert role(PLAIN, "ClusterRoleBinding", "vela-core:custom-kinds")["roleRef"]["name"] == "vela-core:custom-kinds"


def test_users_edit_or_view() -> None:
    assert granted(PLAIN, "ClusterRole", "vela-core:editor") == dict.fromkeys(OURS, CRUD)
    assert granted(PLAIN, "ClusterRole", "vela-core:viewer") == {key: {"get", "list", "watch"} for key in OURS}


def test_every_binding_names_a_role_that_is_there() -> None:
    made = objects(PLAIN)
    roles = {(one["kind"], one["metadata"]["name"]) for one in made if one["kind"].endswith("Role")}
    bound = {(one["roleRef"]["kind"], one["roleRef"]["name"]) for one in made if one["kind"].endswith("RoleBinding")}

    assert bound <= roles


def test_what_is_judged_is_registered() -> None:
    registered = {
        (each["kind"], entry["path"], entry["resource"])
        for each in data_of(CHART, "webhooks.yaml")
        for entry in each["entries"]
    }

    mutating, validating = "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"
    assert registered == {
        (mutating, DEFAULT_TRAIT, "rollouttraits"),
        (mutating, DEFAULT_ROLLOUT, "rollouts"),
        (mutating, DEFAULT_DEPLOYMENT, "applicationdeployments"),
        (mutating, DEFAULT_APP_ROLLOUT, "approllouts"),
        (validating, VALIDATE_TRAIT, "rollouttraits"),
        (validating, VALIDATE_ROLLOUT, "rollouts"),
        (validating, VALIDATE_DEPLOYMENT, "applicationdeployments"),
        (validating, VALIDATE_APP_ROLLOUT, "approllouts"),
        (validating, VALIDATE_APPLICATION, "applications"),
        (validating, VALIDATE_CONFIGURATION, "applicationconfigurations"),
    }


def test_what_is_outside_of_the_namespace_says_whose_it_is() -> None:
    outside = [one for one in objects(PLAIN) if "namespace" not in one["metadata"]]

    assert outside
    for one in outside:
        assert one["metadata"]["labels"]["fairlead.dev/vela-core-namespace"] == "vela-system"
        assert one["metadata"]["labels"]["app.kubernetes.io/name"] == "vela-core"
