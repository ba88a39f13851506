"""A contract says how its notes become Events, and who else hears them; notes of others are told as before."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
from msgspec import structs

from fairlead.core.act import EventNote
from fairlead.core.decision import Decision
from fairlead.engine.contract import Room
from fairlead.engine.controller import Telling
from fairlead.engine.options import PartOptions
from fairlead.engine.part import Part, PartContext
from kubeloop import request
from kubeloop.objects.core import EVENTS
from kubeloop.objects.meta import Ref
from tests.engine.test_toy_contract import box, define
from tests.engine.world import World, play
from tests.operator_parts import ZONES
from tests.toy import contract as toy
from tests.toy.decide import decide
from tests.toy.kinds import BOXES, Box
from tests.toy.part import part

HEARD: list[EventNote] = []


def telling_part(context: PartContext, settings: Any) -> Part:
    """Boxes whose every decision is told, twice in different words."""

    def told(seen: Box, now: Any) -> Decision:
        metadata = seen.metadata
        about = Ref(BOXES, metadata.namespace, metadata.name, metadata.uid)
        made = decide(seen, now)
        notes = [
            EventNote(about, False, "Decided", f"{made.rule} {word}", action="Paint", related=about)
            for word in ("once", "twice")
        ]
        return structs.replace(made, tell=tuple(notes))

    made = part(context, settings)
    (controller,) = made.controllers
    telling = Telling(component="boxes", joined=False, also=HEARD.append)
    return structs.replace(made, controllers=(structs.replace(controller, decide=told, telling=telling),))


def test_events_come_from_the_contract_one_for_each_note_and_others_hear_them() -> None:
    HEARD.clear()
    chosen = structs.replace(toy.CONTRACT, part=Room("tests.engine.test_telling", "telling_part"))

    async def scenario(world: World) -> None:
        await define(world)
        await world.zone("zone-a", "group")
        async with world.operating(parts=(ZONES, PartOptions(chosen, None))):
            await box(world, "one", colour="red")
            await world.roll("zone-a")
            await world.until(lambda: world.is_rolled("test", "zone-a"))
            await asyncio.sleep(20)

        answer = await world.client.call(request.list_page(EVENTS, "test"))
        events = msgspec.json.decode(answer.body)["items"]
        found = [event for event in events if event["regarding"]["kind"] == "Box"]
        others = [event for event in events if event["reportingController"] == "fairlead"]
        assert {event["regarding"]["kind"] for event in others} == {"StatefulSet"}
        told = [(event["note"], event["action"], event["related"]["name"]) for event in found]
        assert {event["reportingController"] for event in found} == {"boxes"}
        assert sorted(told) == [
            (f"{rule} {word}", "Paint", "one") for rule in ("complete", "paint") for word in ("once", "twice")
        ]
        assert [note.text for note in HEARD] == ["paint once", "paint twice", "complete once", "complete twice"]

    play(scenario)
