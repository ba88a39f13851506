"""Events as we tell them, taken by both clusters: of any name and text, in each contract's form, counted."""

from __future__ import annotations

from typing import Any

import msgspec

from kubeloop import request
from kubeloop.event_objects import LONGEST_NOTE, EventForm
from kubeloop.events import Recorder
from kubeloop.objects.core import EVENTS, PODS
from kubeloop.objects.meta import Ref
from tests.e2e.clusters import Site, everywhere
from tests.e2e.roles import ROLES, grant

FORM = EventForm("leaderworkerset", "Delete", Ref(PODS, "default", "web-0", "one"), joined=False)
CORE_ONLY = {("", "events"): ("create", "patch")}


async def events_of(site: Site) -> list[Any]:
    answer = await site.client.call(request.list_page(EVENTS, site.namespace))
    found: list[Any] = msgspec.json.decode(answer.body)["items"]
    return found


@everywhere(controllers=False)
async def test_whatever_is_told_is_an_event(site: Site) -> None:
    recorder = Recorder(site.client, "fairlead", "é" * 100)
    for name in ("web-0", "x" * 253, "system:controller:Some_Role", "a.-b"):
        recorder.tell(Ref(ROLES, site.namespace, name), False, "é" * 100, "\x1b[2J" + "€" * 1000)
    await recorder.flush()

    events = await events_of(site)
    assert recorder.dropped == 0
    assert len(events) == 4
    assert {event["note"] for event in events} == {" [2J" + "€" * ((LONGEST_NOTE - 4 - 3) // 3) + "…"}
    assert {event["reason"] for event in events} == {"é" * 64}


@everywhere(controllers=False)
async def test_notes_one_by_one_say_who_did_what_and_are_counted(site: Site) -> None:
    recorder, about = Recorder(site.client, "fairlead", "me"), Ref(PODS, site.namespace, "web", "uid")
    for _ in range(2):
        for number in range(3):
            recorder.tell(about, True, "RecreateGroup", f"group {number} failed", form=FORM)
        await recorder.flush()

    events = await events_of(site)
    assert recorder.dropped == 0
    assert sorted(event["note"] for event in events) == [f"group {number} failed" for number in range(3)]
    for event in events:
        assert (event["reportingController"], event["action"], event["type"]) == (
            "leaderworkerset",
            "Delete",
            "Warning",
        )
        assert (event["related"]["name"], event["regarding"]["uid"]) == ("web-0", "uid")
        assert event["series"]["count"] == 2


@everywhere(controllers=False)
async def test_whoever_may_write_core_events_alone_says_the_same(site: Site) -> None:
    user = await grant(site, CORE_ONLY)
    recorder = Recorder(site.client_as(user.name), "fairlead", "me")
    for _ in range(2):
        recorder.tell(Ref(PODS, site.namespace, "web"), True, "RecreateGroup", "group 0 failed", form=FORM)
        await recorder.flush()

    (event,) = await events_of(site)
    assert recorder.dropped == 0
    assert (event["reportingController"], event["action"], event["related"]["name"]) == (
        "leaderworkerset",
        "Delete",
        "web-0",
    )
    assert (event["deprecatedSource"]["component"], event["deprecatedCount"]) == ("leaderworkerset", 2)
