"""Who will put back what a person changes: managers of fields that come from a manifest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

APPLY = "Apply"
BY_HAND = "kubectl apply"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
APPLIERS = ("argocd", "kustomize-controller", "helm", "flux", "terraform", "pulumi", "kubectl-client-side-apply")
"""Managers, by the beginning of their names, that write a whole manifest again and again, whatever verb they use."""
OWNERS = {
    "argocd.argoproj.io/tracking-id": "Argo CD",
    "argocd.argoproj.io/instance": "Argo CD",
    "kustomize.toolkit.fluxcd.io/name": "Flux",
    "helm.toolkit.fluxcd.io/name": "Flux",
    "meta.helm.sh/release-name": "Helm",
}
"""Labels and annotations by which a tool marks what it manages."""


class ManagedFields(Struct, frozen=True, rename="camel"):
    manager: str = ""
    operation: str = ""
    fields_v1: dict[str, Any] = {}


def manifest_managers(
    managed: Iterable[ManagedFields], marks: Mapping[str, str], path: tuple[str, ...]
) -> tuple[str, ...]:
    """Who applies a manifest with this field: by the record of the API server, else by a mark on the object.

    `marks` are the labels and annotations of the object.
    """
    recorded = [_called(each.manager) for each in managed if _applies(each) and _owns(each.fields_v1, path)]
    marked = [tool for mark, tool in OWNERS.items() if mark in marks]
    by_hand = [BY_HAND] if LAST_APPLIED in marks and not recorded else []
    return tuple(dict.fromkeys([*marked, *recorded, *by_hand]))


def _called(manager: str) -> str:
    return BY_HAND if manager.startswith("kubectl") else manager


def _applies(each: ManagedFields) -> bool:
    return each.operation == APPLY or each.manager.lower().startswith(APPLIERS)


def _owns(fields: Mapping[str, Any], path: tuple[str, ...]) -> bool:
    for step in path:
        found = fields.get(f"f:{step}")
        if not isinstance(found, dict):
            return False
        fields = found
    return True
