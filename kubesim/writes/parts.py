"""What a write sees of an object: the whole of it, its status, or its scale.

Clients send and get one form, the store keeps another; a part goes between the two.
"""

from __future__ import annotations

import copy

import msgspec

from kubeloop.objects.meta import Resource
from kubeloop.schemas import structural
from kubesim.errors import bad_request, internal, internal_error
from kubesim.kinds import views
from kubesim.kinds.converting import copied
from kubesim.kinds.registry import Kind
from kubesim.store.versions import Head, Tree
from kubesim.strategies import defaulting, subresources
from kubesim.typed.faults import Undecodable
from kubesim.typed.types import Typed, type_of

_OMITTED_WHEN_EMPTY = ("labels", "annotations", "finalizers", "ownerReferences")


class ObjectPart:
    """A whole object, or its status."""

    def __init__(self, kind: Kind, namespace: str, name: str, subresource: str = "") -> None:
        self.kind = kind
        self.namespace = namespace
        self.name = name
        self.subresource = subresource

    @property
    def shown(self) -> Resource:
        """What the trees are that clients see."""
        return self.kind.resource

    @property
    def scope(self) -> str:
        """The namespace as admission knows it: that of a namespace is the namespace itself."""
        return self.name if self.kind.resource.plural == "namespaces" else self.namespace

    def seen(self, stored: Tree) -> Tree:
        """As clients see it."""
        return views.outward(self.kind, stored)

    def accepted(self, _before: Tree, sent: Tree, *, applied: Tree | None = None) -> Tree:
        """The stored form of what a client sent, or of what came of a configuration that was applied.

        Raises when it is not this object.
        """
        new = taken(self.kind, self.namespace, sent, applied=applied)
        same_name(new, self.name)
        return new

    def offered(self, _sent: Tree, new: Tree) -> Tree:
        """What admission is shown of the change before anything is checked."""
        return self.seen(new)

    def complete(self, sent: Tree) -> Tree:
        """What the server makes of a tree when it decodes what somebody has answered."""
        new = taken(self.kind, self.namespace, _answered(self.kind, self.shown, sent))
        defaulting.fill(new, self.kind.features)
        return self.seen(new)


class NewPart(ObjectPart):
    """An object that does not exist yet; what the server adds to every object of its kind is seen from the start."""

    def complete(self, sent: Tree) -> Tree:
        new = taken(self.kind, self.namespace, _answered(self.kind, self.shown, sent))
        defaulting.fill(new, self.kind.features)
        status = copy.deepcopy(new.get("status"))
        subresources.admit(new)
        new.pop("status", None)
        return self.seen(new if status is None else new | {"status": status})


class ScalePart(ObjectPart):
    """The Scale of a workload."""

    @property
    def shown(self) -> Resource:
        return subresources.SCALE

    def seen(self, stored: Tree) -> Tree:
        return subresources.scale_of(self.kind, stored)

    def accepted(self, before: Tree, sent: Tree, *, applied: Tree | None = None) -> Tree:
        scale = sent if isinstance(sent, Typed) else decoded(self.shown, sent, applied=applied)
        return subresources.rescaled(self.kind, copied(before), lambda _: copied(scale))

    def offered(self, sent: Tree, _new: Tree) -> Tree:
        return sent

    def complete(self, sent: Tree) -> Tree:
        said = {"kind": self.shown.kind, "apiVersion": self.shown.api_version}
        return Typed(_answered(self.kind, self.shown, sent) | said)


def part_of(kind: Kind, namespace: str, name: str, subresource: str) -> ObjectPart:
    return (ScalePart if subresource == "scale" else ObjectPart)(kind, namespace, name, subresource)


def taken(kind: Kind, namespace: str, tree: Tree, *, applied: Tree | None = None) -> Tree:
    """A copy in stored form, decoded, in the namespace of the request.

    A custom resource that a configuration made which was applied keeps its nulls, which its schema may then refuse.
    """
    resource = kind.resource
    if not kind.is_kept:
        _same_kind(resource, tree)
    new = views.inward(kind, _decoded(kind, tree, applied=applied))
    metadata = new.setdefault("metadata", {})
    for key in _OMITTED_WHEN_EMPTY:
        if key in metadata and not metadata[key]:
            del metadata[key]
    _placed(kind, namespace, metadata)
    try:
        msgspec.convert({"name": ""} | metadata, Head)
    except msgspec.ValidationError as error:
        version, name = resource.version, resource.kind
        raise bad_request(f'{name} in version "{version}" cannot be handled as a {name}: {error}') from None
    return new


def _decoded(kind: Kind, tree: Tree, *, applied: Tree | None) -> Tree:
    """A copy that is what the server would read: of a custom resource without unknown fields, with defaulting."""
    said = {"apiVersion": kind.resource.api_version, "kind": kind.resource.kind}
    if kind.is_kept:
        said |= {key: tree[key] for key in said if tree.get(key)}
        return without_nulls(tree) | said
    if kind.custom is not None:
        new = copy.deepcopy(tree) | said
        if new.get("metadata") is None:
            new["metadata"] = {}
        if applied is not None:
            structural.fill(new, kind.custom.root)
        else:
            kind.custom.take_in(new)
        return new
    if isinstance(tree, Typed):
        return copied(tree) | said
    return decoded(kind.resource, tree, applied=applied) | said


def decoded(resource: Resource, tree: Tree, *, applied: Tree | None = None) -> Typed:
    """A tree of a built-in kind as its type has it.

    One that came of applying a configuration is not read from JSON, and refused in words about the configuration.
    """
    kind = type_of(resource.api_version, resource.kind)
    try:
        return (kind.read(tree) if applied is None else kind.restore(tree))[0]
    except Undecodable as error:
        if applied is None:
            name = resource.kind
            why = f'{name} in version "{resource.version}" cannot be handled as a {name}: {error}'
            raise bad_request(why) from None
        metadata = applied.get("metadata") or {}
        typed = f"{resource.group}/{resource.version}, Kind={resource.kind}"
        which = f"{metadata.get('namespace') or ''}/{metadata.get('name') or ''}; {typed}"
        why = f"unable to convert unstructured object to {typed}: {error}"
        raise internal(f"failed to convert new object ({which}) to proper version: {why}") from None


def _answered(kind: Kind, shown: Resource, tree: Tree) -> Tree:
    """What somebody made of an object in a review; that it is of another type is no fault of whoever asked."""
    if kind.custom is not None or kind.is_kept:
        return tree
    try:
        return type_of(shown.api_version, shown.kind).read(tree)[0]
    except Undecodable as error:
        raise internal_error(str(error)) from None


def same_name(new: Tree, name: str) -> None:
    """A body names the object that the path names."""
    found = new["metadata"].get("name") or ""
    if not found:
        raise bad_request(f"the name of the object ({name} based on URL) was undeterminable: name must be provided")
    if found != name:
        raise bad_request(f"the name of the object ({found}) does not match the name on the URL ({name})")


def _same_kind(resource: Resource, tree: Tree) -> None:
    """A body may leave out what it is, not say something else."""
    kind = tree.get("kind") or resource.kind
    version = tree.get("apiVersion") or resource.api_version
    if (kind, version) == (resource.kind, resource.api_version):
        return
    number = str(version).rpartition("/")[2]
    raise bad_request(
        f'{kind} in version "{number}" cannot be handled as a {resource.kind}: '
        f"converting ({number}.{kind}) to ({resource.group or 'core'}.{resource.kind}): unknown conversion"
    )


def _placed(kind: Kind, namespace: str, metadata: Tree) -> None:
    """Puts the namespace of the request in, or refuses another one."""
    if not kind.resource.namespaced:
        metadata.pop("namespace", None)
        return
    if metadata.get("namespace", namespace) != namespace:
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
    metadata["namespace"] = namespace


def without_nulls(tree: Tree) -> Tree:
    """A deep copy in which fields that are null are absent."""
    copied: Tree = {}
    for key, value in tree.items():
        if isinstance(value, dict):
            copied[key] = without_nulls(value)
        elif isinstance(value, list):
            copied[key] = [without_nulls(item) if isinstance(item, dict) else item for item in value]
        elif value is not None:
            copied[key] = value
    return copied
