"""A status that was pruned, or that another release wrote: the attempt is verified again and goes on."""

from __future__ import annotations

from datetime import timedelta

import pytest

from fairlead.contracts.plans.decide.lost_status import NEW_TEMPLATE, TEXT
from fairlead.contracts.plans.kinds import Json
from tests.contracts.plans.decide.cluster import Cluster, a_clone_set, a_pair

KEPT = (
    "batchRollingState",
    "conditions",
    "currentBatch",
    "lastAppliedPodTemplateIdentifier",
    "rollingState",
    "rolloutTargetSize",
    "targetGeneration",
    "upgradedReadyReplicas",
    "upgradedReplicas",
)
"""What KubeVela's definition has of a status."""


def prune(cluster: Cluster) -> None:
    cluster.status = {key: value for key, value in cluster.status.items() if key in KEPT}


def play(cluster: Cluster, *, passes: int = 80) -> None:
    for _ in range(passes):
        if cluster.state in ("rolloutSucceed", "rolloutFailed"):
            return
        cluster.run()
        cluster.settle()
        cluster.now += timedelta(seconds=1)


def until(cluster: Cluster, state: str, batch: int = 0) -> None:
    for _ in range(80):
        rollout = cluster.rollout
        if state in (rollout.rolling_state, rollout.batch_rolling_state) and rollout.current_batch == batch:
            return
        cluster.run()
        cluster.settle()
        cluster.now += timedelta(milliseconds=100)
    raise AssertionError(f"never {state}")


def test_a_status_that_the_server_pruned_claims_nothing_until_it_is_kept() -> None:
    """As long as the definition forgets, the attempt comes back to its verification, once a second at most."""
    cluster = a_pair()
    until(cluster, "initializing")
    for _ in range(3):
        prune(cluster)
        cluster.run()
    assert cluster.condition("RolloutInitializing") == ("False", TEXT)
    assert cluster.state == "initializing"
    assert cluster.owners("d1") == cluster.owners("d2") == []

    cluster.now += timedelta(seconds=2)
    cluster.run()
    assert cluster.state == "verifyingSpec"
    play(cluster)

    assert cluster.state == "rolloutSucceed"
    assert (cluster.size("d1"), cluster.size("d2")) == (0, 5)


@pytest.mark.parametrize(
    ("state", "batch"),
    [
        ("batchInitializing", 0),
        ("batchInRolling", 0),
        ("batchVerifying", 0),
        ("batchReady", 0),
        ("batchInRolling", 1),
        ("batchFinalizing", 1),
    ],
)
def test_a_rollout_that_another_release_began_goes_on_from_its_sizes(state: str, batch: int) -> None:
    """Its status says less; the size stays the same, and no workload goes back."""
    cluster = a_pair()
    _of_another_release(cluster, state, batch)
    before = (cluster.size("d1"), cluster.size("d2"))
    until(cluster, "initializing")
    until(cluster, "rollingInBatches")
    assert cluster.owners("d1") == cluster.owners("d2") == ["RolloutTrait", "Namespace"]

    play(cluster)

    assert cluster.state == "rolloutSucceed"
    assert cluster.rollout.rollout_target_size == 5
    assert (cluster.size("d1"), cluster.size("d2")) == (0, 5)
    assert cluster.owners("d1") == cluster.owners("d2") == []
    sizes = [(each.sizes["d1"], each.sizes["d2"]) for each in cluster.history]
    later = sizes[sizes.index(before) :]
    assert later == sorted(later, key=lambda pair: (-pair[0], pair[1]))


def _of_another_release(cluster: Cluster, state: str, batch: int) -> None:
    """A rollout that it has brought so far."""
    until(cluster, state, batch)
    prune(cluster)
    for name in cluster.objects:
        _take_off_what_only_we_write(cluster, name)


def _owners(cluster: Cluster) -> list[str]:
    return [each for name in cluster.objects for each in cluster.owners(name)]


@pytest.mark.parametrize("ended", ["", "rolloutFailed", "rolloutSucceed"])
def test_a_rollout_that_another_release_began_takes_no_workload_along_when_it_is_deleted(ended: str) -> None:
    """The claim is the only owner that such a workload has: the garbage collector would delete it with all of its
    pods."""
    cluster = a_pair()
    _of_another_release(cluster, "batchVerifying", 1)
    if ended:
        cluster.status["rollingState"] = ended
    else:
        until(cluster, "verifyingSpec")
    sizes = (cluster.size("d1"), cluster.size("d2"))

    cluster.delete()
    for _ in range(5):
        if cluster.is_there:
            cluster.run()

    assert not cluster.is_there
    assert _owners(cluster) == []
    assert (cluster.size("d1"), cluster.size("d2")) == sizes


def test_a_rollout_that_another_release_began_holds_nothing_where_it_cannot_be_verified_again() -> None:
    cluster = a_pair()
    _of_another_release(cluster, "batchVerifying", 1)
    until(cluster, "verifyingSpec")
    cluster.edit(rolloutBatches=[{"replicas": 9}, {}])

    play(cluster)

    assert cluster.state == "rolloutFailed"
    assert _owners(cluster) == []


def test_a_clone_set_in_the_middle_of_an_update_by_another_release_goes_on() -> None:
    """It is not paused there, and one that updates already cannot be verified."""
    cluster = a_clone_set()
    _of_another_release(cluster, "batchVerifying", 1)
    assert cluster.tree("c")["spec"]["updateStrategy"] == {"paused": False, "partition": 2}

    play(cluster)

    assert cluster.state == "rolloutSucceed"
    assert _owners(cluster) == []
    assert cluster.tree("c")["spec"]["updateStrategy"] == {"paused": False, "partition": 0}


def _take_off_what_only_we_write(cluster: Cluster, name: str) -> None:
    """Another release claims with a controller reference alone."""
    resource, tree = cluster.objects[name]
    metadata: Json = {**tree["metadata"], "annotations": {}}
    metadata["ownerReferences"] = [each for each in metadata.get("ownerReferences", ()) if each["kind"] != "Namespace"]
    cluster.put(resource, {**tree, "metadata": metadata})


def _counted(cluster: Cluster, updated: int, generation: int = 1) -> None:
    """The CloneSet as a cache shows it; its controller has seen the first two templates."""
    resource, tree = cluster.objects["c"]
    status = {**tree["status"], "updatedReplicas": updated, "updatedReadyReplicas": updated, "observedGeneration": 2}
    metadata = {**tree["metadata"], "generation": generation, "resourceVersion": f"{generation}-{updated}"}
    cluster.put(resource, {**tree, "metadata": metadata, "status": status})


def test_a_template_that_is_seen_only_after_verification_is_rolled_in_batches() -> None:
    """As a scale to the size that it has, the claim would let all pods have the template at once."""
    cluster = a_clone_set({"targetSize": 5, "rolloutBatches": [{}]})
    _counted(cluster, 5)
    for _ in range(10):
        cluster.run()
        if cluster.state == "initializing":
            break
    _counted(cluster, 5, generation=3)
    cluster.run()
    assert (cluster.state, cluster.owners("c")) == ("initializing", [])
    _counted(cluster, 0, generation=2)
    cluster.run()
    assert (cluster.state, cluster.owners("c")) == ("verifyingSpec", [])
    assert NEW_TEMPLATE in [each.text for each in cluster.told]

    for _ in range(5):
        cluster.run()
        if cluster.owners("c"):
            break
    assert cluster.objects["c"][1]["spec"]["updateStrategy"] == {"paused": False, "partition": 5}
    play(cluster)
    assert cluster.state == "rolloutSucceed"
