"""What expressions of webhooks and policies see of a request."""

from __future__ import annotations

from typing import Any

from msgspec.structs import astuple

from kubesim.auth.rbac import Access, Attributes, User, user_of
from kubesim.cel.authorizer import Asked, Authorizer, ResourceCheck
from kubesim.store.versions import Tree
from kubesim.writes.asking import Question

_SPACE_FIELDS = (
    "name",
    "generateName",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "finalizers",
)


def values_of(question: Question, request: Tree, access: Access) -> dict[str, Any]:
    """What expressions see of a question whose trees are in the version they want."""
    info = request["userInfo"]
    user = User(info.get("username") or "", tuple(info.get("groups") or ()), info.get("uid") or "")

    def judge(asked: Asked, name: str) -> tuple[bool, str]:
        verdict = access.judge(user_of(name) if name else user, Attributes(*astuple(asked)))
        return verdict.allowed, verdict.reason

    authorizer = Authorizer(judge)
    resource = question.kind.resource
    own = Asked("", resource.group, resource.plural, question.subresource, question.namespace, question.name)
    return {
        "object": question.object,
        "oldObject": question.old,
        "request": request,
        "namespaceObject": None,
        "authorizer": authorizer,
        "authorizer.requestResource": ResourceCheck(authorizer, own),
    }


def namespace_seen(tree: Tree) -> Tree:
    """A namespace as expressions see it."""
    metadata = {key: tree["metadata"][key] for key in _SPACE_FIELDS if key in tree["metadata"]}
    return {"metadata": metadata, "spec": tree.get("spec") or {}, "status": tree.get("status") or {}}
