"""The life of a CustomResourceDefinition: its names are accepted, its resource is served, and both go together.

Each step is a write of its own, a moment after the one before: who creates a definition must wait until it is
established. While a definition is being deleted its objects are deleted; when the last is gone, so is the resource.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import lru_cache

import msgspec
from msgspec import Struct

from kubeloop.objects.meta import Resource
from kubeloop.schemas.structural import Node, compile_schema
from kubesim.api.verbs import Verbs
from kubesim.cel import rules as cel_rules
from kubesim.cel.rules import Rules
from kubesim.crds import conversion_rules as crd_conversion
from kubesim.crds.conversion import Conversion
from kubesim.crds.custom import Custom, ScalePaths
from kubesim.crds.rules import is_true
from kubesim.discovery.groups import priority
from kubesim.errors import StatusError
from kubesim.kinds.registry import DEFINITIONS, Kind
from kubesim.patches import managed_fields
from kubesim.patches.managed_fields import SERVER, Subject
from kubesim.store.versions import Author, Event, Tree, Version, timestamp
from kubesim.tables.custom import printer
from kubesim.writes.deletion import CLEANUP

_AUTHOR = Author("system:apiserver", "update", "status")


class _Names(Struct, frozen=True, rename="camel", gc=False):
    plural: str = ""
    singular: str = ""
    short_names: tuple[str, ...] | None = None
    kind: str = ""
    list_kind: str = ""


class _Status(Struct, frozen=True, rename="camel", gc=False):
    accepted_names: _Names | None = None


class _Spec(Struct, frozen=True, gc=False):
    group: str


class _Definition(Struct, frozen=True, gc=False):
    """What other definitions of its group read of one: its schemas are large, and not among that."""

    spec: _Spec
    status: _Status | None = None


_definition: msgspec.json.Decoder[_Definition] = msgspec.json.Decoder(_Definition)


class Definitions:
    """Keeps the registry and the statuses of definitions in step with what is stored.

    `lag` are the least and most seconds that a step takes.
    """

    def __init__(self, verbs: Verbs, *, lag: tuple[float, float] = (0.004, 0.02)) -> None:
        self._verbs = verbs
        self._store = verbs.store
        self._table = verbs.store.table(DEFINITIONS)
        self._subject = Subject(verbs.registry.kind(DEFINITIONS), "status")
        self._lag = lag
        self._served: dict[str, tuple[Tree, bool, bool]] = {}
        """What the registry was told of each definition: its spec, whether it is served, whether it is going."""
        self._homes: dict[str, Resource] = {}
        """Where the objects of each definition are kept; it does not move with the storage version."""
        self._emptying: dict[Resource, str] = {}
        """Stores whose last object is waited for, and the definition that goes with it."""
        self._resumed: dict[str, Callable[[str], None]] = {}
        """The next step of definitions that were stored before, where no step was taken yet."""
        verbs.store.listen(self._noted)

    def _noted(self, resource: Resource, event: Event, _author: Author) -> None:
        if resource != DEFINITIONS:
            if self._emptying and resource in self._emptying and not self._store.table(resource).live:
                self._later(self._clean_up, self._emptying[resource])
            return
        name = event.new.head.name
        if event.type == "DELETED":
            self._unserve(name, event.new.tree())
            for version in self._table.live.values():  # its names are free for others
                self._later(self._name, version.head.name)
            return
        tree = event.new.tree()
        self._serve(name, tree)
        if event.new.head.deletion_timestamp is not None:
            self._later(self._clean_up, name)
        else:
            self._later(self._name, name)

    def resume(self, stores: Iterable[Resource], undefined: Iterable[Resource] = ()) -> None:
        """Serves the definitions that are stored, as if this one had seen them made; `stores` hold their objects.

        What is `undefined` is served as it is stored: nothing is known of its objects.
        """
        homes = {(each.group, each.plural): each for each in stores}
        for version in self._table.at(None):
            tree = version.tree()
            home = homes.get((tree["spec"]["group"], tree["spec"]["names"]["plural"]))
            if home is not None:
                self._homes[version.head.name] = home
            try:
                self._serve(version.head.name, tree)
            except (LookupError, TypeError, ValueError, StopIteration) as error:
                raise ValueError(f"{version.head.name} is written as no server writes it ({error})") from error
            self._resumed[version.head.name] = self._name if version.head.deletion_timestamp is None else self._clean_up
        for resource in undefined:
            self._verbs.registry.replace(resource.group, resource.plural, _kinds(_anything(resource), resource, 0))
        with suppress(RuntimeError):  # no loop runs yet
            self.go_on()

    def go_on(self) -> None:
        """Takes the next step of each definition that was stored."""
        asyncio.get_running_loop()
        while self._resumed:
            name, step = self._resumed.popitem()
            self._later(step, name)

    def _later(self, step: Callable[[str], None], name: str) -> None:
        seconds = self._store.draws("definitions").between(*self._lag)
        asyncio.get_running_loop().call_later(seconds, step, name)

    # Serving

    def _serve(self, name: str, tree: Tree) -> None:
        spec = tree["spec"]
        served = is_true(tree, "Established") or is_true(tree, "NamesAccepted")
        state = (spec, served, is_true(tree, "Terminating"))
        before = self._served.get(name)
        if not served or before == state:
            return
        self._served[name] = state
        since = self._store.revision if before is not None and before[0] != spec else 0
        home = self._homes.setdefault(name, _storage(spec))
        self._verbs.registry.replace(spec["group"], spec["names"]["plural"], _kinds(tree, home, since))
        if since:
            self._store.table(home).close_watchers()

    def _unserve(self, name: str, tree: Tree) -> None:
        self._verbs.registry.replace(tree["spec"]["group"], tree["spec"]["names"]["plural"], ())
        self._served.pop(name, None)
        home = self._homes.pop(name, None)
        if home is not None:
            self._emptying.pop(home, None)
            self._store.table(home).end_watchers()

    # Steps

    def _current(self, name: str) -> Version | None:
        return self._table.live.get(("", name))

    def _write(self, old: Version, tree: Tree) -> None:
        before = old.tree()
        if tree != before:
            managed_fields.written_by(SERVER, self._subject, before, tree)
            self._table.write(tree, old, _AUTHOR)

    def _name(self, name: str) -> None:
        """Takes the names that nobody else has, then has the resource established."""
        old = self._current(name)
        if old is None or old.head.deletion_timestamp is not None:
            return
        tree = old.tree()
        accepted, conflict = self._accepted(tree)
        tree["status"]["acceptedNames"] = accepted
        if conflict is None:
            _condition(tree, "NamesAccepted", "True", "NoConflicts", "no conflicts found")
            if not is_true(tree, "Established") and not _is_held_up(tree):
                _condition(tree, "Established", "False", "Installing", "the initial names have been accepted")
        else:
            _condition(tree, "NamesAccepted", "False", *conflict)
            if not is_true(tree, "Established"):
                _condition(tree, "Established", "False", "NotAccepted", "not all names are accepted")
        self._write(old, tree)
        if conflict is None and not is_true(tree, "Established"):
            self._later(self._establish, name)

    def _establish(self, name: str) -> None:
        old = self._current(name)
        if old is None:
            return
        tree = old.tree()
        if not is_true(tree, "NamesAccepted") or is_true(tree, "Established"):
            return
        if crd_conversion.has_bad_bundle(tree["spec"]):
            text = "The conversion webhook CABundle is invalid"
            _condition(tree, "Established", "False", "InvalidCABundle", text)
            self._write(old, tree)
        else:
            _condition(tree, "Established", "True", "InitialNamesAccepted", "the initial names have been accepted")
            self._write(old, tree)

    def _accepted(self, tree: Tree) -> tuple[Tree, tuple[str, str] | None]:
        """The names that the definition may use, and reason and message of the last conflict."""
        wanted, known = tree["spec"]["names"], tree["status"].get("acceptedNames") or {}
        resources, kinds = self._taken(tree)
        accepted = dict(known)
        conflict: tuple[str, str] | None = None
        for key, taken, reason in (
            ("plural", resources, "PluralConflict"),
            ("singular", resources, "SingularConflict"),
            ("shortNames", resources, "ShortNamesConflict"),
            ("kind", kinds, "KindConflict"),
            ("listKind", kinds, "ListKindConflict"),
        ):
            value, own = wanted.get(key), known.get(key)
            names = value if isinstance(value, list) else [value]
            mine = own if isinstance(own, list) else [own]
            used = [each for each in names if each and each not in mine and each in taken]
            if used:
                conflict = (reason, ", ".join(f'"{each}" is already in use' for each in used))
            elif value:
                accepted[key] = value
            else:
                accepted.pop(key, None)
        accepted.pop("categories", None)
        if wanted.get("categories"):
            accepted["categories"] = wanted["categories"]
        return accepted, conflict

    def _taken(self, tree: Tree) -> tuple[list[str], list[str]]:
        """Names of resources and of kinds that definitions of the same group use."""
        resources: list[str] = []
        kinds: list[str] = []
        for version in self._table.live.values():
            if version.head.name == tree["metadata"]["name"]:
                continue
            other = _definition.decode(version.body)
            if other.spec.group != tree["spec"]["group"]:
                continue
            names = (other.status or _Status()).accepted_names or _Names()
            resources += [names.plural, names.singular, *(names.short_names or ())]
            kinds += [names.kind, names.list_kind]
        return resources, kinds

    def _clean_up(self, name: str) -> None:
        """Deletes all objects; the definition goes after the last."""
        old = self._current(name)
        if old is None or CLEANUP not in old.head.finalizers:
            return
        tree = old.tree()
        if is_true(tree, "Established"):
            home = self._homes[name]
            if self._delete_objects(home):
                text = "CustomResource deletion is in progress"
                _condition(tree, "Terminating", "True", "InstanceDeletionInProgress", text)
                self._emptying[home] = name
                self._write(old, tree)
                return
            _condition(tree, "Terminating", "False", "InstanceDeletionCompleted", "removed all instances")
        else:
            _condition(tree, "Terminating", "False", "NeverEstablished", "resource was never established")
        left = [each for each in old.head.finalizers if each != CLEANUP]
        tree["metadata"]["finalizers"] = left
        if left:
            self._write(old, tree)
        else:
            self._table.remove(old, _AUTHOR)

    def _delete_objects(self, home: Resource) -> bool:
        """Whether objects are left after all were told to go."""
        table = self._store.table(home)
        kind = next((each for each in self._verbs.registry.stored() if each.storage == home), None)
        for key, version in list(table.live.items()):
            if kind is not None and version.head.deletion_timestamp is None:
                try:
                    self._verbs.delete(kind.resource, *key, user=_AUTHOR.user)
                except StatusError:
                    continue
        return bool(table.live)


def _condition(tree: Tree, kind: str, status: str, reason: str, message: str) -> None:
    """Sets a condition; its time is that of the last change of its status."""
    made = {"type": kind, "status": status, "lastTransitionTime": timestamp(), "reason": reason, "message": message}
    conditions: list[Tree] = tree["status"].get("conditions") or []
    tree["status"]["conditions"] = conditions
    for index, known in enumerate(conditions):
        if known["type"] == kind:
            if known["status"] == status:
                made["lastTransitionTime"] = known["lastTransitionTime"]
            conditions[index] = made
            return
    conditions.append(made)


def _is_held_up(tree: Tree) -> bool:
    """Whether its names were accepted before and something else keeps it from being established."""
    return any(each["reason"] == "InvalidCABundle" for each in tree["status"].get("conditions") or [])


def _storage(spec: Tree) -> Resource:
    version = next(each["name"] for each in spec["versions"] if each.get("storage"))
    return _resource(spec, version)


def _resource(spec: Tree, version: str) -> Resource:
    names = spec["names"]
    return Resource(spec["group"], version, names["plural"], names["kind"], spec["scope"] == "Namespaced")


def _anything(resource: Resource) -> Tree:
    """A definition that objects of any form conform to."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    names = {"plural": resource.plural, "singular": resource.kind.lower(), "kind": resource.kind}
    version = {"name": resource.version, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "spec": {
            "group": resource.group,
            "names": names | {"listKind": f"{resource.kind}List"},
            "scope": "Namespaced" if resource.namespaced else "Cluster",
            "versions": [version],
            "conversion": {"strategy": "None"},
        },
        "status": {},
    }


def _schema(version: Tree) -> tuple[Node, Rules | None]:
    """The schema of a version and its rules, which all versions and clusters share that have an equal one."""
    return _compiled(msgspec.json.encode(version["schema"]["openAPIV3Schema"]))


@lru_cache(maxsize=1024)
def _compiled(text: bytes) -> tuple[Node, Rules | None]:
    schema = msgspec.json.decode(text)
    root = compile_schema(schema)
    return root, cel_rules.compiled(schema, root, is_root=True)


def _kinds(tree: Tree, home: Resource, since: int) -> list[Kind]:
    """The served versions."""
    spec = tree["spec"]
    names = [_resource(spec, version["name"]).api_version for version in spec["versions"]]
    conversion = Conversion(
        schemas={name: _schema(version)[0] for name, version in zip(names, spec["versions"], strict=True)},
        stored_as=_storage(spec).api_version,
        webhook=crd_conversion.webhook_of(spec),
    )
    return [
        _kind(tree, version, home, _custom(tree, version, conversion, since))
        for version in spec["versions"]
        if version.get("served")
    ]


def _custom(tree: Tree, version: Tree, conversion: Conversion, since: int) -> Custom:
    resource = _resource(tree["spec"], version["name"])
    root, rules = _schema(version)
    parts = version.get("subresources") or {}
    scale = parts.get("scale")
    paths = None
    if scale is not None:
        selector = scale.get("labelSelectorPath") or ""
        paths = ScalePaths(scale["specReplicasPath"], scale["statusReplicasPath"], selector)
    return Custom(
        root=root,
        conversion=conversion,
        opening=f'{{"kind":"{resource.kind}","apiVersion":"{resource.api_version}",'.encode(),
        since=since,
        printer=printer(version.get("additionalPrinterColumns") or ()),
        published={"names": tree["spec"]["names"], "version": version},
        warning=_deprecation(tree["spec"], version),
        rules=rules,
        scale=paths,
        terminating=is_true(tree, "Terminating"),
    )


def _deprecation(spec: Tree, version: Tree) -> str:
    """What who uses a version is told: the definition's own words, or the best version to use instead."""
    if not version.get("deprecated"):
        return ""
    if version.get("deprecationWarning") is not None:
        return str(version["deprecationWarning"])
    group, kind, name = spec["group"], spec["names"]["kind"], version["name"]
    better = [
        each["name"]
        for each in spec["versions"]
        if each.get("served") and not each.get("deprecated") and priority(each["name"]) < priority(name)
    ]
    instead = f"; use {group}/{min(better, key=priority)} {kind}" if better else ""
    return f"{group}/{name} {kind} is deprecated{instead}"


def _kind(tree: Tree, version: Tree, home: Resource, custom: Custom) -> Kind:
    names = tree["spec"]["names"]
    resource = _resource(tree["spec"], version["name"])
    parts = version.get("subresources") or {}
    return Kind(
        resource,
        names["singular"],
        tuple(names.get("shortNames") or ()),
        tuple(names.get("categories") or ()),
        tuple(part for part in ("scale", "status") if parts.get(part) is not None),
        has_generation=True,
        unconditional_update=False,
        fields=tuple(each["jsonPath"].removeprefix(".") for each in version.get("selectableFields") or ()),
        stored_as=None if resource == home else home,
        custom=custom,
    )
