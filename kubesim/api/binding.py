"""The Binding that is posted to a pod: it puts the pod on a node."""

from __future__ import annotations

from msgspec.structs import replace

from kubeloop.objects.meta import Resource
from kubesim.api.posted import review, same_name, success
from kubesim.errors import internal, precondition, required, unsupported
from kubesim.kinds.registry import PODS
from kubesim.store.versions import Author, Tree
from kubesim.strategies import subresources
from kubesim.writes.asking import VALIDATING, Write, reviewed
from kubesim.writes.storing import Writes

BINDING = Resource("", "v1", "bindings", "Binding")


def bind(writes: Writes, namespace: str, name: str, binding: Tree, *, user: str, dry_run: bool = False) -> Write:
    """Puts the pod on the node that the Binding names, and says that it is scheduled."""
    question = review(writes, "binding", BINDING, namespace, name, binding, dry_run)
    binding = (yield from reviewed(question)) or binding
    same_name(binding, name, "Binding")
    if problems := _bad_target(binding.get("target") or {}):
        # The server reports these rules without a Status of its own.
        raise internal(problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]")
    yield replace(question, phase=VALIDATING, object=binding)
    old = writes.current(question.kind, namespace, name)
    version = (binding.get("metadata") or {}).get("resourceVersion") or ""
    if version not in ("", str(old.revision)):
        raise precondition(PODS, name, "ResourceVersion", version, str(old.revision))
    pod = subresources.bound(old.tree(), name, binding)
    if not dry_run:
        writes.store.table(PODS).write(pod, old, Author(user, "create", "binding"))
    return success()


def _bad_target(target: Tree) -> list[str]:
    causes = []
    if target.get("kind") not in (None, "", "Node"):
        causes.append(unsupported("target.kind", target["kind"], ("Node", "<empty>")))
    if not target.get("name"):
        causes.append(required("target.name"))
    return [f"{cause.field}: {cause.message}" for cause in causes]
