"""Scaling through the whole operator in virtual time: waits end by themselves, pods are asked, refusals are facts."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta

import msgspec

from fairlead.contracts.zones.decide.scaling.delay import NO_REPLY_MAX_AGE_SECONDS, SILENT_SECONDS
from fairlead.contracts.zones.decide.scaling.scale_step import LOOK_AT_REFERENCES, TRY_AGAIN
from fairlead.contracts.zones.kinds import DELAY, DELAY_URL, LAST_DOWNSCALE, LEADER, MIN_TIME, MIRROR_KIND, MIRROR_NAME
from fairlead.contracts.zones.kinds import MIRROR_API_VERSION as API_VERSION
from fairlead.core.ask import REFUSAL_HOLDS
from fairlead.core.times import format_rfc3339
from kubeloop import clock
from kubeloop.calls import Call, Handler, Reply
from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.meta import Resource
from kubeloop.request import Request
from kubesim.faults import Fault
from kubesim.store.versions import Tree
from tests.engine.world import World, a_statefulset, play

CRDS = Resource("apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False)
TEMPLATES = Resource("rollout-operator.grafana.com", "v1", "replicatemplates", "ReplicaTemplate")
MOMENT = 3.0
"""Seconds in which a change that is due is made."""


def a_definition() -> Tree:
    numbers = {"type": "object", "properties": {"replicas": {"type": "integer"}}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "replicatemplates.rollout-operator.grafana.com"},
        "spec": {
            "group": TEMPLATES.group,
            "scope": "Namespaced",
            "names": {"plural": TEMPLATES.plural, "singular": "replicatemplate", "kind": TEMPLATES.kind},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {"type": "object", "properties": {"spec": numbers, "status": numbers}}
                    },
                    "subresources": {
                        "status": {},
                        "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"},
                    },
                }
            ],
        },
    }


class Pods:
    """Endpoints of the pods of `zone-a`: each remembers when it was first told to prepare, until that is cancelled."""

    def __init__(self, world: World, count: int) -> None:
        self.since: dict[int, datetime] = {}
        self.late: dict[int, timedelta] = {}
        """Pods that begin to prepare so long after they were told."""
        for ordinal in range(count):
            world.cluster.network.serve(f"zone-a-{ordinal}.zone-a.test.svc.cluster.local:8080", self._pod(ordinal))

    def _pod(self, ordinal: int) -> Handler:
        async def answer(call: Call) -> Reply:
            if call.method == "DELETE":
                self.since.pop(ordinal, None)
                return Reply(200)
            begun = self.since.setdefault(ordinal, clock.now() + self.late.get(ordinal, timedelta(0)))
            return Reply(200, msgspec.json.encode({"timestamp": int(begun.timestamp())}))

        return answer


async def a_zone(world: World, name: str, replicas: int, **annotations: str) -> None:
    tree = a_statefulset(name, "one")
    tree["metadata"]["annotations"] = annotations
    tree["spec"]["replicas"] = replicas
    await world.create(STATEFULSETS, "test", tree)
    await world.until(lambda: world.ready("test", name) == replicas)


async def a_template(world: World, replicas: int) -> None:
    await world.create(CRDS, "", a_definition())
    await asyncio.sleep(1)
    tree = {"apiVersion": TEMPLATES.api_version, "kind": TEMPLATES.kind, "metadata": {"name": "rt"}}
    await world.create(TEMPLATES, "test", tree | {"spec": {"replicas": replicas}})


def replicas(world: World, name: str) -> int:
    wanted: int = world.cluster.get(STATEFULSETS, "test", name)["spec"]["replicas"]
    return wanted


def told(world: World) -> int:
    status: int = world.cluster.get(TEMPLATES, "test", "rt").get("status", {}).get("replicas", 0)
    return status


def scales(world: World, name: str) -> list[Request]:
    return [each for each in world.requests if each.method == "PATCH" and each.path.endswith(f"/statefulsets/{name}")]


def test_a_follower_shrinks_by_itself_when_half_a_day_has_passed() -> None:
    """H-17: nothing happens in the cluster meanwhile, and the next resync would be minutes late."""

    async def scenario(world: World) -> None:
        began = clock.now()
        await a_zone(world, "zone-a", 2, **{LAST_DOWNSCALE: format_rfc3339(began)})
        await a_zone(world, "zone-b", 3, **{LEADER: "zone-a", MIN_TIME: "12h2m3s"})
        over = began + timedelta(hours=12, minutes=2, seconds=3)
        async with world.operating():
            await asyncio.sleep((over - clock.now()).total_seconds() - 1)

            assert replicas(world, "zone-b") == 3
            await world.until(lambda: replicas(world, "zone-b") == 2, within=1 + MOMENT)

        waits = world.log.of("waiting between downscales")
        assert len(waits) == 1
        assert waits[0]["object"] == "statefulset/zone-b"

    play(scenario)


def test_a_delayed_downscale_goes_on_as_pods_become_old_enough() -> None:
    async def scenario(world: World) -> None:
        await a_template(world, 5)
        reference = {MIRROR_NAME: "rt", MIRROR_KIND: "ReplicaTemplate", API_VERSION: TEMPLATES.api_version}
        await a_zone(world, "zone-a", 5, **reference, **{DELAY: "1h", DELAY_URL: "http://pod:8080/prepare"})
        pods = Pods(world, 5)
        pods.late = {2: timedelta(minutes=10)}
        async with world.operating():
            await world.until(lambda: told(world) == 5)
            await world.change(TEMPLATES, "test", "rt", {"spec": {"replicas": 1}})
            await world.until(lambda: len(pods.since) == 4, within=LOOK_AT_REFERENCES.total_seconds() + MOMENT)
            began = max(pods.since[ordinal] for ordinal in (3, 4))

            await asyncio.sleep((began - clock.now()).total_seconds() + 3600 - 2)
            assert replicas(world, "zone-a") == 5
            await world.until(lambda: replicas(world, "zone-a") == 3, within=2 + MOMENT)
            await world.until(lambda: told(world) == 3, within=MOMENT)

            await asyncio.sleep(600 - 10)
            assert replicas(world, "zone-a") == 3
            await world.until(lambda: replicas(world, "zone-a") == 1, within=10 + 2 * MOMENT)
            await world.until(lambda: told(world) == 1, within=MOMENT)

    play(scenario)


def test_a_delayed_downscale_loses_no_time_when_the_operator_is_restarted() -> None:
    """E-21."""

    async def scenario(world: World) -> None:
        await a_template(world, 2)
        reference = {MIRROR_NAME: "rt", MIRROR_KIND: "ReplicaTemplate", API_VERSION: TEMPLATES.api_version}
        await a_zone(world, "zone-a", 3, **reference, **{DELAY: "1h", DELAY_URL: "http://pod:8080/prepare"})
        pods = Pods(world, 3)
        async with world.operating():
            await world.until(lambda: set(pods.since) == {2})
        await asyncio.sleep(2000)

        async with world.operating():
            await asyncio.sleep((pods.since[2] - clock.now()).total_seconds() + 3600 - 2)

            assert replicas(world, "zone-a") == 3
            await world.until(lambda: replicas(world, "zone-a") == 2, within=2 + MOMENT)

    play(scenario)


def test_a_delayed_downscale_is_cancelled_when_the_reference_goes_back() -> None:
    """E-22."""

    async def scenario(world: World) -> None:
        await a_template(world, 3)
        reference = {MIRROR_NAME: "rt", MIRROR_KIND: "ReplicaTemplate", API_VERSION: TEMPLATES.api_version}
        await a_zone(world, "zone-a", 3, **reference, **{DELAY: "1h", DELAY_URL: "http://pod:8080/prepare"})
        pods = Pods(world, 3)
        async with world.operating():
            await world.change(TEMPLATES, "test", "rt", {"spec": {"replicas": 1}})
            await world.until(lambda: set(pods.since) == {1, 2}, within=LOOK_AT_REFERENCES.total_seconds() + MOMENT)

            await world.change(TEMPLATES, "test", "rt", {"spec": {"replicas": 3}})

            await world.until(lambda: not pods.since, within=2 * LOOK_AT_REFERENCES.total_seconds() + MOMENT)
            assert replicas(world, "zone-a") == 3

    play(scenario)


def test_pods_that_do_not_answer_do_not_hold_up_the_rollout() -> None:
    """Rule 33: at rest all pods are told; a rollout waits neither for that nor for each new pod again."""

    async def rolled(world: World, *, silent: bool) -> float:
        await a_template(world, 3)
        reference = {MIRROR_NAME: "rt", MIRROR_KIND: "ReplicaTemplate", API_VERSION: TEMPLATES.api_version}
        await a_zone(world, "zone-a", 3, **reference, **{DELAY: "1h", DELAY_URL: "http://pod:8080/prepare"})
        calls: list[str] = []

        async def answer(call: Call) -> Reply:
            calls.append(call.method)
            if silent:
                await asyncio.Event().wait()
            return Reply(200)

        for ordinal in range(3):
            world.cluster.network.serve(f"zone-a-{ordinal}.zone-a.test.svc.cluster.local:8080", answer)
        async with world.operating():
            await world.until(lambda: len(calls) >= 3)
            await asyncio.sleep(6)
            begun = clock.monotonic()
            await world.roll("zone-a")
            await world.until(lambda: world.is_rolled("test", "zone-a"))
            took = clock.monotonic() - begun

            calls.clear()
            await asyncio.sleep(2 * NO_REPLY_MAX_AGE_SECONDS)
            assert set(calls) == {"DELETE"}
            assert len(calls) >= 3
        return took

    times: list[float] = []

    for silent in (False, True):

        async def scenario(world: World, silent: bool = silent) -> None:
            times.append(await rolled(world, silent=silent))

        play(scenario)

    assert times[1] < times[0] + 1


def test_pods_that_are_to_go_and_do_not_answer_do_not_hold_up_the_rollout() -> None:
    """D4: the downscale waits for them, the rollout does not, and they are asked again soon enough (L4)."""

    async def rolled(world: World, *, silent: bool) -> float:
        await a_template(world, 2)
        reference = {MIRROR_NAME: "rt", MIRROR_KIND: "ReplicaTemplate", API_VERSION: TEMPLATES.api_version}
        await a_zone(world, "zone-a", 3, **reference, **{DELAY: "1h", DELAY_URL: "http://pod:8080/prepare"})
        pods, answering, calls = Pods(world, 2), asyncio.Event(), list[float]()

        async def answer(call: Call) -> Reply:
            if call.method == "POST":
                calls.append(clock.monotonic())
            if silent:
                await answering.wait()
            return Reply(200, msgspec.json.encode({"timestamp": int(clock.now().timestamp()) - 60}))

        world.cluster.network.serve("zone-a-2.zone-a.test.svc.cluster.local:8080", answer)
        async with world.operating():
            await world.until(lambda: len(calls) > 0)
            await asyncio.sleep(6)
            begun = clock.monotonic()
            await world.roll("zone-a")
            await world.until(lambda: world.is_rolled("test", "zone-a"))
            took = clock.monotonic() - begun

            assert not pods.since, "those that stay are not told to prepare"
            answering.set()
            asked = len(calls)
            await world.until(lambda: len(calls) > asked, within=2 * SILENT_SECONDS)
        return took

    times: list[float] = []

    for silent in (False, True):

        async def scenario(world: World, silent: bool = silent) -> None:
            times.append(await rolled(world, silent=silent))

        play(scenario)

    assert times[1] < times[0] + 5


def test_pods_roll_although_a_scale_is_refused_and_the_scale_is_tried_again() -> None:
    """E-13."""

    async def scenario(world: World) -> None:
        await a_zone(world, "zone-a", 2)
        await a_zone(world, "zone-b", 3, **{LEADER: "zone-a"})
        denied = Fault("status", status=403)
        world.fault = lambda sent: denied if sent in scales(world, "zone-b") else None
        async with world.operating():
            await world.roll("zone-a")
            await world.until(lambda: world.deleted() == ["zone-a-0", "zone-a-1"])

            assert replicas(world, "zone-b") == 3
            assert {keys["reason"] for keys in world.log.of("scaling impossible")} == {"ScalingRefused"}
            tries = len(scales(world, "zone-b"))
            await asyncio.sleep(600)
            assert 5 <= len(scales(world, "zone-b")) - tries <= 600 / REFUSAL_HOLDS.total_seconds()

            world.fault = lambda _: None
            await world.until(lambda: replicas(world, "zone-b") == 2, within=TRY_AGAIN.total_seconds() + MOMENT)

    play(scenario)


def test_a_reference_that_cannot_be_told_costs_no_passes_of_its_own() -> None:
    """Rule 31: a failure is ignored, and tried again when there is a pass anyway."""

    async def scenario(world: World) -> None:
        await a_template(world, 3)
        reference = {MIRROR_NAME: "rt", MIRROR_KIND: "ReplicaTemplate", API_VERSION: TEMPLATES.api_version}
        await a_zone(world, "zone-a", 3, **reference)
        tries: list[float] = []

        def deny(sent: Request) -> Fault | None:
            if sent.method != "PATCH" or not sent.path.endswith("/status"):
                return None
            tries.append(clock.monotonic())
            return Fault("status", status=403)

        world.fault = deny
        async with world.operating():
            await asyncio.sleep(10 * LOOK_AT_REFERENCES.total_seconds())

            assert 8 <= len(tries) <= 15
            await world.roll("zone-a")
            await world.until(lambda: world.is_rolled("test", "zone-a"))

    play(scenario)


def test_the_label_of_the_minimum_is_warned_of_once() -> None:
    """U-2."""

    async def scenario(world: World) -> None:
        for name in ("zone-a", "zone-b"):
            tree = a_statefulset(name, "one")
            tree["metadata"]["labels"][MIN_TIME] = "1h"
            await world.create(STATEFULSETS, "test", tree)
        async with world.operating():
            await world.roll("zone-a")
            await world.until(lambda: world.is_rolled("test", "zone-a"))

        assert len(world.log.of("deprecated label")) == 1

    play(scenario)
