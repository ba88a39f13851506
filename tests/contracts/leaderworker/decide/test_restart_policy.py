"""When a group is recreated as a whole (section 3.9), and how that is bounded (section 6.8)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from msgspec.structs import replace

from fairlead.contracts.leaderworker.decide.recreations import (
    RecreationBackOff,
    RecreationLimits,
    Recreations,
    counters_on,
    failed_groups,
    limits_of,
)
from fairlead.contracts.leaderworker.decide.restart_policy import (
    Exhausted,
    Leave,
    Leaving,
    Postponed,
    Recovered,
    Recreate,
    RestartSeen,
    Verdict,
    judge,
)
from fairlead.contracts.leaderworker.kinds import (
    GROUP_RECREATIONS,
    MAX_GROUP_RESTARTS,
    RECREATE_BACK_OFF,
    WORKER_INDEX,
    Pod,
    StatefulSet,
)
from kubeloop.objects.core import ContainerStatus, PodStatus
from kubeloop.objects.meta import Condition, OwnerReference
from tests.contracts.leaderworker.decide.some import a_leader, a_set, some_workers, the_leaders

NOW = datetime(2026, 1, 2, 12, tzinfo=UTC)
ON_RESTART, AFTER_START = "RecreateGroupOnPodRestart", "RecreateGroupAfterStart"
LEADER = a_leader(meta={"creation_timestamp": NOW - timedelta(hours=1)})
WORKERS = some_workers()


def a_worker(number: int = 1, **changes: Any) -> Pod:
    base = a_leader(
        name=f"a-0-{number}",
        uid=changes.pop("uid", f"worker-{number}"),
        labels={WORKER_INDEX: str(number)},
        key=changes.pop("key", "k"),
        owner=changes.pop("owner", "workers-0"),
        meta=changes.pop("meta", {}),
    )
    return replace(base, **changes)


def restarted(pod: Pod, phase: str = "Running", is_init: bool = False) -> Pod:
    statuses = (ContainerStatus("c"), ContainerStatus("d", restart_count=1))
    places = {"init_container_statuses" if is_init else "container_statuses": statuses}
    return replace(pod, status=replace(pod.status, phase=phase, **places))


def going(pod: Pod) -> Pod:
    return replace(pod, metadata=replace(pod.metadata, deletion_timestamp=NOW))


def pending(pod: Pod) -> Pod:
    return replace(pod, status=replace(pod.status, phase="Pending"))


def judged(*pods: Pod, now: datetime = NOW, **changes: Any) -> Verdict:
    facts: dict[str, Any] = {"index": 0, "policy": ON_RESTART, "size": 2, "workers": WORKERS, "pods": pods}
    leader = next((each for each in pods if each.metadata.labels[WORKER_INDEX] == "0"), None)
    return judge(RestartSeen(**{**facts, "leader": leader, **changes}), now)


RECREATED = Recreate(LEADER, "a-0-1")


@pytest.mark.parametrize(
    "worker",
    [
        restarted(a_worker()),
        restarted(a_worker(), is_init=True),
        restarted(a_worker(), "Pending"),
        going(a_worker()),
        going(a_worker(owner="leader-0")),
    ],
)
def test_15_a_worker_that_failed_or_goes_recreates_its_group(worker: Pod) -> None:
    assert judged(LEADER, worker) == RECREATED


def test_a_leader_that_was_restarted_recreates_its_group() -> None:
    leader = restarted(LEADER)

    assert judged(leader, a_worker()) == Recreate(leader, "a-0")


@pytest.mark.parametrize("policy", ["None", "Default", "", "Unknown"])
def test_other_policies_leave_failed_pods_alone(policy: str) -> None:
    assert judged(LEADER, going(a_worker()), policy=policy) == Leave()


@pytest.mark.parametrize("pod", [a_worker(), restarted(a_worker(), "Failed"), restarted(a_worker(), "Succeeded")])
def test_pods_that_run_or_are_over_trigger_nothing(pod: Pod) -> None:
    assert judged(LEADER, pod) == Leave()


def test_a_leader_that_is_going_is_not_deleted_twice() -> None:
    """S11."""
    assert judged(going(LEADER), going(a_worker())) == Leaving()
    assert judged(going(LEADER), a_worker()) == Leaving()


def test_without_a_leader_there_is_nothing_to_delete() -> None:
    assert judged(going(a_worker()), leader=None) == Leave()


@pytest.mark.parametrize(
    ("worker", "workers"),
    [
        (going(a_worker(key="old")), WORKERS),
        (going(a_worker(owner="workers-before")), WORKERS),
        (going(a_worker()), some_workers(owner="leader-before")),
        (going(a_worker()), None),
        (going(a_worker(owner="")), some_workers(uid="")),
        (going(replace(a_worker(), metadata=replace(a_worker().metadata, name="b-0-1"))), WORKERS),
        (going(replace(a_worker(), metadata=replace(a_worker().metadata, owner_references=()))), WORKERS),
    ],
)
def test_16_workers_of_an_earlier_group_trigger_nothing(worker: Pod, workers: StatefulSet | None) -> None:
    """The chain of UIDs: pods of the superseded set die after the new leader was made."""
    assert judged(LEADER, worker, workers=workers) == Leave()


def test_a_worker_that_was_replaced_before_the_round_still_recreates() -> None:
    """Its tombstone has its UID, labels and owner; the one that took its name is sound."""
    assert judged(LEADER, a_worker(uid="new"), gone=(a_worker(),)) == RECREATED


def test_the_tombstone_of_an_earlier_leader_triggers_nothing() -> None:
    assert judged(LEADER, a_worker(), gone=(a_leader(uid="before"),)) == Leave()


def test_the_pod_that_is_named_is_always_the_same() -> None:
    one, two = restarted(a_worker(1)), restarted(a_worker(2))

    assert judged(LEADER, two, one) == judged(LEADER, one, two) == RECREATED


@pytest.mark.parametrize(
    ("pods", "gone", "expected"),
    [
        ((LEADER, restarted(a_worker())), (), RECREATED),
        ((LEADER, restarted(a_worker(), "Pending")), (), Leave()),
        ((pending(LEADER), restarted(a_worker())), (), Leave()),
        ((LEADER, restarted(a_worker()), a_worker(2)), (), Leave()),
        ((LEADER,), (a_worker(),), RECREATED),
        ((LEADER, pending(a_worker(uid="new"))), (a_worker(),), RECREATED),
        ((LEADER, pending(a_worker(uid="new"))), (pending(a_worker()),), Leave()),
    ],
)
def test_groups_that_have_not_started_are_left_alone(
    pods: tuple[Pod, ...], gone: tuple[Pod, ...], expected: Verdict
) -> None:
    """With the policy, or with either policy and the annotation; the pod that went counts as it last was."""
    assert judged(*pods, gone=gone, policy=AFTER_START) == expected
    assert judged(*pods, gone=gone, waits_for_start=True) == expected
    assert isinstance(judged(*pods, gone=gone), Recreate)


@pytest.mark.parametrize("replaced", [(), (pending(a_worker(1, uid="new-1")), pending(a_worker(2, uid="new-2")))])
def test_workers_that_go_together_recreate_their_group(replaced: tuple[Pod, ...]) -> None:
    """As with their node: none of them is there any more when the first of them is looked at."""
    gone = (a_worker(1), a_worker(2))

    assert judged(LEADER, *replaced, gone=gone, size=3, policy=AFTER_START) == RECREATED
    assert judged(LEADER, *replaced, gone=gone, size=3, waits_for_start=True) == RECREATED


@pytest.mark.parametrize("other", [pending(a_worker(2)), a_worker(2, owner="workers-before")])
def test_workers_that_go_together_before_their_group_has_started_recreate_nothing(other: Pod) -> None:
    """What they last were counts, and workers of an earlier leader are no members."""
    assert judged(LEADER, gone=(a_worker(1), other), size=3, policy=AFTER_START) == Leave()


# Back-off and bound

BACK_OFF = RecreationBackOff(timedelta(seconds=2), timedelta(seconds=20))
BOTH = RecreationLimits(BACK_OFF, 3)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2s,20s", BACK_OFF),
        ("2s, 20s", BACK_OFF),
        ("10s", RecreationBackOff(timedelta(seconds=10), timedelta(minutes=5))),
        ("10m", RecreationBackOff(timedelta(minutes=10), timedelta(minutes=10))),
        ("", None),
        ("x", None),
        ("0s", None),
        ("-1s", None),
        ("20s,2s", None),
        ("2s,", None),
        ("2s,3s,4s", None),
    ],
)
def test_back_offs_are_durations(text: str, expected: RecreationBackOff | None) -> None:
    found = limits_of(a_set(annotations={RECREATE_BACK_OFF: text}))

    assert found.back_off == expected
    assert bool(found.problems) == (expected is None)


@pytest.mark.parametrize(("text", "expected"), [("3", 3), ("0", 0), ("-1", None), ("many", None), ("1.5", None)])
def test_bounds_are_numbers(text: str, expected: int | None) -> None:
    found = limits_of(a_set(annotations={MAX_GROUP_RESTARTS: text}))

    assert (found.most, bool(found.problems)) == (expected, expected is None)
    assert limits_of(a_set()) == RecreationLimits()


def test_the_back_off_doubles_up_to_its_longest() -> None:
    waits = [BACK_OFF.after(count).total_seconds() for count in (1, 2, 3, 4, 5, 1000)]

    assert waits == [2, 4, 8, 16, 20, 20]


@pytest.mark.parametrize(
    "text", ["", "x", "[]", '{"k/0":7}', '{"k/0":{"n":-1}}', '{"k/0":{"n":1,"at":"2026-01-01T00:00:00"}}']
)
def test_counters_that_cannot_be_read_count_nothing(text: str) -> None:
    body = {"metadata": {"labels": {}, "annotations": {GROUP_RECREATIONS: text}}, "spec": {}}

    assert counters_on(the_leaders(body)) == {}
    assert counters_on(None) == {}


def counted(text: str | None) -> dict[str, Recreations]:
    assert text is not None
    body = {"metadata": {"labels": {}, "annotations": {GROUP_RECREATIONS: text}}, "spec": {}}
    return dict(counters_on(the_leaders(body)))


class Crashing:
    """A group whose worker always fails, on a clock of its own."""

    def __init__(self, limits: RecreationLimits) -> None:
        self.limits = limits
        self.counters: dict[str, Recreations] = {}
        self.now = NOW
        self.leader = a_leader(meta={"creation_timestamp": NOW - timedelta(hours=1)})
        self.deleted: list[float] = []

    def judged(self) -> Verdict:
        uid = self.leader.metadata.uid
        return judged(
            self.leader,
            restarted(a_worker()),
            now=self.now,
            limits=self.limits,
            counters=self.counters,
            living=frozenset({"k/0"}),
            workers=some_workers(owner=uid),
        )

    def round(self, dies: bool = False) -> Verdict:
        """Records, then deletes, unless the process dies in between."""
        verdict = self.judged()
        text = getattr(verdict, "counters", None)
        if text is not None:
            self.counters = counted(text)
        if isinstance(verdict, Recreate) and not dies:
            self.deleted.append((self.now - NOW).total_seconds())
            self.replace_leader()
        return verdict

    def replace_leader(self) -> None:
        name = f"{self.leader.metadata.uid}+"
        self.leader = a_leader(uid=name, meta={"creation_timestamp": self.now.replace(microsecond=0)})

    def run(self, seconds: int) -> None:
        for _ in range(seconds * 10):
            self.round()
            self.now += timedelta(milliseconds=100)


def test_26_recreations_back_off_and_end() -> None:
    group = Crashing(BOTH)

    group.run(60)

    assert group.deleted == [0, 2, 6]
    assert isinstance(group.judged(), Exhausted)
    assert failed_groups(BOTH, group.counters, {"k/0": group.leader.metadata.uid}) == [0]


def test_26_a_leader_deleted_by_hand_starts_anew() -> None:
    group = Crashing(BOTH)
    group.run(60)

    group.replace_leader()

    assert failed_groups(BOTH, group.counters, {"k/0": group.leader.metadata.uid}) == []
    group.run(60)
    assert group.deleted == [0, 2, 6, 60, 62, 66]


def test_26_a_crash_between_the_record_and_the_deletion_counts_once() -> None:
    group = Crashing(BOTH)
    group.round(dies=True)
    group.now += timedelta(seconds=30)

    again = group.round()

    assert isinstance(again, Recreate)
    assert again.counters is None
    assert group.counters["k/0"].n == 1


@pytest.mark.parametrize("jump", [timedelta(hours=-1), timedelta(hours=1)])
@pytest.mark.parametrize("after", [1, 21, 41])
def test_a_clock_that_is_set_neither_frees_nor_stops_recreations(jump: timedelta, after: int) -> None:
    """None is uncounted, and each waits at most for its back-off from then on."""
    group = Crashing(BOTH)
    for _ in range(after):
        group.round()
        group.now += timedelta(milliseconds=100)
    before = len(group.deleted)
    group.now += jump
    since = (group.now - NOW).total_seconds()
    group.run(60)

    assert len(group.deleted) == 3
    assert isinstance(group.judged(), Exhausted)
    waits = [at - since for at in group.deleted[before:]]
    assert all(later - sooner >= 2 for sooner, later in pairwise(waits))
    assert waits[0] <= 4


def test_a_leader_that_is_counted_is_deleted_whatever_the_clock_says() -> None:
    group = Crashing(BOTH)
    group.round(dies=True)
    group.now -= timedelta(hours=2)

    again = group.round()

    assert again == Recreate(LEADER, "a-0-1")
    assert group.counters["k/0"].n == 1


def test_a_trigger_is_kept_over_a_restart() -> None:
    """The worker that failed is sound again; its group is recreated all the same when the time has come."""
    group = Crashing(BOTH)
    group.round()
    waiting = group.round()

    assert isinstance(waiting, Postponed)
    assert waiting.until == NOW + timedelta(seconds=2)
    facts = {"limits": BOTH, "counters": group.counters}
    assert judged(group.leader, a_worker(), now=NOW + timedelta(seconds=1), **facts) == Postponed(waiting.until, "a-0")
    assert isinstance(judged(group.leader, a_worker(), now=waiting.until, **facts), Recreate)


def test_nothing_is_recorded_twice() -> None:
    group = Crashing(BOTH)
    group.round()
    group.round()

    assert group.judged() == Postponed(NOW + timedelta(seconds=2), "a-0-1", None)


def test_without_an_annotation_nothing_is_recorded() -> None:
    group = Crashing(RecreationLimits())

    group.run(1)

    assert group.counters == {}
    assert len(group.deleted) == 10


def test_a_bound_of_none_leaves_every_group_as_it_is() -> None:
    assert isinstance(Crashing(RecreationLimits(most=0)).round(), Exhausted)


def test_entries_of_what_is_gone_are_dropped() -> None:
    others = {"old/0": Recreations(2, NOW), "k/7": Recreations(1, NOW), "k/1": Recreations(1, NOW)}

    found = judged(LEADER, going(a_worker()), limits=BOTH, counters=others, living=frozenset({"k/0", "k/1"}))

    assert isinstance(found, Recreate)
    assert set(counted(found.counters)) == {"k/0", "k/1"}


def ready(pod: Pod, seconds: int) -> Pod:
    turn = Condition("Ready", "True", NOW + timedelta(seconds=seconds))
    return replace(pod, status=PodStatus(phase="Running", conditions=(turn,)))


def test_a_group_that_stays_ready_starts_anew() -> None:
    facts: dict[str, Any] = {"limits": BOTH, "counters": {"k/0": Recreations(2, NOW), "k/1": Recreations(1, NOW)}}
    pods = (ready(LEADER, 1), ready(a_worker(), 5))
    facts["living"] = frozenset({"k/0", "k/1"})

    early = judged(*pods, now=NOW + timedelta(seconds=10), **facts)
    late = judged(*pods, now=NOW + timedelta(seconds=25), **facts)

    assert early == Recovered(NOW + timedelta(seconds=25))
    assert isinstance(late, Recovered)
    assert set(counted(late.counters)) == {"k/1"}
    assert judged(pods[0], replace(a_worker(), status=PodStatus()), **facts) == Leave()
    assert judged(pods[0], **facts) == Leave()
    assert judged(*pods, limits=RecreationLimits(most=3), counters=facts["counters"]) == Leave()


def test_owner_references_without_a_controller_do_not_count() -> None:
    worker = a_worker()
    loose = (OwnerReference("StatefulSet", "a-0", "workers-0"),)

    assert judged(LEADER, going(replace(worker, metadata=replace(worker.metadata, owner_references=loose)))) == Leave()
