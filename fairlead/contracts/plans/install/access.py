"""The account of the operator, what it and others may do, and what the API server asks it (section 2.15)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fairlead.contracts.plans.install.values import (
    ADMISSION,
    CHART,
    NAME,
    WEBHOOK_SERVICE,
    Values,
    cluster_labels,
    metadata,
)
from fairlead.contracts.plans.kinds import INJECT_CA
from fairlead.engine.charts import Object, data_of

RBAC = "rbac.authorization.k8s.io"
AGGREGATED = {"fairlead.dev/aggregate-to-plans": "true"}
"""Of roles whose rules the operator has as well: those of custom kinds."""
CUSTOM_KINDS = "custom-kinds"
BOUND = ("manager", CUSTOM_KINDS)


def account(values: Values) -> Object:
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata(values, NAME)}


def roles(values: Values) -> Iterator[Object]:
    permissions: dict[str, list[Any]] = data_of(CHART, "permissions.yaml", {"SECRET": ADMISSION})
    manager = [*permissions["manager"], *(permissions["trust"] if values.webhooks else [])]
    yield _role(values, "manager", manager)
    selectors = {"clusterRoleSelectors": [{"matchLabels": AGGREGATED}]}
    yield {**_role(values, CUSTOM_KINDS, []), "aggregationRule": selectors}
    for name in ("editor", "viewer"):
        yield _role(values, name, permissions[name])
    for name in BOUND:
        named = {"name": f"{NAME}:{name}", "labels": cluster_labels(values)}
        yield _binding(values, "ClusterRole", named, f"{NAME}:{name}")
    own = metadata(values, f"{NAME}:own")
    rules = [*permissions["own"], *(permissions["certificate"] if values.webhooks else [])]
    yield {"apiVersion": f"{RBAC}/v1", "kind": "Role", "metadata": own, "rules": rules}
    yield _binding(values, "Role", own, f"{NAME}:own")


def _role(values: Values, name: str, rules: list[Any]) -> Object:
    named = {"name": f"{NAME}:{name}", "labels": cluster_labels(values)}
    return {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": named, "rules": rules}


def _binding(values: Values, kind: str, named: Object, role: str) -> Object:
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": f"{kind}Binding",
        "metadata": named,
        "roleRef": {"apiGroup": RBAC, "kind": kind, "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": NAME, "namespace": values.namespace}],
    }


def webhooks(values: Values) -> Iterator[Object]:
    """The operator puts its certificate authority into them."""
    for each in data_of(CHART, "webhooks.yaml"):
        yield {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": each["kind"],
            "metadata": {"name": ADMISSION, "labels": {**cluster_labels(values), INJECT_CA: "true"}},
            "webhooks": [_entry(values, entry) for entry in each["entries"]],
        }


def _entry(values: Values, entry: Object) -> Object:
    rule = {
        "apiGroups": [entry["apiGroup"]],
        "apiVersions": [entry["apiVersion"]],
        "operations": ["CREATE", "UPDATE"],
        "resources": [entry["resource"]],
        "scope": "Namespaced",
    }
    return {
        "name": entry["name"],
        "admissionReviewVersions": ["v1", "v1beta1"],
        "clientConfig": {"service": {"name": WEBHOOK_SERVICE, "namespace": values.namespace, "path": entry["path"]}},
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "timeoutSeconds": 5,
        "rules": [rule],
    }
