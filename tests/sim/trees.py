"""Trees that the tests of the embedded cluster begin with: what matters is an argument, the rest is hidden."""

from __future__ import annotations

from typing import Any

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
