"""What is posted to a pod by a path of its own is an object too: it is asked about, and must name the pod."""

from __future__ import annotations

from collections.abc import Callable

from kubeloop.objects.meta import Resource
from kubesim.errors import bad_request
from kubesim.kinds.registry import PODS
from kubesim.store.versions import Tree
from kubesim.writes.asking import MUTATING, Question
from kubesim.writes.parts import ObjectPart, without_nulls
from kubesim.writes.storing import Writes


def review(
    writes: Writes, subresource: str, shown: Resource, namespace: str, name: str, tree: Tree, dry_run: bool
) -> Question:
    part = ObjectPart(writes.registry.kind(PODS), namespace, name, subresource)
    place = part.kind, subresource, namespace, name
    return Question(MUTATING, "CREATE", *place, shown, _completer(shown, namespace), tree, None, dry_run)


def _completer(shown: Resource, namespace: str) -> Callable[[Tree], Tree]:
    def complete(tree: Tree) -> Tree:
        version = tree.get("apiVersion") or shown.api_version
        metadata = {"namespace": namespace} | (tree.get("metadata") or {})
        return without_nulls(tree | {"kind": shown.kind, "apiVersion": version, "metadata": metadata})

    return complete


def same_name(tree: Tree, name: str, kind: str) -> None:
    if (tree.get("metadata") or {}).get("name") != name:
        raise bad_request(f"name in URL does not match name in {kind} object")


def success() -> Tree:
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
