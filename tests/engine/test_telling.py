"""A contract says how its notes become Events, and who else hears them; notes of others are told as before."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest
from msgspec import structs

from fairlead.core.act import EventNote
from fairlead.core.ask import Answer, Good
from fairlead.core.decision import Decision, Move
from fairlead.engine.contract import Room
from fairlead.engine.controller import Telling
from fairlead.engine.driver.round import Asker
from fairlead.engine.options import PartOptions
from fairlead.engine.part import Part, PartContext
from kubeloop import request
from kubeloop.objects.core import EVENTS
from kubeloop.objects.meta import Ref
from kubeloop.request import Request
from kubesim.faults import Fault
from tests.engine.test_toy_contract import box, define
from tests.engine.world import World, play
from tests.operator_parts import ZONES
from tests.toy import contract as toy
from tests.toy.decide import decide
from tests.toy.kinds import BOXES, Box
from tests.toy.part import part

HEARD: list[EventNote] = []
ALL = ["paint done", "paint once", "paint twice", "complete once", "complete twice"]
"""In the order in which it goes elsewhere: what a write has done, then what was decided."""


@pytest.fixture(autouse=True)
def _nothing_heard() -> None:
    HEARD.clear()


def telling_part(context: PartContext, settings: Any) -> Part:
    """Boxes whose every decision is told, twice in different words, and what was done."""

    def told(seen: Box, now: Any) -> Decision:
        metadata = seen.metadata
        about = Ref(BOXES, metadata.namespace, metadata.name, metadata.uid)
        made = decide(seen, now)
        notes = [
            EventNote(about, False, "Decided", f"{made.rule} {word}", action="Paint", related=about)
            for word in ("once", "twice")
        ]
        if isinstance(made.verdict, Move):
            (paint,) = made.verdict.writes
            done = structs.replace(
                paint, tell=EventNote(about, False, "Painted", "paint done", action="Paint", related=about)
            )
            made = structs.replace(made, verdict=structs.replace(made.verdict, writes=(done,)))
        return structs.replace(made, tell=tuple(notes))

    async def hear(note: EventNote, _ask: Asker) -> Answer:
        HEARD.append(note)
        return Good()

    made = part(context, settings)
    (controller,) = made.controllers
    telling = Telling(component="boxes", joined=False, sink=hear)
    return structs.replace(made, controllers=(structs.replace(controller, decide=told, telling=telling),))


def telling_boxes() -> PartOptions:
    return PartOptions(structs.replace(toy.CONTRACT, part=Room("tests.engine.test_telling", "telling_part")), None)


async def events_of(world: World) -> list[Any]:
    answer = await world.client.call(request.list_page(EVENTS, "test"))
    found: list[Any] = msgspec.json.decode(answer.body)["items"]
    return found


def test_events_come_from_the_contract_one_for_each_note_and_others_hear_them() -> None:
    async def scenario(world: World) -> None:
        await define(world)
        await world.zone("zone-a", "group")
        async with world.operating(parts=(ZONES, telling_boxes())):
            await box(world, "one", colour="red")
            await world.roll("zone-a")
            await world.until(lambda: world.is_rolled("test", "zone-a"))
            await asyncio.sleep(20)

        events = await events_of(world)
        found = [event for event in events if event["regarding"]["kind"] == "Box"]
        others = [event for event in events if event["reportingController"] == "fairlead"]
        assert {event["regarding"]["kind"] for event in others} == {"StatefulSet"}
        told = [(event["note"], event["action"], event["related"]["name"]) for event in found]
        assert {event["reportingController"] for event in found} == {"boxes"}
        assert sorted(told) == sorted((text, "Paint", "one") for text in ALL)
        assert [note.text for note in HEARD] == ALL

    play(scenario)


def test_nothing_goes_elsewhere_before_the_writes_have_succeeded_and_nothing_twice() -> None:
    def refused(sent: Request) -> Fault | None:
        return Fault("status", status=500) if sent.method == "PATCH" and "/boxes/" in sent.path else None

    async def scenario(world: World) -> None:
        await define(world)
        async with world.operating(parts=(ZONES, telling_boxes())):
            world.fault = refused
            await box(world, "one", colour="red")
            await asyncio.sleep(60)
            assert HEARD == []
            assert sorted(event["note"] for event in await events_of(world)) == ["paint once", "paint twice"]

            world.fault = lambda _: None
            await asyncio.sleep(60)
            assert [note.text for note in HEARD] == ALL
            await world.change(BOXES, "test", "one", {"metadata": {"labels": {"looked": "at"}}})
            await asyncio.sleep(60)
            assert len(HEARD) == len(ALL)

    play(scenario)
