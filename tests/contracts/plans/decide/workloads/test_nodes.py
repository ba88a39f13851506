"""DaemonSets (section 3.7): old pods are deleted, as many as the goal asks for, and made again."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from fairlead.contracts.plans.decide.batches import Span
from fairlead.contracts.plans.decide.why import Why
from fairlead.contracts.plans.decide.workloads import nodes
from fairlead.contracts.plans.decide.workloads.answers import Done, Fail, Removal, Retry, Stamp, Step, Verified, Writes
from fairlead.contracts.plans.decide.workloads.attempt import Attempt
from fairlead.contracts.plans.decide.workloads.live import Workload
from fairlead.contracts.plans.kinds import Json, RolloutBatch, RolloutPlan, RolloutStatus
from tests.contracts.plans.decide.workloads.objects import a_plan, an_attempt, applied, daemon_set, pod, revision

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
REVISIONS = (revision("old", 1), revision("new", 2), revision("other", 9, owner="elsewhere"))


def _pods(revisions: str, **fields: Any) -> tuple[Json, ...]:
    """`no`: the pod of the first node is new, that of the second old."""
    names = {"n": "new", "o": "old"}
    return tuple(
        pod(f"p-{9 - place}", names[each], of="ds", node=f"node-{place}", **fields)
        for place, each in enumerate(revisions)
    )


def _mid(pods: tuple[Json, ...], batch: int = 0, target: Workload | None = None, **fields: Any) -> Attempt:
    plan = fields.pop("plan", a_plan(1, 3))
    status = RolloutStatus(current_batch=batch, **fields.pop("status", {}))
    target = target or daemon_set(claimed=True)
    return an_attempt(target, (), plan, span=Span(4, 4), status=status, pods=pods, revisions=REVISIONS)


def _deleted(step: Step) -> list[str]:
    assert isinstance(step, Writes)
    removals = [each for each in step.changes if isinstance(each, Removal)]
    assert len(removals) == len(step.changes)
    assert all(each.ref.uid == f"uid-{each.ref.name}" for each in removals)
    return [each.ref.name for each in removals]


def _verify(target: Workload, pods: tuple[Json, ...], plan: RolloutPlan, **fields: Any) -> Any:
    return nodes.verify(an_attempt(target, (), plan, pods=pods, revisions=fields.get("revisions", REVISIONS)))


def test_its_size_is_that_of_the_cluster() -> None:
    found = _verify(daemon_set(), _pods("oooo"), a_plan(1, 3))

    assert isinstance(found, Verified)
    assert (found.target_size, found.sizes) == (4, (1, 3))
    assert isinstance(_verify(daemon_set(), _pods("oooo"), a_plan(1, 3, target_size=5)), Fail)


def test_one_that_updates_already_fails() -> None:
    found = _verify(daemon_set(kind="RollingUpdate"), _pods("oooo"), a_plan(1, 3))

    assert isinstance(found, Fail)
    assert found.why is Why.NOT_FROZEN
    assert isinstance(_verify(daemon_set(kind="RollingUpdate"), _pods("nnnn"), a_plan(1, 3)), Verified)


def test_the_newest_revision_must_be_there() -> None:
    assert isinstance(_verify(daemon_set(), _pods("oooo"), a_plan(1, 3), revisions=()), Retry)


def test_picked_pods_must_be_old_ones() -> None:
    plan = RolloutPlan(rollout_batches=(RolloutBatch(pod_list=("p-8",)), RolloutBatch()))

    assert isinstance(_verify(daemon_set(), _pods("oooo"), plan), Verified)
    assert isinstance(_verify(daemon_set(), _pods("onoo"), plan), Fail)


def test_a_pod_is_picked_once() -> None:
    """The second batch would wait for it for ever."""
    plan = RolloutPlan(
        rollout_batches=(RolloutBatch(pod_list=("p-8",)), RolloutBatch(pod_list=("p-8",)), RolloutBatch())
    )

    found = _verify(daemon_set(), _pods("oooo"), plan)

    assert found == Fail(Why.SPEC_INVALID, "podList names p-8 twice, and it is replaced once")


def test_pods_that_a_later_batch_picks_are_left_to_it() -> None:
    plan = RolloutPlan(rollout_batches=(RolloutBatch(2), RolloutBatch(pod_list=("p-9",)), RolloutBatch()))

    assert _deleted(nodes.roll(_mid(_pods("oooo"), plan=plan), NOON)) == ["p-8", "p-7"]


def test_claiming_stops_its_own_updates_and_success_brings_them_back() -> None:
    target = daemon_set(kind="RollingUpdate")
    target.tree["spec"]["updateStrategy"]["rollingUpdate"] = {"maxUnavailable": 2}

    step = nodes.initialize(_mid(_pods("nnnn"), target=target), NOON)

    assert isinstance(step, Writes)
    claimed = applied(target, step.changes[0])
    assert claimed.update_type == "OnDelete"
    done = nodes.finish(_mid((), target=claimed), succeeded=True, keeps_original=False)
    assert isinstance(done, Writes)
    released = applied(claimed, done.changes[0])
    assert released.tree["spec"]["updateStrategy"] == {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 2}}


def test_failure_leaves_its_updates_stopped() -> None:
    target = daemon_set(claimed=True, annotations={"app.oam.dev/rollout-original": '{"updateStrategy":{"type":"x"}}'})

    failed = nodes.finish(_mid((), target=target), succeeded=False, keeps_original=True)

    assert isinstance(failed, Writes)
    assert applied(target, failed.changes[0]).update_type == "OnDelete"


@pytest.mark.parametrize(
    ("revisions", "batch", "deleted"),
    [
        ("oooo", 0, ["p-9"]),
        ("nooo", 0, None),
        ("nooo", 1, ["p-8", "p-7", "p-6"]),
        ("onoo", 0, None),
        ("nnoo", 1, ["p-7", "p-6"]),
        ("nnnn", 1, None),
    ],
)
def test_old_pods_go_in_the_order_of_their_nodes(revisions: str, batch: int, deleted: list[str] | None) -> None:
    step = nodes.roll(_mid(_pods(revisions), batch), NOON)

    assert step == Done() if deleted is None else _deleted(step) == deleted


def test_a_pod_that_goes_already_is_not_deleted_again() -> None:
    """Nor another in its place: a crash between the delete and the status costs nothing."""
    pods = (*_pods("o", leaving=True), *_pods("oooo")[1:])

    assert nodes.roll(_mid(pods), NOON) == Done()


def test_exactly_the_picked_pods_go() -> None:
    plan = RolloutPlan(rollout_batches=(RolloutBatch(pod_list=("p-7", "gone")), RolloutBatch()))

    assert _deleted(nodes.roll(_mid(_pods("oooo"), plan=plan), NOON)) == ["p-7"]


def test_availability_counts_new_pods_that_are_ready() -> None:
    assert isinstance(nodes.check(_mid(_pods("nooo", ready=False))), Retry)
    assert nodes.check(_mid(_pods("nooo"))) == Done()
    assert isinstance(nodes.available(_mid(_pods("oooo"))), Retry)


@pytest.mark.parametrize("step", [nodes.check, nodes.finish_batch])
def test_a_batch_that_was_rolled_does_not_wait_for_pods_of_an_older_template(step: Callable[[Attempt], Step]) -> None:
    """Somebody has changed the template since: all of its new pods are old again, and nobody would delete them."""
    found = step(_mid(_pods("ooon"), status={"upgraded_replicas": 1}))
    again = step(_mid(_pods("oooo"), status={"upgraded_replicas": 1}))

    assert found == Done()
    assert again == Fail(Why.DRIFT, "4 pods of the DaemonSet ds are of an older template than its newest; expected: 3")


def test_whoever_lets_it_update_by_itself_ends_the_attempt() -> None:
    found = nodes.roll(_mid(_pods("oooo"), target=daemon_set(claimed=True, kind="RollingUpdate")), NOON)

    assert isinstance(found, Fail)
    assert found.why is Why.DRIFT


def test_a_batch_is_finished_when_the_status_agrees() -> None:
    assert nodes.finish_batch(_mid(_pods("nooo"), status={"upgraded_replicas": 1})) == Done()
    assert isinstance(nodes.finish_batch(_mid(_pods("nooo"), status={"upgraded_replicas": 3})), Fail)


def test_r_22_pods_go_one_at_a_time() -> None:
    plan = RolloutPlan(rollout_batches=(RolloutBatch(1), RolloutBatch(3, instance_interval=10)))

    def rolled(revisions: str, later: int = 0, **status: Any) -> Step:
        return nodes.roll(_mid(_pods(revisions), 1, plan=plan, status=status), NOON + timedelta(seconds=later))

    first = rolled("nooo", upgraded_replicas=1, last_instance_time=NOON)

    assert rolled("nooo", upgraded_replicas=1) == Stamp(1)
    assert _deleted(first) == ["p-8"]
    assert isinstance(first, Writes)
    assert not first.completes
    assert isinstance(rolled("nnoo", 9, upgraded_replicas=1, last_instance_time=NOON), Retry)
    assert rolled("nnoo", 10, upgraded_replicas=1, last_instance_time=NOON) == Stamp(2)
    last = rolled("nnno", upgraded_replicas=3, last_instance_time=NOON)
    assert isinstance(last, Writes)
    assert last.completes


def test_a_missing_or_stale_set_is_waited_for() -> None:
    gone = replace(_mid(()), target=None)
    stale = _mid(_pods("oooo"), target=daemon_set(claimed=True, generation=5))

    assert isinstance(nodes.roll(gone, NOON), Retry)
    assert isinstance(nodes.check(gone), Retry)
    assert isinstance(nodes.roll(stale, NOON), Retry)
    assert nodes.finish(gone, succeeded=False, keeps_original=True) == Done()
