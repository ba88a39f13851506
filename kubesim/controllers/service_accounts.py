"""What every namespace is furnished with: the account `default`, and the certificates by which the API server is known.

Two controllers of kube-controller-manager in one module, since both do the same: they make an object anew in a
namespace whenever it is missing there. The second also puts right what others have written into it.
"""

from __future__ import annotations

import asyncio

from msgspec import Struct

from kubeloop.objects.meta import Meta
from kubeloop.queue import Queue
from kubeloop.worker import work
from kubesim.api.verbs import Verbs
from kubesim.controllers.base import ACCOUNTS, Api, failed
from kubesim.controllers.pod_control import is_of_ending_namespace
from kubesim.errors import StatusError
from kubesim.kinds.registry import CONFIG_MAPS, NAMESPACES, SERVICE_ACCOUNTS

ACCOUNT = "default"
CERTIFICATES = "kube-root-ca.crt"
DESCRIPTION = "kubernetes.io/description"
WORKERS = 5
FIRST_RETRY, LONGEST_RETRY = 0.005, 1000.0
"""Seconds; the real controllers'."""

_WHAT_FOR = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the "
    "internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes "
    "clusters."
)


class _Phase(Struct, frozen=True):
    phase: str = ""


class _Namespace(Struct, frozen=True):
    metadata: Meta
    status: _Phase = _Phase()


class _Account(Struct, frozen=True):
    metadata: Meta


class _MapMeta(Meta, frozen=True, rename="camel"):
    annotations: dict[str, str] = {}


class _Map(Struct, frozen=True):
    metadata: _MapMeta
    data: dict[str, str] = {}


class ServiceAccountController:
    """One controller; its watches are behind by the lag of the verbs."""

    def __init__(self, verbs: Verbs) -> None:
        self._api = api = Api(verbs, f"{ACCOUNTS}service-account-controller")
        self._namespaces = api.view(NAMESPACES, _Namespace)
        self._accounts = api.view(SERVICE_ACCOUNTS, _Account)
        self._queue: Queue[str] = Queue(first_delay=FIRST_RETRY, longest_delay=LONGEST_RETRY)
        self._namespaces.subscribe(self._namespace_changed)
        self._accounts.subscribe(self._account_changed)

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for view in (self._namespaces, self._accounts):
                tasks.create_task(view.run())
            await asyncio.gather(self._namespaces.synced.wait(), self._accounts.synced.wait())
            tasks.create_task(work(self._queue, self._sync, workers=WORKERS, failed=failed))

    def _namespace_changed(self, _old: _Namespace | None, new: _Namespace | None) -> None:
        if new is not None:
            self._queue.add(new.metadata.name)

    def _account_changed(self, old: _Account | None, new: _Account | None) -> None:
        if old is not None and new is None:
            self._queue.add(old.metadata.namespace)

    async def _sync(self, name: str) -> None:
        namespace = self._namespaces.objects.get("", name)
        if namespace is None or namespace.status.phase != "Active":
            return
        if self._accounts.objects.get(name, ACCOUNT) is not None:
            return
        try:
            await self._api.create(SERVICE_ACCOUNTS, name, {"metadata": {"name": ACCOUNT}})
        except StatusError as error:
            if error.reason != "AlreadyExists" and not is_of_ending_namespace(error):
                raise


class RootCertificatePublisher:
    """One controller; its watches are behind by the lag of the verbs."""

    def __init__(self, verbs: Verbs, certificates: str) -> None:
        self._api = api = Api(verbs, f"{ACCOUNTS}root-ca-cert-publisher")
        self._data = {"ca.crt": certificates}
        self._namespaces = api.view(NAMESPACES, _Namespace)
        self._maps = api.view(CONFIG_MAPS, _Map)
        self._queue: Queue[str] = Queue(first_delay=FIRST_RETRY, longest_delay=LONGEST_RETRY)
        self._namespaces.subscribe(self._namespace_changed)
        self._maps.subscribe(self._map_changed)

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for view in (self._namespaces, self._maps):
                tasks.create_task(view.run())
            await asyncio.gather(self._namespaces.synced.wait(), self._maps.synced.wait())
            tasks.create_task(work(self._queue, self._sync, workers=WORKERS, failed=failed))

    def _namespace_changed(self, old: _Namespace | None, new: _Namespace | None) -> None:
        if new is not None and (old is None or new.status.phase == "Active"):
            self._queue.add(new.metadata.name)

    def _map_changed(self, old: _Map | None, new: _Map | None) -> None:
        if old is not None and old.metadata.name == CERTIFICATES:
            self._queue.add(old.metadata.namespace)

    async def _sync(self, namespace: str) -> None:
        found = self._maps.objects.get(namespace, CERTIFICATES)
        if found is None:
            await self._create(namespace)
        elif found.data != self._data or not found.metadata.annotations.get(DESCRIPTION):
            tree = self._api.read(CONFIG_MAPS, namespace, CERTIFICATES)
            annotations = {**found.metadata.annotations, DESCRIPTION: _WHAT_FOR}
            tree["metadata"] |= {"resourceVersion": found.metadata.resource_version, "annotations": annotations}
            await self._api.replace(CONFIG_MAPS, tree | {"data": self._data})

    async def _create(self, namespace: str) -> None:
        metadata = {"name": CERTIFICATES, "annotations": {DESCRIPTION: _WHAT_FOR}}
        try:
            await self._api.create(CONFIG_MAPS, namespace, {"metadata": metadata, "data": self._data})
        except StatusError as error:
            if error.code != 404 and not is_of_ending_namespace(error):
                raise
