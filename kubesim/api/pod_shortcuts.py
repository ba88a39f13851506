"""Short ways for the writes that pods are full of: a status, a binding, a deletion.

They do what `writes.storing`, `pods.requests` and `writes.removals` do, and answer the same, without decoding and
encoding a whole pod several times. They are taken only where nobody has to be asked and nothing is unusual; otherwise
the answer is None and nothing has happened, so that the long way is taken. Who takes them is part of the cluster: its
statuses have the types of their fields, which are not looked at.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct

from kubeloop import clock
from kubeloop.request import JSON, MERGE_PATCH, Request, Response
from kubesim.admission.questions import Admission
from kubesim.api import pod_splicing
from kubesim.errors import invalid
from kubesim.kinds.registry import PODS, Registry
from kubesim.patches.patch import merged
from kubesim.rules import pods as rules_pods
from kubesim.store.store import Store
from kubesim.store.versions import Author, Tree, Version
from kubesim.strategies import subresources
from kubesim.writes import deletion

_HEADERS = {"content-type": JSON}
_OPTIONS = "DeleteOptions"
_UNTIMED: Tree = {"lastProbeTime": None, "lastTransitionTime": None}
"""Which Go writes of a condition even where there is none."""
_USUAL = (("user-agent", ""), ("accept", JSON))
"""Headers that change nothing, with the only value that may be; empty for any."""
_OPERATIONS = {"POST": "CREATE", "PATCH": "UPDATE", "DELETE": "DELETE"}
"""As admission calls them."""
_PLACE = ["", "api", "v1", "namespaces"]
_OBJECT = 7
"""How many parts the path of a pod has; that of a part of it has one more."""


class _Uid(Struct, frozen=True, forbid_unknown_fields=True):
    uid: str = ""


class _StatusPatch(Struct, frozen=True, forbid_unknown_fields=True):
    status: Tree
    metadata: _Uid = _Uid()


class _BindingMeta(Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    namespace: str = ""
    uid: str = ""


class _Target(Struct, frozen=True):
    name: str
    kind: str = ""


class _Binding(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    metadata: _BindingMeta
    target: _Target
    kind: str = ""
    api_version: str = ""


_patch = msgspec.json.Decoder(_StatusPatch)
_binding = msgspec.json.Decoder(_Binding)
_tree = msgspec.json.Decoder(Tree)
_SCHEDULED = msgspec.json.encode(
    {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
)


def _options(body: bytes) -> Tree | None:
    """What a deletion asks for; None where that has to be looked at in full."""
    try:
        tree = _tree.decode(body)
    except msgspec.DecodeError:
        return None
    is_usual = tree.get("kind", _OPTIONS) == _OPTIONS and isinstance(tree.get("gracePeriodSeconds", 0), int)
    return tree if is_usual else None


def _are_objects(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(each, dict) for each in value)


def _timed(condition: Tree) -> Tree:
    is_whole = "lastProbeTime" in condition and "lastTransitionTime" in condition
    return condition if is_whole else _UNTIMED | condition


class Shortcuts:
    """For the pods of one cluster; a refusal is a StatusError, as on the long way."""

    def __init__(self, store: Store, registry: Registry, admission: Admission) -> None:
        self._store = store
        self._kind = registry.kind(PODS)
        self._admission = admission
        self._table = store.table(PODS)
        self._plain: dict[tuple[tuple[str, str], ...], bool] = {}
        """Whether these headers change nothing."""

    def answer(self, request: Request, user: str) -> Response | None:
        """What a program of the cluster's own is answered, if there is a short way for what it asks."""
        parts = request.path.split("/")
        if len(parts) not in (_OBJECT, _OBJECT + 1) or parts[5] != PODS.plural or parts[:4] != _PLACE or request.query:
            return None
        if not self._is_plain(request.headers):
            return None
        found = self._table.live.get((parts[4], parts[6]))
        if found is None:
            return None
        return self._written(found, parts[7] if len(parts) > _OBJECT else "", request, user)

    def _written(self, found: Version, part: str, request: Request, user: str) -> Response | None:
        asked = request.method, part, request.content_type
        operation = _OPERATIONS.get(request.method, "")
        if self._admission.concerns(operation, PODS, part, found.head.namespace):
            return None
        if asked == ("PATCH", "status", MERGE_PATCH):
            return self._answered(self._with_status(found, request.body, user))
        if asked == ("POST", "binding", JSON):
            return self._bound(found, request.body, user)
        if asked == ("DELETE", "", JSON) and request.body:
            asked_for = _options(request.body)
            if asked_for is None:
                return None
            options, dry_run = deletion.options_of(asked_for)
            return None if dry_run else self._answered(self.deleted(found, options, user))
        return None

    def _is_plain(self, headers: tuple[tuple[str, str], ...]) -> bool:
        known = self._plain.get(headers)
        if known is None:
            usual = dict(_USUAL)
            known = all(usual.get(name.lower(), "-") in ("", value) for name, value in headers)
            self._plain[headers] = known
        return known

    @staticmethod
    def _answered(version: Version | None) -> Response | None:
        return None if version is None else Response(200, version.body, _HEADERS)

    def _with_status(self, old: Version, body: bytes, user: str) -> Version | None:
        """A merge patch of the status."""
        try:
            change = _patch.decode(body)
        except msgspec.DecodeError:
            return None
        if change.metadata.uid not in ("", old.head.uid):
            return None
        kept = pod_splicing.body_of(old) if old.head.deletion_timestamp is None else None
        if kept is None or not _are_objects(change.status.get("conditions", [_UNTIMED])):
            return None
        before = pod_splicing.status_of(kept)
        if b"null" in body or any(isinstance(value, dict) for value in change.status.values()):
            status = merged(before, change.status)
        else:
            status = before | change.status
        if before.get("qosClass") and not status.get("qosClass"):
            status["qosClass"] = before["qosClass"]
        return self._with(old, kept, before, status, user)

    def put_status(self, old: Version, fields: Tree, user: str) -> Version | None:
        """The pod with these fields in its status, none of which is null or an object; None to take the long way."""
        body = pod_splicing.body_of(old) if old.head.deletion_timestamp is None else None
        if body is None:
            return None
        before = pod_splicing.status_of(body)
        return self._with(old, body, before, before | fields, user)

    def _with(self, old: Version, body: pod_splicing.Body, before: Tree, status: Tree, user: str) -> Version:
        if "conditions" in status:
            status["conditions"] = [_timed(each) for each in status["conditions"]]
        if status == before:
            return old
        known = body.spec.known
        causes = list(rules_pods.pod_status({"spec": known, "status": before}, {"spec": known, "status": status}))
        if causes:
            raise invalid(PODS, old.head.name, causes)
        return self._table.rewrite(old, old.head, body.with_status(status), Author(user, "patch", "status"))

    def _bound(self, old: Version, body: bytes, user: str) -> Response | None:
        """The pod on the node that a Binding names."""
        try:
            binding = _binding.decode(body)
        except msgspec.DecodeError:
            return None
        named = binding.metadata
        is_node = binding.target.name and binding.target.kind in ("", "Node")
        is_typed = (binding.kind, binding.api_version) in (("", ""), ("Binding", "v1"))
        is_usual = is_node and is_typed and named.name == old.head.name and named.uid in ("", old.head.uid)
        done = self.bind(old, binding.target.name, user) if is_usual else None
        return None if done is None else Response(201, _SCHEDULED, _HEADERS)

    def bind(self, old: Version, node: str, user: str) -> Version | None:
        """The pod on that node; None to take the long way."""
        found = pod_splicing.pieces(old)
        if found is None or "nodeName" in found.thin["spec"]:
            return None
        subresources.bound(found.thin, old.head.name, {"target": {"name": node}})
        return self._table.rewrite(old, old.head, found.with_node(), Author(user, "create", "binding"))

    def start(self, old: Version, node: str, fields: Tree, user: str) -> Version | None:
        """The pod on that node with these fields in its status, in one write; None to take the long way."""
        found = pod_splicing.pieces(old)
        if found is None or "nodeName" in found.thin["spec"]:
            return None
        subresources.bound(found.thin, old.head.name, {"target": {"name": node}})
        before = found.thin["status"]
        status = found.thin["status"] = before | fields
        status["conditions"] = [_timed(each) for each in status["conditions"]]
        causes = list(rules_pods.pod_status(found.thin | {"status": before}, found.thin))
        if causes:
            raise invalid(PODS, old.head.name, causes)
        return self._table.rewrite(old, old.head, found.with_node(), Author(user, "create", "binding"))

    def deleted(self, old: Version, options: deletion.Options, user: str) -> Version | None:
        """The pod as it is while something holds it, or as it was."""
        if old.head.finalizers or options.propagation not in ("", "Background"):
            return None
        found = pod_splicing.pieces(old, metadata=True)
        if found is None:
            return None
        plan = deletion.plan(self._kind, old, found.thin, options, clock.now())
        if deletion.is_under_way(self._kind, old, options):
            return old
        author = Author(user, "delete")
        if plan.tree is not None:
            old = self._table.rewrite(old, *found.with_metadata(old.head), author)
        return self._table.remove(old, author) if plan.gone else old

    def delete(self, namespace: str, name: str, options: deletion.Options, user: str) -> bytes | None:
        """What anybody is answered who deletes a pod."""
        found = self._table.live.get((namespace, name))
        if found is None or self._admission.concerns("DELETE", PODS, "", namespace):
            return None
        version = self.deleted(found, options, user)
        return None if version is None else version.body
