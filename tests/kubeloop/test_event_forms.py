"""Events as a contract wants them: exact notes one by one, its own component, what was done, another object."""

from __future__ import annotations

import asyncio

import pytest

from kubeloop.event_objects import EventForm
from kubeloop.event_series import SPACING
from kubeloop.gathered_events import Thing
from kubeloop.request import Request, Response
from tests.kubeloop.scripted import Scripted, failure, pod_ref
from tests.kubeloop.test_events import events, play, recording

EXACT = EventForm(joined=False)
ZONE = pod_ref("zone-a")


def test_notes_that_are_not_joined_have_an_event_each_in_their_own_words() -> None:
    async def scenario() -> None:
        api = Scripted()
        async with recording(api) as recorder:
            for number in range(5):
                recorder.tell(ZONE, False, "GroupsProgressing", f"replica {number} moved", form=EXACT)
            await asyncio.sleep(SPACING)

            assert [event["note"] for event in events(api)] == [f"replica {number} moved" for number in range(5)]

    play(scenario)


def test_the_same_note_again_is_counted() -> None:
    async def scenario() -> None:
        api = Scripted()
        async with recording(api) as recorder:
            for _ in range(3):
                recorder.tell(ZONE, False, "GroupsProgressing", "replica 1 moved", form=EXACT)
                await asyncio.sleep(60)

            (event,) = events(api)
            assert event["series"]["count"] == 3

    play(scenario)


def test_what_was_gathered_about_an_object_is_told_before_an_exact_note() -> None:
    async def scenario() -> None:
        api = Scripted()
        async with recording(api) as recorder:
            recorder.tell(ZONE, False, "PodTerminated", "deleted a-0", Thing("deleted {count}: {items}", "a-0"))
            recorder.tell(ZONE, False, "Done", "all done", form=EXACT)
            await asyncio.sleep(SPACING)

            assert [event["note"] for event in events(api)] == ["deleted a-0", "all done"]

    play(scenario)


def test_a_form_says_who_did_what_with_which_other_object() -> None:
    async def scenario() -> None:
        api = Scripted()
        form = EventForm(component="leaderworkerset", action="Delete", related=pod_ref("web-0"))
        async with recording(api) as recorder:
            recorder.tell(ZONE, True, "RecreateGroup", "group 0 failed", form=form)
            await asyncio.sleep(1)

        (event,) = events(api)
        assert (event["reportingController"], event["action"], event["reason"]) == (
            "leaderworkerset",
            "Delete",
            "RecreateGroup",
        )
        assert (event["regarding"]["name"], event["related"]["name"]) == ("zone-a", "web-0")
        assert event["related"]["uid"] == pod_ref("web-0").uid

    play(scenario)


def test_core_events_say_the_same() -> None:
    async def only_core(request: Request, _when: str) -> Response | None:
        return failure(403) if "events.k8s.io" in request.path else None

    async def scenario() -> None:
        api = Scripted()
        api.fault = only_core
        form = EventForm(component="leaderworkerset", action="Delete", related=pod_ref("web-0"))
        async with recording(api) as recorder:
            recorder.tell(ZONE, True, "RecreateGroup", "group 0 failed", form=form)
            recorder.tell(ZONE, False, "Other", "as usual")
            await asyncio.sleep(1)

        told, usual = events(api)
        assert (told["source"], told["reportingComponent"]) == ({"component": "leaderworkerset"}, "leaderworkerset")
        assert (told["action"], told["related"]["name"]) == ("Delete", "web-0")
        assert "action" not in usual
        assert "related" not in usual
        assert usual["source"] == {"component": "fairlead.dev/zones"}

    play(scenario)


@pytest.mark.parametrize("other", [EventForm(component="b"), EventForm(action="b"), EventForm(related=pod_ref("b"))])
def test_notes_of_different_forms_are_different_events(other: EventForm) -> None:
    async def scenario() -> None:
        api = Scripted()
        async with recording(api) as recorder:
            for form in (EventForm(), other):
                recorder.tell(ZONE, False, "Waiting", "not ready", form=form)
            await asyncio.sleep(SPACING)

        assert len(events(api)) == 2

    play(scenario)
