"""The explain document of a plan: batches, workloads, the wait in one sentence, and what helps."""

from __future__ import annotations

import shlex

import pytest
from msgspec import UNSET

from fairlead.contracts.plans.kinds import Json
from fairlead.core.ask import Bad
from fairlead.core.explain import Check
from kubeloop.objects.apps import STATEFULSETS
from tests.contracts.plans.decide.cluster import Cluster, a_clone_set, a_pair
from tests.contracts.plans.decide.workloads.objects import pod, stateful_set
from tests.contracts.plans.showing import looked_at, page

HOOK = {"type": "pre-batch-rollout", "name": "approve", "url": "http://h/x"}


def phases(cluster: Cluster) -> list[str]:
    return [lane.phase for lane in looked_at(cluster).stands.lanes]


def test_a_lane_for_each_batch_with_its_size_its_goal_and_its_ready_pods() -> None:
    cluster = a_pair()
    cluster.play_to("batchInRolling", 1)

    shown = looked_at(cluster)

    assert [(each.name, each.phase, each.done, each.total, each.goal) for each in shown.stands.lanes] == [
        ("batch 0", "Done", 1, 1, 1),
        ("batch 1", "Rolling", 0, 2, 3),
        ("batch 2", "Pending", 0, 2, 5),
    ]
    assert (shown.stands.phase, shown.stands.done, shown.stands.total, shown.outcome) == ("Rolling", 1, 5, "moving")
    assert (shown.part, shown.noun, shown.namespace, shown.rollout) == ("plans", "rollouttrait", "ns", "r")


def test_what_is_done_next_is_told_with_its_numbers() -> None:
    cluster = a_pair()
    cluster.play_to("batchInRolling", 1)

    assert looked_at(cluster).next == (
        "change the replicas of Deployment d2 from 1 to 3",
        "then batch 1: bring d2 to 3 pods and d1 to 2, wait until its new pods are ready",
        "then batch 2: bring d2 to 5 pods and d1 to 0",
    )


def test_sources_and_target_with_their_sizes() -> None:
    cluster = a_pair()
    cluster.play_to("batchInRolling", 1)

    source, target = looked_at(cluster).workloads or ()

    assert (source.role, source.object, source.size, source.ready, source.before, source.after) == (
        "source",
        "deployment/d1",
        4,
        4,
        5,
        0,
    )
    assert (target.role, target.object, target.size, target.before, target.after) == (
        "target",
        "deployment/d2",
        1,
        0,
        5,
    )
    assert "from deployment/d1 4 pods, 4 ready, had 5, goes to 0 to deployment/d2 1 pod, 1 ready, had 0" in page(
        cluster
    )


def test_a_source_that_somebody_scales_after_the_end_goes_nowhere() -> None:
    cluster = a_pair()
    cluster.play("rolloutSucceed")
    cluster.scale("d1", 3)

    source, _ = looked_at(cluster).workloads or ()

    assert (source.size, source.after) == (3, None)


def test_pods_that_are_not_ready_are_counted_and_the_command_that_shows_them_is_told() -> None:
    cluster = a_pair()
    cluster.play_to("batchInRolling", 1)
    cluster.tree("d2")["spec"]["selector"] = {"matchLabels": {"app": "web", "v": "2"}}
    cluster.run()
    cluster.settle(ready=False)

    shown = looked_at(cluster)

    (wait,) = shown.blocked_by
    assert (wait.text, wait.clears) == (
        "1 of 3 pods of the Deployment d2 are ready",
        "the pod becomes ready",
    )
    assert wait.advice[0] == "look at its pods: kubectl -n ns get pods -l app=web,v=2"
    assert (shown.outcome, shown.ended) == ("waiting", False)


def test_a_command_that_is_told_runs_nothing_that_somebody_wrote_into_a_selector() -> None:
    """Objects of custom kinds hold what their definitions let pass, and commands are there to be copied."""
    cluster = a_pair()
    cluster.play_to("batchInRolling", 1)
    cluster.tree("d2")["spec"]["selector"] = {"matchLabels": {"app": "$(reboot); echo 'x'"}}
    cluster.run()
    cluster.settle(ready=False)

    (wait,) = looked_at(cluster).blocked_by

    command = wait.advice[0].partition(": ")[2]
    assert shlex.split(command) == ["kubectl", "-n", "ns", "get", "pods", "-l", "app=$(reboot); echo 'x'"]
    assert shlex.quote("app=$(reboot); echo 'x'") in command


def test_since_when_it_waits_is_what_the_condition_says() -> None:
    cluster = a_pair()
    cluster.play_to("batchInRolling", 1)
    cluster.play(most=4, ready=False)

    (wait,) = looked_at(cluster).blocked_by

    (condition,) = (each for each in cluster.rollout.conditions if each.type == "RolloutInProgress")
    assert (wait.since, wait.since_exact) == (condition.last_transition_time, True)


@pytest.mark.parametrize("field", ["lastBatchToRollout", "batchPartition"])
def test_a_gate_is_told_with_the_command_that_opens_it(field: str) -> None:
    cluster = a_pair({field: 0})
    cluster.play(most=30)

    shown = looked_at(cluster)

    assert (shown.outcome, shown.stands.phase, phases(cluster)) == ("gated", "Gated", ["Done", "Gated", "Pending"])
    (wait,) = shown.blocked_by
    assert wait.text == "r waits at the gate after batch 0; the last one is batch 2"
    assert wait.advice == (
        "let batch 1 go: fairlead promote r -n ns",
        "let all batches go: fairlead promote r -n ns --full",
    )
    assert shown.next == ("batch 1: bring d2 to 3 pods and d1 to 2, once somebody lets it go",)
    assert wait.since_exact


def test_a_gate_whose_batch_has_lost_its_pods_says_so() -> None:
    cluster = a_pair({"lastBatchToRollout": 0})
    cluster.play(most=60)
    del cluster.objects["d2"]

    (wait,) = looked_at(cluster).blocked_by

    assert (
        wait.text == "r waits at the gate after batch 0; the last one is batch 2; by now the Deployment d2 is not there"
    )


def test_a_pause_is_told_with_the_command_that_ends_it() -> None:
    cluster = a_pair()
    cluster.play_to("batchVerifying", 1)
    cluster.edit(paused=True)
    cluster.run()

    shown = looked_at(cluster)

    assert (shown.outcome, shown.stands.phase, phases(cluster)) == ("held", "Paused", ["Done", "Paused", "Pending"])
    assert shown.blocked_by[0].text == "r is paused at batch 1; the last one is batch 2"
    assert shown.blocked_by[0].advice == ("let it go on: fairlead resume r -n ns",)


def test_a_hook_that_refuses_is_told_with_what_it_has_to_answer() -> None:
    batches: list[Json] = [{"replicas": 2, "batchRolloutWebhooks": [HOOK]}, {}]
    cluster = a_pair({"rolloutBatches": batches})
    cluster.hook = lambda _body, _call: Bad("refused", code=403)
    cluster.play(most=6)

    shown = looked_at(cluster)

    (wait,) = shown.blocked_by
    assert wait.text == "failed to invoke a webhook: approve at http://h/x: status 403"
    assert wait.advice == ("the hook approve accepts by answering with 200, 201 or 202; it is asked again every 5 s",)
    assert shown.stands.lanes[0].hooks == ("approve (pre-batch)",)
    assert (
        shown.next[0]
        == "batch 0: ask the hook approve, bring d2 to 2 pods and d1 to 3, wait until its new pods are ready"
    )


def test_metrics_and_traffic_of_a_batch_with_what_was_measured_last() -> None:
    metric = {"name": "errors", "metricsRange": {"max": 1}, "templateRef": {"name": "t"}}
    told = {"name": "latency", "metricsRange": {"min": "1", "max": "200"}, "dryRun": True}
    cluster = a_pair()
    cluster.play_to("batchVerifying", 1)
    batches: list[Json] = [{"replicas": 1}, {"replicas": 2, "canaryMetric": [metric, told]}, {}]
    routing = {"provider": "gatewayapi", "ingressRef": {"name": "web"}}
    cluster.edit(rolloutBatches=batches, trafficRouting=routing)
    cluster.status["metrics"] = [
        {"name": "errors", "value": "0.4", "outcome": "inRange", "failures": 0, "successes": 1}
    ]

    lanes = looked_at(cluster).stands.lanes

    assert [each.weight for each in lanes] == [20, 60, 100]
    assert lanes[1].checks == (
        Check("errors", "", "1", "0.4", None, "in range"),
        Check("latency", "1", "200", decides=False),
    )
    assert (lanes[0].checks, lanes[2].checks) == ((), ())
    assert (
        "goal 3; traffic 60 %; errors 0.4 (in range), to be at most 1; latency at least 1 and at most 200, only told"
    ) in page(cluster)


def test_without_routing_nothing_is_said_of_traffic() -> None:
    assert {each.weight for each in looked_at(a_pair()).stands.lanes} == {UNSET}


def test_what_was_aborted_has_ended_and_says_how_it_goes_on() -> None:
    cluster = a_pair()
    cluster.play_to("batchInRolling", 1)
    cluster.ask("abort@2026-03-01T12:00:00Z")
    cluster.play("rolloutFailed")

    shown = looked_at(cluster)

    assert (shown.outcome, shown.ended, shown.stands.phase) == ("failed", True, "Failed")
    assert phases(cluster) == ["Done", "Stopped", "Skipped"]
    (wait,) = shown.blocked_by
    assert wait.text == "r failed: aborted"
    assert wait.advice == (
        "try again from where it stands: fairlead retry r -n ns",
        "go back to the source: fairlead undo r -n ns",
    )
    assert shown.next == ()


def test_what_went_back_is_told_from_what_failed() -> None:
    cluster = a_pair()
    cluster.play_to("batchVerifying", 1)
    cluster.ask("revert@2026-03-01T12:00:00Z")
    cluster.run()

    assert looked_at(cluster).stands.phase == "Reverting"
    cluster.play("rolloutFailed")

    shown = looked_at(cluster)
    assert (shown.outcome, shown.ended, shown.stands.phase) == ("reverted", True, "Reverted")
    assert set(phases(cluster)) == {"Reverted"}
    assert shown.blocked_by[0].text == "r is reverted: aborted, to go back to what was there before"
    assert [(each.size, each.after) for each in shown.workloads or ()] == [(5, None), (0, None)]


def test_what_could_not_go_back_has_failed() -> None:
    """A StatefulSet whose earlier template nobody knows."""
    cluster = Cluster({"rolloutBatches": [{"replicas": 1}, {}]}, sources=())
    cluster.put(STATEFULSETS, stateful_set(2, partition=2).tree)
    cluster.spec["targetRef"] = cluster.reference("s", "StatefulSet")
    cluster.pods = [pod(f"s-{place}", "old", of="s") for place in range(2)]
    cluster.play_to("batchVerifying", 0)
    cluster.ask("revert@2026-03-01T12:00:00Z")

    cluster.play("rolloutFailed")

    assert (looked_at(cluster).outcome, looked_at(cluster).stands.phase) == ("failed", "Failed")


def test_after_a_failed_verification_a_corrected_spec_helps() -> None:
    cluster = a_pair({"rolloutBatches": [{"replicas": 9}, {}]})
    cluster.play("rolloutFailed")

    shown = looked_at(cluster)

    assert (shown.outcome, shown.ended, shown.stands.lanes) == ("failed", True, ())
    assert (shown.stands.done, shown.stands.total) == (0, 5)
    assert shown.blocked_by[0].advice[0] == "correct the spec: any change of it starts the rollout again"


def test_what_succeeded_is_done() -> None:
    cluster = a_pair()
    cluster.play("rolloutSucceed")

    shown = looked_at(cluster)

    assert (shown.outcome, shown.ended, shown.stands.phase, shown.blocked_by) == ("done", False, "Succeeded", ())
    assert (shown.stands.done, set(phases(cluster))) == (5, {"Done"})


def test_an_attempt_that_begins_again_is_not_told_as_done() -> None:
    """Between an edit and the pass that stores it, the status is that of the attempt before."""
    cluster = a_pair()
    cluster.play("rolloutSucceed")
    cluster.change(targetRef=cluster.reference("d1"), sourceRef=[cluster.reference("d2")])

    shown = looked_at(cluster)

    assert (shown.outcome, shown.stands.phase, shown.stands.done) == ("moving", "Verifying", 0)
    assert "Done" not in phases(cluster)


def test_before_it_is_verified_the_batches_are_those_that_it_would_have() -> None:
    cluster = a_pair({"lastBatchToRollout": 0})

    shown = looked_at(cluster)

    assert [(each.total, each.phase) for each in shown.stands.lanes] == [(1, "Pending"), (2, "Pending"), (2, "Pending")]
    assert shown.stands.phase == "New"
    assert shown.next[-1] == "then wait at the gate after batch 0"


def test_pods_of_a_clone_set_are_counted_where_they_are() -> None:
    cluster = a_clone_set()
    cluster.play_to("batchVerifying", 1)

    shown = looked_at(cluster)

    assert (shown.stands.done, shown.stands.total) == (3, 5)
    (target,) = shown.workloads or ()
    assert (target.role, target.object, target.size) == ("target", "cloneset/c", 5)


@pytest.mark.parametrize(("size", "goals"), [(9, [6, 9]), (1, [4, 1])])
def test_a_scale_counts_the_pods_that_come_or_go(size: int, goals: list[int]) -> None:
    cluster = Cluster({"targetSize": size, "rolloutBatches": [{"replicas": 1}, {}]}, sources=())
    cluster.add_deployment("d2", 5)
    cluster.play_to("batchReady", 0)

    shown = looked_at(cluster)

    assert [each.goal for each in shown.stands.lanes] == goals
    assert (shown.stands.done, shown.stands.total) == (1, 4)


def test_a_missing_target_is_named() -> None:
    cluster = a_pair()
    del cluster.objects["d2"]
    cluster.play(most=4)

    (wait,) = looked_at(cluster).blocked_by

    assert wait.text == "the Deployment d2 is not there"
    assert wait.advice == ("create the Deployment d2, or name another one in its place",)
    assert "deployment/d2 is not there" in page(cluster)


def test_what_would_end_it_is_noted() -> None:
    cluster = a_pair({"progressDeadlineSeconds": 60, "onFailure": "revert", "revertOnDelete": True})
    cluster.autoscalers = {"d2": "web"}
    cluster.play_to("batchInRolling", 1)

    notes = " ".join(looked_at(cluster).notes)

    assert "rollingState rollingInBatches, batchRollingState batchInRolling, currentBatch 1" in notes
    assert "no progress for 60 s fails the rollout" in notes
    assert "the HorizontalPodAutoscaler web aims at d2" in notes


@pytest.mark.parametrize("status", [{"rollingState": "odd"}, {"rollingState": "rollingInBatches"}, "text", 5])
def test_a_status_that_somebody_wrote_can_be_looked_at(status: object) -> None:
    cluster = a_pair()
    cluster.play_to("batchInRolling", 1)
    cluster.status = status if isinstance(status, dict) else {"rollingState": status}

    assert looked_at(cluster).stands.unit == "pods"
