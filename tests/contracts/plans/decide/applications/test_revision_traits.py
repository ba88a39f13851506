"""RolloutTraits that name component revisions (T-6) instead of the workloads that these stand for."""

from __future__ import annotations

from fairlead.contracts.plans.kinds import COMPONENTS, ROLLOUT_TRAITS, Json
from kubeloop.objects.apps import DEPLOYMENTS
from tests.contracts.plans.decide.applications.test_revision_rollouts import a_component, sizes
from tests.contracts.plans.decide.applications.world import World


def revision(name: str) -> Json:
    return {"apiVersion": "apps/v1", "kind": "ControllerRevision", "name": name}


def test_a_third_revision_takes_the_pods_of_one_that_was_given_up_half_way() -> None:
    """An abandoned attempt is carried by the name of its revision, which stands for its workload there too."""
    world = World()
    for number, size in ((1, 3), (2, 0), (3, 0)):
        world.apply(COMPONENTS, "web", a_component(f"web:{number}"))
        world.play()
        workload = a_component(f"web:{number}", replicas=size, paused=not size)["workload"]
        world.apply(DEPLOYMENTS, f"web-v{number}", workload["spec"])
    world.settle()
    plan = {"rolloutBatches": [{"replicas": 1}, {}], "batchPartition": 0}
    spec = {"targetRef": revision("web-v2"), "sourceRef": [revision("web-v1")], "rolloutPlan": plan}
    world.apply(ROLLOUT_TRAITS, "r", spec)
    world.play()
    assert sizes(world) == {"web-v1": 2, "web-v2": 1, "web-v3": 0}

    world.apply(ROLLOUT_TRAITS, "r", {**spec, "targetRef": revision("web-v3"), "rolloutPlan": {}})
    world.play()

    assert world.status(ROLLOUT_TRAITS, "r")["rollingState"] == "rolloutSucceed"
    assert sizes(world) == {"web-v1": 0, "web-v2": 0, "web-v3": 3}
