"""Events of an occurrence: told once, also by the next process."""

from __future__ import annotations

import asyncio

from kubeloop.event_series import SERIES_SECONDS
from tests.kubeloop.scripted import Scripted, pod_ref
from tests.kubeloop.test_events import events, play, recording

ZONE = pod_ref("zone-a")


def test_the_next_process_leaves_the_event_as_it_is() -> None:
    async def scenario() -> None:
        api = Scripted()
        for _ in range(2):
            async with recording(api) as recorder:
                recorder.tell(ZONE, True, "Blocked", "zone-a-0 is stuck", occurrence="since noon")
                await asyncio.sleep(1)
                assert recorder.dropped == 0

        (event,) = events(api)
        assert "series" not in event
        assert event["note"] == "zone-a-0 is stuck"

    play(scenario)


def test_another_occurrence_is_another_event() -> None:
    async def scenario() -> None:
        api = Scripted()
        async with recording(api) as recorder:
            recorder.tell(ZONE, True, "Blocked", "zone-a-0 is stuck", occurrence="since noon")
            await asyncio.sleep(SERIES_SECONDS + 1)
            recorder.tell(ZONE, True, "Blocked", "zone-a-0 is stuck", occurrence="since one")
            await asyncio.sleep(1)

        assert len(events(api)) == 2

    play(scenario)


def test_occurrences_of_several_things_are_told_at_once_and_apart() -> None:
    async def scenario() -> None:
        api = Scripted()
        async with recording(api) as recorder:
            for number in range(3):
                recorder.tell(ZONE, True, "Blocked", f"zone-a-{number} is stuck", occurrence="since noon")
            await asyncio.sleep(1)

            assert [event["note"] for event in events(api)] == [f"zone-a-{number} is stuck" for number in range(3)]

    play(scenario)


def test_one_that_repeats_in_the_same_process_is_counted() -> None:
    async def scenario() -> None:
        api = Scripted()
        async with recording(api) as recorder:
            for _ in range(3):
                recorder.tell(ZONE, True, "Blocked", "zone-a-0 is stuck", occurrence="since noon")
                await asyncio.sleep(20)

            (event,) = events(api)
            assert event["series"]["count"] == 3

    play(scenario)
