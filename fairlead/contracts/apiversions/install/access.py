"""The account of the operator, and what it may do (section 2.7)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fairlead.contracts.apiversions.install.values import CHART, NAME, Values, named, named_for_all
from fairlead.engine.charts import Object, data_of

RBAC = "rbac.authorization.k8s.io"
AGGREGATED = {"fairlead.dev/aggregate-to-apiversions": "true"}
"""Of roles whose rules the operator has as well: those of kinds that rule sets attach."""
MANAGER, ATTACHED, OWN = f"{NAME}:manager", f"{NAME}:attached-kinds", f"{NAME}:own"


def objects(values: Values) -> Iterator[Object]:
    yield {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": named(values, NAME)}
    rules: dict[str, list[Any]] = data_of(CHART, "permissions.yaml", {"SECRET": values.secret})
    yield _role("ClusterRole", named_for_all(values, MANAGER), rules["manager"])
    selectors = {"clusterRoleSelectors": [{"matchLabels": AGGREGATED}]}
    yield {**_role("ClusterRole", named_for_all(values, ATTACHED), []), "aggregationRule": selectors}
    for name in (MANAGER, ATTACHED):
        yield _binding(values, "ClusterRole", named_for_all(values, name), name)
    yield _role("Role", named(values, OWN), [*rules["own"], *rules["certificate"]])
    yield _binding(values, "Role", named(values, OWN), OWN)


def _role(kind: str, metadata: Object, rules: list[Any]) -> Object:
    return {"apiVersion": f"{RBAC}/v1", "kind": kind, "metadata": metadata, "rules": rules}


def _binding(values: Values, kind: str, metadata: Object, role: str) -> Object:
    account = {"kind": "ServiceAccount", "name": NAME, "namespace": values.namespace}
    of = {"apiGroup": RBAC, "kind": kind, "name": role}
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": f"{kind}Binding",
        "metadata": metadata,
        "roleRef": of,
        "subjects": [account],
    }
