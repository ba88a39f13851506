"""The account of the operator, what it may do (section 2.7), and what the API server asks it (section 2.5)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fairlead.contracts.zones.install.values import CHART, NAME, NAME_LABEL, Values, cluster_labels, labels
from fairlead.contracts.zones.kinds import INJECT_CA
from fairlead.engine.charts import Object, data_of

RBAC = "rbac.authorization.k8s.io"


def needs(values: Values) -> tuple[str, ...]:
    """Keys of the permissions file that this installation needs."""
    switched = (
        ("webhooks", values.webhooks),
        ("phasedDeployments", values.phased_deployments),
        ("zoneTracker", bool(values.zone_tracker)),
        ("election", values.high_availability),
    )
    return ("rollout", "scaling", "budgets", "healthChecks", "events", *(need for need, wanted in switched if wanted))


def account(values: Values) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": NAME, "namespace": values.namespace, "labels": labels()},
        "automountServiceAccountToken": False,
    }


def roles(values: Values) -> Iterator[Object]:
    """Roles, each with its binding."""
    permissions = _permissions(values)
    rules = [rule for need in needs(values) for rule in permissions["role"][need]]
    for group, plural in values.references:
        rules += _permissions(values, GROUP=group, PLURAL=plural)["role"]["reference"]
    metadata = {"name": NAME, "namespace": values.namespace, "labels": labels()}
    yield from _bound("Role", metadata, rules, values)
    if values.webhooks:
        metadata = {"name": values.cluster_name, "labels": cluster_labels(values)}
        yield from _bound("ClusterRole", metadata, permissions["clusterRole"]["webhooks"], values)


def _permissions(values: Values, **names: str) -> Any:
    return data_of(CHART, "permissions.yaml", {"SECRET": values.secret, "TRACKER": values.zone_tracker, **names})


def _bound(kind: str, metadata: dict[str, Any], rules: list[Any], values: Values) -> Iterator[Object]:
    yield {"apiVersion": f"{RBAC}/v1", "kind": kind, "metadata": metadata, "rules": rules}
    yield {
        "apiVersion": f"{RBAC}/v1",
        "kind": f"{kind}Binding",
        "metadata": metadata,
        "roleRef": {"apiGroup": RBAC, "kind": kind, "name": metadata["name"]},
        "subjects": [{"kind": "ServiceAccount", "name": NAME, "namespace": values.namespace}],
    }


def webhooks(values: Values) -> Iterator[Object]:
    """A configuration per webhook; the operator puts its certificate authority into them."""
    switches = {"phasedDeployments": values.phased_deployments}
    for webhook in data_of(CHART, "webhooks.yaml"):
        if not switches.get(webhook.get("switch"), True):
            continue
        yield {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": webhook["kind"],
            "metadata": {
                "name": f"{webhook['name']}-{values.namespace}",
                "labels": {**cluster_labels(values), INJECT_CA: "true"},
            },
            "webhooks": [_entry(values, webhook, entry) for entry in webhook["entries"]],
        }


def _entry(values: Values, webhook: Object, entry: Object) -> Object:
    service = {"name": NAME, "namespace": values.namespace, "path": f"/admission/{webhook['name']}", "port": 443}
    rule = {
        "apiGroups": webhook["apiGroups"],
        "apiVersions": ["v1"],
        "operations": webhook["operations"],
        "resources": entry["resources"],
        "scope": "Namespaced",
    }
    selector: Object = {}
    if entry["exceptOwn"]:
        selector["matchExpressions"] = [{"key": NAME_LABEL, "operator": "NotIn", "values": [NAME]}]
    if "matchLabels" in entry:
        selector["matchLabels"] = entry["matchLabels"]
    again = webhook.get("reinvocationPolicy")
    return {
        "name": f"{webhook['name']}{entry['suffix']}-{values.namespace}.grafana.com",
        "admissionReviewVersions": ["v1"],
        "clientConfig": {"service": service},
        "rules": [rule],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": values.namespace}},
        **({"objectSelector": selector} if selector else {}),
        "matchPolicy": "Equivalent",
        **({"reinvocationPolicy": again} if again else {}),
        "sideEffects": webhook["sideEffects"],
        "timeoutSeconds": values.timeout_seconds,
        "failurePolicy": values.failure_policy,
    }
