"""A copy of a cluster from lists of its objects: what is refused, what is kept, and what is said of it.

Objects keep their UIDs, versions, times and statuses. What would make controllers act on half the truth is refused: a
list that was cut short, objects that no cluster has listed, two of one name. All else is kept, and what that means is
told in a sentence.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec

from kubeloop.objects.meta import Resource
from kubesim.controllers.manager import needing, structs
from kubesim.copies import Copy, Marks, Unusable
from kubesim.errors import StatusError
from kubesim.kinds import views
from kubesim.kinds.registry import (
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    CONFIG_MAPS,
    CONTROLLER_REVISIONS,
    DEFINITIONS,
    KINDS,
    MUTATING_WEBHOOKS,
    NAMESPACES,
    NODES,
    PODS,
    PRIORITY_CLASSES,
    ROLE_BINDINGS,
    ROLES,
    SERVICE_ACCOUNTS,
    VALIDATING_WEBHOOKS,
    Kind,
)
from kubesim.loading.copied_pods import copied_pod, latest_time
from kubesim.loading.documents import Item, Refusal, found_in, tree_of
from kubesim.loading.naming import a_namespace, host_of, plural_of, shown
from kubesim.loading.remarks import Remarks
from kubesim.loading.unknown_fields import MANY, UnknownFields
from kubesim.pods.histories import CopiedPod, measured
from kubesim.store.versions import Head, Key, Tree, Version, encode
from kubesim.strategies.defaulting import fill
from kubesim.time import START, seldom_collected

EVERYWHERE = (
    NAMESPACES,
    SERVICE_ACCOUNTS,
    CONFIG_MAPS,
    CLUSTER_ROLES,
    CLUSTER_ROLE_BINDINGS,
    ROLES,
    ROLE_BINDINGS,
    PRIORITY_CLASSES,
)
"""Kinds that every cluster has objects of: without any, they were not listed."""
_CERTIFICATES = "kube-root-ca.crt"


def read(
    paths: Sequence[Path], *, unread: Iterable[str] = (), now: datetime | None = None, go_on: bool = False
) -> Copy:
    """The copy that these files of lists, or folders of such, hold; raises Unusable.

    `unread` are kinds that could not be listed, as kubectl names them (`secrets`, `widgets.example.com`). `now` is when
    they were listed; without it, when something was written last. With `go_on` pods that were starting or ending go on
    with that; else they stay as they are.
    """
    with seldom_collected():
        gathering = _Gathering()
        found = list(found_in(paths))
        gathering.refuse([each for each in found if isinstance(each, Refusal)], unread)
        items = [each for each in found if isinstance(each, Item)]
        # Definitions first: they say which kinds there are.
        for item in sorted(items, key=lambda each: each.kind != DEFINITIONS.kind):
            gathering.take(item)
        if not items:
            raise Unusable(f"{', '.join(map(str, paths))} holds no objects: list some with kubectl get -o json")
        return gathering.copy(now, go_on=go_on)


class _Gathering:
    """The objects that were taken so far, and what there is to say."""

    def __init__(self) -> None:
        self._tables: dict[Resource, dict[Key, Version]] = {}
        self._structs = structs()
        self._kinds: dict[tuple[str, str], Kind | Resource] = {
            (kind.resource.api_version, kind.resource.kind): kind for kind in KINDS if not kind.answered
        }
        """What each API version and kind is stored as: a kind that is built in, or the resource of another."""
        self._undefined: dict[Resource, None] = {}
        self._unread: dict[Resource, None] = {}
        self._names: dict[str, str] = {}
        """Objects by UID."""
        self._owned: dict[str, list[str]] = {}
        """By the UID of an owner those that name it, one of a kind."""
        self._hosts: dict[str, None] = {}
        self._pods: dict[str, CopiedPod] = {}
        """By UID."""
        self._placed: dict[str, str] = {}
        """Nodes that pods are on, and one of those."""
        self._nodes: dict[str, None] = {}
        self._certificates: dict[str, int] = {}
        self._revision = 0
        self._latest = ""
        self._remarks = Remarks()
        self._unknown_fields = UnknownFields(self._remarks)

    def refuse(self, refusals: Iterable[Refusal], unread: Iterable[str]) -> None:
        """Marks kinds that could not be read."""
        named = {(kind.resource.group, kind.resource.plural): kind.storage for kind in KINDS}
        told = {(each.group, each.plural): each.reason for each in refusals}
        for name in unread:
            plural, _, group = name.partition(".")
            matching = [key for key in named if key[1] == plural and group in ("", key[0])]
            if not matching and not group:
                raise Unusable(f'no kind is named "{name}": write its plural and group, as widgets.example.com')
            told |= dict.fromkeys(matching or [(group, plural)], "not listed")
        for (group, plural), reason in told.items():
            resource = named.get((group, plural))
            if resource is not None:
                self._unread[resource] = None
            self._remarks.say(f"{f'{plural}.{group}'.rstrip('.')} could not be read ({reason.lower()})")

    def take(self, item: Item) -> None:
        tree = _tree(item)
        kind = self._kinds.get((item.api_version, item.kind))
        metadata = tree["metadata"]
        place = shown(item.kind, metadata)
        if not metadata.get("uid") and not isinstance(kind, Kind):
            self._remarks.count(f"{item.kind} of {item.api_version} is left out: what has no UID is not stored")
            return
        for key, what in (("uid", "UID"), ("resourceVersion", "resource version")):
            if not metadata.get(key):
                raise Unusable(
                    f"{item.origin}: {place} has no {what}: give what a cluster lists (kubectl get -o json), and apply "
                    "manifests with -f"
                )
        try:
            resource = self._resource(item, kind, metadata)
            if isinstance(kind, Kind):
                tree = views.inward(kind, tree)
                self._unknown_fields.examine(tree, place)
                self._fill(tree, place)
            if self._stored(resource, tree, place):
                self._note(resource, tree, place)
        except (LookupError, TypeError, ValueError, AttributeError, StatusError) as error:
            raise Unusable(
                f"{item.origin}: {place} is written as no server writes it ({error}): list it again"
            ) from error

    def _resource(self, item: Item, kind: Kind | Resource | None, metadata: Tree) -> Resource:
        """Where the object is kept."""
        if isinstance(kind, Kind):
            return kind.storage
        if kind is None:
            group, _, version = item.api_version.rpartition("/")
            kind = Resource(group, version, plural_of(item.kind), item.kind, "namespace" in metadata)
            self._kinds[item.api_version, item.kind] = kind
            self._undefined[kind] = None
        if kind in self._undefined:
            self._remarks.count(
                f"{item.kind} of {item.api_version} is kept as it is, without rules: its definition is not here"
            )
        return kind

    def _fill(self, tree: Tree, place: str) -> None:
        """With defaults that its own server did not know; without them templates never equal what is made of them."""
        if tree["kind"] in MANY:  # nobody compares theirs
            return
        before = msgspec.json.encode(tree)
        fill(tree)
        if msgspec.json.encode(tree) != before:
            self._remarks.count(f"{tree['kind']} gets defaults that it was listed without", place)

    def _stored(self, resource: Resource, tree: Tree, place: str) -> bool:
        """Whether it is the newest version of its object that is known."""
        revision = int(tree["metadata"]["resourceVersion"])
        head = msgspec.convert(tree["metadata"], Head)
        table = self._tables.setdefault(resource, {})
        key = (head.namespace, head.name)
        before = table.get(key)
        if before is None:
            other = self._names.setdefault(head.uid, place)
            if other != place:
                raise Unusable(f"{other} and {place} have one UID, {head.uid}: give the lists of one cluster")
        elif before.head.uid != head.uid:
            raise Unusable(f"{place} is there twice, with two UIDs: give the lists of one cluster, of one moment")
        elif before.revision != revision:
            self._remarks.count("of objects that are there in two versions the newer is taken", place)
        if before is not None and before.revision >= revision:
            return False
        body = encode(tree, revision)
        for struct in self._structs.get(resource, ()):
            if resource == CONTROLLER_REVISIONS:  # their data stays as it is written
                msgspec.json.decode(body, type=struct)
            else:
                msgspec.convert(tree, struct)
        table[key] = Version(key, revision, head, body)
        self._revision = max(self._revision, revision)
        return True

    def _note(self, resource: Resource, tree: Tree, place: str) -> None:
        """What the object says to others than its own controller."""
        metadata = tree["metadata"]
        self._latest = max(self._latest, latest_time(tree))
        for reference in metadata.get("ownerReferences") or ():
            uid, _, kind, name = (reference[key] for key in ("uid", "apiVersion", "kind", "name"))
            named = self._owned.setdefault(uid, [])
            if not named:
                named.append(f"{place} of {kind} {name}")
        match resource:
            case _ if resource == PODS:
                self._pods[metadata["uid"]] = copied_pod(tree)
                if node := (tree.get("spec") or {}).get("nodeName"):
                    self._placed.setdefault(node, place)
            case _ if resource == NODES:
                self._node(tree)
            case _ if resource == DEFINITIONS:
                self._define(tree)
            case _ if resource in (VALIDATING_WEBHOOKS, MUTATING_WEBHOOKS):
                for hook in tree.get("webhooks") or ():
                    self._host(hook["clientConfig"], f"webhook {hook['name']} of {metadata['name']} is not called")
            case _ if resource == CONFIG_MAPS and metadata["name"] == _CERTIFICATES:
                text = (tree.get("data") or {}).get("ca.crt", "")
                self._certificates[text] = self._certificates.get(text, 0) + 1

    def _node(self, tree: Tree) -> None:
        name = tree["metadata"]["name"]
        conditions = (tree.get("status") or {}).get("conditions") or ()
        if all(each["status"] == "True" for each in conditions if each["type"] == "Ready"):
            self._nodes[name] = None
        else:
            self._nodes.pop(name, None)
            self._remarks.say(f"node {name} is not ready: it gets no pods, and those on it stay as they are")

    def _define(self, tree: Tree) -> None:
        spec = tree["spec"]
        names, conversion = spec["names"], spec.get("conversion") or {}
        for version in spec["versions"]:
            stored = next((each["name"] for each in spec["versions"] if each.get("storage")), version["name"])
            home = Resource(spec["group"], stored, names["plural"], names["kind"], spec["scope"] == "Namespaced")
            self._kinds[f"{spec['group']}/{version['name']}", names["kind"]] = home
        if conversion.get("strategy") == "Webhook":
            config = (conversion.get("webhook") or {}).get("clientConfig") or {}
            name = tree["metadata"]["name"]
            self._host(config, f"objects of {name} are served in the version that they were listed in, and no other")

    def _host(self, config: Tree, effect: str) -> None:
        """A webhook, and what it means that nobody answers for it."""
        host = host_of(config)
        self._hosts[host.lower()] = None
        self._remarks.say(f"{effect}: nobody answers at {host}, unless an address is given for it")

    def copy(self, now: datetime | None, *, go_on: bool) -> Copy:
        """All of it, with its remarks."""
        moment = now or self._moment()
        for resource in EVERYWHERE:
            if resource not in self._tables and resource not in self._unread:
                self._unread[resource] = None
                self._remarks.say(f"there is no list of {resource.plural}, which every cluster has some of")
        self._add_namespaces(moment)
        nodes = tuple(self._nodes)
        if NODES in self._unread:
            nodes = tuple(sorted(self._placed))
            self._remarks.say("nodes could not be read: new pods stay pending")
        for node in sorted(self._placed.keys() - {*nodes, *(name for _, name in self._tables.get(NODES, {}))}):
            self._remarks.count("pods on nodes that are not here stay as they are", f"{self._placed[node]} on {node}")
        for name, kinds in needing(self._unread).items():
            lacking = ", ".join(each.plural for each in kinds)
            self._remarks.say(f"the {name} stands still, because it needs {lacking}")
        certificates = max(self._certificates, key=lambda each: self._certificates[each], default=None)
        marks = Marks(
            unread=tuple(self._unread),
            undefined=tuple(self._undefined),
            lost_owners=self._lost_owners(),
            unanswered=tuple(self._hosts),
            nodes=nodes,
            pods=measured(self._pods.values(), moment, go_on=go_on),
            authority=certificates,
        )
        self._tell_of_pods(marks.pods.resting, moment)
        return Copy(self._revision, moment, self._tables, marks, self._remarks.sentences())

    def _moment(self) -> datetime:
        """The second after the last thing that was written: whatever is in the copy is past by then."""
        return datetime.fromisoformat(self._latest) + timedelta(seconds=1) if self._latest else START

    def _add_namespaces(self, moment: datetime) -> None:
        """Those that objects are in, and that were not listed: nothing could be written there."""
        known = {name for _, name in self._tables.get(NAMESPACES, {})}
        used = {namespace for table in self._tables.values() for namespace, _ in table}
        for name in sorted(used - known - {""}):
            self._remarks.count("namespaces that were not listed are added, because objects are in them", name)
            self._revision += 1
            tree = a_namespace(name, moment, self._revision)
            head = msgspec.convert(tree["metadata"], Head)
            version = Version(("", name), self._revision, head, encode(tree, self._revision))
            self._tables.setdefault(NAMESPACES, {})["", name] = version

    def _lost_owners(self) -> frozenset[str]:
        lost = {uid: named for uid, named in self._owned.items() if uid not in self._names}
        for [example] in lost.values():
            self._remarks.count("objects whose owners are not here are kept, and not collected", example)
        return frozenset(lost)

    def _tell_of_pods(self, resting: Collection[str], moment: datetime) -> None:
        for pod in self._pods.values():
            if pod.uid not in resting:
                continue
            place = f"{pod.namespace}/{pod.name}"
            if pod.deleted is not None:
                late = "for too long" if pod.deleted <= moment else "with time left"
                self._remarks.count(f"pods that are being deleted, {late}, stay as they are", place)
            elif pod.ready_since is None and not pod.has_ended:
                self._remarks.count("pods that are not ready stay as they are", place)


def _tree(item: Item) -> Tree:
    try:
        tree: Any = tree_of(item)
        if tree["metadata"]["name"]:
            return dict(tree)
    except (msgspec.DecodeError, LookupError, TypeError):
        pass
    raise Unusable(f"{item.origin}: a {item.kind} has no name: give what a cluster lists (kubectl get -o json)")
