"""An API server of a few lines for definitions and the objects of one kind, whose misbehaviour the test chooses.

Applying replaces what it names, as the whole of a list; a definition is established when it is written, unless the test
says otherwise. Objects are stored in v1 at first; a write stores one in the storage version, and one that changes
nothing is not performed.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from fairlead.engine.decide.registration import DEFINITIONS
from kubeloop.request import APPLY, Request, Response, path_of, place_of
from tests.kubeloop.scripted import Scripted, Tree, _merged, _ok, failure

NAME = "widgets.shop.example.com"
YES = tuple({"type": kind, "status": "True"} for kind in ("NamesAccepted", "Established"))


def a_version(name: str, *, storage: bool = False) -> Tree:
    schema = {"type": "object", "properties": {"spec": {"type": "object"}}}
    return {"name": name, "served": True, "storage": storage, "schema": {"openAPIV3Schema": schema}}


def a_definition(*versions: str, name: str = NAME) -> Tree:
    """Stored in the last of its versions."""
    plural, _, group = name.partition(".")
    return {
        "metadata": {"name": name},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": plural.title()[:-1], "plural": plural},
            "versions": [a_version(each, storage=each == versions[-1]) for each in versions],
        },
    }


class DefinitionServer(Scripted):
    """`refuse` may answer any request but a watch instead."""

    def __init__(self) -> None:
        super().__init__()
        self.conditions: tuple[Tree, ...] = YES
        self.discovers = True
        self.refuse: Callable[[Request], Response | None] = lambda _: None
        self.stored_in: dict[str, str] = {}
        """By path of an object: the version that it is stored in."""

    # What the world does

    def definition(self, name: str = NAME) -> Tree:
        return self.objects[path_of(DEFINITIONS, name=name)]

    def write(self, tree: Tree) -> None:
        """As another tool would: fields of the spec that it does not name stay."""
        path = path_of(DEFINITIONS, name=tree["metadata"]["name"])
        before = self.objects.get(path, {})
        self._write(path, {**_merged(before, tree), "spec": {**before.get("spec", {}), **tree["spec"]}})

    def object(self, name: str, **spec: object) -> None:
        """It is written, by an API server that has not heard of another version than v1."""
        written = {"manager": "people", "operation": "Update", "apiVersion": "shop.example.com/v1"}
        meta = {"name": name, "namespace": "ns", "uid": f"uid-{name}", "managedFields": [written]}
        tree = {"apiVersion": "shop.example.com/v2", "kind": "Widget", "metadata": meta, "spec": spec}
        path = f"/apis/shop.example.com/v2/namespaces/ns/widgets/{name}"
        self._store(path, tree)
        self.stored_in[path] = "v1"

    def drop(self, name: str) -> None:
        self._remove(f"/apis/shop.example.com/v2/namespaces/ns/widgets/{name}")

    def drop_definition(self, name: str = NAME) -> None:
        self._remove(path_of(DEFINITIONS, name=name))

    def sent(self, method: str) -> list[str]:
        """Paths of the requests of that method."""
        return [each.path for each in self.requests if each.method == method]

    # The transport

    def _answer(self, request: Request) -> Response:
        if (refused := self.refuse(request)) is not None:
            return refused
        place = place_of(request.path)
        if not place.plural:
            return self._discovery(place.group or request.path.rsplit("/", 1)[1], place.version)
        if request.method == "GET" and not place.name:
            return self._list(request)
        if request.method == "PATCH":
            return self._patched(request, request.path.removesuffix("/status"))
        return super()._answer(request)

    def _patched(self, request: Request, path: str) -> Response:
        body: Tree = msgspec.json.decode(request.body)
        found = self.objects.get(path)
        version = body["metadata"].pop("resourceVersion", None)
        if found is None and request.content_type != APPLY:
            return failure(404, "NotFound")
        if version is not None and (found is None or found["metadata"]["resourceVersion"] != version):
            return failure(409, "Conflict", "the object has been modified")
        before = found or {}
        if path in self.stored_in:
            return _ok(self._stored_anew(path, before))
        if request.path != path:
            return _ok(self._store(path, _merged(before, {"status": body["status"]})))
        return _ok(self._write(path, _merged(before, body)))

    def _stored_anew(self, path: str, tree: Tree) -> Tree:
        storage = next(each["name"] for each in self.definition()["spec"]["versions"] if each["storage"])
        if self.stored_in[path] == storage:
            return tree
        self.stored_in[path] = storage
        return self._store(path, tree)

    def _write(self, path: str, tree: Tree) -> Tree:
        """Stores it with the status that the server keeps; what changes nothing is not stored."""
        before = self.objects.get(path, {})
        if before.get("spec") == tree["spec"] and before.get("metadata") == tree["metadata"]:
            return before
        stored = list(before.get("status", {}).get("storedVersions", []))
        storage = next(each["name"] for each in tree["spec"]["versions"] if each["storage"])
        stored += [storage] if storage not in stored else []
        generation = before.get("metadata", {}).get("generation", 0) + 1
        meta = {"namespace": "", **tree["metadata"], "generation": generation}
        return self._store(
            path,
            {**tree, "metadata": meta, "status": {"storedVersions": stored, "conditions": list(self.conditions)}},
        )

    def _discovery(self, group: str, version: str) -> Response:
        served = [
            (each["name"], tree["spec"]["names"])
            for tree in self.objects.values()
            if tree.get("spec", {}).get("group") == group
            for each in tree["spec"]["versions"]
        ]
        if not version:
            return _ok({"versions": [{"version": each} for each in dict.fromkeys(name for name, _ in served)]})
        names = [{"name": names["plural"], "kind": names["kind"]} for name, names in served if name == version]
        if not names or not self.discovers:
            return failure(404, "NotFound")
        return _ok({"resources": names})
