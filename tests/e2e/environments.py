"""Environments for end-to-end tests: one scenario, on the embedded cluster in virtual time and on the real one.

    @on_clusters("--create-balancers")
    async def test_a_new_image_is_rolled_out(scene: Scene) -> None: ...

The scene has a backend Secret, stand-in environmentds and the operator, which has registered its kinds and acts;
`on_clusters(begins=False)` leaves it to the scenario to start it. After the scenario nothing of its kinds is left.
"""

from __future__ import annotations

import asyncio
import inspect
from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec

from fairlead.contracts.environments.decide.hash import rollout_hash
from fairlead.contracts.environments.kinds import BALANCERS, CONDITION, CONSOLES, MATERIALIZES, NAME, NIL
from kubeloop.errors import NotFound
from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.core import CONFIGMAPS, SECRETS, SERVICES
from kubeloop.objects.meta import Ref, Resource
from kubeloop.request import JSON, MERGE_PATCH, Request, path_of, path_to
from tests.e2e.clusters import SimGround, Site, everywhere
from tests.e2e.environmentds import Stubs
from tests.e2e.history import Event, Tree
from tests.e2e.orchestrators import Orchestratord
from tests.e2e.zones import change
from tests.licenses import a_license_key

OLD = Resource(MATERIALIZES.group, "v1alpha1", MATERIALIZES.plural, MATERIALIZES.kind)
BACKEND = "materialize-backend"
ENVIRONMENT = "12345678-1234-1234-1234-123456789012"
IMAGE, NEWER = "materialize/environmentd:v26.0.0", "materialize/environmentd:v26.1.0"
V: Tree = {"environmentdImageRef": IMAGE, "backendSecretName": BACKEND, "environmentId": ENVIRONMENT}
"""The spec of the contract's examples."""
W: Tree = {**V, "environmentdImageRef": NEWER}
"""The same with a newer image."""
HASH_V = "13598446ab7a0a1707c5e01907b7b3671a3244277ee65360de502241243234de"
HASH_W = "e8fc907509828cd08d04f2e27120dc8498e1d16bf7fe193978ea844d2bd0b228"
"""What the contract says of both."""
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
CLIENT_SIDE = "kubectl-client-side-apply"
LOOK_EVERY = 0.1
"""Seconds between looks at what no event announces."""


def manifest(
    spec: Tree, resource: Resource = MATERIALIZES, name: str = "m", annotations: dict[str, str] | None = None
) -> Tree:
    """What a user writes."""
    metadata: Tree = {"name": name} | ({"annotations": annotations} if annotations else {})
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, "spec": spec}


def generation_of(resource_id: str, generation: int) -> tuple[tuple[Resource, str], ...]:
    """The four objects of a generation, in the order in which they are removed."""
    return (
        (STATEFULSETS, f"mz{resource_id}-environmentd-{generation}"),
        (SERVICES, f"mz{resource_id}-persist-pubsub-{generation}"),
        (SERVICES, f"mz{resource_id}-environmentd-{generation}"),
        (CONFIGMAPS, f"mz{resource_id}-listeners-{generation}"),
    )


class Scene:
    """What a scenario gets."""

    def __init__(self, site: Site, stubs: Stubs, operator: Orchestratord) -> None:
        self.site = site
        self.stubs = stubs
        self.operator = operator

    # What users do

    async def keep_secret(self, name: str = BACKEND, **entries: str | None) -> None:
        """The backend Secret, with a license for any environment; None leaves an entry out."""
        usual = {
            "metadata_backend_url": "postgres://metadata",
            "persist_backend_url": "s3://persist",
            "license_key": a_license_key(aud=NIL),
        }
        data = {key: b64encode(value.encode()).decode() for key, value in (usual | entries).items() if value}
        await self.site.create(SECRETS, {"metadata": {"name": name}, "data": data})

    async def apply(self, tree: Tree) -> Tree:
        """As `kubectl apply` does on the client's side: creates it, or sends what differs, if anything does."""
        resource = _resource_of(tree)
        name, namespace = tree["metadata"]["name"], self.site.namespace
        annotations = {**tree["metadata"].get("annotations", {}), LAST_APPLIED: msgspec.json.encode(tree).decode()}
        wanted: Tree = {**tree, "metadata": {**tree["metadata"], "annotations": annotations}}
        query = (("fieldManager", CLIENT_SIDE),)
        current = await self.site.get(resource, name)
        if current is None:
            sent = Request("POST", path_of(resource, namespace), query, msgspec.json.encode(wanted), JSON)
        else:
            before = current["metadata"].get("annotations", {}).get(LAST_APPLIED, "{}")
            differs = _three_way(msgspec.json.decode(before), wanted, current)
            if not differs:
                return current
            body = msgspec.json.encode(differs)
            sent = Request("PATCH", path_to(Ref(resource, namespace, name)), query, body, MERGE_PATCH)
        answer = await self.site.client.call(sent)
        applied: Tree = msgspec.json.decode(answer.body)
        return applied

    async def change(self, tree: Tree, name: str = "m", resource: Resource = MATERIALIZES) -> Tree:
        """A merge patch."""
        return await change(self.site, resource, name, tree)

    async def set_spec(self, name: str = "m", **fields: object) -> Tree:
        return await self.change({"spec": fields}, name)

    # What the cluster shows

    async def read(self, resource: Resource = MATERIALIZES, name: str = "m") -> Tree:
        found = await self.site.get(resource, name)
        assert found is not None, f"there is no {resource.kind} {name}"
        return found

    async def status(self, name: str = "m") -> Tree:
        status: Tree = (await self.read(name=name)).get("status") or {}
        return status

    async def condition(self, name: str = "m") -> Tree:
        """The one condition; empty while there is none."""
        conditions = (await self.status(name)).get("conditions") or [{}]
        assert len(conditions) == 1
        assert conditions[0].get("type", CONDITION) == CONDITION
        found: Tree = conditions[0]
        return found

    async def exists(self, generation: int, name: str = "m") -> list[str]:
        """Kinds of the generation's objects that there are."""
        resource_id = (await self.status(name))["resourceId"]
        named = generation_of(resource_id, generation)
        return [resource.kind for resource, each in named if await self.site.get(resource, each) is not None]

    async def statefulset(self, generation: int, name: str = "m") -> Tree:
        return await self.statefulset_of((await self.status(name))["resourceId"], generation)

    async def statefulset_of(self, resource_id: str, generation: int) -> Tree:
        return await self.read(STATEFULSETS, f"mz{resource_id}-environmentd-{generation}")

    async def container(self, generation: int, name: str = "m") -> Tree:
        found: Tree = (await self.statefulset(generation, name))["spec"]["template"]["spec"]["containers"][0]
        return found

    def seen(self, resource: Resource, *types: str) -> tuple[Event, ...]:
        return self.site.history.of(resource, *types)

    def versions(self, name: str = "m") -> list[Tree]:
        """Every version of an environment since the scenario follows them."""
        return [each.object for each in self.seen(MATERIALIZES) if each.name == name and each.type != "DELETED"]

    def requested(self, name: str = "m") -> list[str | None]:
        """The hashes of rollouts that were asked for, each as often as it changed."""
        found = [(each.get("status") or {}).get("requestedRolloutHash") for each in self.versions(name)]
        return [each for before, each in zip([None, *found], found, strict=False) if each != before]

    # What is waited for

    async def until(self, holds: Callable[[], Awaitable[Any]], within: float = 60.0) -> Any:
        try:
            return await self.site.until(holds, every=LOOK_EVERY, within=within)
        except BaseException:
            print("\n".join(self.operator.log[-80:]))
            raise

    async def reason(self, reason: str, name: str = "m") -> Tree:
        """The condition, once it has this reason."""

        async def has() -> Tree | None:
            found = await self.condition(name)
            return found if found.get("reason") == reason else None

        condition: Tree = await self.until(has)
        return condition

    async def promoted(self, generation: int, name: str = "m", within: float = 60.0) -> Tree:
        """The status, once the generation serves and nothing is left of the one before, with the hash of the spec."""

        async def is_promoted() -> Tree | None:
            found = await self.read(name=name)
            status = found.get("status") or {}
            wanted = rollout_hash(found["spec"], found["metadata"].get("annotations") or {})
            condition = (status.get("conditions") or [{}])[0]
            if (status.get("activeGeneration"), condition.get("reason")) != (generation, "Applied"):
                return None
            hashes = (status.get("lastCompletedRolloutHash"), status.get("requestedRolloutHash"))
            return status if hashes == (wanted, wanted) else None

        status: Tree = await self.until(is_promoted, within)
        resource_id = status["resourceId"]
        condition = status["conditions"][0]
        assert condition["status"] == "True"
        service = await self.read(SERVICES, f"mz{resource_id}-environmentd")
        assert service["spec"]["selector"] == {NAME: f"mz{resource_id}-environmentd-{generation}"}
        assert await self.exists(generation, name) == ["StatefulSet", "Service", "Service", "ConfigMap"]
        assert not await self.exists(generation - 1, name)
        assert not await self.exists(generation + 1, name)
        return status

    async def rest(self, name: str = "m") -> None:
        """The operator has looked at all that is so now; in virtual time a minute goes by as well.

        It is asked for another number of balancers, which starts no rollout: when that has come, it has also seen what
        was there before.
        """
        wanted = ((await self.read(name=name))["spec"].get("balancerdReplicas") or 2) + 1
        await self.set_spec(name, balancerdReplicas=wanted)

        async def is_done() -> bool:
            balancer = await self.site.get(BALANCERS, name)
            return balancer is not None and balancer["spec"].get("replicas") == wanted

        await self.until(is_done)
        if isinstance(self.site.ground, SimGround):
            await asyncio.sleep(60)
        await self.site.history.caught_up()


def on_clusters(
    *flags: str,
    begins: bool = True,
    follows: bool = True,
    secret: bool = True,
    on: Sequence[str] = ("sim", "real"),
    long: bool = False,
) -> Callable[[Callable[..., Any]], Callable[..., None]]:
    """Makes a test of a scenario on each cluster; `flags` are the operator's, beside those that create companions.

    Scenarios that change definitions do not have environments followed: that may end watches with a gap. `long` is as
    of `everywhere`.
    """

    def decorate(scenario: Callable[..., Any]) -> Callable[..., None]:
        async def played(site: Site, tmp_path: Path, **others: object) -> None:
            async with _set_up(site, tmp_path, ("--create-balancers", "--create-console", *flags)) as scene:
                if secret:
                    await scene.keep_secret()
                if begins:
                    await scene.operator.start()
                if begins and follows:
                    await site.history.follow(MATERIALIZES)
                await scenario(scene, **others)

        first, *rest = inspect.signature(scenario).parameters.values()
        own = [
            inspect.Parameter(name, first.kind, annotation=kind) for name, kind in (("site", Site), ("tmp_path", Path))
        ]
        for attribute in ("__name__", "__qualname__", "__module__", "__doc__"):
            setattr(played, attribute, getattr(scenario, attribute))
        played.__dict__.update(scenario.__dict__)
        played.__signature__ = inspect.Signature([*own, *rest])  # type: ignore[attr-defined]
        return everywhere(on=on, long=long)(played)

    return decorate


@asynccontextmanager
async def _set_up(site: Site, folder: Path, flags: Sequence[str]) -> AsyncIterator[Scene]:
    async with Stubs(site) as stubs:
        operator = Orchestratord(site, folder, stubs.template, flags)
        scene = Scene(site, stubs, operator)
        try:
            yield scene
        finally:
            await operator.kill()
            await _release(site)


async def _release(site: Site) -> None:
    """No environment is left, nor waits for an operator that is not there any more.

    Definitions that are deleted all at once leave the objects of their kinds behind, for whoever defines them again.
    """
    try:
        await _remove_all(site, MATERIALIZES)
    except NotFound:
        with suppress(NotFound):
            await _remove_all(site, OLD)
    for resource in (BALANCERS, CONSOLES):
        with suppress(NotFound):
            await _remove_all(site, resource)


async def _remove_all(site: Site, resource: Resource) -> None:
    everything = path_of(resource, site.namespace)
    await site.client.call(Request("DELETE", everything))
    answer = await site.client.call(Request("GET", everything))
    for item in msgspec.json.decode(answer.body)["items"]:
        with suppress(NotFound):
            await change(site, resource, item["metadata"]["name"], {"metadata": {"finalizers": None}})


def _resource_of(tree: Tree) -> Resource:
    group, _, version = tree["apiVersion"].rpartition("/")
    return Resource(group, version, MATERIALIZES.plural, tree["kind"])


def _three_way(before: Tree, wanted: Tree, current: Tree) -> Tree:
    """A merge patch: what was applied before and is not any more goes, what differs comes."""
    made: Tree = {key: None for key in before if key not in wanted and key in current}
    for key, value in wanted.items():
        held = current.get(key)
        if isinstance(value, dict) and isinstance(held, dict):
            if inner := _three_way(before.get(key) or {}, value, held):
                made[key] = inner
        elif value != held:
            made[key] = value
    return made
