"""When a set that waits for groups is blocked, by which pods, and when it looks again (leaderworker 2.15)."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from fairlead.contracts.leaderworker.kinds import PAUSED, Pod, PodSpec
from fairlead.core.pod_trouble import DEFAULT_DEADLINE, is_failing
from fairlead.core.progress_deadline import PROGRESS_DEADLINE
from fairlead.core.reason import Reason
from kubeloop.objects.core import ContainerState, ContainerStatus, ContainerWaiting, PodStatus
from kubeloop.objects.meta import Condition, OwnerReference
from tests.contracts.leaderworker.decide.rounds import NOW, Settled, a_set_seen, set_settled
from tests.contracts.leaderworker.decide.some import a_leader, a_revision, a_set, some_workers
from tests.contracts.leaderworker.showing import a_worker

KEY = a_revision(a_set()).metadata.labels["leaderworkerset.sigs.k8s.io/template-revision-hash"]
BROKEN = ContainerState(waiting=ContainerWaiting("ImagePullBackOff"))


def waiting(index: int, state: ContainerState = BROKEN, since: datetime = NOW, restarts: int = 0) -> Pod:
    """A worker that is not ready."""
    status = PodStatus(
        "Pending",
        (Condition("Ready", "False", last_transition_time=since),),
        (ContainerStatus("main", False, state, restart_count=restarts),),
    )
    return replace(a_worker(index, KEY, ready=False), status=status)


def settled(*members: Pod, unready: tuple[int, ...] = (1,), leaders: tuple[Pod, ...] = (), **given: Any) -> Settled:
    """A set of two groups; the workers of those that are `unready` are not available."""
    pods = leaders or tuple(a_leader(index, KEY) for index in range(2))
    workers = tuple(some_workers(index, KEY, index not in unready) for index in range(2))
    seen = a_set_seen(a_set(observed=2, **given), pods=pods, workers=workers, members=(*pods, *members))
    return set_settled(seen)


def test_a_set_whose_groups_are_all_kept_by_a_stuck_pod_is_blocked() -> None:
    found = settled(waiting(1))

    assert found.reason is Reason.POD_STUCK
    assert found.held.details == (("pod/a-1-1", "container main is in ImagePullBackOff"),)
    (note,) = [each for each in found.decision.tell if each.reason == "RolloutBlocked"]
    assert note.text == "Group 1 does not become ready: pod a-1-1 is stuck, container main is in ImagePullBackOff"
    assert note.warning
    assert note.related is not None
    assert (note.related.name, note.occurrence) == ("a-1-1", "worker-1 container main is in ImagePullBackOff")


def test_while_one_group_may_still_come_it_waits() -> None:
    begun = NOW - timedelta(minutes=1)
    found = settled(waiting(1), waiting(0, ContainerState(), begun), unready=(0, 1))

    assert found.reason is Reason.GROUPS_NOT_READY
    assert found.held.again == begun + DEFAULT_DEADLINE
    assert not [each for each in found.decision.tell if each.reason == "RolloutBlocked"]


def test_a_group_that_is_not_there_is_about_to_come() -> None:
    found = settled(waiting(1), leaders=(a_leader(1, KEY),))

    assert found.reason is Reason.GROUPS_NOT_READY


@pytest.mark.parametrize(("deadline", "reason"), [("30s", Reason.POD_STUCK), ("2m", Reason.GROUPS_NOT_READY)])
def test_the_deadline_is_that_of_the_set(deadline: str, reason: Reason) -> None:
    slow = waiting(1, ContainerState(), NOW - timedelta(minutes=1))

    assert settled(slow, annotations={PROGRESS_DEADLINE: deadline}).reason is reason


def test_a_deadline_that_cannot_be_used_is_told() -> None:
    found = settled(waiting(1), annotations={PROGRESS_DEADLINE: "soon"})

    (note,) = [each for each in found.decision.tell if each.reason == "InvalidAnnotation"]
    assert note.text.startswith(f"{PROGRESS_DEADLINE} cannot be used: ")


def test_a_person_who_paused_it_comes_first() -> None:
    image = a_set("nginx:2", annotations={PAUSED: "true"})
    revision = a_revision(image, 2)
    pods = tuple(a_leader(index, KEY) for index in range(2))
    seen = a_set_seen(image, revision=revision, pods=pods, members=(*pods, waiting(1)))

    assert set_settled(seen).reason is not Reason.POD_STUCK


def gone_since(pod: Pod, seconds: int) -> Pod:
    return replace(pod, metadata=replace(pod.metadata, deletion_timestamp=NOW - timedelta(seconds=seconds)))


def test_of_a_group_that_goes_only_what_does_not_go_is_in_the_way() -> None:
    leader = gone_since(a_leader(1, KEY), 700)
    spec = PodSpec(node_name="lost")
    hanging = replace(gone_since(a_worker(1, KEY), 650), spec=spec)

    stuck = settled(hanging, leaders=(a_leader(0, KEY), leader), unready=())
    assert stuck.held.details == (("pod/a-1-1", "it does not finish shutting down on node lost"),)
    alone = settled(leaders=(a_leader(0, KEY), leader), unready=())
    assert [about for about, _ in alone.held.details] == ["pod/a-1"]
    recent = settled(gone_since(hanging, 60), leaders=(a_leader(0, KEY), leader), unready=())
    assert recent.reason is Reason.GROUPS_NOT_READY
    broken = settled(waiting(1), leaders=(a_leader(0, KEY), gone_since(leader, 60)), unready=())
    assert broken.reason is Reason.GROUPS_NOT_READY


@pytest.mark.parametrize("worker", [a_worker(1, KEY), waiting(1)], ids=["ready", "broken"])
def test_a_leader_that_does_not_go_is_in_the_way_though_its_workers_stay(worker: Pod) -> None:
    """They go with it: on a rolling update, or when its node is lost, nothing else takes them away."""
    leader = replace(gone_since(a_leader(1, KEY), 700), spec=PodSpec(node_name="lost"))
    stuck = settled(worker, leaders=(a_leader(0, KEY), leader), unready=())
    assert stuck.held.details == (("pod/a-1", "it does not finish shutting down on node lost"),)


def test_pods_of_others_with_the_labels_block_nothing() -> None:
    stranger = waiting(1)
    owner = OwnerReference("ReplicaSet", "x", "uid", controller=True)
    stranger = replace(stranger, metadata=replace(stranger.metadata, owner_references=(owner,)))

    assert settled(stranger).reason is Reason.GROUPS_NOT_READY


@pytest.mark.parametrize(
    ("pod", "fails"),
    [
        (waiting(1), True),
        (waiting(1, ContainerState(), restarts=2), True),
        (waiting(1, ContainerState(), restarts=1), False),
        (waiting(1, ContainerState(waiting=ContainerWaiting("ContainerCreating"))), False),
        (a_worker(1, KEY), False),
    ],
)
def test_a_set_is_woken_when_the_kubelet_gives_up_on_a_worker(pod: Pod, fails: bool) -> None:
    assert is_failing(pod) is fails
