"""One zone: which of its pods go, and why none does."""

from __future__ import annotations

from datetime import datetime

import msgspec
import pytest

from fairlead.core.act import Delete
from fairlead.core.decision import Hold, Move
from fairlead.core.reason import Reason
from kubeloop.objects.apps import StatefulSet
from kubeloop.objects.core import Pod
from tests.builders import NOW, a_pod, a_zone, pods_of, seen, waiting
from tests.contracts.zones.decide.judging import completed, deleted, settled, waits_for

BATCHES: dict[str, tuple[StatefulSet, dict[str, str], list[str]]] = {
    "one of three": (a_zone(), {}, ["a-0"]),
    "pods of the update revision stay": (a_zone(), {"_0": "ready new"}, ["a-1"]),
    "all at once with a budget above the size": (a_zone(max_unavailable="9"), {}, ["a-0", "a-1", "a-2"]),
    "the status alone can use the budget": (a_zone(ready=2), {}, []),
    "a terminating pod uses its slot": (a_zone(), {"_0": "terminating"}, []),
    "a terminating pod uses its slot and no other's": (a_zone(max_unavailable="2"), {"_0": "terminating"}, ["a-1"]),
    "an updated pod that terminates uses a slot": (a_zone(max_unavailable="2"), {"_2": "terminating new"}, ["a-0"]),
    "a pod starting anew uses a slot": (a_zone(), {"_0": "notReady new"}, []),
    "a missing pod uses a slot": (a_zone(max_unavailable="2"), {"_1": "missing"}, ["a-0"]),
    "an outdated pod not ready uses a slot": (a_zone(max_unavailable="2"), {"_2": "notReady"}, ["a-0"]),
    "an outdated pod not ready is visited in its turn": (a_zone(max_unavailable="2"), {"_0": "notReady"}, ["a-0"]),
    "an outdated pod not ready does not go without budget": (a_zone(), {"_0": "notReady"}, []),
    "a stuck pod goes without budget": (a_zone(ready=2), {"_1": "stuck"}, ["a-1"]),
    "all stuck pods go": (a_zone(ready=1), {"_0": "stuck", "_2": "stuck"}, ["a-0", "a-2"]),
    "a stuck pod makes no room for another": (a_zone(ready=1), {"_0": "stuck", "_1": "notReady"}, ["a-0"]),
    "a stuck pod takes no room from another": (a_zone(max_unavailable="2"), {"_2": "stuck"}, ["a-0", "a-2"]),
    "a stuck pod of the update revision stays": (a_zone(ready=2), {"_0": "stuck new"}, []),
    "ordinals that do not start at 0": (a_zone(start=7, max_unavailable="2"), {"_7": "ready new"}, ["a-8", "a-9"]),
}


@pytest.mark.parametrize(("zone", "states", "expected"), BATCHES.values(), ids=BATCHES.keys())
def test_the_batch_keeps_the_budget(zone: StatefulSet, states: dict[str, str], expected: list[str]) -> None:
    assert deleted(settled(seen(zone, pods_of(zone, **states)))) == expected


TERMINATING = a_pod(a_zone(), 0, state="terminating", containers=(waiting("CrashLoopBackOff"),), phase="Pending")

WAITS: dict[str, tuple[StatefulSet, tuple[Pod, ...], Reason]] = {
    "the budget is used by the status": (a_zone(ready=2), pods_of(a_zone()), Reason.BUDGET_USED),
    "the budget is used by a pod": (a_zone(), pods_of(a_zone(), _0="terminating"), Reason.BUDGET_USED),
    "a stuck pod that terminates is not deleted again": (
        a_zone(),
        (TERMINATING, *pods_of(a_zone())[1:]),
        Reason.BUDGET_USED,
    ),
    "all outdated pods are on their way out": (
        a_zone(max_unavailable="2"),
        pods_of(a_zone(), "new", _0="terminating old"),
        Reason.POD_TERMINATING,
    ),
    "updated, one terminating": (a_zone(), pods_of(a_zone(), "new", _0="terminating"), Reason.POD_TERMINATING),
    "updated, one missing": (a_zone(), pods_of(a_zone(), "new", _0="missing"), Reason.POD_MISSING),
    "updated, one not ready": (a_zone(), pods_of(a_zone(), "new", _0="notReady"), Reason.PODS_NOT_READY),
    "updated, status not yet told": (a_zone(ready=2), pods_of(a_zone(), "new"), Reason.PODS_NOT_READY),
    "the status is of an older generation": (a_zone(generation=2), pods_of(a_zone()), Reason.STATUS_STALE),
    "never looked at by the controller": (
        a_zone(observed=0, current="", update=""),
        pods_of(a_zone()),
        Reason.STATUS_STALE,
    ),
    "no current revision": (a_zone(current=""), pods_of(a_zone()), Reason.REVISION_UNKNOWN),
    "no update revision": (a_zone(update=""), pods_of(a_zone()), Reason.REVISION_UNKNOWN),
}


@pytest.mark.parametrize(("zone", "pods", "reason"), WAITS.values(), ids=WAITS.keys())
def test_a_zone_that_waits_says_for_what(zone: StatefulSet, pods: tuple[Pod, ...], reason: Reason) -> None:
    assert waits_for(settled(seen(zone, pods))) is reason


@pytest.mark.parametrize("zone", [a_zone("a", generation=2), a_zone("a", current="")])
def test_a_zone_that_cannot_be_judged_holds_back_those_after_it(zone: StatefulSet) -> None:
    b = a_zone("b")

    assert deleted(settled(seen(zone, b, pods_of(zone), pods_of(b)))) == []


def test_an_unknown_revision_fails_the_pass_and_a_stale_status_does_not() -> None:
    assert Reason.REVISION_UNKNOWN.fails
    assert not Reason.STATUS_STALE.fails


def test_a_status_without_observed_generation_is_taken_as_current() -> None:
    zone = a_zone(observed=None, generation=5)

    assert deleted(settled(seen(zone, pods_of(zone)))) == ["a-0"]


def test_a_zone_that_is_being_deleted_is_left_to_its_end() -> None:
    zone = a_zone()
    leaving = msgspec.structs.replace(zone, metadata=_ending(zone, NOW))
    b = a_zone("b")

    assert settled(seen(leaving, b, pods_of(leaving), pods_of(b))).verdict == Hold(Reason.ZONE_LEAVING)


def _ending(zone: StatefulSet, at: datetime) -> object:
    return msgspec.structs.replace(zone.metadata, deletion_timestamp=at)


def test_a_deletion_is_bound_to_the_incarnation_that_was_seen_and_told_on_the_statefulset() -> None:
    zone = a_zone()

    decision = settled(seen(zone, pods_of(zone)))

    assert isinstance(decision.verdict, Move)
    (delete,) = decision.verdict.writes
    assert isinstance(delete, Delete)
    assert delete.ref.uid == "uid-ingester-zone-a-0-old"
    assert (delete.change_from, delete.change_to) == ("old", "new")
    assert delete.tell is not None
    assert (delete.tell.about.name, delete.tell.warning, delete.tell.reason) == (
        "ingester-zone-a",
        False,
        "PodTerminated",
    )
    assert "ingester-zone-a-0" in delete.tell.text
    assert (delete.tell.item, delete.tell.several) == (
        "ingester-zone-a-0",
        "Deleted {count} pods of revision old: {items}; the StatefulSet creates them again",
    )


def test_a_zone_without_replicas_is_complete_but_for_its_record() -> None:
    zone = a_zone(replicas=0)

    assert completed(settled(seen(zone))) == ["a"]


def test_a_current_zone_wants_nothing() -> None:
    zone = a_zone(current="new")

    assert settled(seen(zone, pods_of(zone, "new"))).verdict == Hold(Reason.COMPLETE)
