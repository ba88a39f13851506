"""The cluster that is measured on: the real control plane, with what a measurement needs to be fair and countable.

Every subject is a user of its own, with all rights. Its requests are counted by the API server itself: a FlowSchema
per user and kind of request makes Priority and Fairness count them apart, whatever they lead to. The schemas point to
the exempt level, at which the control plane's own programs and the kubelet run too, so nobody is queued.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from bench.cases import NEW_TEMPLATE, Zone, statefulset
from bench.narrow import StatefulSet, anything_in
from bench.watching import answered, present
from fairlead.plane.launch import Plane
from kubeloop.http_transport import HttpTransport
from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.core import NAMESPACES, PODS
from kubeloop.objects.meta import Ref, Resource
from kubeloop.request import STRATEGIC_MERGE_PATCH, Request, create, get, patch, path_of

GROUP = "bench:subjects"
BINDINGS = Resource("rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding", namespaced=False)
FLOW_SCHEMAS = Resource("flowcontrol.apiserver.k8s.io", "v1", "flowschemas", "FlowSchema", namespaced=False)
ACCOUNTS = Resource("", "v1", "serviceaccounts", "ServiceAccount")

WRITES = ("create", "update", "patch", "delete", "deletecollection")
READS = ("get", "list", "watch")
_COUNTER = "apiserver_flowcontrol_dispatched_requests_total"
NOT_FOUND = 404
_LOOK_EVERY = 0.1


class Requests(Struct, frozen=True):
    """Requests of one subject that the API server has carried out or refused."""

    reads: int = 0
    writes: int = 0
    """All but those to leases."""
    leases: int = 0
    """Writes to leases: by the contract of leader election a held lease is renewed for ever."""

    def since(self, before: Requests) -> Requests:
        return Requests(self.reads - before.reads, self.writes - before.writes, self.leases - before.leases)


class Ground:
    """A running plane, seen as its administrator."""

    def __init__(self, plane: Plane) -> None:
        self.plane = plane
        self.transport = HttpTransport(plane.config())

    async def close(self) -> None:
        await self.transport.close()

    def kubeconfig_of(self, user: str) -> Path:
        return self.plane.kubeconfig_for(user, (GROUP,))

    async def prepare(self, users: Iterable[str]) -> None:
        """Gives the subjects their rights and their counters."""
        await self.create(BINDINGS, _binding())
        for user in users:
            for schema in _flow_schemas(user):
                await self.create(FLOW_SCHEMAS, schema)

    async def requests_of(self, user: str) -> Requests:
        """What the API server has counted for the user so far."""
        page = await answered(self.transport, Request("GET", "/metrics"))
        return counted(page.decode(), user)

    async def open(self, namespace: str) -> None:
        """Makes a namespace in which pods are accepted."""
        await self.create(NAMESPACES, {"metadata": {"name": namespace}})
        account = get(Ref(ACCOUNTS, namespace, "default"))
        while True:
            if (await self.transport.send(account)).status == 200:
                return
            await asyncio.sleep(_LOOK_EVERY)

    async def fill(self, zones: Iterable[Zone], namespace: str) -> dict[str, int]:
        """Creates the StatefulSets; answers with the generation of each."""
        bodies = [msgspec.json.encode(statefulset(zone)) for zone in zones]
        return await self._generations([create(STATEFULSETS, namespace, body) for body in bodies])

    async def change(
        self, zones: Iterable[Zone], namespace: str, template: Mapping[str, object] = NEW_TEMPLATE
    ) -> dict[str, int]:
        """Changes the template of every StatefulSet at once; answers with the new generations."""
        body = msgspec.json.encode(template)
        refs = [Ref(STATEFULSETS, namespace, zone.name) for zone in zones]
        return await self._generations([patch(ref, STRATEGIC_MERGE_PATCH, body) for ref in refs])

    async def empty(self, namespace: str, kinds: Sequence[Resource] = (STATEFULSETS,)) -> None:
        """Removes the namespace with all in it, so that the next measurement finds the cluster as this one did."""
        for kind in kinds:
            await self._delete_all(kind, namespace, ("propagationPolicy", "Background"))
        while True:
            await self._delete_all(PODS, namespace, ("gracePeriodSeconds", "0"))
            if not anything_in(await present(self.transport, PODS, namespace)).items:
                break
            await asyncio.sleep(_LOOK_EVERY)
        await answered(self.transport, Request("DELETE", path_of(NAMESPACES, name=namespace)))
        while True:
            if (await self.transport.send(get(Ref(NAMESPACES, "", namespace)))).status == NOT_FOUND:
                return
            await asyncio.sleep(_LOOK_EVERY)

    async def _generations(self, requests: Sequence[Request]) -> dict[str, int]:
        answers = await asyncio.gather(*(answered(self.transport, request) for request in requests))
        sets = [msgspec.json.decode(body, type=StatefulSet) for body in answers]
        return {one.metadata.name: one.metadata.generation for one in sets}

    async def create(self, resource: Resource, tree: Mapping[str, object], namespace: str = "") -> None:
        named = {"apiVersion": resource.api_version, "kind": resource.kind, **tree}
        await answered(self.transport, create(resource, namespace, msgspec.json.encode(named)))

    async def _delete_all(self, resource: Resource, namespace: str, *query: tuple[str, str]) -> None:
        await answered(self.transport, Request("DELETE", path_of(resource, namespace), query=query))


def counted(page: str, user: str) -> Requests:
    """The counters of a user on a page of metrics; what was never counted is not on it."""
    found = re.findall(rf'^{_COUNTER}{{flow_schema="bench-{re.escape(user)}-(\w+)",[^}}]*}} (\S+)$', page, re.MULTILINE)
    return Requests(**{kind: int(float(value)) for kind, value in found})


def _binding() -> dict[str, object]:
    api = "rbac.authorization.k8s.io"
    return {
        "metadata": {"name": "bench-subjects"},
        "roleRef": {"apiGroup": api, "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"apiGroup": api, "kind": "Group", "name": GROUP}],
    }


def _flow_schemas(user: str) -> list[dict[str, object]]:
    """Lower precedence goes first: writes to leases, then other writes, then reads."""
    leases = {"verbs": WRITES, "apiGroups": ["coordination.k8s.io"], "resources": ["leases"]}
    return [
        _flow_schema(user, "leases", 10, leases),
        _flow_schema(user, "writes", 11, {"verbs": WRITES, "apiGroups": ["*"], "resources": ["*"]}),
        _flow_schema(user, "reads", 12, {"verbs": READS, "apiGroups": ["*"], "resources": ["*"]}),
    ]


def _flow_schema(user: str, kind: str, precedence: int, rule: Mapping[str, object]) -> dict[str, object]:
    return {
        "metadata": {"name": f"bench-{user}-{kind}"},
        "spec": {
            "matchingPrecedence": precedence,
            "priorityLevelConfiguration": {"name": "exempt"},
            "rules": [
                {
                    "subjects": [{"kind": "User", "user": {"name": user}}],
                    "resourceRules": [{**rule, "namespaces": ["*"], "clusterScope": True}],
                }
            ],
        },
    }
