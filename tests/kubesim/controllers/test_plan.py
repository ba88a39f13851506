"""What the StatefulSet controller decides, rule by rule, as kube-controller-manager 1.36 decides it."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest

from kubeloop.objects.core import Pod
from kubesim.controllers.statefulset_plan import Create, Delete, Identify, Plan, Revisions, next_look, plan
from kubesim.controllers.statefulset_pods import Set, Status
from tests.kubesim.controllers.sets import NOW, a_pod, a_set, pods

OLD = Revisions("old", "old")
MOVING = Revisions("old", "new")


def planned(set_: Set, have: Sequence[Pod], revisions: Revisions = OLD) -> Plan:
    return plan(set_, have, revisions, NOW)


def names(answer: Plan) -> list[str]:
    """The actions as short words: +2:new creates, -2 deletes, ~2 labels."""
    words = []
    for action in answer.actions:
        match action:
            case Create(ordinal, revision):
                words.append(f"+{ordinal}:{revision}")
            case Delete(pod):
                words.append(f"-{pod.metadata.name.removeprefix('web-')}")
            case Identify(pod):
                words.append(f"~{pod.metadata.name.removeprefix('web-')}")
    return words


@pytest.mark.parametrize(
    ("have", "want"),
    [
        pytest.param([], ["+0:old"], id="an ordered set starts with its first pod"),
        pytest.param([a_pod(0)], ["+1:old"], id="the next follows when the one before is ready"),
        pytest.param([a_pod(0, ready=False)], [], id="a pod that is not ready is waited for"),
        pytest.param([a_pod(0), a_pod(1, terminating=True), a_pod(2)], [], id="a terminating pod is waited for"),
        pytest.param([a_pod(0), a_pod(2)], ["+1:old"], id="a gap is filled"),
        pytest.param([a_pod(0), a_pod(1, phase="Failed"), a_pod(2)], ["-1"], id="a failed pod is deleted"),
        pytest.param([a_pod(0), a_pod(1, phase="Succeeded"), a_pod(2)], ["-1"], id="so is one that ended"),
        pytest.param(
            [a_pod(0), a_pod(1, phase="Failed", terminating=True), a_pod(2)], [], id="a failed pod is deleted once"
        ),
        pytest.param([a_pod(0, identified=False), *pods(3)[1:]], ["~0"], id="an adopted pod gets its labels"),
        pytest.param(pods(5), ["-4"], id="the highest of the condemned goes first"),
        pytest.param([*pods(4), a_pod(4, terminating=True)], [], id="the next waits until it is gone"),
        pytest.param([*pods(4), a_pod(4, ready=False)], ["-4"], id="the only pod that is not ready may go"),
        pytest.param(
            [*pods(3), a_pod(3, ready=False), a_pod(4, ready=False)],
            [],
            id="of two condemned pods that are not ready the lower one comes first",
        ),
    ],
)
def test_an_ordered_set_takes_one_step_at_a_time(have: list[Pod], want: list[str]) -> None:
    assert names(planned(a_set(3), have)) == want


@pytest.mark.parametrize(
    ("have", "want"),
    [
        pytest.param([], ["+0:old", "+1:old", "+2:old"], id="all pods are made at once"),
        pytest.param([a_pod(1, ready=False)], ["+0:old", "+2:old"], id="nobody is waited for"),
        pytest.param(pods(6), ["-5", "-4", "-3"], id="all condemned go at once, highest first"),
        pytest.param([a_pod(0, phase="Failed"), *pods(5)[2:]], ["-0", "+1:old", "-4", "-3"], id="all at once"),
        pytest.param([*pods(4), a_pod(4, terminating=True)], ["-3"], id="none is deleted twice"),
    ],
)
def test_a_parallel_set_takes_all_steps_at_once(have: list[Pod], want: list[str]) -> None:
    assert names(planned(a_set(3, parallel=True), have)) == want


@pytest.mark.parametrize(
    ("set_", "have", "want"),
    [
        pytest.param(a_set(3), pods(3), ["-2"], id="an update begins at the top"),
        pytest.param(a_set(3), [*pods(2), a_pod(2, revision="new")], ["-1"], id="and goes down"),
        pytest.param(
            a_set(3, parallel=True), [*pods(2), a_pod(2, revision="new", ready=False)], [], id="a new pod is waited for"
        ),
        pytest.param(
            a_set(3, parallel=True),
            [a_pod(0), a_pod(1, terminating=True), a_pod(2, revision="new")],
            [],
            id="so is an old one that terminates",
        ),
        pytest.param(
            a_set(3, parallel=True),
            [a_pod(0, ready=False), a_pod(1), a_pod(2, revision="new")],
            ["-1"],
            id="a pod below that is not ready does not stop a parallel update",
        ),
        pytest.param(a_set(3, partition=2), pods(3), ["-2"], id="above the partition pods are updated"),
        pytest.param(a_set(3, partition=2), [*pods(2), a_pod(2, revision="new")], [], id="below it they are not"),
        pytest.param(a_set(3, partition=9), pods(3), [], id="a partition beyond the end stops all"),
        pytest.param(a_set(3, on_delete=True), pods(3), [], id="OnDelete replaces nothing"),
        pytest.param(a_set(2), pods(3), ["-2"], id="scaling goes before updating"),
    ],
)
def test_an_update_replaces_one_pod_at_a_time(set_: Set, have: list[Pod], want: list[str]) -> None:
    assert names(planned(set_, have, MOVING)) == want


@pytest.mark.parametrize(
    ("set_", "have", "want"),
    [
        pytest.param(a_set(4, max_unavailable=2), pods(4), ["-3", "-2"], id="as many as may be out, from the top"),
        pytest.param(a_set(4), pods(4), ["-3"], id="one where nothing is said"),
        pytest.param(a_set(4, partition=None), pods(4), ["-3"], id="also without a rolling update"),
        pytest.param(a_set(7, max_unavailable="40%"), pods(7), ["-6", "-5"], id="a share is rounded down"),
        pytest.param(a_set(4, max_unavailable="10%"), pods(4), ["-3"], id="but not to nothing"),
        pytest.param(
            a_set(4, max_unavailable=2, parallel=True),
            [*pods(3), a_pod(3, revision="new", ready=False)],
            ["-2"],
            id="what is out already counts",
        ),
        pytest.param(
            a_set(4, max_unavailable=2, parallel=True),
            [a_pod(0, ready=False), a_pod(1, terminating=True), *pods(4)[2:]],
            [],
            id="wherever it is, also below the partition and on its way out",
        ),
        pytest.param(a_set(4, max_unavailable=3, partition=2), pods(4), ["-3", "-2"], id="down to the partition"),
        pytest.param(a_set(4, max_unavailable=3, on_delete=True), pods(4), [], id="OnDelete replaces nothing"),
    ],
)
def test_with_its_gate_an_update_takes_as_many_pods_as_may_be_out(set_: Set, have: list[Pod], want: list[str]) -> None:
    answer = plan(set_, have, MOVING, NOW, several_at_once=True)

    assert names(answer) == want
    assert answer.status.current_replicas == answer.failed.current_replicas - len(want)


def test_without_its_gate_what_may_be_out_is_not_read() -> None:
    assert names(planned(a_set(4, max_unavailable=3), pods(4), MOVING)) == ["-3"]


@pytest.mark.parametrize(
    ("set_", "have", "want"),
    [
        pytest.param(a_set(3, parallel=True), [], ["+0:new", "+1:new", "+2:new"], id="without a partition all are new"),
        pytest.param(
            a_set(3, parallel=True, partition=2), [], ["+0:old", "+1:old", "+2:new"], id="below the partition old"
        ),
        pytest.param(
            a_set(3, parallel=True, partition=2, start=5),
            [],
            ["+5:old", "+6:old", "+7:new"],
            id="a partition counts from the first ordinal",
        ),
        pytest.param(a_set(2, parallel=True, on_delete=True), [a_pod(0)], ["+1:new"], id="OnDelete makes new pods"),
        pytest.param(
            a_set(3, parallel=True, partition=None, status=Status(current_replicas=2)),
            pods(2),
            ["+2:new"],
            id="without the rolling update field the count of current pods is the partition",
        ),
    ],
)
def test_the_revision_of_a_pod_to_be_made(set_: Set, have: list[Pod], want: list[str]) -> None:
    assert names(planned(set_, have, MOVING)) == want


def test_below_the_partition_the_current_template_is_used_whatever_the_type_of_strategy() -> None:
    """The real controller reads the partition without looking at the type."""
    strange = a_set(2, parallel=True, partition=1)
    strategy = msgspec.structs.replace(strange.spec.update_strategy, type="OnDelete")
    strange = msgspec.structs.replace(strange, spec=msgspec.structs.replace(strange.spec, update_strategy=strategy))

    assert names(planned(strange, [], MOVING)) == ["+0:old", "+1:new"]


def test_ordinals_outside_of_the_range_are_condemned_on_both_sides() -> None:
    set_ = a_set(2, parallel=True, start=2)

    assert names(planned(set_, pods(5))) == ["-4", "-1", "-0"]


def test_a_set_that_is_being_deleted_does_nothing_but_count() -> None:
    answer = planned(a_set(3, deleted=True), pods(1))

    assert answer.actions == ()
    assert answer.status.replicas == 1


def test_a_pod_that_terminates_still_counts_as_replica_and_as_ready() -> None:
    """So the status of a set says "all ready" while one of its pods is on its way out, and after it is gone."""
    status = planned(a_set(2, on_delete=True), [a_pod(0, terminating=True), a_pod(1)]).status

    assert (status.replicas, status.ready_replicas, status.available_replicas) == (2, 2, 2)
    assert (status.current_replicas, status.updated_replicas) == (1, 1)


def test_a_pod_about_to_be_made_does_not_count() -> None:
    assert planned(a_set(3, parallel=True), []).status.replicas == 0


def test_the_pod_taken_by_an_update_no_longer_counts_as_current() -> None:
    answer = planned(a_set(3), pods(3), MOVING)

    assert (answer.status.replicas, answer.status.current_replicas) == (3, 2)
    assert answer.failed.current_replicas == 3, "unless deleting it failed"


def test_a_rolling_update_is_complete_when_all_are_updated_and_ready() -> None:
    status = planned(a_set(2), pods(2, revision="new"), MOVING).status

    assert (status.current_revision, status.current_replicas) == ("new", 2)


@pytest.mark.parametrize(
    ("set_", "have"),
    [
        pytest.param(a_set(2, on_delete=True), pods(2, revision="new"), id="with OnDelete it never is"),
        pytest.param(a_set(2, partition=1), [a_pod(0), a_pod(1, revision="new")], id="nor with a partition"),
        pytest.param(
            a_set(2), [a_pod(0, revision="new", ready=False), a_pod(1, revision="new")], id="nor before ready"
        ),
        pytest.param(a_set(1, parallel=True), pods(2, revision="new"), id="nor with pods too many"),
    ],
)
def test_an_update_is_not_complete(set_: Set, have: list[Pod]) -> None:
    assert planned(set_, have, MOVING).status.current_revision == "old"


def test_a_pod_counts_as_available_after_its_time_only() -> None:
    set_ = a_set(3, min_ready_seconds=60)

    answer = planned(set_, [a_pod(0, ready_for=60), a_pod(1, ready_for=59)])

    assert (answer.status.ready_replicas, answer.status.available_replicas) == (2, 1)
    assert answer.actions == (), "and is waited for before the next is made"


def test_the_controller_looks_again_when_the_next_pod_becomes_available() -> None:
    set_ = a_set(2, min_ready_seconds=60)
    have = [a_pod(0, ready_for=20), a_pod(1, ready_for=55)]

    assert next_look(set_, have, planned(set_, have).status, NOW) == 5


def test_the_controller_does_not_look_again_when_all_are_available() -> None:
    set_ = a_set(2, min_ready_seconds=60)

    assert next_look(set_, pods(2), planned(set_, pods(2)).status, NOW) is None


def test_zero_counts_are_left_out_of_a_status_except_two() -> None:
    status = planned(a_set(0, generation=4), []).status

    assert msgspec.to_builtins(status) == {
        "observedGeneration": 4,
        "replicas": 0,
        "availableReplicas": 0,
        "currentRevision": "old",
        "updateRevision": "old",
        "collisionCount": 0,
    }


def test_a_status_is_written_only_when_it_says_something_new() -> None:
    stored = Status(observed_generation=3, replicas=1, current_revision="old", update_revision="old")

    assert not msgspec.structs.replace(stored, observed_generation=2).tells_other_than(stored)
    assert msgspec.structs.replace(stored, observed_generation=4).tells_other_than(stored)
    assert msgspec.structs.replace(stored, ready_replicas=1).tells_other_than(stored)
