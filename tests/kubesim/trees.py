"""Trees that the tests of the embedded cluster begin with: what matters is an argument, the rest is hidden."""

from __future__ import annotations

from typing import Any

from kubesim.cluster import Cluster
from kubesim.kinds.registry import CLUSTER_ROLE_BINDINGS

Tree = dict[str, Any]


def a_pod(name: str = "web-0", *, node: str = "", labels: dict[str, str] | None = None, **spec: Any) -> Tree:
    placed = {"nodeName": node} if node else {}
    return {
        "metadata": {"name": name, "labels": labels or {"app": "web"}},
        "spec": {"containers": [{"name": "main", "image": "app:1"}], **placed, **spec},
    }


def a_set(name: str = "web", *, labels: dict[str, str] | None = None, **spec: Any) -> Tree:
    return {
        "metadata": {"name": name},
        "spec": {
            "serviceName": name,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": labels or {"app": "web"}},
                "spec": {"containers": [{"name": "main", "image": "app:1"}]},
            },
            **spec,
        },
    }


def a_map(name: str = "settings", *, labels: dict[str, str] | None = None, **metadata: Any) -> Tree:
    return {"metadata": {"name": name, "labels": labels or {}, **metadata}, "data": {"key": "value"}}


def a_role(*rules: Tree, name: str = "role") -> Tree:
    return {"metadata": {"name": name}, "rules": list(rules)}


def a_rule(verbs: str, resources: str, *, group: str = "", names: tuple[str, ...] = ()) -> Tree:
    """Verbs and resources are separated by spaces."""
    rule: Tree = {"verbs": verbs.split(), "apiGroups": [group], "resources": resources.split()}
    return rule | {"resourceNames": list(names)} if names else rule


def a_binding(*subjects: Tree, role: str = "role", kind: str = "Role", name: str = "binding") -> Tree:
    return {"metadata": {"name": name}, "roleRef": {"kind": kind, "name": role}, "subjects": list(subjects)}


def a_user(name: str) -> Tree:
    return {"kind": "User", "name": name}


def may_all(cluster: Cluster, *users: str) -> None:
    """Makes them administrators."""
    binding = a_binding(*(a_user(name) for name in users), role="cluster-admin", kind="ClusterRole")
    cluster.verbs.create(CLUSTER_ROLE_BINDINGS, "", binding, user="admin")
