"""The review of evictions: which are let go, what is recorded, and what is asked (section 6.8)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from msgspec import Raw
from msgspec.structs import replace

from fairlead.contracts.leaderworker.decide.evictions import EvictionSnapshot, contested, judge, outpaced
from fairlead.contracts.leaderworker.kinds import (
    DISRUPTION_BUDGET,
    GROUP_INDEX,
    NAME,
    SIZE,
    WORKER_INDEX,
    LeaderWorkerSet,
    Pod,
)
from fairlead.core.ask import (
    Answer,
    Answers,
    Ask,
    Bad,
    Good,
    Listing,
    Need,
    Question,
    Read,
    ReadRecord,
    StartOver,
    SwapRecord,
)
from fairlead.core.decision import Admit
from fairlead.core.eviction_record import KEPT
from kubeloop.objects.core import PODS, PodMeta, PodStatus
from kubeloop.objects.meta import Condition, OwnerReference
from kubeloop.objects.review import NOTHING, GroupVersionResource, Review
from tests.contracts.leaderworker.decide.rounds import NOW, going
from tests.contracts.leaderworker.decide.some import a_set

RECORD = "group-evictions/default/a"


def a_member(index: int, worker: int = 0, *, ready: bool = True, phase: str = "Running", **meta: Any) -> Pod:
    """A pod of a group of two; the leader where `worker` is 0."""
    leader = f"a-{index}"
    labels = {NAME: "a", GROUP_INDEX: str(index), WORKER_INDEX: str(worker)}
    owner = meta.pop("owner", OwnerReference("StatefulSet", leader if worker else "a", "uid", controller=True))
    found = {
        "name": f"{leader}-{worker}" if worker else leader,
        "uid": f"pod-{index}-{worker}",
        "resource_version": "1",
        "namespace": "default",
        "labels": labels,
        "annotations": {SIZE: "2"},
        "owner_references": (owner,),
        **meta,
    }
    condition = Condition("Ready", "True" if ready else "False")
    return Pod(PodMeta(**found), PodStatus(phase, (condition,)))


class Live:
    """What a live read shows; records are swapped as everywhere. `refuse` may answer in its place."""

    def __init__(self, *pods: Pod, asked: str | None = "1", replicas: int = 3) -> None:
        self.pods = {pod.metadata.name: pod for pod in pods or all_members(replicas)}
        annotations = {} if asked is None else {DISRUPTION_BUDGET: asked}
        self.set: LeaderWorkerSet | None = a_set(replicas=replicas, annotations=annotations)
        self.records: dict[str, tuple[bytes, str]] = {}
        self.asked: list[Ask] = []
        self.refuse: Callable[[Ask], Bad | None] = lambda _: None
        self.review: dict[str, Any] = {}
        self._version = 0

    def answer(self, question: Question) -> Answer:
        assert isinstance(question, Ask)
        self.asked.append(question)
        if refused := self.refuse(question):
            return refused
        match question.to:
            case Read(ref):
                found = self.pods.get(ref.name) if ref.resource == PODS else self.set
                return Bad("absent", "not found", 404) if found is None else Good(msgspec.json.encode(found))
            case Listing():
                return Good(msgspec.json.encode({"items": list(self.pods.values())}))
            case ReadRecord(record):
                return Good(*self.records.get(record, (b"", "")))
            case SwapRecord(record, version, value):
                if self.records.get(record, (b"", ""))[1] != version:
                    return Bad("conflict", "changed")
                self._version += 1
                self.records[record] = (value, str(self._version))
                return Good(version=str(self._version))
        raise AssertionError(f"nobody should ask {question.to}")

    def evict(self, name: str, *, cached: bool = True, after: float = 0, **review: Any) -> Admit:
        seen = EvictionSnapshot(
            an_eviction(name, **review), self.pods.get(name) if cached else None, self.set if cached else None
        )
        return self.settle(seen, after)

    def settle(self, seen: EvictionSnapshot, after: float = 0) -> Admit:
        now = NOW + timedelta(seconds=after)
        for _ in range(3):
            known: dict[Question, Answer] = {}
            for _ in range(8):
                verdict = judge(replace(seen, answers=Answers(dict(known))), now)
                if not isinstance(verdict, Need):
                    break
                known |= {question: self.answer(question) for stage in verdict.stages for question in stage}
            if isinstance(verdict, Admit):
                return verdict
            assert isinstance(verdict, StartOver)
        raise AssertionError("it never settles")

    @property
    def marked(self) -> list[str]:
        value, _ = self.records.get(RECORD, (b"", ""))
        return sorted(msgspec.json.decode(value)) if value else []

    def put(self, *pods: Pod) -> None:
        self.pods |= {pod.metadata.name: pod for pod in pods}


def all_members(replicas: int = 3) -> list[Pod]:
    return [a_member(index, worker) for index in range(replicas) for worker in range(2)]


def an_eviction(name: str, **changes: Any) -> Review:
    given = {
        "uid": "review",
        "name": name,
        "namespace": "default",
        "operation": "CREATE",
        "sub_resource": "eviction",
        "resource": GroupVersionResource("", "v1", "pods"),
        "object": Raw(msgspec.json.encode({"kind": "Eviction", **changes.pop("eviction", {})})),
        **changes,
    }
    return Review(**given)


def test_all_pods_of_one_group_may_go_and_none_of_another() -> None:
    live = Live()

    first, same, other = live.evict("a-1"), live.evict("a-1-1"), live.evict("a-0-1")

    assert (first.allowed, same.allowed) == (True, True)
    assert live.marked == ["a-1", "a-1-1"]
    assert (other.allowed, other.code) == (False, 429)
    assert other.message == (
        "group 1 of LeaderWorkerSet a is disturbed, and evictions may disturb 1 at once; try again when it is ready"
    )


def test_two_groups_may_be_disturbed_where_the_set_says_so() -> None:
    live = Live(asked="2", replicas=4)

    found = [live.evict(name).allowed for name in ("a-3", "a-0-1", "a-2", "a-0")]

    assert found == [True, True, False, True]
    assert live.evict("a-1").message.startswith("groups 0, 3 of LeaderWorkerSet a are disturbed")


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda live: live.put(a_member(2, 1, ready=False)), id="not ready"),
        pytest.param(lambda live: live.put(going(a_member(2, 1))), id="going"),
        pytest.param(lambda live: live.put(a_member(2, 0, phase="Pending", ready=False)), id="pending"),
        pytest.param(lambda live: live.pods.pop("a-2-1"), id="worker missing"),
        pytest.param(lambda live: live.pods.pop("a-2"), id="leader missing"),
        pytest.param(lambda live: [live.pods.pop(name) for name in ("a-2", "a-2-1")], id="group missing"),
        pytest.param(lambda live: live.put(a_member(3, ready=False)), id="surge not ready"),
    ],
)
def test_a_group_that_is_away_counts_whatever_took_it_away(change: Callable[[Live], object]) -> None:
    live = Live()
    change(live)

    assert live.evict("a-0").code == 429
    assert live.marked == []


def test_the_rest_of_a_group_that_is_away_may_go() -> None:
    live = Live()
    live.put(a_member(2, 1, ready=False))

    assert live.evict("a-2").allowed
    assert live.marked == ["a-2"]


def test_a_mark_counts_until_its_pod_was_replaced() -> None:
    live = Live()
    live.evict("a-1")

    assert live.evict("a-0", after=60).code == 429
    live.put(a_member(1, uid="the next"))
    assert live.evict("a-0", after=60).allowed


def test_a_mark_of_an_eviction_that_never_came_ends() -> None:
    live = Live()
    live.evict("a-1")

    assert live.evict("a-0", after=KEPT.total_seconds() + 1).allowed


def test_of_two_that_count_at_the_same_time_one_begins_anew_and_is_denied() -> None:
    live, other = Live(), Live()
    other.records = live.records
    raced = False

    def refuse(question: Ask) -> Bad | None:
        nonlocal raced
        if isinstance(question.to, SwapRecord) and not raced:
            raced = True
            assert other.evict("a-1").allowed
        return None

    live.refuse = refuse

    assert live.evict("a-0").code == 429
    assert live.marked == ["a-1"]


def test_a_pod_that_is_going_already_is_not_recorded() -> None:
    live = Live()
    live.put(going(a_member(2, 1)))

    assert live.evict("a-2-1").allowed
    assert live.marked == []


@pytest.mark.parametrize("review", [{"dry_run": True}, {"eviction": {"deleteOptions": {"dryRun": ["All"]}}}])
def test_a_trial_is_judged_and_leaves_no_trace(review: dict[str, Any]) -> None:
    live = Live()

    assert live.evict("a-0", **review).allowed
    assert live.records == {}
    live.evict("a-0")
    assert live.evict("a-1", **review).code == 429


@pytest.mark.parametrize("asked", [None, "none", "3"])
def test_a_set_without_a_budget_costs_no_call(asked: str | None) -> None:
    live = Live(asked=asked)

    assert live.evict("a-0").allowed
    assert live.asked == []


def test_a_pod_of_no_set_costs_one_call() -> None:
    live = Live()
    live.put(replace(a_member(0), metadata=replace(a_member(0).metadata, name="other", labels={})))

    assert live.evict("other", cached=False).allowed
    assert len(live.asked) == 1


def test_what_the_cache_does_not_show_is_read() -> None:
    live = Live()
    live.evict("a-1", cached=False)

    assert live.marked == ["a-1"]
    assert live.evict("a-0", cached=False).code == 429


def test_a_pod_that_is_gone_is_left_to_the_api_server() -> None:
    live = Live()

    assert live.evict("a-7", cached=False).allowed
    seen = EvictionSnapshot(an_eviction("a-7"), a_member(7), live.set)
    assert live.settle(seen).allowed
    assert live.marked == []


def test_a_namespace_of_somebody_else_is_not_looked_into() -> None:
    assert judge(EvictionSnapshot(an_eviction("a-0"), is_watched=False), NOW) == Admit(
        allowed=True, word="pod-not-in-scope"
    )


def test_pods_of_others_with_the_labels_count_for_nothing() -> None:
    live = Live()
    stranger = a_member(1, 7, ready=False, owner=OwnerReference("ReplicaSet", "x", "uid", controller=True))
    live.put(stranger)

    assert live.evict(stranger.metadata.name).allowed
    assert live.evict("a-0").allowed
    assert live.marked == ["a-0"]


def test_an_index_that_is_none_makes_a_pod_nobodys() -> None:
    live = Live()
    broken = replace(a_member(1), metadata=replace(a_member(1).metadata, labels={NAME: "a", GROUP_INDEX: "x"}))
    live.put(broken)

    assert live.evict("a-1").allowed
    assert live.marked == []


def test_a_set_that_is_going_or_gone_bounds_nothing() -> None:
    live = Live()
    seen = EvictionSnapshot(an_eviction("a-0"), live.pods["a-0"], live.set)
    assert live.set is not None
    live.set = replace(live.set, metadata=replace(live.set.metadata, deletion_timestamp=NOW))
    assert live.settle(seen).allowed

    live.set = None
    assert live.settle(seen).allowed
    assert live.marked == []


@pytest.mark.parametrize("unread", [Read, Listing, ReadRecord, SwapRecord])
def test_what_cannot_be_read_or_recorded_lets_nobody_go(unread: type) -> None:
    live = Live()
    live.refuse = lambda question: Bad("failed", "no", 500) if isinstance(question.to, unread) else None

    found = live.evict("a-0")

    assert (found.allowed, found.code, found.level) == (False, 500, "warn")
    assert found.message.endswith("could not be read or written: no; try again")


@pytest.mark.parametrize("value", [b"[]", b"null", b"{", b'{"items":null}', b"\xff"])
def test_garbage_lets_nobody_go(value: bytes) -> None:
    live = Live()
    answer = live.answer
    live.answer = lambda question: (  # type: ignore[method-assign]
        Good(value) if isinstance(question, Ask) and isinstance(question.to, Listing) else answer(question)
    )

    assert live.evict("a-0").code == 500


@pytest.mark.parametrize("change", [{"operation": "UPDATE"}, {"sub_resource": ""}, {"name": ""}, {"object": NOTHING}])
def test_what_is_no_eviction_of_a_named_pod_is_refused(change: dict[str, Any]) -> None:
    found = Live().settle(EvictionSnapshot(replace(an_eviction("a-0"), **change), a_member(0), a_set()))

    assert found.code == (0 if "object" in change else 400)


def test_evictions_of_one_set_take_turns_and_others_do_not() -> None:
    live = Live()
    seen = EvictionSnapshot(an_eviction("a-0"), live.pods["a-0"], live.set)

    assert contested(seen) == RECORD
    assert contested(replace(seen, review=an_eviction("a-0", dry_run=True))) == ""
    assert contested(replace(seen, set=None)) == ""
    assert contested(replace(seen, pod=going(a_member(0)))) == ""
    assert contested(replace(seen, set=a_set())) == ""
    assert outpaced(seen).code == 429
