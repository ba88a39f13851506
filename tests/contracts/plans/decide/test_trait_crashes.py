"""A process that dies after any of its writes (L-4): the next one comes to the same end; I-1 and I-2 hold meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest

from fairlead.contracts.plans.kinds import Json
from tests.contracts.plans.decide.cluster import Cluster, Died, a_clone_set, a_pair

Play = Callable[[Cluster], None]


def _to_success(cluster: Cluster) -> None:
    cluster.play("rolloutSucceed")


def _turned_round(cluster: Cluster) -> None:
    """Target and source are exchanged once the target has grown for the first time."""
    for _ in range(200):
        if cluster.state == "rolloutSucceed" and cluster.spec["targetRef"]["name"] == "d1":
            return
        if cluster.size("d2") and cluster.spec["targetRef"]["name"] == "d2":
            cluster.change(targetRef=cluster.reference("d1"), sourceRef=[cluster.reference("d2")])
        cluster.run()
        cluster.settle()


def _deleted(cluster: Cluster) -> None:
    """The rollout is deleted in its second batch."""
    while cluster.is_there:
        if cluster.rollout.current_batch == 1 and cluster.meta.deletion_timestamp is None:
            cluster.delete()
        cluster.run()
        cluster.settle()


def _crashing(make: Callable[[], Cluster], play: Play) -> list[Cluster]:
    """The same rollout once undisturbed, and once for each write after which its process dies."""
    undisturbed = make()
    play(undisturbed)
    found = [undisturbed]
    for writes in range(len(undisturbed.history)):
        cluster = make()
        cluster.writes_left = writes
        with pytest.raises(Died):
            play(cluster)
        cluster.writes_left = None
        cluster.settle()
        play(cluster)
        found.append(cluster)
    return found


def _ends(cluster: Cluster) -> Json:
    return {
        "state": cluster.state,
        "sizes": {name: cluster.size(name) for name in cluster.objects},
        "owners": {name: cluster.owners(name) for name in cluster.objects},
        "specs": {name: cluster.tree(name)["spec"] for name in cluster.objects},
        "there": cluster.is_there,
    }


def _judge_pair(cluster: Cluster, total: int = 5) -> None:
    rolling = [each for each in cluster.history if each.state == "rollingInBatches"]
    decrease = cluster.plan.get("rolloutStrategy") == "DecreaseFirst"
    for before, after in pairwise(rolling):
        assert after.sizes["d2"] >= before.sizes["d2"]
        assert after.sizes["d1"] <= before.sizes["d1"]
        assert after.batch >= before.batch
    for each in rolling:
        both = each.sizes["d1"] + each.sizes["d2"]
        size = cluster.rollout.effective_batches[each.batch]
        assert (total - size <= both <= total) if decrease else (total <= both <= total + size)


@pytest.mark.parametrize("strategy", ["IncreaseFirst", "DecreaseFirst"])
def test_a_pair_whose_process_dies(strategy: str) -> None:
    found = _crashing(lambda: a_pair({"rolloutStrategy": strategy}), _to_success)

    assert len(found) > 25
    for cluster in found:
        assert _ends(cluster) == _ends(found[0])
        assert cluster.state == "rolloutSucceed"
        _judge_pair(cluster)


def test_a_clone_set_whose_process_dies() -> None:
    found = _crashing(a_clone_set, _to_success)

    for cluster in found:
        assert _ends(cluster) == _ends(found[0])


def test_a_scale_whose_process_dies() -> None:
    def made() -> Cluster:
        cluster = Cluster({"targetSize": 6, "numBatches": 3}, sources=())
        cluster.add_deployment("d2", 2)
        return cluster

    found = _crashing(made, _to_success)

    for cluster in found:
        assert _ends(cluster) == _ends(found[0])
        assert cluster.sizes("d2") == [2, 3, 4, 6]


def test_a_pair_that_is_turned_round_whose_process_dies() -> None:
    found = _crashing(a_pair, _turned_round)

    for cluster in found:
        assert _ends(cluster) == _ends(found[0])
        assert (cluster.size("d1"), cluster.size("d2")) == (5, 0)
        assert min(each.sizes["d1"] + each.sizes["d2"] for each in cluster.history) == 5


def test_a_pair_that_is_deleted_whose_process_dies() -> None:
    found = _crashing(a_pair, _deleted)

    for cluster in found:
        assert _ends(cluster) == _ends(found[0])
        assert not cluster.is_there
        assert cluster.owners("d1") == cluster.owners("d2") == []


def test_pods_that_go_one_at_a_time_whose_process_dies() -> None:
    """R-22: no pod goes early because a process forgot the one before."""
    plan: Json = {"rolloutBatches": [{"replicas": 3, "instanceInterval": 4}, {}]}

    found = _crashing(lambda: a_pair(plan), _to_success)

    for cluster in found:
        assert _ends(cluster) == _ends(found[0])
        assert cluster.sizes("d2") == [0, 1, 2, 3, 5]
