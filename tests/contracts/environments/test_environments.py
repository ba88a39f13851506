"""Environments with its engine on the embedded cluster: what people do to its objects keeps it from nothing."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import msgspec

from fairlead.contracts.environments.kinds import MATERIALIZES, NAME, NIL, RESOURCE_ID
from fairlead.contracts.environments.settings import ConversionOptions, Settings
from fairlead.contracts.environments.stand_in.environmentd import Environments
from fairlead.contracts.environments.stand_in.rules import CATCH_UP
from fairlead.engine.assembly import assemble
from fairlead.engine.metrics import Metrics
from fairlead.engine.options import OperatorOptions
from kubeloop import request
from kubeloop.client import Client
from kubeloop.errors import NotFound
from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.core import CONFIGMAPS, EVENTS, PODS, SECRETS, SERVICES
from kubeloop.objects.meta import Ref
from kubeloop.request import MERGE_PATCH
from kubesim.auth.rbac import master
from kubesim.cluster import FIRST_NAMESPACES, Cluster
from kubesim.faults import Faulty
from kubesim.kubelet import Kubelet
from kubesim.kubelet.programs import Programs
from kubesim.pods.behaviour import HOLD, IMAGE_PULL
from kubesim.time import run
from tests.engine.world import Log
from tests.licenses import a_license_key
from tests.operator_parts import converting, environments

Tree = dict[str, Any]
OLD, NEXT, NEWER = (f"materialize/environmentd:v26.{minor}.0" for minor in range(3))
SPEC = {
    "environmentdImageRef": OLD,
    "backendSecretName": "backend",
    "environmentId": "12345678-1234-1234-1234-123456789012",
}
OWN = Ref(MATERIALIZES, "e", "m")
LICENSE = a_license_key(aud=NIL)
PASSWORD = "hunter2-hunter2"
LOOK_EVERY = 0.05


class Scene:
    def __init__(self, cluster: Cluster, wire: Faulty, log: Log) -> None:
        self.cluster, self.wire, self.log = cluster, wire, log
        self.client = Client(cluster.transport())

    @property
    def status(self) -> Tree:
        return self.cluster.get(MATERIALIZES, "e", "m").get("status") or {}

    @property
    def reason(self) -> str:
        return str((self.status.get("conditions") or [{}])[0].get("reason"))

    @property
    def selected(self) -> str:
        service = self.cluster.get(SERVICES, "e", f"mz{self.status['resourceId']}-environmentd")
        return str(service["spec"]["selector"][NAME])

    def ref(self, resource: Any, name: str) -> Ref:
        return Ref(resource, "e", f"mz{self.status['resourceId']}-{name}")

    async def generations(self) -> list[str]:
        """Names of all objects that belong to a generation, without what they share."""
        listed = [await self.client.list(kind, Tree, namespace="e") for kind in (STATEFULSETS, SERVICES, CONFIGMAPS)]
        names = [each["metadata"]["name"] for one in listed for each in one.items]
        return sorted(name.partition("-")[2] for name in names if name[-1].isdigit())

    async def patch(self, ref: Ref, tree: Tree) -> None:
        await self.client.call(request.patch(ref, MERGE_PATCH, msgspec.json.encode(tree)))

    async def unlabel(self, ref: Ref) -> None:
        await self.patch(ref, {"metadata": {"labels": {RESOURCE_ID: None}}})

    async def until(self, holds: Callable[[], bool], within: float = 300.0) -> None:
        for _ in range(int(within / LOOK_EVERY)):
            if holds():
                return
            await asyncio.sleep(LOOK_EVERY)
        raise AssertionError(f"after {within} seconds: {self.status}")

    async def promoted(self, generation: int) -> None:
        await self.until(lambda: self.reason == "Applied" and self.status["activeGeneration"] == generation)

    def mark(self) -> int:
        return len(self.log.records)

    def writes(self, since: int) -> list[str]:
        """What the operator wrote to, in order."""
        return [keys["subject"] for _, _, keys in self.log.records[since:] if "verb" in keys]


@asynccontextmanager
async def a_scene(
    promote_takes: float = 0.5, *, console: bool = False, balancers: bool = False, record: str = ""
) -> AsyncIterator[Scene]:
    """An environment whose first generation serves."""
    cluster = Cluster(seed=1, namespaces=(*FIRST_NAMESPACES, "e", "ops"))
    wire, log = Faulty(cluster.transport(master("operator"))), Log()
    settings = Settings(operator_namespace="ops", create_console=console, create_balancers=balancers)
    conversion = ConversionOptions(service_name="fn", service_namespace="ops")
    options = OperatorOptions(
        process="orchestratord",
        identity="me",
        parts=(environments(settings, conversion),),
        lease="orchestratord",
        record=record,
    )
    running = [asyncio.create_task(cluster.run())]
    manager = await assemble(options, "default", wire, Metrics(), log.logger(), cluster.network.call)
    cluster.network.serve("fn.ops.svc", converting(manager))
    stands = Environments(catch_up=0.5, promote_takes=promote_takes)
    programs = Programs(stands.make, extra=stands.record)
    cluster.network.ask(programs.find)
    kubelet = Kubelet(Client(cluster.transport(master("kubelet"))), programs=programs)
    running += [asyncio.create_task(manager.run()), asyncio.create_task(kubelet.run())]
    scene = Scene(cluster, wire, log)
    try:
        await asyncio.wait_for(manager.leading.wait(), 60)
        await _made(scene)
        await scene.promoted(1)
        yield scene
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


async def _made(scene: Scene) -> None:
    data = {"license_key": LICENSE, "metadata_backend_url": "a", "persist_backend_url": "b"}
    data["external_login_password_mz_system"] = PASSWORD
    entries = {key: b64encode(value.encode()).decode() for key, value in data.items()}
    secret = {"metadata": {"name": "backend"}, "data": entries}
    await scene.client.call(request.create(SECRETS, "e", msgspec.json.encode(secret)))
    tree = {"apiVersion": MATERIALIZES.api_version, "kind": "Materialize", "metadata": {"name": "m"}, "spec": SPEC}
    await scene.client.call(request.create(MATERIALIZES, "e", msgspec.json.encode(tree)))


async def _deleting(scene: Scene, ref: Ref) -> None:
    """Somebody who deletes an object as soon as it is there."""
    while True:
        with suppress(NotFound):
            await scene.client.call(request.delete(ref))
        await asyncio.sleep(0.01)


def test_an_object_that_lost_its_label_is_neither_made_again_nor_left_behind() -> None:
    async def play() -> None:
        for resource, name in ((STATEFULSETS, "environmentd-1"), (CONFIGMAPS, "listeners-1")):
            async with a_scene() as scene:
                await asyncio.sleep(5)
                mark = scene.mark()

                await scene.unlabel(scene.ref(resource, name))
                await asyncio.sleep(120)

                assert scene.writes(mark) == []
                await scene.patch(OWN, {"spec": {"environmentdImageRef": NEXT}})
                await scene.promoted(2)
                assert await scene.generations() == [
                    "environmentd-2",
                    "environmentd-2",
                    "listeners-2",
                    "persist-pubsub-2",
                ]

    run(play(), seed=1)


def test_a_generation_that_loses_its_label_while_it_is_promoted_takes_over() -> None:
    async def play() -> None:
        async with a_scene(promote_takes=20) as scene:
            await scene.patch(OWN, {"spec": {"environmentdImageRef": NEXT}})
            await scene.until(lambda: scene.reason == "Promoting")

            await scene.unlabel(scene.ref(STATEFULSETS, "environmentd-2"))
            await scene.promoted(2)

            assert scene.selected.endswith("environmentd-2")

    run(play(), seed=1)


def test_a_promotion_ends_although_the_secret_is_gone() -> None:
    async def play() -> None:
        async with a_scene(promote_takes=5) as scene:
            await scene.patch(OWN, {"spec": {"environmentdImageRef": NEXT}})
            await scene.until(lambda: scene.reason == "Promoting")

            await scene.client.call(request.delete(Ref(SECRETS, "e", "backend")))
            await scene.promoted(2)

            assert scene.selected.endswith("environmentd-2")
            assert [keys for keys in scene.log.of("reconcile failed: backend secret missing") if "object" in keys]

    run(play(), seed=1)


def test_somebody_who_deletes_what_is_made_does_not_keep_the_operator_busy() -> None:
    async def play() -> None:
        async with a_scene() as scene:
            await asyncio.sleep(15)
            ref, mark = scene.ref(CONFIGMAPS, "listeners-1"), scene.mark()
            deleting = asyncio.create_task(_deleting(scene, ref))

            await asyncio.sleep(60)

            assert 5 <= scene.writes(mark).count(str(ref)) <= 7
            deleting.cancel()
            await asyncio.sleep(15)
            assert "listeners-1" in await scene.generations()

    run(play(), seed=1)


def test_a_pod_that_breaks_while_its_template_is_replaced_is_not_waited_for() -> None:
    async def play() -> None:
        async with a_scene() as scene:
            await scene.patch(OWN, {"spec": {"environmentdImageRef": NEXT, "podAnnotations": {CATCH_UP: "never"}}})
            await asyncio.sleep(30)
            name = scene.ref(PODS, "environmentd-2-0")
            scene.wire.freeze("statefulsets")
            await scene.patch(name, {"metadata": {"annotations": {HOLD: "true"}}})
            await asyncio.sleep(3)
            await scene.patch(OWN, {"spec": {"environmentdImageRef": NEWER}})
            await asyncio.sleep(3)

            scene.wire.thaw("statefulsets")
            await asyncio.sleep(120)

            pod = scene.cluster.get(PODS, "e", name.name)
            assert pod["spec"]["containers"][0]["image"] == NEWER

    run(play(), seed=1)


def test_that_consoles_need_balancers_is_told_at_the_start() -> None:
    async def play() -> None:
        async with a_scene(console=True) as alone, a_scene(console=True, balancers=True) as both:
            said = [scene.log.of("consoles wait for balancers that nobody makes") for scene in (alone, both)]

            assert [len(each) for each in said] == [1, 0]
            assert "--create-balancers" in said[0][0]["help"]

    run(play(), seed=1)


def test_an_image_that_cannot_be_pulled_is_told_once_and_corrected_by_another_spec() -> None:
    async def scenario() -> None:
        async with a_scene() as scene:
            await scene.patch(OWN, {"spec": {"environmentdImageRef": NEXT, "podAnnotations": {IMAGE_PULL: "fail"}}})
            await scene.until(lambda: bool(scene.log.of("rollout blocked")))
            await asyncio.sleep(120)

            (told,) = scene.log.of("rollout blocked")
            assert told["reason"] == "PodStuck"
            assert "container environmentd is in ImagePullBackOff" in told["waiting_for"]
            assert scene.reason == "Applying"
            events = [each["reason"] for each in scene.cluster.verbs.list(EVENTS, "e")]
            assert events.count("RolloutBlocked") == 1

            await scene.patch(OWN, {"spec": {"podAnnotations": None}})
            await scene.promoted(2)

    run(scenario(), steps=2_000_000)
