"""Leaders that are to be replaced, are not ready, and that their StatefulSet does not take (section 3.10 point 9)."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from fairlead.contracts.leaderworker.decide.revisions import key_of
from fairlead.contracts.leaderworker.decide.seen import SetSeen
from fairlead.contracts.leaderworker.decide.stalled_leaders import stalled
from fairlead.contracts.leaderworker.kinds import Pod
from fairlead.core.act import Delete, Does
from fairlead.core.reason import Reason
from kubeloop.objects.apps import REVISION_LABEL
from tests.contracts.leaderworker.decide.rounds import a_set_seen, going, set_settled
from tests.contracts.leaderworker.decide.some import a_leader, a_revision, a_set

OLD, NEW = "a-before", "a-now"
GIVEN = a_set(observed=2)
KEY = key_of(a_revision(GIVEN))


def a_pod(index: int, revision: str = OLD, *, ready: bool = False, **changes: Any) -> Pod:
    return a_leader(index, KEY, labels={REVISION_LABEL: revision}, ready=ready, **changes)


def looked_at(*pods: Pod, most: int | None = 1, partition: int = 0, generation: int = 4, observed: int = 4) -> SetSeen:
    """Leaders that the StatefulSet controller has seen to, of which so many may be unavailable."""
    seen = a_set_seen(GIVEN, pods=pods)
    leaders = seen.leaders
    assert leaders is not None
    update = {**leaders.spec["updateStrategy"]["rollingUpdate"], "partition": partition}
    del update["maxUnavailable"]
    if most is not None:
        update["maxUnavailable"] = most
    strategy = {**leaders.spec["updateStrategy"], "rollingUpdate": update}
    status = replace(leaders.status, observed_generation=observed, update_revision=NEW)
    return replace(
        seen,
        leaders=replace(
            leaders,
            metadata=replace(leaders.metadata, generation=generation),
            spec={**leaders.spec, "updateStrategy": strategy},
            status=status,
        ),
    )


def replaced(seen: SetSeen) -> list[str]:
    return [each.ref.name for each in set_settled(seen).writes if each.does is Does.REPLACE_LEADER]  # type: ignore[union-attr]


def test_a_leader_that_nobody_replaces_is_deleted_as_it_was_seen() -> None:
    settled = set_settled(looked_at(a_pod(0, NEW, ready=True), a_pod(1)))

    (write,) = (each for each in settled.writes if each.does is Does.REPLACE_LEADER)
    assert isinstance(write, Delete)
    assert (write.ref.name, write.ref.uid, write.resource_version) == ("a-1", "leader-1", "1")
    assert (write.scope, write.propagation, write.contested) == ("leader-1", "", True)
    assert settled.reason is Reason.ROLLING
    assert write.tell is not None
    assert write.tell.text == "deleted leader pod a-1, which is not ready, to update group 1"


def test_all_that_are_not_ready_go_and_the_highest_first() -> None:
    assert replaced(looked_at(a_pod(0), a_pod(1))) == ["a-1", "a-0"]


@pytest.mark.parametrize(
    "seen",
    [
        looked_at(a_pod(0, ready=True), a_pod(1), most=2),
        looked_at(a_pod(0, NEW, ready=True), a_pod(1), most=None),
        looked_at(a_pod(0, NEW, ready=True), a_pod(1), observed=3),
        looked_at(a_pod(0, ready=True), a_pod(1, NEW)),
        looked_at(a_pod(0, ready=True), going(a_pod(1))),
        looked_at(a_pod(0, ready=True), a_pod(1, owner="another")),
        looked_at(a_pod(0, ready=True)),
    ],
    ids=["fewer", "without the feature", "not seen to", "updated", "going", "of another", "missing"],
)
def test_what_the_statefulset_controller_sees_to_is_left_to_it(seen: SetSeen) -> None:
    """It takes leaders as long as fewer are unavailable than may be, and none that is ready is worth another."""
    assert replaced(seen) == []


def test_leaders_below_the_partition_stay() -> None:
    seen = looked_at(a_pod(0), a_pod(1), partition=1)

    assert [each.ref.name for each in stalled(seen)] == ["a-1"]


def test_a_leader_that_may_not_be_deleted_is_told_and_the_status_goes_on() -> None:
    settled = set_settled(looked_at(a_pod(0, NEW, ready=True), a_pod(1)), refused=Does.REPLACE_LEADER)

    assert settled.reason is Reason.WRITE_REFUSED
    assert [text for _, text in settled.held.details] == ["no"]
    assert settled.does == [Does.REPORT_STATUS]
