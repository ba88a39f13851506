"""What the operator and its users may do is the table of section 2.14, and nothing besides."""

from __future__ import annotations

from typing import Any

import yaml

from fairlead.contracts.leaderworker.install.objects import objects
from fairlead.contracts.leaderworker.install.values import CHART, Values
from fairlead.contracts.leaderworker.webhooks import EVICTION, JUDGES, VALIDATE_DISAGGREGATED
from fairlead.engine.charts import Object, data_of

CRUD = {"create", "delete", "get", "list", "patch", "update", "watch"}
STATUS = {"get", "patch", "update"}
TABLE: dict[tuple[str, str], set[str]] = {
    ("leaderworkerset.x-k8s.io", "leaderworkersets"): CRUD,
    ("leaderworkerset.x-k8s.io", "leaderworkersets/status"): STATUS,
    ("leaderworkerset.x-k8s.io", "leaderworkersets/finalizers"): {"update"},
    ("apps", "statefulsets"): CRUD,
    ("apps", "controllerrevisions"): CRUD,
    ("apps", "statefulsets/status"): STATUS,
    ("apps", "controllerrevisions/status"): STATUS,
    ("apps", "statefulsets/finalizers"): {"update"},
    ("apps", "controllerrevisions/finalizers"): {"update"},
    ("", "pods"): CRUD,
    ("", "services"): CRUD,
    ("", "pods/finalizers"): {"update"},
    ("", "nodes"): {"get", "list", "watch", "update", "patch"},
    ("", "secrets"): {"get", "list", "watch", "update"},
    ("", "events"): {"create", "get", "list", "patch", "update", "watch"},
    ("events.k8s.io", "events"): {"create", "get", "list", "patch", "update", "watch"},
    ("admissionregistration.k8s.io", "mutatingwebhookconfigurations"): {"get", "list", "update", "watch"},
    ("admissionregistration.k8s.io", "validatingwebhookconfigurations"): {"get", "list", "update", "watch"},
    ("disaggregatedset.x-k8s.io", "disaggregatedsets"): CRUD,
    ("disaggregatedset.x-k8s.io", "disaggregatedsetrolescalers"): CRUD,
    ("disaggregatedset.x-k8s.io", "disaggregatedsets/status"): STATUS,
    ("disaggregatedset.x-k8s.io", "disaggregatedsetrolescalers/status"): STATUS,
    ("disaggregatedset.x-k8s.io", "disaggregatedsets/finalizers"): {"update"},
}
VOLCANO = {("scheduling.volcano.sh", "podgroups"): {"create", "get", "list", "watch"}}
BUDGETS = {("policy", "poddisruptionbudgets"): CRUD}
REVIEWS = {
    ("authentication.k8s.io", "tokenreviews"): {"create"},
    ("authorization.k8s.io", "subjectaccessreviews"): {"create"},
}


def granted(values: Values, kind: str, name: str) -> dict[tuple[str, str], set[str]]:
    (role,) = (one for one in objects(values) if (one["kind"], one["metadata"]["name"]) == (kind, name))
    found: dict[tuple[str, str], set[str]] = {}
    for rule in role["rules"]:
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                assert (group, resource) not in found
                found[(group, resource)] = set(rule["verbs"])
    return found


PLAIN = Values(namespace="lws-system")


def test_the_operator_may_do_what_the_table_says_and_nothing_else() -> None:
    assert granted(PLAIN, "ClusterRole", "lws-manager-role") == TABLE
    assert granted(PLAIN, "ClusterRole", "lws-proxy-role") == REVIEWS


def test_opt_ins_add_their_own_rules() -> None:
    gang = Values(namespace="lws-system", gang_scheduler="volcano")
    budgets = Values(namespace="lws-system", disruption_budgets=True)

    assert granted(gang, "ClusterRole", "lws-manager-role") == TABLE | VOLCANO
    assert granted(budgets, "ClusterRole", "lws-manager-role") == TABLE | BUDGETS


def test_the_election_is_in_the_own_namespace() -> None:
    found = granted(PLAIN, "Role", "lws-leader-election-role")

    assert found[("coordination.k8s.io", "leases")] == CRUD
    assert found[("", "configmaps")] == CRUD
    assert set(found) == {
        ("coordination.k8s.io", "leases"),
        ("", "configmaps"),
        ("", "events"),
        ("events.k8s.io", "events"),
    }


def test_users_edit_or_view() -> None:
    sets, status = ("leaderworkerset.x-k8s.io", "leaderworkersets"), "leaderworkersets/status"

    editor = granted(PLAIN, "ClusterRole", "lws-leaderworkerset-editor-role")
    viewer = granted(PLAIN, "ClusterRole", "lws-leaderworkerset-viewer-role")

    assert editor == {sets: CRUD, (sets[0], status): {"get"}}
    assert viewer == {sets: {"get", "list", "watch"}, (sets[0], status): {"get"}}


def test_every_binding_names_a_role_that_is_there() -> None:
    made = objects(PLAIN)
    roles = {(one["kind"], one["metadata"]["name"]) for one in made if one["kind"].endswith("Role")}
    bound = {(one["roleRef"]["kind"], one["roleRef"]["name"]) for one in made if one["kind"].endswith("RoleBinding")}

    assert bound <= roles


def test_registered_paths_are_those_that_are_served() -> None:
    registered = [entry for each in data_of(CHART, "webhooks.yaml") for entry in each["entries"]]

    assert {entry["path"] for entry in registered} == {*JUDGES, EVICTION}
    assert {entry["path"] for entry in registered if "switch" in entry} == {EVICTION, VALIDATE_DISAGGREGATED}
    entries: list[Object] = [
        entry for one in objects(PLAIN) if one["kind"].endswith("WebhookConfiguration") for entry in one["webhooks"]
    ]
    rules = {entry["name"]: (entry["rules"][0]["operations"], entry.get("objectSelector")) for entry in entries}
    labelled: Any = {"matchExpressions": [{"key": "leaderworkerset.sigs.k8s.io/name", "operator": "Exists"}]}
    assert rules == {
        "mleaderworkerset.kb.io": (["CREATE", "UPDATE"], None),
        "mpod.kb.io": (["CREATE"], labelled),
        "vleaderworkerset.kb.io": (["CREATE", "UPDATE"], None),
        "vpod.kb.io": (["CREATE", "UPDATE"], labelled),
    }


def test_what_is_outside_of_the_namespace_says_whose_it_is() -> None:
    outside = [one for one in objects(PLAIN) if "namespace" not in one["metadata"]]

    assert outside
    for one in outside:
        assert one["metadata"]["labels"]["fairlead.dev/lws-namespace"] == "lws-system"
        assert one["metadata"]["labels"]["app.kubernetes.io/name"] == "lws"
    assert yaml.safe_load((CHART / "values.yaml").read_text())["replicaCount"] == 1
