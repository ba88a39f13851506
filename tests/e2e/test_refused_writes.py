"""Writes that a quota or a policy refuses: the rollout stands still, says why in the cluster, and goes on after it."""

from __future__ import annotations

import asyncio

from fairlead.contracts.environments.kinds import BALANCERS
from fairlead.core.outcome import FAILED
from fairlead.engine.failed_passes import FAILING
from fairlead.engine.manager import Manager
from kubeloop.objects.apps import DEPLOYMENTS
from kubeloop.objects.meta import Ref
from kubeloop.request import Transport, delete
from tests.contracts.leaderworker.decide.sets import a_set
from tests.e2e.clusters import SERVICE_ACCOUNTS, Site, everywhere
from tests.e2e.environments import Scene, V, W, manifest, on_clusters
from tests.e2e.history import Tree
from tests.e2e.leaderworker_play import begin
from tests.e2e.leaderworkers import with_sets
from tests.e2e.meddling import EXCEEDED, Quota
from tests.e2e.operators import Operator
from tests.e2e.rollouts import SECOND, is_complete, roll, three_zones
from tests.e2e.zones import begin as begin_zones
from tests.e2e.zones import change, told


async def outcome(manager: Manager | None) -> str:
    """As the operator tells it of its only rollout."""
    assert manager is not None
    (shown,) = (await manager.report("operator", [])).items
    return shown.outcome


def about(event: Tree) -> tuple[str, str]:
    return event["regarding"]["kind"], event["regarding"]["name"]


@everywhere(on=("sim",))
async def test_a_pod_that_may_not_be_deleted_is_told_by_its_zone(site: Site) -> None:
    made: list[Quota] = []

    def through(transport: Transport) -> Transport:
        made.append(Quota(transport, "delete pods"))
        return made[0]

    await three_zones(site)
    operator = Operator(site, through=through)
    await begin_zones(site, operator)

    await roll(site)
    await asyncio.sleep(60)
    (event,) = await told(site, FAILING)

    assert about(event) == ("StatefulSet", "ingester-zone-a")
    assert event["note"].endswith(EXCEEDED)
    assert await outcome(operator.manager) == FAILED

    made[0].holds = False
    await site.until(lambda: is_complete(site, SECOND))


@with_sets(on=("sim",))
async def test_a_revision_that_may_not_be_recorded_is_told_by_its_set(site: Site) -> None:
    play = await begin(site)
    await play.kill()
    quota = Quota(site.ground.transport("admin"), "create controllerrevisions")
    play.start(quota)

    await play.create(a_set())
    await asyncio.sleep(60)
    (event,) = await told(site, FAILING)

    assert about(event) == ("LeaderWorkerSet", "a")
    assert event["note"].endswith(EXCEEDED)
    assert await outcome(play.operator.manager) == FAILED

    quota.holds = False
    await play.available()


@on_clusters(begins=False, on=("sim",))
async def test_a_status_that_may_not_be_written_is_told_by_its_environment(scene: Scene) -> None:
    made: list[Quota] = []

    def through(transport: Transport) -> Transport:
        made.append(Quota(transport, "update materializes/status"))
        made[0].holds = False
        return made[0]

    scene.operator.through = through
    await scene.operator.start()
    await scene.apply(manifest(V))
    await scene.promoted(1)
    made[0].holds = True

    await scene.apply(manifest(W))
    await asyncio.sleep(60)
    (event,) = await told(scene.site, FAILING)

    assert about(event) == ("Materialize", "m")
    assert event["note"].endswith(EXCEEDED)

    made[0].holds = False
    await scene.promoted(2, within=300)


@on_clusters(on=("sim",))
async def test_an_object_that_a_finalizer_keeps_is_told_as_one_that_goes_and_is_made_again(scene: Scene) -> None:
    await scene.apply(manifest(V))
    await scene.promoted(1)
    await change(scene.site, SERVICE_ACCOUNTS, "m", {"metadata": {"finalizers": ["example.test/kept"]}})
    await scene.site.client.call(delete(Ref(SERVICE_ACCOUNTS, scene.site.namespace, "m")))

    await asyncio.sleep(30)
    said = [line for line in scene.operator.said("ObjectsGoing") if "serviceaccount/m" in line]

    assert said
    assert all("it is being deleted, and is made again then" in line for line in said)
    assert not scene.operator.said("ObjectUndone")

    await change(scene.site, SERVICE_ACCOUNTS, "m", {"metadata": {"finalizers": None}})
    await asyncio.sleep(20)
    found = await scene.site.get(SERVICE_ACCOUNTS, "m")

    assert found is not None
    assert "deletionTimestamp" not in found["metadata"]


@on_clusters(begins=False, on=("sim",))
async def test_a_balancer_whose_deployment_may_not_come_back_is_not_ready(scene: Scene) -> None:
    made: list[Quota] = []

    def through(transport: Transport) -> Transport:
        made.append(Quota(transport, "patch deployments"))
        made[0].holds = False
        return made[0]

    async def is_ready() -> bool:
        found = (await scene.read(BALANCERS)).get("status", {}).get("conditions", ())
        return [each["status"] for each in found] == ["True"]

    scene.operator.through = through
    await scene.operator.start()
    await scene.apply(manifest(V))
    await scene.promoted(1)
    await scene.until(is_ready)
    made[0].holds = True
    resource_id = (await scene.read(BALANCERS))["status"]["resourceId"]

    await scene.site.client.call(delete(Ref(DEPLOYMENTS, scene.site.namespace, f"mz{resource_id}-balancerd")))
    await asyncio.sleep(20)

    assert not await is_ready()

    made[0].holds = False
    await scene.until(is_ready, within=300)
