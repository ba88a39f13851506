"""Events of things of which there are many: a batch is one Event, a rollout a few, and each thing is told of."""

from __future__ import annotations

import asyncio

from kubeloop.events import FLUSH_SECONDS, GATHERING_SECONDS, MOMENT, Recorder
from kubeloop.gathered_events import MOST_GATHERED, MOST_NAMED_BYTES, Gathered, Thing
from kubeloop.request import Request, Response
from tests.kubeloop.scripted import Scripted, pod_ref
from tests.kubeloop.test_events import events, play, recording

ZONE = pod_ref("zone-a")
DELETED = "deleted {count} pods: {items}"


def delete(recorder: Recorder, name: str) -> None:
    recorder.tell(ZONE, False, "PodTerminated", f"deleted pod {name}", Thing(DELETED, name))


def notes(api: Scripted) -> list[str]:
    return [event["note"] for event in events(api)]


def test_a_batch_is_one_event_that_names_each_pod() -> None:
    async def scenario() -> None:
        api = Scripted()
        async with recording(api) as recorder:
            delete(recorder, "a-3")
            await asyncio.sleep(MOMENT / 2)
            delete(recorder, "a-4")
            await asyncio.sleep(1)

            assert notes(api) == ["deleted 2 pods: a-3, a-4"]

    play(scenario)


def test_one_pod_alone_is_told_in_the_words_for_one() -> None:
    async def scenario() -> None:
        api = Scripted()
        async with recording(api) as recorder:
            delete(recorder, "a-3")
            await asyncio.sleep(1)

            assert notes(api) == ["deleted pod a-3"]

    play(scenario)


def test_a_rollout_of_many_batches_is_told_by_the_minute() -> None:
    """Twenty batches of two, twelve seconds apart: four minutes."""

    async def scenario() -> None:
        api = Scripted()
        async with recording(api) as recorder:
            for number in range(20):
                delete(recorder, f"a-{2 * number}")
                delete(recorder, f"a-{2 * number + 1}")
                await asyncio.sleep(12)
            await asyncio.sleep(GATHERING_SECONDS)

            told = notes(api)
            assert len(told) == 5
            names = [name for note in told for name in note.partition(": ")[2].split(", ")]
            assert names == [f"a-{number}" for number in range(40)]
            assert recorder.dropped == 0

    play(scenario)


def test_after_a_quiet_minute_the_next_batch_is_told_at_once() -> None:
    async def scenario() -> None:
        api = Scripted()
        async with recording(api) as recorder:
            delete(recorder, "a-0")
            await asyncio.sleep(GATHERING_SECONDS + 1)
            delete(recorder, "a-1")
            await asyncio.sleep(1)

            assert notes(api) == ["deleted pod a-0", "deleted pod a-1"]

    play(scenario)


def test_what_was_gathered_is_told_before_anything_else_about_the_object() -> None:
    async def scenario() -> None:
        api = Scripted()
        async with recording(api) as recorder:
            for name in ("a-0", "a-1", "a-2"):
                delete(recorder, name)
                await asyncio.sleep(1)
            recorder.tell(pod_ref("zone-b"), False, "RevisionCompleted", "zone-b is done")
            recorder.tell(ZONE, False, "RevisionCompleted", "zone-a is done")
            await asyncio.sleep(1)

            assert notes(api) == ["deleted pod a-0", "zone-b is done", "deleted 2 pods: a-1, a-2", "zone-a is done"]

    play(scenario)


def test_the_same_batch_again_is_counted_on_its_event() -> None:
    async def scenario() -> None:
        api = Scripted()
        async with recording(api) as recorder:
            for _ in range(2):
                delete(recorder, "a-0")
                delete(recorder, "a-1")
                await asyncio.sleep(GATHERING_SECONDS + 2)

            (event,) = events(api)
            assert (event["note"], event["series"]["count"]) == ("deleted 2 pods: a-0, a-1", 2)

    play(scenario)


def test_a_process_that_ends_in_order_takes_no_event_with_it() -> None:
    async def scenario() -> None:
        api = Scripted()
        async with recording(api) as recorder:
            for name in ("a-0", "a-1", "a-2"):
                delete(recorder, name)
                await asyncio.sleep(1)
            delete(recorder, "a-3")

            await recorder.flush()

            assert notes(api) == ["deleted pod a-0", "deleted 3 pods: a-1, a-2, a-3"]

    play(scenario)


def test_a_flush_writes_nothing_twice_while_the_recorder_writes() -> None:
    async def scenario() -> None:
        api = Scripted()

        async def slow(_request: Request, when: str) -> Response | None:
            if when == "before":
                await asyncio.sleep(0.2)
            return None

        api.fault = slow
        async with recording(api) as recorder:
            recorder.tell(ZONE, True, "Stuck", "zone-a is stuck")
            await asyncio.sleep(0.1)
            await recorder.flush()

            assert len(api.asked("POST")) == 1

    play(scenario)


def test_a_server_that_does_not_answer_does_not_hold_up_the_end() -> None:
    async def scenario() -> None:
        api = Scripted()

        async def silent(_request: Request, _when: str) -> Response | None:
            await asyncio.sleep(3600)
            return None

        api.fault = silent
        async with recording(api) as recorder:
            for number in range(20):
                recorder.tell(pod_ref(f"zone-{number}"), True, "Stuck", "it is stuck")
            begun = asyncio.get_running_loop().time()

            await recorder.flush()

            assert asyncio.get_running_loop().time() - begun <= FLUSH_SECONDS

    play(scenario)


def test_of_very_many_things_those_that_fit_are_named_and_all_are_counted() -> None:
    gathered = Gathered()
    for number in range(1000):
        gathered.add("one", Thing(DELETED, f"ingester-zone-a-{number}"))

    text = gathered.text()

    named = text.partition(": ")[2].rpartition(" and ")[0].split(", ")
    assert text.startswith("deleted 1000 pods: ingester-zone-a-0, ingester-zone-a-1, ")
    assert text.endswith(f" and {1000 - len(named)} more")
    assert 20 < len(named) <= MOST_GATHERED
    assert len(", ".join(named)) <= MOST_NAMED_BYTES
    assert gathered.dropped == 0


def test_names_as_long_as_names_may_be_leave_room_for_what_is_said() -> None:
    gathered = Gathered()
    for number in range(4):
        gathered.add("one", Thing(DELETED, f"{number}" * 253))

    assert gathered.text() == f"deleted 4 pods: {'0' * 253}, {'1' * 253} and 2 more"


def test_things_of_different_kinds_are_told_apart() -> None:
    gathered = Gathered()
    for revision, name in (("old", "a-0"), ("older", "a-1"), ("old", "a-2")):
        gathered.add(f"deleted {name} of {revision}", Thing("deleted {count} of " + revision + ": {items}", name))

    assert gathered.text() == "deleted 2 of old: a-0, a-2; deleted a-1 of older"
