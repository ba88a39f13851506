"""The account of the operator, what it and others may do, and what the API server asks it (sections 2.10 and 2.14)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fairlead.contracts.leaderworker.install.values import (
    CHART,
    NAME,
    OPERATOR,
    SECRET,
    WEBHOOK_SERVICE,
    Values,
    cluster_labels,
    labels,
)
from fairlead.engine.charts import Object, data_of

RBAC = "rbac.authorization.k8s.io"
CLUSTER_ROLES = {
    "proxy-role": "proxy",
    "metrics-reader": "metricsReader",
    "leaderworkerset-editor-role": "editor",
    "leaderworkerset-viewer-role": "viewer",
}
"""Name of a role after that of the installation, and its key in the permissions file."""
DISAGGREGATED_ROLES = {
    "disaggregatedset-admin-role": "disaggregatedAdmin",
    "disaggregatedset-editor-role": "disaggregatedEditor",
    "disaggregatedset-viewer-role": "disaggregatedViewer",
}
BINDINGS = {
    "manager-rolebinding": "manager-role",
    "proxy-rolebinding": "proxy-role",
    "metrics-reader-rolebinding": "metrics-reader",
}


def account(values: Values) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": OPERATOR, "namespace": values.namespace, "labels": labels()},
    }


def roles(values: Values) -> Iterator[Object]:
    permissions: dict[str, list[Any]] = data_of(CHART, "permissions.yaml")
    needed = [
        "manager",
        *(["volcano"] if values.gang_scheduler == "volcano" else []),
        *(["disruptionBudgets"] if values.disruption_budgets else []),
    ]
    yield _role(values, "manager-role", [rule for key in needed for rule in permissions[key]])
    for name, key in {**CLUSTER_ROLES, **(DISAGGREGATED_ROLES if values.disaggregated_sets else {})}.items():
        yield _role(values, name, permissions[key])
    for name, role in BINDINGS.items():
        metadata = {"name": f"{NAME}-{name}", "labels": cluster_labels(values)}
        yield _binding("ClusterRole", metadata, f"{NAME}-{role}", values)
    own = {"namespace": values.namespace, "labels": labels()}
    role = f"{NAME}-leader-election-role"
    yield {
        "apiVersion": f"{RBAC}/v1",
        "kind": "Role",
        "metadata": {"name": role, **own},
        "rules": permissions["leaderElection"],
    }
    yield _binding("Role", {"name": f"{NAME}-leader-election-rolebinding", **own}, role, values)


def _role(values: Values, name: str, rules: list[Any]) -> Object:
    metadata = {"name": f"{NAME}-{name}", "labels": cluster_labels(values)}
    return {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": metadata, "rules": rules}


def _binding(kind: str, metadata: Object, role: str, values: Values) -> Object:
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": f"{kind}Binding",
        "metadata": metadata,
        "roleRef": {"apiGroup": RBAC, "kind": kind, "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": OPERATOR, "namespace": values.namespace}],
    }


def secret(values: Values) -> Object:
    """Without data: the operator fills it, and its role does not let it make one."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": SECRET, "namespace": values.namespace, "labels": labels()},
    }


def webhooks(values: Values) -> Iterator[Object]:
    """The operator puts its certificate authority into them."""
    for each in data_of(CHART, "webhooks.yaml"):
        yield {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": each["kind"],
            "metadata": {"name": each["name"], "labels": cluster_labels(values)},
            "webhooks": [_entry(values, entry) for entry in each["entries"] if _is_wanted(values, entry)],
        }


def _is_wanted(values: Values, entry: Object) -> bool:
    """Some are there only where their switch is on."""
    switches = {"evictionWebhook": values.eviction_webhook, "enableDisaggregatedSet": values.disaggregated_sets}
    return "switch" not in entry or switches[entry["switch"]]


def _entry(values: Values, entry: Object) -> Object:
    selector = {"matchExpressions": [{"key": entry.get("label"), "operator": "Exists"}]}
    others = {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": [values.namespace]}
    rule = {
        "apiGroups": [entry["apiGroup"]],
        "apiVersions": ["v1"],
        "operations": entry["operations"],
        "resources": [entry["resource"]],
    }
    return {
        "name": entry["name"],
        "admissionReviewVersions": ["v1"],
        "clientConfig": {"service": {"name": WEBHOOK_SERVICE, "namespace": values.namespace, "path": entry["path"]}},
        "failurePolicy": "Fail",
        "sideEffects": entry.get("sideEffects", "None"),
        **({"namespaceSelector": {"matchExpressions": [others]}} if entry.get("exceptOwn") else {}),
        **({"objectSelector": selector} if "label" in entry else {}),
        "rules": [rule],
    }
