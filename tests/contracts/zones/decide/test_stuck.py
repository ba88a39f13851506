"""A group that waits for pods which do not become ready by waiting is blocked, says so once, and says what helps."""

from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec.structs import replace

from fairlead.contracts.zones.decide import Snapshot
from fairlead.contracts.zones.decide.groups import group_of
from fairlead.contracts.zones.decide.stuck import judged
from fairlead.contracts.zones.decide.waits import waits_of
from fairlead.contracts.zones.explain import explain
from fairlead.contracts.zones.kinds import NAME_LABEL, ROTATE
from fairlead.core.decision import Hold
from fairlead.core.explain import Explain
from fairlead.core.progress_deadline import PROGRESS_DEADLINE
from fairlead.core.reason import Reason
from kubeloop.objects.apps import StatefulSet
from kubeloop.objects.core import (
    ContainerState,
    ContainerStatus,
    ContainerTerminated,
    ContainerWaiting,
    Pod,
)
from kubeloop.objects.meta import Condition
from tests.builders import EARLIER, NOW, RUNNING, STARTING, a_pod, a_zone, pods_of, seen, waiting
from tests.contracts.zones.decide.judging import deleted, settled, waits_for

LONG_AGO = NOW - timedelta(minutes=10)
MINUTE = timedelta(minutes=1)


def crashing(zone: StatefulSet, ordinal: int = 0, revision: str = "new", restarts: int = 9) -> Pod:
    ended = ContainerState(terminated=ContainerTerminated(NOW - MINUTE, NOW - MINUTE, 1, "Error"))
    back_off = ContainerState(waiting=ContainerWaiting("CrashLoopBackOff"))
    return a_pod(zone, ordinal, revision, containers=(ContainerStatus("ingester", False, back_off, ended, restarts),))


def running_again(pod: Pod) -> Pod:
    """The same pod between two crashes."""
    (status,) = pod.status.container_statuses
    again = ContainerStatus("ingester", False, STARTING.state, status.last_state, status.restart_count)
    return replace(pod, status=replace(pod.status, container_statuses=(again,)))


def shown(snapshot: Snapshot) -> Explain:
    return explain(snapshot, settled(snapshot), NOW)


def rolling(*out: Pod, max_unavailable: str | None = None, **settings: str) -> Snapshot:
    """Zone a is rolled, with these pods in it that are not ready; zone b comes after it."""
    a = a_zone("a", ready=3 - len(out), max_unavailable=max_unavailable, annotations=settings)
    b = a_zone("b")
    return seen(a, b, out, pods_of(a)[len(out) :], pods_of(b))


A = a_zone("a")


def test_a_crash_loop_blocks_and_is_named_before_the_budget() -> None:
    document = shown(rolling(crashing(A)))

    first, second = document.blocked_by
    assert document.stands.phase == "Blocked"
    assert [lane.phase for lane in document.stands.lanes] == ["Blocked", "Pending"]
    assert document.next == ()
    assert (first.reason, first.object, first.kind) == ("PodStuck", "pod/ingester-zone-a-0", "blocked")
    crash_loop = "container ingester is in CrashLoopBackOff (9 restarts, last ended with exit code 1)"
    assert first.text == f"ingester-zone-a-0 is stuck: {crash_loop}"
    assert (first.since, first.since_exact) == (EARLIER, True)
    assert first.advice == (
        "kubectl -n test logs ingester-zone-a-0 -c ingester --previous",
        "kubectl -n test describe pod ingester-zone-a-0",
        "go back to the earlier template: fairlead undo ingester -n test --to-revision old",
    )
    assert (second.reason, second.kind) == ("BudgetUsed", "waiting")
    assert document.stands.lanes[0].cells[0].restarts == 9
    assert document.stands.lanes[0].cells[0].state == "stuck"


def test_the_way_back_passes_an_attempt_that_failed_before() -> None:
    """The revision before this one in time is of a template that was given up as well: `old`, `broken`, `new`."""
    a = a_zone("a", ready=2)

    document = shown(seen(a, (crashing(a), a_pod(a, 1, "broken"), a_pod(a, 2))))

    assert document.blocked_by[0].advice[-1].endswith("fairlead undo ingester -n test --to-revision old")
    assert document.stands.lanes[0].from_revision == "old"


def test_a_zone_that_is_done_goes_back_with_the_one_whose_pod_is_stuck() -> None:
    done, b = a_zone("a", current="new"), a_zone("b", ready=2)

    document = shown(seen(done, b, pods_of(done, "new"), (crashing(b), *pods_of(b)[1:])))

    assert document.blocked_by[0].advice[-1].endswith("fairlead undo ingester -n test --to-revision old")


def test_a_pod_that_was_only_marked_for_rotation_has_no_earlier_template() -> None:
    a = a_zone("a", current="new", ready=2)
    labels = {NAME_LABEL: a.metadata.name, ROTATE: "true"}
    marked = a_pod(a, 1, "new", labels=labels)

    document = shown(seen(a, (crashing(a), marked, a_pod(a, 2, "new"))))

    assert document.blocked_by[0].advice[-1] == "correct the pod template"


def test_an_outdated_pod_without_a_node_is_told_to_be_deleted_before_its_deadline() -> None:
    """It uses the budget for nothing, and the corrected template waits for it."""
    a = a_zone("a", ready=2)
    unbound = Condition("PodScheduled", "False", NOW - MINUTE, "0/6 nodes are available")
    outdated, updated = (
        replace(pod, status=replace(pod.status, phase="Pending", container_statuses=(), conditions=(unbound,)))
        for pod in (a_pod(a, 0, "broken"), a_pod(a, 0, "new"))
    )

    first, second = shown(seen(a, (outdated, *pods_of(a)[1:]))).blocked_by
    *_, other = shown(seen(a, (updated, *pods_of(a)[1:]))).blocked_by

    assert (first.reason, second.reason) == ("BudgetUsed", "PodsNotReady")
    assert second.advice == (
        "delete this pod, which is outdated and not ready: kubectl -n test delete pod ingester-zone-a-0",
    )
    assert other.advice == ()


def test_a_pod_that_was_never_ready_is_waited_for_since_it_was_made() -> None:
    """One without a node has no condition `Ready` that would tell."""
    a = a_zone("a", ready=2)
    made = a_pod(a, 0, "new", state="notReady", since=None)
    made = replace(made, metadata=replace(made.metadata, creation_timestamp=NOW - 5 * MINUTE))

    document = shown(seen(a, (made, *pods_of(a)[1:])))

    assert [block.reason for block in document.blocked_by] == ["BudgetUsed", "PodsNotReady"]
    assert {(block.since, block.since_exact) for block in document.blocked_by} == {(NOW - 5 * MINUTE, True)}


def test_the_pods_that_are_deleted_do_not_depend_on_it() -> None:
    """An updated pod that crashes uses the budget as any other that is not ready."""
    assert deleted(settled(rolling(crashing(A), max_unavailable="2"))) == ["a-1"]
    assert deleted(settled(rolling(crashing(A)))) == []


def test_the_judgement_is_the_same_in_all_states_of_the_loop() -> None:
    back_off, again = settled(rolling(crashing(A))), settled(rolling(running_again(crashing(A))))

    assert back_off == again


def test_it_is_told_once_however_often_the_container_is_restarted() -> None:
    told = {settled(rolling(crashing(A, restarts=count))).tell for count in range(2, 20)}

    ((tell,),) = told
    assert (tell.reason, tell.warning, tell.about.name) == ("RolloutBlocked", True, "ingester-zone-a")
    assert tell.text == "ingester-zone-a-0 is stuck: container ingester is in CrashLoopBackOff"


def test_a_pod_that_becomes_ready_ends_it() -> None:
    recovered = a_pod(A, 0, "new", containers=(replace(RUNNING, restart_count=9),))

    assert deleted(settled(rolling(recovered))) == []
    a, b = a_zone("a"), a_zone("b")
    assert deleted(settled(seen(a, b, recovered, pods_of(a)[1:], pods_of(b)))) == ["a-1"]


def test_another_template_ends_it() -> None:
    """The stuck pod is then outdated, and goes at once."""
    corrected = a_zone("a", ready=2, update="newer")
    b = a_zone("b", update="newer")

    assert deleted(settled(seen(corrected, b, crashing(A), pods_of(A)[1:], pods_of(b)))) == ["a-0"]


@pytest.mark.parametrize("reason", ["ImagePullBackOff", "ErrImagePull"])
def test_an_image_that_cannot_be_pulled_blocks_at_once(reason: str) -> None:
    pulling = a_pod(A, 0, "new", containers=(waiting(reason),), phase="Pending", since=NOW)

    document = shown(rolling(pulling))

    assert document.stands.phase == "Blocked"
    assert "container ingester is in ImagePullBackOff" in document.blocked_by[0].text
    assert document.blocked_by[0].advice[0] == "kubectl -n test describe pod ingester-zone-a-0"


def test_a_pod_that_only_takes_long_blocks_after_its_deadline() -> None:
    """No event tells that it has passed, so the group is looked at again then."""
    slow = rolling(a_pod(A, 0, "new", state="notReady", since=EARLIER))
    late = rolling(a_pod(A, 0, "new", state="notReady", since=LONG_AGO))

    assert settled(slow).verdict == Hold(Reason.BUDGET_USED, again=EARLIER + timedelta(minutes=10))
    assert settled(slow).tell == ()
    assert waits_for(settled(late)) is Reason.POD_STUCK
    assert waits_for(settled(slow, EARLIER + timedelta(minutes=10))) is Reason.POD_STUCK


@pytest.mark.parametrize(("text", "reason"), [("4m", Reason.POD_STUCK), ("6m", Reason.BUDGET_USED)])
def test_the_zone_may_set_the_deadline(text: str, reason: Reason) -> None:
    starting = a_pod(A, 0, "new", state="notReady", since=EARLIER)

    assert waits_for(settled(rolling(starting, **{PROGRESS_DEADLINE: text}))) is reason


def test_a_deadline_that_cannot_be_read_is_said_and_stops_nothing() -> None:
    decision = settled(rolling(**{PROGRESS_DEADLINE: "soon"}))

    (tell,) = (tell for tell in decision.tell if tell.reason == "InvalidAnnotation")
    assert tell.text.startswith(f'ingester-zone-a ignores its annotation {PROGRESS_DEADLINE}: "soon" is not a duration')
    assert deleted(decision) == ["a-0"]
    (block,) = explain(rolling(**{PROGRESS_DEADLINE: "soon"}), decision, NOW).blocked_by
    assert (block.rule, block.kind) == ("roll", "held")


def test_while_another_pod_is_on_its_way_the_group_is_not_blocked() -> None:
    starting = a_pod(A, 1, "new", state="notReady")

    document = shown(rolling(crashing(A), starting, max_unavailable="2"))

    assert document.stands.phase == "Waiting"
    assert [block.reason for block in document.blocked_by] == ["PodStuck", "BudgetUsed", "PodsNotReady"]


def test_a_pod_that_was_deleted_is_on_its_way_unless_it_waits_for_the_stuck_one() -> None:
    """With the policy OrderedReady a pod is made only when those before it are ready."""
    ordered = a_zone("a", ready=1, max_unavailable="2")
    parallel = replace(ordered, spec=replace(ordered.spec, pod_management_policy="Parallel"))
    pods = (crashing(A), *pods_of(A, _1="missing")[1:])

    assert waits_for(settled(seen(ordered, pods))) is Reason.POD_STUCK
    assert waits_for(settled(seen(parallel, pods))) is Reason.BUDGET_USED


def test_a_pod_that_does_not_finish_shutting_down_blocks_after_its_deadline() -> None:
    going = a_pod(A, 0, "old", state="terminating")
    hanging = replace(going, metadata=replace(going.metadata, deletion_timestamp=LONG_AGO))

    assert waits_for(settled(rolling(going))) is Reason.BUDGET_USED
    document = shown(rolling(hanging))
    assert document.blocked_by[0].text == "ingester-zone-a-0 is stuck: it does not finish shutting down"
    assert "rollout undo" not in " ".join(document.blocked_by[0].advice)


def test_an_outdated_pod_that_uses_the_budget_for_long_is_to_be_deleted_by_hand() -> None:
    """It is not ready and in no state in which the rollout may delete it beside the budget."""
    document = shown(rolling(a_pod(A, 0, "old", state="notReady", since=LONG_AGO)))

    assert document.stands.phase == "Blocked"
    assert document.blocked_by[0].advice[0] == (
        "delete this pod, which is outdated and not ready: kubectl -n test delete pod ingester-zone-a-0"
    )


def test_outdated_stuck_pods_in_two_zones_name_the_pods_to_delete() -> None:
    """Each zone keeps the other from being rolled; the zone with fewer of them is the one to help."""
    a, b, c = a_zone("a", ready=1), a_zone("b", ready=2), a_zone("c")
    pods = (*pods_of(a, _0="stuck", _1="stuck"), *pods_of(b, _2="stuck"), *pods_of(c))

    document = shown(seen(a, b, c, pods))

    first, *others = document.blocked_by
    assert first.text == (
        "2 zones are not ready (ingester-zone-a, ingester-zone-b): no pod is deleted while more than one is"
    )
    assert first.advice == (
        "delete this pod, which is outdated and not ready: kubectl -n test delete pod ingester-zone-b-2",
    )
    assert [other.reason for other in others] == ["PodStuck"] * 3
    assert deleted(settled(seen(a, b, c, pods))) == []
    healed = a_zone("b")
    after = (*pods_of(a, _0="stuck", _1="stuck"), *pods_of(healed, _2="ready new"), *pods_of(c))
    assert deleted(settled(seen(a, healed, c, after))) == ["a-0", "a-1"]


def test_a_zone_that_deleting_would_not_help_is_not_named() -> None:
    a, b = a_zone("a", ready=2), a_zone("b", ready=1)
    pods = (crashing(a), *pods_of(a)[1:], *pods_of(b, _0="stuck", _1="stuck new"))

    first = shown(seen(a, b, pods)).blocked_by[0]
    assert (first.reason, first.advice) == ("TwoZonesNotReady", ())


def test_zones_of_which_a_pod_starts_are_waited_for_though_others_are_stuck() -> None:
    """When it is ready, one zone may be left that is not, and that one is rolled."""
    a, b = a_zone("a", ready=2), a_zone("b", ready=2)
    pods = (*pods_of(a, _0="stuck"), *pods_of(b, _1="notReady"))

    document = shown(seen(a, b, pods))

    assert (document.outcome, document.stands.phase) == ("waiting", "Waiting")
    assert {block.reason for block in document.blocked_by} == {"ZonesNotReady", "PodStuck", "PodsNotReady"}
    assert settled(seen(a, b, pods)).verdict.again is not None


def test_every_zone_that_is_not_ready_is_told_of_once() -> None:
    a, b = a_zone("a", ready=2), a_zone("b", ready=2)

    told = settled(seen(a, b, pods_of(a, _0="stuck"), pods_of(b, _1="stuck"))).tell

    assert [tell.about.name for tell in told] == ["ingester-zone-a", "ingester-zone-b"]
    assert len({tell.text for tell in told}) == 1


def test_a_group_that_was_just_created_waits_and_warns_nobody() -> None:
    """At first the statuses are empty, then they count pods that start."""
    unseen = [a_zone(letter, known=0, ready=0, current="", update="", observed=None) for letter in "ab"]
    counted = [a_zone(letter, ready=0, current="new") for letter in "ab"]
    starting = [pods_of(zone, "new", _0="notReady", _1="notReady", _2="notReady") for zone in counted]

    for snapshot in (
        seen(*unseen),
        seen(unseen[0]),
        seen(*unseen, *starting),
        seen(*counted, *starting),
        seen(counted[0], unseen[1], *starting),
    ):
        decision = settled(snapshot)
        assert decision.tell == ()
        assert not decision.verdict.reason.blocks
        assert explain(snapshot, decision, NOW).stands.phase in ("Waiting", "Settling")


def test_a_group_that_cannot_start_is_blocked_and_has_no_earlier_template() -> None:
    a, b = a_zone("a", 1, ready=0, current="new"), a_zone("b", 1, ready=0, current="new")

    document = shown(seen(a, b, crashing(a), crashing(b)))

    assert document.stands.phase == "Blocked"
    assert [block.object for block in document.blocked_by] == ["pod/ingester-zone-a-0", "pod/ingester-zone-b-0"]
    assert document.blocked_by[0].advice[-1] == "correct the pod template"


def test_a_paused_zone_with_a_stuck_pod_blocks_and_names_both() -> None:
    a, b = a_zone("a", ready=2, paused="true"), a_zone("b")

    document = shown(seen(a, b, crashing(a, revision="old"), pods_of(a)[1:], pods_of(b)))

    assert [block.reason for block in document.blocked_by] == ["OtherZoneNotReady", "PodStuck"]
    assert not any("delete" in step for step in document.blocked_by[1].advice)


def test_a_stuck_pod_that_uses_up_a_disruption_budget_is_named_before_the_pods_that_it_keeps() -> None:
    group = group_of(rolling(crashing(A), max_unavailable="2"), NOW)
    held = Hold(Reason.DISRUPTION_BUDGET, details=(("pod/ingester-zone-a-1", "1 pod not ready in ingester-zone-a"),))

    verdict = judged(held, group)

    assert isinstance(verdict, Hold)
    assert verdict.reason is Reason.POD_STUCK
    assert [(wait.reason, wait.object) for wait in waits_of(group, verdict)] == [
        (Reason.POD_STUCK, "pod/ingester-zone-a-0"),
        (Reason.DISRUPTION_BUDGET, "pod/ingester-zone-a-1"),
    ]


@pytest.mark.parametrize("reason", [Reason.TWO_ZONES_NOT_READY, Reason.SOAKING, Reason.CACHE_BEHIND, Reason.COMPLETE])
def test_what_is_not_a_wait_for_pods_stays_as_it_is(reason: Reason) -> None:
    group = group_of(rolling(crashing(A)), NOW)

    assert judged(Hold(reason), group) == Hold(reason)


def test_more_stuck_pods_than_are_named_come_before_those_that_start() -> None:
    a = a_zone("a", 15, ready=0, current="new")
    pods = [
        *(crashing(a, place) for place in range(5, 15)),
        *(a_pod(a, place, "new", state="notReady") for place in range(5)),
    ]

    named = shown(seen(a, tuple(pods))).blocked_by

    assert [block.reason for block in named[:10]] == ["PodStuck"] * 10
    assert named[10].text.endswith("5 more of its pods are not ready")
