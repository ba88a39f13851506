"""Events: readable for people, bounded for the server, harmless for the caller."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import ClassVar

import pytest

from kubeloop import clock
from kubeloop.errors import ApiError, NotLeader, TransportError
from kubeloop.event_series import MOST_REMEMBERED, MOST_UNWRITTEN, SPACING
from kubeloop.events import Recorder
from kubeloop.gathered_events import MOST_GATHERED
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import Ref, Resource
from kubeloop.request import Request, Response
from kubesim.time import run
from tests.kubeloop.scripted import Scripted, Tree, failure, pod_ref

NAMESPACES = Resource("", "v1", "namespaces", "Namespace", namespaced=False)


def play(scenario: Callable[[], Awaitable[None]]) -> None:
    async def whole() -> None:
        await scenario()

    run(whole(), steps=100_000)


@asynccontextmanager
async def recording(api: Scripted) -> AsyncIterator[Recorder]:
    recorder = Recorder(api.client(), "fairlead.dev/zones", "pod-1")
    task = asyncio.create_task(recorder.run())
    try:
        yield recorder
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def events(api: Scripted) -> list[Tree]:
    return list(api.objects.values())


def test_an_event_says_who_saw_what_where_and_when() -> None:
    async def scenario() -> None:
        api = Scripted()
        async with recording(api) as recorder:
            recorder.tell(pod_ref("web-0"), True, "PodStuck", "web-0 does not become ready")
            told_at = clock.now()
            await asyncio.sleep(1)

            (path,) = api.objects
            stamp = f"{int(told_at.timestamp() * 1e6) * 1000:x}"
            assert path == f"/apis/events.k8s.io/v1/namespaces/ns/events/web-0.{stamp}"
            event = {key: value for key, value in events(api)[0].items() if key != "metadata"}
            assert event == {
                "apiVersion": "events.k8s.io/v1",
                "kind": "Event",
                "type": "Warning",
                "reason": "PodStuck",
                "action": "PodStuck",
                "note": "web-0 does not become ready",
                "eventTime": told_at.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
                "reportingController": "fairlead.dev/zones",
                "reportingInstance": "pod-1",
                "regarding": {
                    "apiVersion": "v1",
                    "kind": "Pod",
                    "namespace": "ns",
                    "name": "web-0",
                    "uid": "uid-web-0",
                },
            }

    play(scenario)


def test_an_event_about_an_object_without_a_namespace_goes_to_default() -> None:
    async def scenario() -> None:
        api = Scripted()
        async with recording(api) as recorder:
            recorder.tell(Ref(NAMESPACES, "", "team-a"), False, "Seen", "a namespace")
            await asyncio.sleep(1)

            assert events(api)[0]["metadata"]["namespace"] == "default"
            assert "namespace" not in events(api)[0]["regarding"]

    play(scenario)


@pytest.mark.parametrize("silence", [599, 601])
def test_a_repetition_after_ten_minutes_of_silence_is_a_new_event(silence: float) -> None:
    async def scenario() -> None:
        api = Scripted()
        async with recording(api) as recorder:
            for _ in range(2):
                recorder.tell(pod_ref("web-0"), False, "Waiting", "not ready")
                await asyncio.sleep(silence)

            assert len(events(api)) == (1 if silence < 600 else 2)

    play(scenario)


def test_different_events_of_one_moment_do_not_collide() -> None:
    async def scenario() -> None:
        api = Scripted()
        async with recording(api) as recorder:
            recorder.tell(pod_ref("web-0"), False, "Waiting", "not ready")
            recorder.tell(pod_ref("web-0"), True, "Waiting", "not ready")
            recorder.tell(pod_ref("web-0"), False, "Deleted", "not ready")
            recorder.tell(pod_ref("web-0", uid="other"), False, "Waiting", "not ready")
            await asyncio.sleep(1)

            assert len(events(api)) == 4
            assert all("series" not in event for event in events(api))

    play(scenario)


def test_texts_of_one_topic_that_come_close_together_are_gathered_into_one_event() -> None:
    async def scenario() -> None:
        api = Scripted()
        async with recording(api) as recorder:
            for number in range(20):
                recorder.tell(pod_ref("zone-a"), False, "PodTerminated", f"deleted {number}")
                await asyncio.sleep(1)
            await asyncio.sleep(SPACING)

            first, *later = [event["note"] for event in events(api)]
            assert first == "deleted 0"
            assert len(later) == 2
            assert "; ".join(later) == "; ".join(f"deleted {number}" for number in range(1, 20))
            assert recorder.dropped == 0

    play(scenario)


def test_a_topic_that_was_quiet_is_told_at_once_again() -> None:
    async def scenario() -> None:
        api = Scripted()
        async with recording(api) as recorder:
            for number in range(3):
                recorder.tell(pod_ref("zone-a"), False, "PodTerminated", f"deleted {number}")
                await asyncio.sleep(SPACING + 1)

            assert [event["note"] for event in events(api)] == ["deleted 0", "deleted 1", "deleted 2"]
            assert not recorder._gathering

    play(scenario)


def test_more_texts_of_one_topic_than_an_event_can_hold_are_counted_as_dropped() -> None:
    async def scenario() -> None:
        api = Scripted()
        async with recording(api) as recorder:
            for number in range(MOST_GATHERED + 8):
                recorder.tell(pod_ref("zone-a"), False, "PodTerminated", f"deleted {number}")
            await asyncio.sleep(SPACING + 1)

            assert len(events(api)) == 2
            assert recorder.dropped == 7

    play(scenario)


def test_an_event_that_the_server_has_forgotten_is_written_anew_with_its_count() -> None:
    async def scenario() -> None:
        api = Scripted()
        async with recording(api) as recorder:
            recorder.tell(pod_ref("web-0"), False, "Waiting", "not ready")
            await asyncio.sleep(1)
            api.objects.clear()
            recorder.tell(pod_ref("web-0"), False, "Waiting", "not ready")
            await asyncio.sleep(SPACING)

            assert events(api)[0]["series"]["count"] == 2

    play(scenario)


def test_long_texts_are_cut_to_what_the_server_takes() -> None:
    async def scenario() -> None:
        api = Scripted()
        async with recording(api) as recorder:
            recorder.tell(pod_ref("x" * 253), False, "R" * 200, "é" * 1000 + "\ud800")
            await asyncio.sleep(1)

            event = events(api)[0]
            assert 1000 < len(event["note"].encode()) <= 1024
            assert event["note"].endswith("é…")
            assert len(event["reason"]) == len(event["action"]) == 128
            assert len(event["metadata"]["name"]) <= 253

    play(scenario)


def forbid_events_group(api: Scripted) -> Callable[[Request, str], Awaitable[Response | None]]:
    async def fault(request: Request, _: str) -> Response | None:
        return failure(403, "Forbidden") if "events.k8s.io" in request.path else None

    return fault


def test_where_only_core_events_are_allowed_those_are_written() -> None:
    async def scenario() -> None:
        api = Scripted()
        api.fault = forbid_events_group(api)
        async with recording(api) as recorder:
            recorder.tell(pod_ref("web-0"), False, "Waiting", "not ready")
            await asyncio.sleep(1)
            recorder.tell(pod_ref("web-0"), False, "Waiting", "not ready")
            recorder.tell(pod_ref("web-1"), True, "Stuck", "not ready")
            await asyncio.sleep(SPACING)

            first, second = events(api)
            assert first["involvedObject"]["name"] == "web-0"
            assert (first["message"], first["type"], first["count"]) == ("not ready", "Normal", 2)
            assert first["lastTimestamp"] > first["firstTimestamp"]
            assert first["source"] == {"component": "fairlead.dev/zones"}
            assert (second["count"], second["firstTimestamp"]) == (1, second["lastTimestamp"])
            assert len([r for r in api.requests if "events.k8s.io" in r.path]) == 1, "it is not asked again"
            assert recorder.dropped == 0

    play(scenario)


def test_a_namespace_that_is_going_does_not_change_how_others_are_written() -> None:
    async def scenario() -> None:
        api = Scripted()

        async def going(request: Request, _: str) -> Response | None:
            return failure(403, "Forbidden") if "/namespaces/going/" in request.path else None

        api.fault = going
        async with recording(api) as recorder:
            recorder.tell(Ref(PODS, "going", "web-0"), False, "Waiting", "not ready")
            recorder.tell(pod_ref("web-0"), False, "Waiting", "not ready")
            await asyncio.sleep(1)

            assert [event["apiVersion"] for event in events(api)] == ["events.k8s.io/v1"]
            assert recorder.dropped == 1

    play(scenario)


def refuse(code: int) -> Callable[[Request, str], Awaitable[Response | None]]:
    async def fault(_request: Request, _when: str) -> Response | None:
        if code == 0:
            raise TransportError("no route")
        return failure(code)

    return fault


@pytest.mark.parametrize("code", [0, 403, 422, 500])
def test_what_cannot_be_written_is_counted_and_the_next_is_tried(code: int) -> None:
    async def scenario() -> None:
        api = Scripted()
        async with recording(api) as recorder:
            api.fault = refuse(code)
            recorder.tell(pod_ref("web-0"), False, "Waiting", "not ready")
            await asyncio.sleep(1)
            assert recorder.dropped == 1

            api.fault = None
            recorder.tell(pod_ref("web-1"), False, "Waiting", "not ready")
            await asyncio.sleep(1)
            assert [event["regarding"]["name"] for event in events(api)] == ["web-1"]

    play(scenario)


@pytest.mark.parametrize(("code", "told"), [(0, 0), (403, 2), (422, 2), (500, 0)])
def test_that_events_are_refused_is_told_once_and_again_after_one_that_was_not(code: int, told: int) -> None:
    """What a server fails at for a moment is no refusal, and a count is brought to it again."""

    async def scenario() -> None:
        api = Scripted()
        refusals: list[ApiError] = []
        recorder = Recorder(api.client(), "fairlead.dev/zones", "pod-1", refused=refusals.append)
        for fault in (refuse(code), None, refuse(code)):
            api.fault = fault
            for number in range(3):
                recorder.tell(pod_ref(f"web-{number}"), False, "Waiting", "not ready")
            await recorder.flush()

        assert len(refusals) == told
        assert recorder.dropped == (6 if told else 3)

    play(scenario)


def test_a_closed_gate_drops_events_and_does_not_end_the_recorder() -> None:
    async def scenario() -> None:
        api = Scripted()
        closed = True

        def gate() -> None:
            if closed:
                raise NotLeader("not now")

        recorder = Recorder(api.client(gate=gate), "fairlead.dev/zones", "pod-1")
        task = asyncio.create_task(recorder.run())
        recorder.tell(pod_ref("web-0"), False, "Waiting", "not ready")
        await asyncio.sleep(1)
        closed = False
        recorder.tell(pod_ref("web-1"), False, "Waiting", "not ready")
        await asyncio.sleep(1)

        assert (len(events(api)), recorder.dropped) == (1, 1)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    play(scenario)


def test_while_nothing_can_be_written_the_oldest_events_are_dropped() -> None:
    async def scenario() -> None:
        api = Scripted()
        recorder = Recorder(api.client(), "fairlead.dev/zones", "pod-1")
        for number in range(MOST_UNWRITTEN + 50):
            recorder.tell(pod_ref(f"web-{number}"), False, "Waiting", "not ready")
        assert recorder.dropped == 50

        task = asyncio.create_task(recorder.run())
        await asyncio.sleep(60)

        names = [event["regarding"]["name"] for event in events(api)]
        assert names == [f"web-{number}" for number in range(50, MOST_UNWRITTEN + 50)]
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    play(scenario)


def test_more_events_than_are_remembered_are_all_written_when_they_come_at_once() -> None:
    async def scenario() -> None:
        api = Scripted()
        async with recording(api) as recorder:
            for number in range(3 * MOST_REMEMBERED):
                recorder.tell(pod_ref(f"web-{number}"), False, "Waiting", "not ready")
            await asyncio.sleep(60)

            assert len(events(api)) == 3 * MOST_REMEMBERED
            assert recorder.dropped == 0
            assert len(recorder._series) <= 3 * MOST_REMEMBERED
            recorder.tell(pod_ref("web-0"), False, "Waiting", "something else")
            assert len(recorder._series) <= MOST_REMEMBERED + 1

    play(scenario)


def test_events_of_long_ago_are_not_remembered() -> None:
    async def scenario() -> None:
        api = Scripted()
        async with recording(api) as recorder:
            for number in range(100):
                recorder.tell(pod_ref(f"web-{number}"), False, "Waiting", "not ready")
                await asyncio.sleep(60)

            assert len(recorder._series) <= 11
            assert len(events(api)) == 100
            assert recorder.dropped == 0

    play(scenario)


class Compared(Ref, frozen=True):
    """Counts how often one of them is compared with another."""

    times: ClassVar[list[int]] = [0]

    def __eq__(self, other: object) -> bool:
        self.times[0] += 1
        return isinstance(other, Ref) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)


def test_what_is_told_of_many_objects_costs_no_more_for_each() -> None:
    """Thousands of rollouts that start together must not hold up the loop: the lease is renewed in it."""

    async def scenario() -> None:
        recorder = Recorder(Scripted().client(), "a", "b")
        for number in range(1000):
            recorder.tell(Compared(PODS, "test", f"p-{number}"), False, "Waiting", "not ready")

    play(scenario)

    assert Compared.times[0] < 10 * 1000
