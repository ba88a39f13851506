"""The Witness itself: it must object to each way in which an operator could break a promise, and only to those."""

from __future__ import annotations

from typing import TypeAlias

import msgspec
import pytest

from kubeloop.objects.apps import StatefulSet
from kubeloop.objects.core import Pod
from tests.builders import NOW, a_pod, a_zone, pods_of
from tests.invariants import Event, Witness, by_version

Part: TypeAlias = StatefulSet | Pod | tuple[Pod, ...]

A, B = a_zone("a"), a_zone("b")
ROTATE = {"fairlead.dev/rotate": "true"}
MARKED = a_pod(A, 0, "new", labels={"name": A.metadata.name, **ROTATE})
BORN = a_zone("a", template=ROTATE)
EXCLUDED = a_zone("a", annotations={"fairlead.dev/exclude": "true"})


def tree(thing: Pod | StatefulSet) -> dict[str, object]:
    return msgspec.json.decode(msgspec.json.encode(thing), type=dict[str, object])


def event(kind: str, thing: Pod | StatefulSet, by: str = "cluster", at: float = 0.0) -> Event:
    return Event("pods" if isinstance(thing, Pod) else "statefulsets", kind, tree(thing), by, at)


def there(*parts: Part) -> tuple[Part, ...]:
    return parts


def watching(*things: Part, lag: float = 0.0) -> Witness:
    flat = [piece for thing in things for piece in (thing if isinstance(thing, tuple) else (thing,))]
    return Witness(lambda by: by == "operator", lag=lag).see_all(event("ADDED", piece, at=-100.0) for piece in flat)


def deletion(pod: Pod, by: str = "operator", at: float = 0.0) -> Event:
    ending = msgspec.structs.replace(pod, metadata=msgspec.structs.replace(pod.metadata, deletion_timestamp=NOW))
    return event("MODIFIED", ending, by, at)


def test_a_deletion_in_a_healthy_group_is_fine() -> None:
    witness = watching(A, B, pods_of(A), pods_of(B))

    witness.see(deletion(a_pod(A, 0)))

    assert witness.deletions == ["ingester-zone-a-0"]


def test_a_marked_pod_may_go_at_its_update_revision() -> None:
    witness = watching(A, pods_of(A, "new", _0="missing"), MARKED)
    assert f"{MARKED.metadata.name} is marked for rotation" in witness.unfinished()

    witness.see(deletion(MARKED))

    assert witness.deletions == [MARKED.metadata.name]


def test_the_next_zone_is_fine_once_the_pod_is_back() -> None:
    witness = watching(A, B, pods_of(A), pods_of(B))
    witness.see(deletion(a_pod(A, 0)))
    witness.see(event("DELETED", a_pod(A, 0, state="terminating"), "kubelet"))
    witness.see(event("ADDED", a_pod(A, 0, "new", state="notReady")))
    with pytest.raises(AssertionError, match="S2"):
        witness.see(deletion(a_pod(B, 0)))

    witness = watching(A, B, pods_of(A, _0="ready new"), pods_of(B))
    witness.see(deletion(a_pod(B, 0)))


PAUSED = a_zone("a", paused="true")
ROLLING_UPDATE = a_zone("b", strategy="RollingUpdate")
UNMANAGED = a_zone("x")
UNMANAGED = msgspec.structs.replace(UNMANAGED, metadata=msgspec.structs.replace(UNMANAGED.metadata, labels={}))
TWO = a_zone("a", max_unavailable="2")

VIOLATIONS: dict[str, tuple[str, tuple[Part, ...], tuple[Event, ...]]] = {
    "another zone has a pod not ready": (
        "S1",
        there(A, B, pods_of(A), pods_of(B, _1="notReady")),
        (deletion(a_pod(A, 0)),),
    ),
    "another zone lacks a pod though its status counts it": (
        "S1",
        there(A, B, pods_of(A), pods_of(B, _1="missing")),
        (deletion(a_pod(A, 0)),),
    ),
    "another zone has a terminating pod of the operator": (
        "S2",
        there(A, B, pods_of(A), pods_of(B)),
        (deletion(a_pod(A, 0)), deletion(a_pod(B, 0))),
    ),
    "two pods of a zone with a budget of one": (
        "S3",
        there(A, pods_of(A)),
        (deletion(a_pod(A, 0)), deletion(a_pod(A, 1))),
    ),
    "a pod more than the budget with one not ready before": (
        "S3",
        there(TWO, pods_of(TWO, _2="notReady new")),
        (deletion(a_pod(TWO, 0)), deletion(a_pod(TWO, 1))),
    ),
    "a stuck pod makes no room": (
        "S3",
        there(A, pods_of(A, _2="stuck")),
        (deletion(a_pod(A, 2, state="stuck")), deletion(a_pod(A, 0))),
    ),
    "a marked pod of a template that marks all": ("S4", there(BORN, MARKED), (deletion(MARKED),)),
    "a pod of an excluded zone": ("S15", there(EXCLUDED, pods_of(EXCLUDED)), (deletion(a_pod(EXCLUDED, 0)),)),
    "a pod of the update revision": ("S4", there(A, pods_of(A, "new")), (deletion(a_pod(A, 0, "new")),)),
    "a zone of another strategy": (
        "S5",
        there(A, ROLLING_UPDATE, pods_of(A), pods_of(ROLLING_UPDATE)),
        (deletion(a_pod(A, 0)),),
    ),
    "two zones not ready": (
        "S5",
        there(TWO, B, pods_of(TWO, _1="notReady"), pods_of(B, _1="notReady")),
        (deletion(a_pod(A, 0)),),
    ),
    "a terminating pod is removed by force": (
        "S6",
        there(A, pods_of(A)),
        (deletion(a_pod(A, 0)), event("DELETED", a_pod(A, 0, state="terminating"), "operator")),
    ),
    "a paused zone": ("B-9", there(PAUSED, pods_of(PAUSED)), (deletion(a_pod(PAUSED, 0)),)),
    "a revision recorded with an outdated pod": (
        "S7",
        there(A, pods_of(A, "new", _1="ready old")),
        (event("MODIFIED", a_zone("a", current="new"), "operator"),),
    ),
    "a revision recorded with a pod not ready": (
        "S7",
        there(A, pods_of(A, "new", _1="notReady")),
        (event("MODIFIED", a_zone("a", current="new"), "operator"),),
    ),
    "another revision recorded": (
        "S7",
        there(A, pods_of(A, "new")),
        (event("MODIFIED", a_zone("a", current="other"), "operator"),),
    ),
    "more changed than the revision": (
        "S7",
        there(A, pods_of(A, "new")),
        (event("MODIFIED", a_zone("a", 4, known=3, current="new"), "operator"),),
    ),
    "a statefulset without group": (
        "S15",
        there(UNMANAGED),
        (event("MODIFIED", UNMANAGED, "operator"),),
    ),
    "a pod of a statefulset without group": (
        "S15",
        there(A, UNMANAGED, pods_of(A), pods_of(UNMANAGED)),
        (deletion(a_pod(UNMANAGED, 0)),),
    ),
    "a pod of nobody": ("S15", there(A, pods_of(A), a_pod(A, 9, owner="uid-job")), (deletion(a_pod(A, 9)),)),
}


@pytest.mark.parametrize(("invariant", "world", "events"), VIOLATIONS.values(), ids=VIOLATIONS.keys())
def test_a_broken_invariant_is_named_with_the_end_of_the_history(
    invariant: str, world: tuple[Part, ...], events: tuple[Event, ...]
) -> None:
    witness = watching(*world).see_all(events[:-1])

    with pytest.raises(AssertionError, match=f"^{invariant} broken") as caught:
        witness.see(events[-1])

    assert "by operator" in str(caught.value).splitlines()[-1]


def test_what_others_do_is_not_judged() -> None:
    witness = watching(A, B, pods_of(A), pods_of(B))

    witness.see(deletion(a_pod(A, 0), by="statefulset-controller"))
    witness.see(deletion(a_pod(B, 0), by="statefulset-controller"))
    witness.see(event("MODIFIED", a_zone("a", current="new"), by="a person"))

    assert (witness.deletions, witness.completions) == ([], [])


def test_without_names_of_writers_every_fresh_deletion_is_judged() -> None:
    there_now: list[StatefulSet | Pod] = [A, B, *pods_of(A), *pods_of(B)]
    witness = Witness().see_all(event("ADDED", thing, by="") for thing in there_now)
    witness.see(deletion(a_pod(A, 0), by=""))
    witness.see(event("DELETED", a_pod(A, 0, state="terminating"), by=""))

    with pytest.raises(AssertionError, match="S2"):
        witness.see(deletion(a_pod(B, 0), by=""))


def test_a_stuck_pod_may_go_beyond_the_budget() -> None:
    witness = watching(A, pods_of(A, _0="notReady new", _2="stuck"))

    witness.see(deletion(a_pod(A, 2, state="stuck")))

    assert witness.deletions == ["ingester-zone-a-2"]


def test_asking_to_delete_a_terminating_pod_breaks_s6_though_no_event_shows_it() -> None:
    witness = watching(A, pods_of(A, _0="terminating"))

    witness.asked_to_delete("test", "ingester-zone-a-1")
    with pytest.raises(AssertionError, match="S6"):
        witness.asked_to_delete("test", "ingester-zone-a-0")


def test_what_happened_to_others_within_the_lag_may_be_unknown_and_no_longer_after_it() -> None:
    crash = event("MODIFIED", a_pod(B, 1, state="notReady"), "kubelet", at=10.0)

    watching(A, B, pods_of(A), pods_of(B), lag=0.5).see_all((crash, deletion(a_pod(A, 0), at=10.4)))
    with pytest.raises(AssertionError, match="S1"):
        watching(A, B, pods_of(A), pods_of(B), lag=0.5).see_all((crash, deletion(a_pod(A, 0), at=10.6)))


def test_a_change_of_the_template_within_the_lag_may_be_unknown() -> None:
    back = event("MODIFIED", a_zone("a", update="old"), "a person", at=10.0)

    watching(A, pods_of(A), lag=0.5).see_all((back, deletion(a_pod(A, 0), at=10.4)))
    with pytest.raises(AssertionError, match="S4"):
        watching(A, pods_of(A), lag=0.5).see_all((back, deletion(a_pod(A, 0), at=10.6)))


def test_own_deletions_are_known_at_once_whatever_the_lag() -> None:
    witness = watching(A, B, pods_of(A), pods_of(B), lag=60)
    witness.see(deletion(a_pod(A, 0), at=1.0))

    with pytest.raises(AssertionError, match="S2"):
        witness.see(deletion(a_pod(B, 0), at=1.1))


def test_a_proper_record_is_fine_and_counted() -> None:
    witness = watching(A, pods_of(A, "new"))

    witness.see(event("MODIFIED", a_zone("a", current="new", version="2"), "operator"))

    assert witness.completions == ["ingester-zone-a"]
    assert witness.unfinished() == []


def recorded_by(manager: str, revision: str) -> Event:
    """A change of the current revision on a server that tells only which client owns the field."""
    changed = tree(a_zone("a", current=revision, version="3"))
    owned = {"manager": manager, "subresource": "status", "fieldsV1": {"f:status": {"f:currentRevision": {}}}}
    metadata = {**msgspec.convert(changed["metadata"], dict[str, object]), "managedFields": [owned]}
    return Event("statefulsets", "MODIFIED", {**changed, "metadata": metadata})


def test_a_record_that_the_statefulset_controller_takes_back_is_not_the_operators() -> None:
    """It repeats a status that conflicted, with the revision of before, however long ago that one was replaced."""
    things = [event("ADDED", A, by=""), *(event("ADDED", pod, by="") for pod in pods_of(A, "new"))]
    witness = Witness().see_all((*things, recorded_by("fairlead", "new")))

    witness.see(recorded_by("kube-controller-manager", "old"))

    assert witness.completions == ["ingester-zone-a"]
    with pytest.raises(AssertionError, match="S7"):
        Witness().see_all((*things, recorded_by("fairlead", "new"), recorded_by("fairlead", "old")))


def test_nor_is_one_that_it_takes_back_where_nobody_tells_who_owns_the_field() -> None:
    """Controllers of the embedded cluster own none; they write for what they have counted, and not for the record."""
    things = [event("ADDED", A, by=""), *(event("ADDED", pod, by="") for pod in pods_of(A, "new"))]
    witness = Witness().see_all((*things, recorded_by("fairlead", "new")))

    witness.see(counted_again(recorded_by("fairlead", "old")))

    assert witness.completions == ["ingester-zone-a"]


def counted_again(record: Event) -> Event:
    """The same with another number of ready pods."""
    status = msgspec.convert(record.object["status"], dict[str, object])
    return msgspec.structs.replace(record, object={**record.object, "status": {**status, "readyReplicas": 1}})


def scaling(zone: StatefulSet, by: str = "operator", at: float = 0.0) -> Event:
    """A change of replicas by an operator that pauses a second between passes."""
    return Event("statefulsets", "MODIFIED", tree(zone), by, at, pace=1.0)


def test_two_zones_scaled_in_one_pass_break_s8() -> None:
    """A pass begins when the operator's pause has passed since the one before; what is nearer is the same pass."""
    first, second = scaling(a_zone("a", 4, known=3), at=10.0), a_zone("b", 4, known=3)

    fine = watching(A, B).see_all((first, scaling(second, at=11.0)))
    with pytest.raises(AssertionError, match=r"^S8 broken: ingester-zone-b was scaled from 3 to 4 in the pass"):
        watching(A, B).see_all((first, scaling(second, at=10.9)))

    assert fine.scalings == [("ingester-zone-a", 3, 4), ("ingester-zone-b", 3, 4)]


def test_pod_deleted_in_a_pass_that_scaled_breaks_s5() -> None:
    world = there(A, B, pods_of(A), pods_of(B))
    first = scaling(a_zone("b", 2, known=3), at=10.0)
    gone = deletion(a_pod(A, 0), at=10.5)

    watching(*world).see_all((first, msgspec.structs.replace(gone, at=11.0, pace=1.0)))
    with pytest.raises(AssertionError, match=r"^S5 broken.*in the pass that scaled ingester-zone-b"):
        watching(*world).see_all((first, msgspec.structs.replace(gone, pace=1.0)))


def test_what_was_scaled_by_others_or_in_another_life_or_group_is_another_pass() -> None:
    second = scaling(a_zone("b", 4, known=3), at=10.1)

    for first in (
        scaling(a_zone("a", 4, known=3), by="a person", at=10.0),
        scaling(a_zone("a", 4, known=3, group="other"), at=10.0),
    ):
        watching(A, B).see_all((first, second))
    lives = Witness(lambda by: by.startswith("operator")).see_all((event("ADDED", A), event("ADDED", B)))
    lives.see_all((scaling(a_zone("a", 4, known=3), by="operator-1", at=10.0), second))

    assert [name for name, _, _ in lives.scalings] == ["ingester-zone-a", "ingester-zone-b"]


def test_what_is_left_is_listed() -> None:
    witness = watching(A, pods_of(A, "new", _0="missing", _1="ready old"))

    assert witness.unfinished() == [
        "ingester-zone-a-0 is not ready or missing",
        "ingester-zone-a-1 is outdated",
        "ingester-zone-a records old and not new",
    ]


def test_events_of_several_watches_are_put_into_the_order_of_the_server() -> None:
    zone, pod = a_zone("a", version="10"), a_pod(A, 0)
    pod = msgspec.structs.replace(pod, metadata=msgspec.structs.replace(pod.metadata, resource_version="9"))

    ordered = by_version([event("ADDED", zone), event("ADDED", pod)])

    assert [event.resource for event in ordered] == ["pods", "statefulsets"]


def test_other_resources_are_ignored() -> None:
    Witness().see(Event("leases", "ADDED", {}))
