"""The two clusters of end-to-end tests behind one `Site`, so that a scenario is written once.

    @everywhere(controllers=False)
    async def test_pods_of_one_zone_are_deleted(site: Site) -> None: ...

runs the scenario as `[sim]`, in virtual time on an embedded cluster of its own, and as `[real]`, on the control plane
that the session shares, in a fresh namespace; what a scenario leaves at cluster scope is removed after it.
Scenarios with programs of their own run `on=("served", "real")`: served is an embedded cluster in real time over HTTPS.
Without `controllers` nobody but the test plays StatefulSet controller and kubelet.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Protocol, TypeVar, overload
from weakref import WeakKeyDictionary

import msgspec
import pytest

from fairlead.plane.launch import Plane
from kubeloop.client import Client
from kubeloop.errors import NotFound
from kubeloop.http_transport import HttpTransport
from kubeloop.objects.apps import CONTROLLER_REVISIONS, DEPLOYMENTS, REPLICASETS, STATEFULSETS
from kubeloop.objects.core import CONFIGMAPS, LEASES, PODS, SECRETS, SERVICES
from kubeloop.objects.meta import Ref, Resource
from kubeloop.request import Request, Transport, create, get, path_of
from kubesim.cluster import Cluster
from kubesim.kubelet import Kubelet
from kubesim.time import run as run_in_virtual_time
from tests.e2e import custom_objects
from tests.e2e.history import History, Tree
from tests.e2e.served import ServedGround
from tests.e2e.wire import Notes
from tests.kruise import WEBHOOKS
from tests.planes import Planes

T = TypeVar("T")
CLEAR_SECONDS = 120.0
"""For letting go of custom objects after a scenario."""
SLOWNESS = 3
"""How many times as long as in virtual time something may take in real time."""
Scenario = Callable[..., Coroutine[Any, Any, None]]
Operator = Callable[[Transport], Coroutine[Any, Any, None]]
"""The operator, given the way to its cluster: runs until it is cancelled."""

NAMESPACES = Resource("", "v1", "namespaces", "Namespace", namespaced=False)
SERVICE_ACCOUNTS = Resource("", "v1", "serviceaccounts", "ServiceAccount")
CUSTOM_RESOURCES = Resource(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False
)
_ADMISSION = tuple(
    Resource("admissionregistration.k8s.io", "v1", kind.lower() + "s", kind, namespaced=False)
    for kind in (
        "ValidatingWebhookConfiguration",
        "MutatingWebhookConfiguration",
        "ValidatingAdmissionPolicyBinding",
    )
)
_POLICIES = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "validatingadmissionpolicies",
    "ValidatingAdmissionPolicy",
    namespaced=False,
)
_ROLES = tuple(
    Resource("rbac.authorization.k8s.io", "v1", kind.lower() + "s", kind, namespaced=False)
    for kind in ("ClusterRoleBinding", "ClusterRole")
)
_WORKLOADS = (
    STATEFULSETS,
    DEPLOYMENTS,
    REPLICASETS,
    Resource("apps", "v1", "daemonsets", "DaemonSet"),
    Resource("batch", "v1", "cronjobs", "CronJob"),
    Resource("batch", "v1", "jobs", "Job"),
)
_BESIDE_WORKLOADS = (
    SERVICES,
    SECRETS,
    LEASES,
    CONTROLLER_REVISIONS,
    Resource("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget"),
    Resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim"),
    Resource("networking.k8s.io", "v1", "ingresses", "Ingress"),
    Resource("networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy"),
)
"""Kinds whose objects operators look for in all namespaces, or that take up addresses."""


class Reachable(Protocol):
    """A cluster that other processes can reach."""

    @property
    def url(self) -> str: ...

    @property
    def kubeconfig(self) -> Path:
        """For an administrator."""

    def kubeconfig_for(self, user: str) -> Path:
        """For a user who may do only what RBAC grants."""


class Ground(Protocol):
    """A cluster that a scenario runs on."""

    name: str

    def transport(self, user: str) -> Transport: ...

    def controllers(self) -> Coroutine[Any, Any, None] | None:
        """What must run beside the scenario for the cluster's controllers to act."""

    async def prepare(self, site: Site) -> None:
        """Before the scenario, in its new namespace."""

    async def clear(self, namespace: str) -> None:
        """After the scenario, whatever became of it."""


class Site:
    """What a scenario gets, the same on both clusters."""

    def __init__(self, ground: Ground, namespace: str, tasks: asyncio.TaskGroup) -> None:
        self.ground = ground
        self.namespace = namespace
        self._tasks = tasks
        self._running: list[asyncio.Task[None]] = []
        self._clients: list[Client] = []
        self.client = self.client_as("admin")
        """May do everything."""
        self.history = History(self.client_as("admin"), namespace, self.start)
        """Pods and StatefulSets of the namespace from the beginning; `history.follow` adds kinds."""
        self.notes = Notes()
        """What operators wrote."""
        self.defined: tuple[str, ...] = ()
        """CustomResourceDefinitions that are there from the beginning."""
        self.judges: list[Callable[[], None]] = []
        """Called when the scenario has ended well; they raise AssertionError for what must never have happened."""

    @property
    def real(self) -> bool:
        return isinstance(self.ground, RealGround)

    @property
    def runs_clone_sets(self) -> bool:
        """Whether OpenKruise's manager is there."""
        return isinstance(self.ground, KruiseGround)

    @property
    def plane(self) -> Plane:
        """The real control plane, for scenarios that run on no other cluster."""
        assert isinstance(self.ground, RealGround)
        return self.ground.plane

    @property
    def server(self) -> Reachable:
        """The cluster as programs of their own reach it."""
        return self.ground if isinstance(self.ground, ServedGround) else self.plane

    def client_as(self, user: str) -> Client:
        """A user other than `admin` may do what RBAC grants."""
        client = Client(self.ground.transport(user))
        self._clients.append(client)
        return client

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Runs beside the scenario until its end; a failure fails the scenario at once."""
        task = self._tasks.create_task(work)
        self._running.append(task)
        return task

    async def stop(self, task: asyncio.Task[None]) -> None:
        """As if its process were killed; returns when nothing of it runs any more."""
        task.cancel()
        await asyncio.wait([task])

    def start_kubelet(self, **behaviour: Any) -> asyncio.Task[None]:
        """Pods of the namespace come and go from now on; `behaviour` is that of `sim.kubelet.Kubelet`."""
        return self.start(Kubelet(self.client_as("admin"), namespace=self.namespace, **behaviour).run())

    def start_operator(self, operator: Operator, user: str = "admin") -> asyncio.Task[None]:
        """Runs the operator in this process, as that user."""
        return self.start(operator(self.ground.transport(user)))

    async def create(self, resource: Resource, tree: Tree, *, status: Tree | None = None) -> Tree:
        """Creates an object in the namespace and, where given, writes its status as a controller would."""
        named = {"apiVersion": resource.api_version, "kind": resource.kind, **tree}
        answer = await self.client.call(create(resource, self.namespace, msgspec.json.encode(named)))
        made: Tree = msgspec.json.decode(answer.body)
        return made if status is None else await self.write_status(resource, made["metadata"]["name"], status)

    async def write_status(self, resource: Resource, name: str, status: Tree) -> Tree:
        """Merges into the status of an object."""
        path = path_of(resource, self.namespace, name, "status")
        body = msgspec.json.encode({"status": status})
        answer = await self.client.call(Request("PATCH", path, body=body, content_type="application/merge-patch+json"))
        written: Tree = msgspec.json.decode(answer.body)
        return written

    async def get(self, resource: Resource, name: str) -> Tree | None:
        """None when there is no such object."""
        try:
            answer = await self.client.call(get(Ref(resource, self.namespace, name)))
        except NotFound:
            return None
        found: Tree = msgspec.json.decode(answer.body)
        return found

    @overload
    async def until(
        self,
        holds: Callable[[], Awaitable[T]],
        *,
        within: float = ...,
        following: Sequence[Resource] = ...,
        every: float | None = ...,
    ) -> T: ...

    @overload
    async def until(
        self,
        holds: Callable[[], T],
        *,
        within: float = ...,
        following: Sequence[Resource] = ...,
        every: float | None = ...,
    ) -> T: ...

    async def until(
        self,
        holds: Callable[[], Any],
        *,
        within: float = 60.0,
        following: Sequence[Resource] = (),
        every: float | None = None,
    ) -> Any:
        """What `holds` returns once that is true; looked at now and after every event of a followed kind.

        `every` so many seconds it looks again in between, for what no event announces. In real time it may take longer
        than `within` says, because others may use the machine.
        """
        within *= 1 if isinstance(self.ground, SimGround) else SLOWNESS
        for resource in following:
            await self.history.follow(resource)
        try:
            async with asyncio.timeout(within):
                return await self._until(holds, every)
        except TimeoutError:
            last = "\n".join(str(event) for event in self.history.events[-30:])
            pytest.fail(f"{inspect.getsource(holds).strip()}\nnever held within {within:g} s; last events:\n{last}")

    async def _until(self, holds: Callable[[], Any], every: float | None) -> Any:
        while True:
            moment = self.history.moment
            answer = holds()
            value = await answer if inspect.isawaitable(answer) else answer
            if value:
                return value
            with suppress(TimeoutError):
                await asyncio.wait_for(self.history.past(moment), every)

    async def close(self) -> None:
        """Ends what was started and closes all connections."""
        for task in reversed(self._running):
            await self.stop(task)
        for client in self._clients:
            await client.close()


class SimGround:
    """An embedded cluster for one scenario."""

    name = "sim"

    def __init__(self, seed: int, controllers: bool) -> None:
        self.cluster = Cluster(seed=seed)
        self._controllers = controllers

    def transport(self, user: str) -> Transport:
        return self.cluster.transport(user)

    def controllers(self) -> Coroutine[Any, Any, None] | None:
        return self.cluster.run() if self._controllers else None

    async def prepare(self, site: Site) -> None:
        pass

    async def clear(self, namespace: str) -> None:
        pass


class RealGround:
    """The session's control plane of one flavour, for one scenario.

    `definitions` that the scenario has created, and nobody has changed, stay for the next one that wants the same: to
    learn a kind with templates of pods takes the API server a second.
    """

    name = "real"
    _others: tuple[tuple[str, str], ...] = ()
    """Query for what is no scenario's among webhooks."""

    def __init__(self, plane: Plane, controllers: bool, definitions: Sequence[Tree] = ()) -> None:
        self.plane = plane
        self._controllers = controllers
        self._definitions = {each["metadata"]["name"]: each for each in definitions}

    def transport(self, user: str) -> Transport:
        return HttpTransport(self.plane.config() if user == "admin" else self.plane.config_as(user))

    def controllers(self) -> None:
        return None

    async def prepare(self, site: Site) -> None:
        if self._controllers:  # pods are refused before their namespace has its account
            await site.until(lambda: "default" in site.history.objects(SERVICE_ACCOUNTS), following=[SERVICE_ACCOUNTS])
        kept = _KEPT.pop(self.plane, {})
        if kept == self._definitions:
            site.defined = tuple(kept)
        else:
            await _undefine(site)

    async def clear(self, namespace: str) -> None:
        """Removes what would meet the next scenario; webhooks first, whose servers are gone."""
        async with _opened(self, namespace) as site:
            await self._clear(site)

    async def _clear(self, site: Site) -> None:
        for resource in (*_ADMISSION, _POLICIES):
            await _delete_all(site, resource, *self._others)
        for resource in _ROLES:
            await _delete_all(site, resource, ("labelSelector", "kubernetes.io/bootstrapping!=rbac-defaults"))
        for resource in _WORKLOADS:
            await _delete_all(site, resource, ("propagationPolicy", "Background"))
        await _delete_all(site, PODS, ("gracePeriodSeconds", "0"))
        await self._keep_or_undefine(site)
        if self._controllers:
            await self._empty(site)
            return
        with suppress(NotFound):  # the scenario may have deleted it
            await site.client.call(Request("DELETE", path_of(NAMESPACES, name=site.namespace)))

    async def _empty(self, site: Site) -> None:
        """The namespace stays: to remove one, its controller asks twice for every kind that there is."""
        for resource in _BESIDE_WORKLOADS:
            await _delete_all(site, resource)
        await _delete_all(site, CONFIGMAPS, ("fieldSelector", "metadata.name!=kube-root-ca.crt"))

    async def _keep_or_undefine(self, site: Site) -> None:
        await site.history.follow(CUSTOM_RESOURCES)
        there = site.history.objects(CUSTOM_RESOURCES)
        if (
            not self._definitions
            or there.keys() != self._definitions.keys()
            or not all(_is_as_made(tree, self._definitions[name]) for name, tree in there.items())
        ):
            await _undefine(site)
            return
        async with asyncio.timeout(CLEAR_SECONDS):
            for tree in there.values():
                await custom_objects.empty(site.client, tree)
        _KEPT[self.plane] = self._definitions


class KruiseGround(RealGround):
    """A control plane with OpenKruise's manager, whose kinds and webhooks stay."""

    name = "kruise"
    _others = (("fieldSelector", ",".join(f"metadata.name!={each}" for each in WEBHOOKS)),)

    def __init__(self, plane: Plane) -> None:
        super().__init__(plane, controllers=True)

    async def prepare(self, site: Site) -> None:
        await site.until(lambda: "default" in site.history.objects(SERVICE_ACCOUNTS), following=[SERVICE_ACCOUNTS])
        await site.history.follow(CUSTOM_RESOURCES)
        await site.history.caught_up()
        site.defined = tuple(site.history.objects(CUSTOM_RESOURCES))

    async def _keep_or_undefine(self, site: Site) -> None:
        """All kinds stay: of those that scenarios bring, objects may wait for an operator that is gone."""
        await site.history.follow(CUSTOM_RESOURCES)
        await _delete_objects(site, site.history.objects(CUSTOM_RESOURCES).values())


_KEPT: WeakKeyDictionary[Plane, dict[str, Tree]] = WeakKeyDictionary()
"""Definitions that scenarios have left."""


def _is_as_made(found: Tree, made: Tree) -> bool:
    """Nobody has changed what it says, what is noted on it, or which versions it says are stored."""
    meta, noted = found["metadata"], made["metadata"]
    stored = [each["name"] for each in found["spec"]["versions"] if each["storage"]]
    return (
        meta["generation"] == 1
        and "deletionTimestamp" not in meta
        and all((meta.get(key) or {}) == (noted.get(key) or {}) for key in ("labels", "annotations"))
        and found["status"].get("storedVersions") == stored
    )


async def _delete_objects(site: Site, definitions: Iterable[Tree]) -> None:
    """Those of the namespace."""
    for spec in (each["spec"] for each in definitions):
        version = next(each["name"] for each in spec["versions"] if each["storage"])
        if spec["scope"] == "Namespaced":
            await _delete_all(site, Resource(spec["group"], version, spec["names"]["plural"], spec["names"]["kind"]))


async def _undefine(site: Site) -> None:
    await site.history.follow(CUSTOM_RESOURCES)
    async with asyncio.timeout(CLEAR_SECONDS):
        for tree in site.history.objects(CUSTOM_RESOURCES).values():
            await custom_objects.release(site.client, CUSTOM_RESOURCES, tree)
    await _delete_all(site, CUSTOM_RESOURCES)
    await site.until(lambda: not site.history.objects(CUSTOM_RESOURCES), following=[CUSTOM_RESOURCES])


async def _delete_all(site: Site, resource: Resource, *query: tuple[str, str]) -> None:
    await site.client.call(Request("DELETE", path_of(resource, site.namespace), query=query))


def everywhere(
    *,
    controllers: bool = True,
    seeds: Sequence[int] = (0,),
    on: Sequence[str] = ("sim", "real"),
    timing: bool = False,
    long: bool = False,
    definitions: Callable[[], Sequence[Tree]] = tuple,
) -> Callable[[Scenario], Callable[..., None]]:
    """Makes a test of a scenario on each cluster; in virtual time once per seed, which orders what is simultaneous.

    Its first parameter is the Site; others are fixtures or parameters as of any test.
    Where the result depends on the `timing` of the real cluster, that one plays with `--soak` alone. So it does for a
    scenario that takes `long` there, and of which the real cluster has nothing to say that other scenarios do not show.
    On `kruise`, a control plane with OpenKruise's own manager, scenarios about CloneSets play with `--soak` alone.
    On `older`, an API server of an older release without controllers, scenarios play with `--soak` alone as well.
    A scenario that creates exactly these `definitions` may find them there (see `installing.define`).
    """
    places = [pytest.param(seed, id="sim" if len(seeds) == 1 else f"sim-{seed}") for seed in seeds if "sim" in on]
    if "served" in on:
        places.append(pytest.param("served", id="served"))
    if "real" in on:
        reasons = [mark for mark, given in ((pytest.mark.timing, timing), (pytest.mark.long, long)) if given]
        marks = [pytest.mark.real(controllers=controllers), *reasons]
        places.append(pytest.param(None, id="real", marks=marks))
    if "kruise" in on:
        marks = [pytest.mark.real(controllers=True), pytest.mark.timing if timing else pytest.mark.long]
        places.append(pytest.param("kruise", id="kruise", marks=marks))
    if "older" in on:
        marks = [pytest.mark.real(controllers=False), pytest.mark.long]
        places.append(pytest.param("older", id="older", marks=marks))

    def decorate(scenario: Scenario) -> Callable[..., None]:
        def test(place: int | str | None, planes: Planes, **others: object) -> None:
            if place is None or place == "older":
                flavour = {"controllers": controllers and place is None, "is_older": place == "older"}
                ground = RealGround(planes.get(**flavour), flavour["controllers"], definitions())
                with planes.spoilt_by_failures(**flavour):
                    asyncio.run(_play(ground, planes.namespace(), scenario, others))
            elif place == "kruise":
                kruise = KruiseGround(planes.get(controllers=True, runs_kruise=True))
                with planes.spoilt_by_failures(controllers=True, runs_kruise=True):
                    asyncio.run(_play(kruise, planes.namespace(), scenario, others))
            elif isinstance(place, str):
                asyncio.run(_play(ServedGround(controllers), "test", scenario, others))
            else:
                sim = _simulated(place, controllers, scenario, others)
                run_in_virtual_time(sim, seed=place)

        own = [
            inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=kind)
            for name, kind in (("place", int | str | None), ("planes", Planes))
        ]
        _, *rest = inspect.signature(scenario).parameters.values()
        # Not functools.wraps: pytest would look through it and ask for a fixture named after the Site.
        for attribute in ("__name__", "__qualname__", "__module__", "__doc__"):
            setattr(test, attribute, getattr(scenario, attribute))
        test.__dict__.update(scenario.__dict__)
        test.__signature__ = inspect.Signature([*own, *rest])  # type: ignore[attr-defined]
        return pytest.mark.parametrize("place", places)(test)

    return decorate


def long(row: object) -> object:
    """A row of a table that is played on the real cluster with `--soak` alone, because another row shows it there."""
    return pytest.param(row, marks=pytest.mark.long)


async def played(plane: Plane, namespace: str, scenario: Scenario) -> None:
    """Runs one scenario on a control plane of one's own, without controllers."""
    await _play(RealGround(plane, controllers=False), namespace, scenario, {})


async def _simulated(seed: int, controllers: bool, scenario: Scenario, others: dict[str, object]) -> None:
    await _play(SimGround(seed, controllers), "test", scenario, others)


async def _play(ground: Ground, namespace: str, scenario: Scenario, others: dict[str, object]) -> None:
    """Runs one scenario and leaves nothing of it behind."""
    try:
        async with _opened(ground, namespace) as site:
            controllers = ground.controllers()
            if controllers is not None:
                site.start(controllers)
            await site.create(NAMESPACES, {"metadata": {"name": namespace}})
            for resource in (PODS, STATEFULSETS):
                await site.history.follow(resource)
            await ground.prepare(site)
            await scenario(site, **others)
            await _judged(site)
    finally:
        await ground.clear(namespace)
    left = asyncio.all_tasks() - {asyncio.current_task()}
    assert not left, f"tasks left behind: {left}"


async def _judged(site: Site) -> None:
    if site.judges:
        await site.history.caught_up()
    for judge in site.judges:
        judge()


@asynccontextmanager
async def _opened(ground: Ground, namespace: str) -> AsyncIterator[Site]:
    """A failure of what was started ends what runs inside."""
    try:
        async with asyncio.TaskGroup() as tasks:
            site = Site(ground, namespace, tasks)
            try:
                yield site
            finally:
                await site.close()
    except BaseExceptionGroup as group:
        raise _only(group) from None


@asynccontextmanager
async def neighbour(site: Site, namespace: str) -> AsyncIterator[Site]:
    """Another namespace of the same cluster while the context lasts."""
    ground = site.ground
    async with _opened(ground, namespace) as other:
        await other.create(NAMESPACES, {"metadata": {"name": namespace}})
        for resource in (PODS, STATEFULSETS):
            await other.history.follow(resource)
        yield other
    if isinstance(ground, RealGround):
        await ground.clear(namespace)


def _only(error: BaseException) -> BaseException:
    """What a group of one holds: a failed assertion or a skip shows as itself."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error
