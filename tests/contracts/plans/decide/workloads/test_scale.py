"""Scale mode (section 3.8), and how kinds are known (section 3.7)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from fairlead.contracts.plans.decide.batches import Span
from fairlead.contracts.plans.decide.why import Why
from fairlead.contracts.plans.decide.workloads import pair, scale
from fairlead.contracts.plans.decide.workloads.answers import Done, Fail, Retry, Stamp, Verified, WorkloadChange, Writes
from fairlead.contracts.plans.decide.workloads.attempt import Attempt
from fairlead.contracts.plans.decide.workloads.kind_table import (
    CLONE_SET,
    DEPLOYMENT,
    NEWER_CLONE_SET,
    custom_kind,
    kind_of,
)
from fairlead.contracts.plans.decide.workloads.live import Style, WorkloadKind
from fairlead.contracts.plans.kinds import Json, RolloutBatch, RolloutPlan, RolloutStatus, WorkloadReference
from kubeloop.objects.meta import Resource
from tests.contracts.plans.decide.workloads.objects import (
    a_plan,
    an_attempt,
    applied,
    clone_set,
    daemon_set,
    deployment,
    merged,
    with_kind,
)

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
FOUR = a_plan(1, "20%", "50%", 2)
CUSTOM = WorkloadReference("example.org/v1", "Game", "g")
PATHS: Json = {
    "style": "pair",
    "replicasPath": "spec.count",
    "podTemplatePath": "spec.pod",
    "pausedPath": "spec.stopped",
    "status": {"replicasPath": "status.all", "readyPath": "status.up"},
}


def _mid(size: int, batch: int, span: Span, plan: RolloutPlan = FOUR, **status: Any) -> Attempt:
    found = RolloutStatus(current_batch=batch, **status)
    return an_attempt(deployment("d", size, claimed=True), (), plan, span=span, status=found)


def test_a_scale_needs_a_size_to_go_to() -> None:
    found = scale.verify(an_attempt(deployment("d", 2), (), replace(FOUR, target_size=12)))

    assert isinstance(found, Verified)
    assert (found.target_size, found.original_size, found.sizes) == (12, 2, (1, 2, 5, 2))
    assert isinstance(scale.verify(an_attempt(deployment("d", 2), (), FOUR)), Fail)
    assert isinstance(scale.verify(an_attempt(daemon_set(), (), replace(FOUR, target_size=12))), Fail)


def test_whoever_expects_an_upgrade_is_told_that_all_pods_are_new() -> None:
    found = [scale.verify(an_attempt(each, (), FOUR)) for each in (clone_set(5, updated=5), daemon_set())]

    assert found == [
        Fail(
            Why.SPEC_INVALID,
            "all pods of the CloneSet c are of its newest template already, so targetSize must say what to scale to",
        ),
        Fail(
            Why.SPEC_INVALID,
            "the DaemonSet ds has one pod per node and cannot be scaled, and all pods of the DaemonSet ds are of its"
            " newest template already",
        ),
    ]


def test_whether_to_scale_at_all_is_not_known_from_a_status_of_an_older_spec() -> None:
    """A template that was just written is no reason to fail for want of a size: pods that lack it are not counted."""
    for target in (deployment("d", 2), daemon_set()):
        target.tree["metadata"]["generation"] = 9

        assert scale.verify(an_attempt(target, (), FOUR)) == Retry(
            Why.STATUS_STALE, f"waiting for the controller of the {target.shown} to observe its newest spec"
        )


def test_a_scale_waits_until_nothing_moves_any_more() -> None:
    plan = RolloutPlan(target_size=9)
    updating = deployment("d", 2)
    updating.tree["status"]["updatedReplicas"] = 1

    assert isinstance(scale.verify(an_attempt(None, (), plan)), Retry)
    assert isinstance(scale.verify(an_attempt(deployment("d", 2, pods=1), (), plan)), Retry)
    assert isinstance(scale.verify(an_attempt(updating, (), plan)), Retry)
    assert isinstance(scale.verify(an_attempt(deployment("d", 2, pods=0, paused=True), (), plan)), Verified)


def test_a_claim_only_ends_the_pause() -> None:
    target = deployment("d", 2, paused=True)

    step = scale.initialize(an_attempt(target), NOON)

    assert isinstance(step, Writes)
    found = applied(target, step.changes[0])
    assert (found.size, found.is_paused) == (2, False)


@pytest.mark.parametrize(
    ("span", "seen"), [(Span(12, 2, True), [3, 5, 10, 12]), (Span(20, 32, True), [31, 28, 22, 20])]
)
def test_sizes_go_from_goal_to_goal(span: Span, seen: list[int]) -> None:
    size, found = span.original, []
    for batch in range(4):
        step = scale.roll(_mid(size, batch, span), NOON)
        assert isinstance(step, Writes)
        assert step.completes
        change = step.changes[0]
        assert isinstance(change, WorkloadChange)
        size = change.body["spec"]["replicas"]
        found.append(size)
        assert scale.roll(_mid(size, batch, span), NOON) == Done()
        assert scale.check(_mid(size, batch, span)) == Done()
        assert scale.finish_batch(_mid(size, batch, span, upgraded_replicas=size)) == Done()

    assert found == seen


def test_growing_waits_for_ready_pods_and_shrinking_until_they_are_gone() -> None:
    up, down = Span(12, 2, True), Span(2, 12, True)
    growing, shrinking = _mid(3, 0, up), _mid(11, 0, down)
    assert growing.target is not None
    assert shrinking.target is not None
    growing.target.tree["status"]["readyReplicas"] = 2
    shrinking.target.tree["status"]["readyReplicas"] = 12

    assert scale.check(growing) == Retry(Why.PODS_NOT_READY, "2 of 3 pods of the Deployment d are ready")
    assert scale.check(shrinking) == Retry(Why.PODS_NOT_READY, "12 pods of the Deployment d are ready, and 11 stay")


@pytest.mark.parametrize("size", [1, 4, 9])
def test_r_21_a_size_of_somebody_else_ends_the_attempt(size: int) -> None:
    span = Span(12, 2, True)

    assert isinstance(scale.roll(_mid(size, 0, span), NOON), Fail)
    assert scale.check(_mid(2, 0, span)) == Fail(Why.DRIFT, "the Deployment d has 2 replicas; expected: 3")
    assert isinstance(scale.finish_batch(_mid(3, 0, span, upgraded_replicas=7)), Fail)


@pytest.mark.parametrize(("span", "step"), [(Span(5, 2, True), 1), (Span(2, 5, True), -1)])
def test_r_22_pods_come_and_go_one_at_a_time(span: Span, step: int) -> None:
    plan = RolloutPlan(rollout_batches=(RolloutBatch(instance_interval=10),))
    start = span.original

    first = scale.roll(_mid(start, 0, span, plan, upgraded_replicas=start, last_instance_time=NOON), NOON)

    assert scale.roll(_mid(start, 0, span, plan, upgraded_replicas=start), NOON) == Stamp(start)
    assert isinstance(first, Writes)
    assert isinstance(first.changes[0], WorkloadChange)
    assert first.changes[0].body == {"spec": {"replicas": start + step}}
    second = _mid(start + step, 0, span, plan, upgraded_replicas=start, last_instance_time=NOON)
    assert isinstance(scale.roll(second, NOON), Retry)
    assert scale.roll(second, NOON + timedelta(seconds=10)) == Stamp(start + step)


def test_finishing_releases_and_nothing_else() -> None:
    target = deployment("d", 3, claimed=True)

    step = scale.finish(an_attempt(target), succeeded=True, keeps_original=False)

    assert isinstance(step, Writes)
    assert applied(target, step.changes[0]).tree["spec"] == target.tree["spec"]
    assert scale.finish(an_attempt(None), succeeded=True, keeps_original=False) == Done()


@pytest.mark.parametrize(
    ("version", "name", "kind"),
    [
        ("apps/v1", "Deployment", DEPLOYMENT),
        ("apps.kruise.io/v1alpha1", "CloneSet", CLONE_SET),
        ("apps.kruise.io/v1beta1", "CloneSet", NEWER_CLONE_SET),
        ("apps/v1", "ReplicaSet", "the workload kind `ReplicaSet` is not supported"),
        ("extensions/v1beta1", "Deployment", "the workload kind `Deployment` is not supported"),
    ],
)
def test_r_5_kinds_are_known_or_not_supported(version: str, name: str, kind: WorkloadKind | str) -> None:
    assert kind_of(WorkloadReference(version, name, "x"), {}) == kind


def test_a_custom_kind_is_rolled_by_its_paths() -> None:
    kind = kind_of(CUSTOM, {("example.org", "Game"): PATHS})
    assert isinstance(kind, WorkloadKind)
    tree = merged(deployment("d2", 0).tree, {"spec": {"count": 0, "stopped": True, "pod": {"image": "b"}}})
    old = merged(deployment("d1", 0).tree, {"spec": {"count": 5, "pod": {"image": "a"}}, "status": {"all": 5, "up": 5}})
    resource = Resource("example.org", "v1", "games", "Game")
    target, source = (
        with_kind(replace(deployment(name, 0), tree=found), resource, kind)
        for name, found in (("d2", tree), ("d1", old))
    )

    found = pair.verify(an_attempt(target, (source,), a_plan("10%", "40%", "50%")))

    assert kind.style is Style.PAIR
    assert isinstance(found, Verified)
    assert found.sizes == (1, 2, 2)
    status = RolloutStatus(sources=found.sources)
    step = pair.initialize(an_attempt(target, (source,), span=Span(5, 5), status=status), NOON)
    assert isinstance(step, Writes)
    assert applied(target, step.changes[1]).tree["spec"]["stopped"] is False


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"style": "sideways"}, "style"),
        ({"style": "ordinals"}, "style"),
        ({"replicasPath": None}, "lacks extension.rollout.replicasPath"),
        ({"status": None}, "lacks extension.rollout.status.replicasPath"),
        ({"style": "partition"}, "lacks extension.rollout.partitionPath"),
        ({"replicasPath": 7}, "replicasPath"),
        ({"replicasPath": "spec..count"}, "replicasPath"),
    ],
)
def test_paths_that_are_missing_are_named(change: Json, said: str) -> None:
    found = custom_kind(CUSTOM, merged(PATHS, change))

    assert isinstance(found, str)
    assert said in found


@pytest.mark.parametrize("extension", [None, 7, [], "pair"])
def test_an_extension_of_another_kind_is_no_crash(extension: Any) -> None:
    assert isinstance(custom_kind(CUSTOM, extension), str)
