"""What is warned of in sound objects that are no pods: it is deprecated, has no effect, or is not known.

Clients are told of it with the answer, as kubectl shows. Of pods and their templates `pod_warnings` knows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import msgspec

from kubeloop.quantities import quantity
from kubesim.errors import quoted
from kubesim.rules.metadata import STANDARD_FINALIZERS
from kubesim.schema.formats import is_known
from kubesim.schema.values import qualified
from kubesim.store.versions import Tree

_HINTS = "service.kubernetes.io/topology-aware-hints"
_INGRESS_CLASS = "kubernetes.io/ingress.class"
_NESTED = ("items", "additionalItems", "additionalProperties", "not")
_NESTED_LISTS = ("allOf", "oneOf", "anyOf")
_NESTED_MAPS = ("properties", "patternProperties", "definitions")
Advice = Iterator[str]


def on_create(tree: Tree) -> list[str]:
    """Of a new object."""
    found = _NEW.get(tree["kind"])
    return [] if found is None else list(found(tree))


def on_update(old: Tree, new: Tree) -> list[str]:
    """Of a changed object."""
    found = _CHANGED.get(new["kind"])
    return [] if found is None else list(found(old, new))


def on_custom(old: Tree | None, new: Tree) -> list[str]:
    """Of a custom resource: names of new finalizers that somebody else may use too."""
    found, known = ((tree or {}).get("metadata", {}).get("finalizers") or [] for tree in (new, old))
    return [
        f"metadata.finalizers: {quoted(name)}: {why}" for name in sorted({*found} - {*known}) for why in _unsafe(name)
    ]


def _unsafe(finalizer: str) -> Advice:
    yield from qualified(finalizer)
    if "/" not in finalizer and finalizer not in STANDARD_FINALIZERS:
        path = " including a path (/)" if "." in finalizer else ""
        others = "to avoid accidental conflicts with other finalizer writers"
        yield f"prefer a domain-qualified finalizer name{path} {others}"


def _service(tree: Tree) -> Advice:
    spec = tree["spec"]
    kind, addresses = spec.get("type"), spec.get("externalIPs") or []
    is_headless = kind == "ClusterIP" and spec.get("clusterIP") == "None"
    if _HINTS in (tree["metadata"].get("annotations") or {}):
        yield f"annotation {_HINTS} is deprecated, please use service.kubernetes.io/topology-mode instead"
    if is_headless:
        ignored = {"loadBalancerIP": spec.get("loadBalancerIP"), "externalIPs": addresses}
        ignored["SessionAffinity"] = spec.get("sessionAffinity") != "None"
        yield from (f"spec.{key} is ignored for headless services" for key, is_set in ignored.items() if is_set)
    if addresses and not is_headless and kind != "ExternalName":
        yield "spec.externalIPs is deprecated and may no longer be implemented in some clusters"
    if kind == "ExternalName" and addresses:
        yield 'spec.externalIPs is ignored when spec.type is "ExternalName"'
    if kind != "ExternalName" and spec.get("externalName"):
        yield 'spec.externalName is ignored when spec.type is not "ExternalName"'
    if spec.get("trafficDistribution") == "PreferClose":
        yield 'spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"'


def _ingress(tree: Tree) -> Advice:
    if _INGRESS_CLASS in (tree["metadata"].get("annotations") or {}):
        yield f"annotation {quoted(_INGRESS_CLASS)} is deprecated, please use 'spec.ingressClassName' instead"


def _claim(spec: Tree, at: str) -> Advice:
    for kind in ("requests", "limits"):
        amount = ((spec.get("resources") or {}).get(kind) or {}).get("storage")
        if amount is not None and quantity(amount) % 1:
            text = f"fractional byte value {quoted(str(amount))} is invalid, must be an integer"
            yield f"{at}.resources.{kind}[storage]: {text}"


def _claim_templates(tree: Tree, below: str = "") -> Advice:
    for index, claim in enumerate(tree["spec"].get("volumeClaimTemplates") or []):
        yield from _claim(claim.get("spec") or {}, f"spec.volumeClaimTemplates[{index}]{below}")


def _definition(tree: Tree) -> Advice:
    return (f"unrecognized format {quoted(each)}" for each in _unknown_formats(tree))


def _changed_definition(old: Tree, new: Tree) -> Advice:
    known = list(_unknown_formats(old))
    return (f"unrecognized format {quoted(each)}" for each in _unknown_formats(new) if each not in known)


def _unknown_formats(definition: Tree) -> Advice:
    for version in definition["spec"].get("versions") or []:
        yield from _unknown_in(msgspec.json.encode((version.get("schema") or {}).get("openAPIV3Schema")))


@lru_cache(maxsize=256)
def _unknown_in(text: bytes) -> tuple[str, ...]:
    """Formats of a schema, which is looked at once however many definitions have an equal one."""
    given = [(each.get("type") or "", each.get("format")) for each in _schemas(msgspec.json.decode(text))]
    return tuple(name for kind, name in given if name and not is_known(kind, name))


def _schemas(schema: Any) -> Iterator[Tree]:
    """A schema and all within it."""
    if not isinstance(schema, dict):
        return
    yield schema
    inner = [schema.get(key) for key in _NESTED]
    inner += [each for key in _NESTED_LISTS for each in schema.get(key) or ()]
    inner += [each for key in _NESTED_MAPS for each in (schema.get(key) or {}).values()]
    for each in inner:
        yield from _schemas(each)


_NEW: dict[str, Callable[[Tree], Advice]] = {
    "CustomResourceDefinition": _definition,
    "Ingress": _ingress,
    "PersistentVolumeClaim": lambda tree: _claim(tree["spec"], "spec"),
    "Service": _service,
    "StatefulSet": _claim_templates,
}
_CHANGED: dict[str, Callable[[Tree, Tree], Advice]] = {
    "CustomResourceDefinition": _changed_definition,
    "PersistentVolumeClaim": lambda _old, new: _claim(new["spec"], "spec"),
    "Service": lambda _old, new: _service(new),
    # The server tells the way to what has changed in the words of its own types.
    "StatefulSet": lambda _old, new: _claim_templates(new, ".Spec"),
}
