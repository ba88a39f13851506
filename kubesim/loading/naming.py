"""How copied objects are named where their lists do not say it."""

from __future__ import annotations

from datetime import datetime

from kubesim.store.versions import Tree


def shown(kind: str, metadata: Tree) -> str:
    """An object, as sentences name it."""
    namespace = metadata.get("namespace")
    return f"{kind} {namespace}/{metadata['name']}" if namespace else f"{kind} {metadata['name']}"


def plural_of(kind: str) -> str:
    """As nearly all kinds have it; lists do not say."""
    name = kind.lower()
    if name.endswith(("s", "x", "ch", "sh")):
        return f"{name}es"
    return f"{name[:-1]}ies" if name.endswith("y") and name[-2:-1] not in "aeiou" else f"{name}s"


def a_namespace(name: str, moment: datetime, revision: int) -> Tree:
    return {
        "kind": "Namespace",
        "apiVersion": "v1",
        "metadata": {
            "name": name,
            "uid": f"{revision:08x}-0000-4000-8000-00000000c09f",
            "resourceVersion": str(revision),
            "creationTimestamp": f"{moment:%Y-%m-%dT%H:%M:%SZ}",
            "labels": {"kubernetes.io/metadata.name": name},
        },
        "spec": {"finalizers": ["kubernetes"]},
        "status": {"phase": "Active"},
    }


def host_of(config: Tree) -> str:
    """Where a webhook is called, which may be known by a Service or by an address."""
    service = config.get("service")
    if service is not None:
        return f"{service['name']}.{service['namespace']}.svc"
    return str(config.get("url", "")).partition("://")[2].partition("/")[0].rpartition("@")[2].partition(":")[0]
