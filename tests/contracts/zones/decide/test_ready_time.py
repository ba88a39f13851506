"""Z12: which pods get the annotation of their ready time, which lose it, and which are left alone."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import msgspec
import pytest

from fairlead.contracts.zones.decide.budgets.ready_time import ReadyTimeSnapshot, decide
from fairlead.contracts.zones.kinds import READY_TIME
from fairlead.core.act import Does, Patch
from fairlead.core.decision import Hold, Move
from kubeloop.objects.core import Pod
from tests.builders import NOW
from tests.contracts.zones.decide.evicting import a_guard, a_guarded_pod, a_guarded_zone

ZONE = a_guarded_zone("a")
STAMP = "2026-03-01T11:00:00Z"


def patched(pod: Pod, now: datetime = NOW, in_scope: bool = True) -> object:
    guards = (a_guard() if in_scope else a_guard(labels={"app": "other"}),)
    verdict = decide(ReadyTimeSnapshot(pod, guards), now).verdict
    if isinstance(verdict, Hold):
        return "nothing"
    assert isinstance(verdict, Move)
    (patch,) = verdict.writes
    assert isinstance(patch, Patch)
    assert (patch.does, patch.subresource) == (Does.STAMP_READY, "")
    metadata = msgspec.json.decode(patch.body)["metadata"]
    assert metadata.pop("uid") == pod.metadata.uid
    assert set(metadata) == {"annotations"}
    assert set(metadata["annotations"]) == {READY_TIME}
    return metadata["annotations"][READY_TIME]


def test_a_ready_pod_without_stamp_gets_one() -> None:
    assert patched(a_guarded_pod(ZONE, 0)) == "2026-03-01T12:00:00Z"


def test_stamps_are_in_whole_seconds_of_utc() -> None:
    here = datetime(2026, 3, 1, 14, 0, 7, 900000, tzinfo=timezone(timedelta(hours=2)))

    assert patched(a_guarded_pod(ZONE, 0), here) == "2026-03-01T12:00:07Z"


@pytest.mark.parametrize("state", ["notReady", "terminating", "stuck"])
def test_a_pod_that_is_not_ready_loses_its_stamp(state: str) -> None:
    assert patched(a_guarded_pod(ZONE, 0, state=state, ready_time=STAMP)) is None


@pytest.mark.parametrize(
    "pod",
    [
        a_guarded_pod(ZONE, 0, ready_time=STAMP),
        a_guarded_pod(ZONE, 0, ready_time="nonsense"),
        a_guarded_pod(ZONE, 0, ready_time=""),
        a_guarded_pod(ZONE, 0, state="notReady"),
    ],
    ids=["ready with a stamp", "ready with nonsense", "ready with an empty stamp", "not ready without one"],
)
def test_any_other_pod_is_left_alone(pod: Pod) -> None:
    assert patched(pod) == "nothing"


def test_pods_outside_of_all_budgets_are_left_alone() -> None:
    assert patched(a_guarded_pod(ZONE, 0), in_scope=False) == "nothing"
    assert patched(a_guarded_pod(ZONE, 0, state="notReady", ready_time=STAMP), in_scope=False) == "nothing"


def test_a_pod_keeps_one_annotation_of_the_many_it_has() -> None:
    annotations = b'{"x":"y","grafana.com/ready-time":"t"}'
    body = b'{"metadata":{"name":"a","uid":"u","resourceVersion":"1","annotations":%s}}' % annotations

    assert msgspec.json.decode(body, type=Pod).metadata.annotations.get(READY_TIME) == "t"
