"""A DaemonSet whose nodes go in the middle of its rollout, and one whose template is changed again."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

import pytest

from fairlead.contracts.plans.kinds import DAEMON_SETS, ROLLING
from kubeloop.objects.apps import REVISION_LABEL
from tests.contracts.plans.decide.cluster import Cluster
from tests.contracts.plans.decide.workloads.objects import daemon_set, pod, revision

MOMENTS = ["batchInitializing", "batchInRolling", "batchVerifying", "batchFinalizing", "batchReady"]


class Nodes:
    """Six of them, each with an old pod; batches of two."""

    def __init__(self) -> None:
        found = daemon_set(6)
        batches = [{"replicas": 2}, {"replicas": 2}, {}]
        self.cluster = Cluster({"rolloutBatches": batches}, sources=())
        self.cluster.spec["targetRef"] = Cluster.reference("ds", "DaemonSet")
        self.cluster.put(found.resource, found.tree)
        self.cluster.revisions = [revision("old", 1), revision("new", 2)]
        self.cluster.pods = [pod(f"p-{each}", "old", of="ds", node=f"node-{each}") for each in range(6)]
        self.there = {f"node-{each}" for each in range(6)}
        self.newest = "new"
        self.most_gone = 0
        """Pods that were deleted in one pass."""

    def leave(self, *numbers: int) -> None:
        self.there -= {f"node-{each}" for each in numbers}
        self._settle()

    def play(self, state: str, batch: int | None = None) -> None:
        for _ in range(60):
            rollout = self.cluster.rollout
            state_now = rollout.batch_rolling_state if rollout.rolling_state == ROLLING else rollout.rolling_state
            if state == state_now and batch in (None, rollout.current_batch):
                return
            before = len(self.cluster.pods)
            self.cluster.run()
            self.most_gone = max(self.most_gone, before - len(self.cluster.pods))
            self._settle()
            self.cluster.now += timedelta(seconds=2)
        raise AssertionError(f"never {state}: {self.cluster.status}")

    def revisions(self) -> Iterable[str]:
        return {each["metadata"]["labels"][REVISION_LABEL] for each in self.cluster.pods}

    def _settle(self) -> None:
        """Each node that is there has a pod, a new one of the newest template."""
        cluster = self.cluster
        cluster.pods = [each for each in cluster.pods if each["spec"]["nodeName"] in self.there]
        for node in sorted(self.there - {each["spec"]["nodeName"] for each in cluster.pods}):
            cluster.pods.append(pod(f"n-{node}-{cluster.version}", self.newest, of="ds", node=node))
        cluster._observe("ds", DAEMON_SETS, cluster.tree("ds"), {"desiredNumberScheduled": len(self.there)})


@pytest.mark.parametrize("batch", [0, 1])
@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("gone", [(0,), (5,), (0, 1), (0, 5), (0, 1, 2)])
def test_new_pods_that_go_with_their_nodes_are_not_waited_for(moment: str, batch: int, gone: tuple[int, ...]) -> None:
    """In whichever state of a batch, and whether their pods are new or old."""
    nodes = Nodes()
    nodes.play(moment, batch)

    nodes.leave(*gone)
    nodes.play("rolloutSucceed")

    assert nodes.revisions() == {"new"}
    assert nodes.most_gone <= 2
    status = nodes.cluster.rollout
    assert status.upgraded_replicas == status.rollout_target_size == len(nodes.there)


def test_a_template_that_is_changed_again_ends_the_attempt_with_a_sentence() -> None:
    """Its new pods are old by now, and a batch that was rolled would wait for them for ever; a retry brings it."""
    nodes = Nodes()
    nodes.play("batchVerifying", 1)

    nodes.cluster.revisions.append(revision("newer", 3))
    nodes.play("rolloutFailed")

    said = nodes.cluster.condition("RolloutFailed")[1]
    assert said == "6 pods of the DaemonSet ds are of an older template than its newest; expected: 2"
    nodes.newest = "newer"
    nodes.cluster.ask("retry@2026-03-01T12:00:00Z")
    nodes.play("rolloutSucceed")
    assert nodes.revisions() == {"newer"}
    assert nodes.most_gone <= 2
