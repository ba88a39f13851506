"""Events that repeat: one object with a count, written the more rarely the longer it goes on, and right in the end."""

from __future__ import annotations

import asyncio
from functools import partial
from itertools import pairwise

from kubeloop import clock
from kubeloop.event_series import LONGEST_SPACING, SPACING
from kubeloop.events import Recorder
from kubeloop.request import Request, Response
from tests.kubeloop.scripted import Scripted, failure, pod_ref
from tests.kubeloop.test_events import events, play, recording

ZONE = pod_ref("zone-a")


async def repeat(recorder: Recorder, times: int, every: float, text: str = "not ready") -> None:
    for _ in range(times):
        recorder.tell(ZONE, False, "Waiting", text)
        await asyncio.sleep(every)


def test_repetitions_are_counted_on_one_event_with_few_writes() -> None:
    async def scenario() -> None:
        api = Scripted()
        async with recording(api) as recorder:
            await repeat(recorder, 1000, 0.1)
            last = clock.now()
            await asyncio.sleep(LONGEST_SPACING)

            (event,) = events(api)
            assert event["series"]["count"] == 1000
            assert event["series"]["lastObservedTime"] < last.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
            assert len(api.asked("POST")) == 1
            assert len(api.asked("PATCH")) == 4, "after 10, 30, 70 and 150 seconds"
            assert recorder.dropped == 0

    play(scenario)


def test_what_goes_on_for_long_is_written_more_and_more_rarely() -> None:
    """A day of it, every seven seconds."""

    async def scenario() -> None:
        api = Scripted()
        written: list[float] = []

        async def note(_request: Request, when: str) -> Response | None:
            if when == "before":
                written.append(clock.monotonic())
            return None

        api.fault = note
        async with recording(api) as recorder:
            times = 86400 // 7
            await repeat(recorder, times, 7.0)
            pauses = [round(after - before) for before, after in pairwise(written)]
            assert pauses[:5] == [10, 20, 40, 80, 160]
            assert set(pauses[5:]) == {LONGEST_SPACING}
            assert len(written) < 86400 / LONGEST_SPACING + 6

            await asyncio.sleep(LONGEST_SPACING)
            (event,) = events(api)
            assert event["series"]["count"] == times

    play(scenario)


def test_one_that_comes_rarely_is_written_each_time() -> None:
    async def scenario() -> None:
        api = Scripted()
        async with recording(api) as recorder:
            for count in range(2, 12):
                await repeat(recorder, 1, LONGEST_SPACING + 1)
                recorder.tell(ZONE, False, "Waiting", "not ready")
                await asyncio.sleep(1)
                (event,) = events(api)
                assert event["series"]["count"] >= count

    play(scenario)


def test_other_news_of_the_object_bring_the_count_up_to_date() -> None:
    async def scenario() -> None:
        api = Scripted()
        async with recording(api) as recorder:
            await repeat(recorder, 100, 5.0)
            (counted,) = events(api)
            assert counted["series"]["count"] < 100

            recorder.tell(pod_ref("zone-b"), False, "Done", "ready")
            await asyncio.sleep(SPACING)
            assert events(api)[0]["series"]["count"] < 100, "nothing of another object does"

            recorder.tell(ZONE, False, "Done", "ready")
            await asyncio.sleep(SPACING)
            assert events(api)[0]["series"]["count"] == 100

    play(scenario)


def test_the_count_is_right_when_the_process_ends_in_order() -> None:
    async def scenario() -> None:
        api = Scripted()
        async with recording(api) as recorder:
            await repeat(recorder, 100, 5.0)
            await recorder.flush()

            (event,) = events(api)
            assert event["series"]["count"] == 100

    play(scenario)


def test_one_that_is_told_while_it_is_written_keeps_its_distance() -> None:
    async def scenario() -> None:
        api = Scripted()

        async def slowly(_request: Request, _when: str) -> Response | None:
            await asyncio.sleep(0.5)
            return None

        api.fault = slowly
        async with recording(api) as recorder:
            await repeat(recorder, 3000, 0.2)

            assert len(api.asked("PATCH")) <= 6, "after 10, 30, 70, 150, 310 and 610 seconds"

    play(scenario)


def test_a_count_that_a_server_fails_at_is_right_when_the_server_is_well_again() -> None:
    """Also when nobody tells it again, and also when the answer that was lost was a success."""

    async def scenario(lost: str) -> None:
        api = Scripted()

        async def fail(_request: Request, when: str) -> Response | None:
            return failure(503) if when == lost else None

        async with recording(api) as recorder:
            await repeat(recorder, 2, SPACING)
            api.fault = fail
            await repeat(recorder, 5, SPACING)
            await asyncio.sleep(60)
            api.fault = None
            await asyncio.sleep(LONGEST_SPACING)

            (event,) = events(api)
            assert event["series"]["count"] == 7
            assert recorder.dropped == 0

    for lost in ("before", "after"):
        play(partial(scenario, lost))


def test_a_count_is_not_tried_for_ever() -> None:
    async def scenario() -> None:
        api = Scripted()

        async def fail(_request: Request, _when: str) -> Response | None:
            return failure(503)

        async with recording(api) as recorder:
            await repeat(recorder, 2, 1)
            await asyncio.sleep(SPACING)
            api.fault = fail
            await repeat(recorder, 1, 7200)
            tried = len(api.requests)
            await asyncio.sleep(7200)

            assert recorder.dropped == 1
            assert len(api.requests) == tried < 12

    play(scenario)
