"""Deployments and ReplicaSets on the embedded cluster: what the recorded scenarios do not show."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kubeloop import clock
from kubeloop.objects.apps import DEPLOYMENTS, REPLICASETS
from kubeloop.objects.meta import Condition, Resource
from kubesim.controllers.pods import Pod, PodAnnotations, PodMeta, PodSpec, PodStatus, Restarts, Sidecar
from kubesim.controllers.replicas import doomed
from kubesim.errors import forbidden
from kubesim.kinds.registry import PODS
from kubesim.store.versions import Tree
from kubesim.writes.asking import Write
from tests.kubesim.controllers.world import NAMESPACE, World, play, with_image

NOW = datetime(2030, 1, 1, 12, tzinfo=UTC)


def a_workload(name: str = "web", replicas: int = 2, image: str = "i:1", **spec: Any) -> Tree:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": image}]}}
    return {
        "metadata": {"name": name},
        "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template} | spec,
    }


def a_deployment(world: World, **spec: Any) -> None:
    world.create(DEPLOYMENTS, a_workload(**spec))


def sets(world: World) -> list[Tree]:
    """In the order of their revisions."""
    found = world.verbs.list(REPLICASETS, NAMESPACE)
    return sorted(found, key=lambda each: str(each["metadata"].get("annotations", {})))


def status_of(world: World, name: str = "web") -> Tree:
    status: Tree = world.verbs.read(DEPLOYMENTS, NAMESPACE, name)["status"]
    return status


def conditions_of(world: World) -> dict[str, tuple[str, str]]:
    """Status and reason by type."""
    return {each["type"]: (each["status"], each["reason"]) for each in status_of(world).get("conditions", [])}


async def settle_ready(world: World) -> None:
    """Makes pods ready as they come, until nothing more happens."""
    for _ in range(10):
        await world.settle(1)
        world.make_ready(*(name for name, pod in world.pods().items() if pod["status"]["phase"] == "Pending"))
    await world.settle(1)


def test_a_rollout_that_does_not_move_is_late_and_recovers() -> None:
    async def scenario(world: World) -> None:
        a_deployment(world, progressDeadlineSeconds=60)
        await world.settle(55)
        assert conditions_of(world)["Progressing"] == ("True", "ReplicaSetUpdated")

        await world.settle(10)
        assert conditions_of(world) == {
            "Available": ("False", "MinimumReplicasUnavailable"),
            "Progressing": ("False", "ProgressDeadlineExceeded"),
        }

        await settle_ready(world)
        assert conditions_of(world) == {
            "Available": ("True", "MinimumReplicasAvailable"),
            "Progressing": ("True", "NewReplicaSetAvailable"),
        }

    play(scenario)


def test_time_in_a_pause_counts_towards_no_deadline() -> None:
    async def scenario(world: World) -> None:
        a_deployment(world, progressDeadlineSeconds=60)
        await world.settle(30)
        world.patch(DEPLOYMENTS, "web", {"spec": {"paused": True}})
        await world.settle(1000)
        world.patch(DEPLOYMENTS, "web", {"spec": {"paused": False}})
        await world.settle(30)
        assert conditions_of(world)["Progressing"] == ("Unknown", "DeploymentResumed")

        await world.settle(40)
        assert conditions_of(world)["Progressing"] == ("False", "ProgressDeadlineExceeded")

    play(scenario)


def test_without_a_deadline_nothing_is_said_about_progress() -> None:
    async def scenario(world: World) -> None:
        a_deployment(world, progressDeadlineSeconds=2**31 - 1)
        await settle_ready(world)
        assert conditions_of(world) == {"Available": ("True", "MinimumReplicasAvailable")}

    play(scenario)


def test_a_pod_counts_as_available_only_after_its_time() -> None:
    async def scenario(world: World) -> None:
        a_deployment(world, replicas=1, minReadySeconds=30)
        await world.settle(1)
        world.make_ready(*world.pods())
        await world.settle(20)
        assert (status_of(world)["readyReplicas"], status_of(world).get("availableReplicas", 0)) == (1, 0)

        await world.settle(15)
        assert status_of(world)["availableReplicas"] == 1

    play(scenario)


def test_a_rollout_keeps_within_surge_and_unavailability_all_the_time() -> None:
    """Whatever the order of events, which the seed decides.

    What is kept is what the sets are asked for: one that is to grow may have made its pod before the other, which is to
    shrink, has deleted its own. And the numbers of ready pods that the controller goes by are as late as its watches.
    """
    seen: list[tuple[int, int]] = []

    async def scenario(world: World) -> None:
        strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 2, "maxUnavailable": 1}}
        a_deployment(world, replicas=6, strategy=strategy)
        await settle_ready(world)
        world.store.listen(lambda *_: seen.append(_counts(world)))
        world.patch(DEPLOYMENTS, "web", with_image("i:2"))
        await settle_ready(world)
        images = {pod["spec"]["containers"][0]["image"] for pod in world.pods().values()}
        assert (images, len(world.pods())) == ({"i:2"}, 6)

    for seed in range(5):
        play(scenario, seed=seed)
    assert max(asked for asked, _ in seen) == 8

    seen.clear()
    play(scenario, lag=(0.0, 0.0))
    assert min(ready for _, ready in seen) == 5


def _counts(world: World) -> tuple[int, int]:
    """Pods that the sets are asked for, and ready ones."""
    pods = [pod for pod in world.pods().values() if "deletionTimestamp" not in pod["metadata"]]
    return sum(each["spec"]["replicas"] for each in sets(world)), sum(
        bool(pod["status"].get("conditions")) for pod in pods
    )


@pytest.mark.parametrize("seed", range(10))
def test_no_pod_and_no_set_is_made_twice_however_late_the_watches_are(seed: int) -> None:
    async def scenario(world: World) -> None:
        a_deployment(world, replicas=7)
        await settle_ready(world)
        world.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 9}})
        await settle_ready(world)
        made = [event.new.head.name for resource, event, _ in world.writes if (resource, event.type) == (PODS, "ADDED")]
        assert (len(made), len(sets(world))) == (9, 1)

    play(scenario, seed=seed, lag=(0.0, 2.0))


def test_a_set_that_cannot_make_pods_says_so_and_its_deployment_too() -> None:
    async def scenario(world: World) -> None:
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(world.verbs.inside, "create", _without_pods(world.verbs.inside.create))
            a_deployment(world, replicas=3)
            await world.settle(1)
        assert conditions_of(world)["ReplicaFailure"] == ("True", "FailedCreate")
        assert sets(world)[0]["status"]["conditions"][0]["message"] == "pods is forbidden: no more of them"
        assert "FailedCreate: Error creating: pods is forbidden: no more of them" in world.events()

        await settle_ready(world)
        assert "ReplicaFailure" not in conditions_of(world)
        assert len(world.pods()) == 3

    play(scenario)


def _without_pods(create: Callable[..., Write]) -> Callable[..., Write]:
    def refusing(resource: Resource, *rest: Any, **options: Any) -> Write:
        if resource == PODS:
            raise forbidden(PODS, "", "no more of them")
        return create(resource, *rest, **options)

    return refusing


def test_events_tell_what_was_done() -> None:
    async def scenario(world: World) -> None:
        a_deployment(world, replicas=1)
        await world.settle(1)
        pod, set_ = next(iter(world.pods())), sets(world)[0]["metadata"]["name"]
        world.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 0}})
        await world.settle(1)
        assert world.events() == {
            f"ScalingReplicaSet: Scaled up replica set {set_} from 0 to 1": 1,
            f"SuccessfulCreate: Created pod: {pod}": 1,
            f"ScalingReplicaSet: Scaled down replica set {set_} from 1 to 0": 1,
            f"SuccessfulDelete: Deleted pod: {pod}": 1,
        }

    play(scenario)


def test_a_taken_name_is_a_collision_and_the_next_is_tried() -> None:
    async def scenario(world: World) -> None:
        a_deployment(world, name="first", replicas=0)
        await world.settle(1)
        taken = sets(world)[0]
        world.delete(DEPLOYMENTS, "first")
        await world.settle(1)
        stranger = a_workload("stranger", 0)
        stranger["metadata"]["name"] = taken["metadata"]["name"]
        world.create(REPLICASETS, stranger)

        a_deployment(world, name="first", replicas=1)
        await world.settle(5)
        assert status_of(world, "first")["collisionCount"] == 1
        assert len(sets(world)) == 2
        assert len(world.pods()) == 1

    play(scenario)


def test_a_set_adopts_pods_that_match_and_lets_go_of_those_that_do_not() -> None:
    async def scenario(world: World) -> None:
        pod = {
            "metadata": {"name": "stray", "labels": {"app": "web"}},
            "spec": a_workload()["spec"]["template"]["spec"],
        }
        world.create(PODS, pod)
        world.create(REPLICASETS, a_workload(replicas=2))
        await world.settle(1)
        owned = {name: bool(pod["metadata"].get("ownerReferences")) for name, pod in world.pods().items()}
        assert (len(owned), owned["stray"]) == (2, True)

        world.patch(PODS, "stray", {"metadata": {"labels": {"app": "aside"}}})
        await world.settle(1)
        assert "ownerReferences" not in world.pods()["stray"]["metadata"]
        assert len(world.pods()) == 3

    play(scenario)


def test_a_set_of_its_own_keeps_as_many_pods_as_it_says() -> None:
    async def scenario(world: World) -> None:
        world.create(REPLICASETS, a_workload(replicas=3))
        await world.settle(1)
        world.make_ready(*world.pods())
        world.patch(PODS, next(iter(world.pods())), {"status": {"phase": "Failed"}}, "status")
        await world.settle(1)
        status = world.verbs.read(REPLICASETS, NAMESPACE, "web")["status"]
        assert status["replicas"] == 3
        assert len(world.pods()) == 4  # what failed stays, and does not count

    play(scenario)


def test_pods_that_are_going_are_counted_apart() -> None:
    async def scenario(world: World) -> None:
        template = a_workload()["spec"]["template"]
        template["metadata"]["finalizers"] = ["example.com/hold"]
        a_deployment(world, replicas=1, template=template)
        await world.settle(1)
        world.delete(PODS, next(iter(world.pods())))
        await world.settle(1)
        assert (status_of(world)["replicas"], status_of(world)["terminatingReplicas"]) == (1, 1)
        assert sets(world)[0]["status"]["terminatingReplicas"] == 1

    play(scenario)


def test_a_namespace_that_goes_away_is_left_in_peace() -> None:
    async def scenario(world: World) -> None:
        namespaces = world.cluster.verbs.registry.find("", "v1", "namespaces")
        assert namespaces is not None
        a_deployment(world, replicas=1)
        await world.settle(1)
        world.verbs.delete(namespaces.resource, "", NAMESPACE, user="tester")
        before = len(world.writes)
        await asyncio.sleep(3600)
        assert len(world.writes) - before < 50

    play(scenario)


def a_pod(name: str, *, minutes: float = 10, ready: float | None = 10, cost: str = "", **says: Any) -> Pod:
    """On a node, made and ready so many minutes ago."""
    made = NOW - timedelta(minutes=minutes)
    condition = () if ready is None else (Condition("Ready", "True", NOW - timedelta(minutes=ready)),)
    return Pod(
        PodMeta(name, name, "1", annotations=PodAnnotations(deletion_cost=cost), creation_timestamp=made),
        PodStatus(
            says.get("phase", "Running"),
            condition,
            (Restarts("c", says.get("restarts", 0)),),
            (Restarts("s", says.get("sidecar", 0)),),
        ),
        PodSpec(says.get("node", "n1"), (Sidecar("s", "Always"),)),
    )


@pytest.mark.parametrize(
    ("goes", "stays"),
    [
        pytest.param(a_pod("z", node=""), a_pod("a", phase="Pending"), id="on no node"),
        pytest.param(a_pod("z", phase="Pending"), a_pod("a", ready=None), id="not running"),
        pytest.param(a_pod("z", ready=None), a_pod("a", cost="-5"), id="not ready"),
        pytest.param(a_pod("z", cost="-5"), a_pod("a", ready=1), id="cheaper to lose"),
        pytest.param(a_pod("z", cost="1"), a_pod("a", cost="10"), id="cheaper by number, not by letters"),
        pytest.param(a_pod("z", ready=1), a_pod("a", ready=100, restarts=9), id="ready for less time"),
        pytest.param(a_pod("a", ready=12), a_pod("z", ready=10), id="about as long ready: the UID decides"),
        pytest.param(a_pod("z", restarts=3), a_pod("a", restarts=2, sidecar=9), id="restarted more often"),
        pytest.param(a_pod("z", sidecar=1), a_pod("a", minutes=1), id="its sidecar restarted more often"),
        pytest.param(a_pod("z", minutes=10), a_pod("a", minutes=100), id="newer"),
    ],
)
def test_the_pod_that_is_missed_least_goes_first(goes: Pod, stays: Pod) -> None:
    for order in ([goes, stays], [stays, goes]):
        assert doomed(order, (), 1, NOW) == [goes]


def test_of_equal_pods_the_one_beside_more_of_its_kind_goes() -> None:
    crowded, alone = a_pod("z", node="n1"), a_pod("a", node="n2")
    related = [crowded, alone, a_pod("other", node="n1")]

    assert doomed([crowded, alone], related, 1, NOW) == [crowded]


def test_virtual_time_is_used() -> None:
    """A rollout's times are those of the cluster, to the second."""

    async def scenario(world: World) -> None:
        await asyncio.sleep(1000)
        began = clock.now().replace(microsecond=0)
        a_deployment(world)
        await world.settle(0.5)
        times = {each["lastTransitionTime"] for each in status_of(world)["conditions"]}
        assert times == {began.strftime("%Y-%m-%dT%H:%M:%SZ")}

    play(scenario)
