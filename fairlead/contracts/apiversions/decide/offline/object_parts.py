"""An object in two parts, as the API takes it: its status by itself where the version has it so, and all the rest.

What the server keeps for itself (versions, times, who manages which field) is no part of what is compared.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from fairlead.contracts.apiversions.decide.carry_entries import readable
from fairlead.contracts.apiversions.decide.trees import Tree, same
from kubeloop.objects.meta import Ref, Resource

_KEPT = ("labels", "annotations", "finalizers", "ownerReferences")
"""Of metadata: what somebody wrote."""
_OF_SERVER = ("uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink")
_DELETION = ("deletionTimestamp", "deletionGracePeriodSeconds")


class Parts(Struct, frozen=True):
    """How a version of a kind is written."""

    resource: Resource
    has_status: bool
    """Whether the status is written by itself."""

    def same_main(self, one: Tree, other: Tree) -> bool:
        return same(self._main(one), self._main(other))

    def same_status(self, one: Tree, other: Tree) -> bool:
        """True where the status is not written by itself."""
        return not self.has_status or same(one.get("status") or {}, other.get("status") or {})

    def ref(self, tree: Tree) -> Ref:
        metadata = tree["metadata"]
        return Ref(self.resource, metadata.get("namespace") or "", metadata["name"])

    def _main(self, tree: Tree) -> Tree:
        body = {key: value for key, value in tree.items() if key not in ("apiVersion", "kind", "metadata")}
        if self.has_status:
            body.pop("status", None)
        metadata = tree["metadata"]
        return {**body, "metadata": {key: metadata[key] for key in _KEPT if metadata.get(key)}}


def parts_of(definition: Tree, version: str) -> Parts:
    """Of a version that the definition has."""
    spec = definition["spec"]
    names = spec["names"]
    found = next(each for each in spec["versions"] if each["name"] == version)
    resource = Resource(spec["group"], version, names["plural"], names["kind"], spec["scope"] == "Namespaced")
    return Parts(resource, "status" in (found.get("subresources") or {}))


def with_held_finalizers(wanted: Tree, live: Tree) -> Tree:
    """What can be wanted of the live object: while it is being deleted its finalizers are those of whoever waits for
    them. Without one of them it would go before that work is done, and none can be added."""
    held = live["metadata"]
    if not held.get("deletionTimestamp"):
        return wanted
    rest = {key: value for key, value in wanted["metadata"].items() if key != "finalizers"}
    kept = {"finalizers": held["finalizers"]} if held.get("finalizers") else {}
    return {**wanted, "metadata": {**rest, **kept}}


def over(wanted: Tree, live: Tree) -> bytes:
    """The body that makes the live object what is wanted, and nothing if it is another one by then."""
    held = live["metadata"]
    metadata = {key: value for key, value in wanted["metadata"].items() if key not in (*_OF_SERVER, *_DELETION)}
    identity = {key: held[key] for key in ("uid", "resourceVersion") if key in held}
    return msgspec.json.encode({**wanted, "metadata": {**metadata, **identity}})


def with_status(wanted: Tree, live: Tree) -> bytes:
    """The live object with the status that is wanted."""
    body = {key: value for key, value in live.items() if key != "status"}
    status: Any = wanted.get("status")
    return msgspec.json.encode({**body, **({} if status is None else {"status": status})})


def managers(tree: Tree, *, of: str = "", but: str = "") -> list[Any]:
    """Who manages which fields: all, those of one manager, or those of all but one."""
    found = tree["metadata"].get("managedFields") or ()
    return [each for each in found if (not of or each.get("manager") == of) and each.get("manager") != but]


def anew(wanted: Tree) -> bytes:
    """The body that makes an object again which is not there any more."""
    metadata = {key: value for key, value in wanted["metadata"].items() if key not in (*_OF_SERVER, *_DELETION)}
    return msgspec.json.encode({**wanted, "metadata": metadata})


def name_of(tree: Tree) -> str:
    """As people write it."""
    metadata = tree["metadata"]
    return "/".join(filter(None, (metadata.get("namespace"), metadata["name"])))


def carries(tree: Tree, version: str) -> bool:
    """Whether something is carried for the version."""
    return bool(_carried(tree, version))


def without_carried(tree: Tree, version: str) -> Tree:
    """Without what is carried for a version that is about to be removed: nobody will ask for it again."""
    if not (gone := _carried(tree, version)):
        return tree
    metadata = tree["metadata"]
    kept = {key: value for key, value in metadata["annotations"].items() if key not in gone}
    rest = {key: value for key, value in metadata.items() if key != "annotations"}
    return {**tree, "metadata": {**rest, **({"annotations": kept} if kept else {})}}


def _carried(tree: Tree, version: str) -> set[str]:
    held = tree["metadata"].get("annotations") or {}
    return {key for key, entry in readable(held).items() if entry.version == version}
