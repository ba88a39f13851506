"""The EndpointSlice controller: says in EndpointSlices where the pods of each Service with a selector are reached.

Hints for routing by topology are not given, and Endpoints that were made by hand are not mirrored.
"""

from __future__ import annotations

from msgspec import to_builtins

from kubeloop.store import Named
from kubesim.api.verbs import Verbs
from kubesim.controllers.base import ACCOUNTS, Api, Stale
from kubesim.controllers.endpoint_controller import EndpointController
from kubesim.controllers.endpoint_plan import CHANGED_AT
from kubesim.controllers.endpointslice_plan import (
    MANAGED_BY,
    MANAGER,
    SERVICE_NAME,
    Draft,
    Endpoint,
    Plan,
    Ports,
    Slice,
    endpoint_of,
    plan,
    ports_of,
)
from kubesim.controllers.pod_control import is_of_ending_namespace
from kubesim.controllers.replicas import owner_reference
from kubesim.controllers.selected_pods import Chosen, Key, Pod, Service
from kubesim.errors import StatusError
from kubesim.kinds.registry import ENDPOINT_SLICES, SERVICES
from kubesim.store.versions import Tree

_SERVICE = "service"


class EndpointSliceController(EndpointController[Slice, Ports]):
    """One controller of them."""

    first_retry = 1.0

    def __init__(self, verbs: Verbs, chosen: Chosen) -> None:
        api = Api(verbs, f"{ACCOUNTS}endpointslice-controller")
        slices = api.view(ENDPOINT_SLICES, Slice, {_SERVICE: _service_of})
        super().__init__(api, "endpoint-slice-controller", chosen, slices, ports_of)

    def _changed(self, old: Slice | None, new: Slice | None) -> None:
        """What others have done to a slice is looked at; what was written here is what is expected."""
        for each in (new, old):
            if each is not None and each.metadata.labels.get(MANAGED_BY) == MANAGER:
                key = (each.metadata.namespace, each.metadata.labels.get(SERVICE_NAME, ""))
                if self._written.met(key):
                    self._queue.add(key)
                return

    async def _remove(self, key: Key) -> None:
        """Slices go with the Service, which owns them."""

    async def _bring_up_to_date(self, service: Service, pods: list[Pod], since: str) -> None:
        key = service.key
        existing = self._view.objects.by(_SERVICE, "/".join(key))
        existing = tuple(each for each in existing if each.metadata.deletion_timestamp is None)
        problems: list[str] = []
        for family in service.spec.ip_families:
            wanted = self._wanted(service, pods, family, problems)
            slices = [each for each in existing if each.address_type == family]
            problem = await self._carry_out(key, service, family, plan(service, family, wanted, slices), since)
            problems += [problem] if problem else []
        for each in existing:
            if each.address_type not in service.spec.ip_families:
                await self._delete(key, each)
        if problems:
            text = problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]"
            text = f"Error updating Endpoint Slices for Service {'/'.join(key)}: {text}"
            self._events.tell(SERVICES, service.metadata, "FailedToUpdateEndpointSlices", text, warning=True)
            raise Stale(text)

    def _wanted(
        self, service: Service, pods: list[Pod], family: str, problems: list[str]
    ) -> dict[Ports, dict[object, Endpoint]]:
        """The endpoints of a family, by their ports; pods on nodes that are not there are a problem."""
        wanted: dict[Ports, dict[object, Endpoint]] = {}
        for pod, ports in self._remembered.of(service, (pod for pod in pods if pod.has_address)):
            endpoints = wanted.setdefault(ports, {})
            node = self._chosen.nodes.objects.get("", pod.spec.node_name)
            if node is None and not service.spec.publish_not_ready_addresses:
                which = f"skipping Pod {pod.metadata.name} for Service {'/'.join(service.key)}"
                problems.append(f"{which}: Node {pod.spec.node_name} Not Found")
                continue
            endpoint = endpoint_of(service, pod, node, family)
            if endpoint is not None:
                endpoints[endpoint.identity] = endpoint
        return wanted

    async def _carry_out(self, key: Key, service: Service, family: str, todo: Plan, since: str) -> str:
        """Answers with what went wrong."""
        place = f"Service {'/'.join(key)}"
        try:
            doing = f"failed to create EndpointSlice for {place}"
            for draft in todo.create if service.metadata.deletion_timestamp is None else ():
                made = await self._api.create(ENDPOINT_SLICES, key[0], _new(service, family, draft, since))
                self._written.written(key, self._view, made)
            for draft in todo.update:
                doing = f"failed to update {draft.old.metadata.name if draft.old else ''} EndpointSlice for {place}"
                self._written.written(key, self._view, await self._update(draft, since))
            for each in todo.delete:
                doing = f"failed to delete {each.metadata.name} EndpointSlice for {place}"
                await self._delete(key, each)
        except StatusError as error:
            return "" if is_of_ending_namespace(error) else f"{doing}: {error}"
        return ""

    async def _update(self, draft: Draft, since: str) -> Tree:
        assert draft.old is not None  # noqa: S101  what is updated has been there
        meta = draft.old.metadata
        tree = self._api.read(ENDPOINT_SLICES, meta.namespace, meta.name)
        tree["metadata"] |= {"resourceVersion": meta.resource_version, "labels": draft.labels}
        annotations = {key: value for key, value in meta.annotations.items() if key != CHANGED_AT}
        tree["metadata"]["annotations"] = annotations | ({CHANGED_AT: since} if since else {})
        return await self._api.replace(ENDPOINT_SLICES, tree | _content(draft))

    async def _delete(self, key: Key, slice_: Slice) -> None:
        meta = slice_.metadata
        await self._api.delete(ENDPOINT_SLICES, meta.namespace, meta.name)
        self._written.unseen(key, lambda: self._view.objects.get(meta.namespace, meta.name) is not slice_)


def _service_of(item: Named) -> tuple[str, ...]:
    """Under which the slices of a Service are found that this controller manages."""
    meta = item.metadata
    managed = meta.labels.get(MANAGED_BY) == MANAGER
    return (f"{meta.namespace}/{meta.labels[SERVICE_NAME]}",) if managed and SERVICE_NAME in meta.labels else ()


def _content(draft: Draft) -> Tree:
    return {"endpoints": to_builtins(draft.endpoints), "ports": to_builtins(draft.ports)}


def _new(service: Service, family: str, draft: Draft, since: str) -> Tree:
    metadata: Tree = {
        "generateName": f"{service.metadata.name}-",
        "namespace": service.metadata.namespace,
        "labels": draft.labels,
        "ownerReferences": [owner_reference(SERVICES, service.metadata)],
    }
    if since:
        metadata["annotations"] = {CHANGED_AT: since}
    return {"metadata": metadata, "addressType": family} | _content(draft)
