"""Notices go elsewhere besides their Events: once, in order, and in nobody's way."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from fairlead.core.act import EventNote
from fairlead.core.ask import Answer, Ask, Bad, Good, Http
from fairlead.engine.controller import Telling
from fairlead.engine.driver.questions import AskContext
from fairlead.engine.driver.round import Asker
from fairlead.engine.event_notes import Notes
from fairlead.engine.notices import FLUSH_SECONDS, LONGEST_SECONDS, MOST_WAITING, Notices
from kubeloop import clock
from kubeloop.calls import Call, Reply
from kubeloop.errors import NotLeader
from kubeloop.events import Recorder
from kubesim.network import Network
from kubesim.time import run
from tests.engine.world import Log
from tests.kubeloop.scripted import Scripted, pod_ref

LOST = "a notice was lost"


def note(text: str, reason: str = "Paused", to: str = "") -> EventNote:
    return EventNote(pod_ref("web"), False, reason, text, to=to)


class Desk:
    """A sink that does with every note what it is told to."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.answer: Answer | None = Good()
        self.takes = 0.0

    async def hear(self, heard: EventNote, _ask: Asker) -> Answer | None:
        self.texts.append(heard.text)
        await asyncio.sleep(self.takes)
        return self.answer


class Room:
    def __init__(self) -> None:
        self.api, self.log, self.network = Scripted(), Log(), Network()

        def closed() -> None:
            raise NotLeader("another leads")

        outside = AskContext(self.api.client(), caller=self.network.call, gate=closed)
        self.notices = Notices(outside, self.log.logger())


def play(scenario: Callable[[Room], Awaitable[None]]) -> None:
    async def whole() -> None:
        room = Room()
        task = asyncio.create_task(room.notices.run())
        await scenario(room)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    run(whole(), steps=100_000)


def test_notices_of_a_sink_come_in_order_and_one_at_a_time() -> None:
    async def scenario(room: Room) -> None:
        desk = Desk()
        desk.takes = 5.0
        for number in range(4):
            room.notices.send(desk.hear, note(f"{number}"))
        assert desk.texts == []
        await asyncio.sleep(1)
        assert desk.texts == ["0"]
        await asyncio.sleep(20)
        assert desk.texts == ["0", "1", "2", "3"]

    play(scenario)


def test_a_sink_that_does_not_answer_holds_up_no_other_and_is_given_up() -> None:
    async def scenario(room: Room) -> None:
        dead, alive = [Desk() for _ in range(3)], Desk()
        for desk in dead:
            desk.takes = 1e9
            room.notices.send(desk.hear, note("first"))
            room.notices.send(desk.hear, note("second"))
        room.notices.send(alive.hear, note("first"))
        await asyncio.sleep(1)
        assert alive.texts == ["first"]

        await asyncio.sleep(LONGEST_SECONDS)
        assert all(desk.texts == ["first", "second"] for desk in dead)
        assert [keys["error"] for keys in room.log.of(LOST)] == ["no answer within 30 seconds"] * 3

    play(scenario)


def test_an_addressee_that_does_not_answer_holds_up_no_other_of_its_sink() -> None:
    async def scenario(room: Room) -> None:
        heard: list[tuple[str, float]] = []

        async def bring(told: EventNote, _ask: Asker) -> Answer:
            if told.to == "dead":
                await asyncio.Event().wait()
            heard.append((told.text, clock.monotonic()))
            return Good()

        begun = clock.monotonic()
        for text in "ab":
            room.notices.send(bring, note(text, to="dead"))
            room.notices.send(bring, note(text, to="sound"))
        await asyncio.sleep(3 * LONGEST_SECONDS)

        assert heard == [("a", begun), ("b", begun)]
        assert len(room.log.of(LOST)) == 1
        assert [to for _, to in room.notices._outlets] == ["dead"], "of those that arrive nothing is kept"

    play(scenario)


def test_that_a_sink_fails_is_said_once_and_once_when_it_works_again() -> None:
    async def scenario(room: Room) -> None:
        desk = Desk()
        desk.answer = Bad("failed", "no such channel", 404)
        for number in range(5):
            room.notices.send(desk.hear, note(f"{number}"))
            await asyncio.sleep(60)
        desk.answer = None
        room.notices.send(desk.hear, note("not for this sink"))
        await asyncio.sleep(1)
        desk.answer = Good()
        for number in range(5, 8):
            room.notices.send(desk.hear, note(f"{number}"))
        await asyncio.sleep(1)

        assert desk.texts == [*"01234", "not for this sink", *"567"], "each of them once"
        assert room.log.records == [
            (
                "warning",
                LOST,
                {"about": "ns/web", "notice": "0", "error": "no such channel", "help": "no rollout waits for it"},
            ),
            ("info", "notices are delivered again", {"lost": 5}),
        ]

    play(scenario)


def test_a_mistake_of_a_sink_loses_one_notice_and_no_other() -> None:
    async def scenario(room: Room) -> None:
        texts: list[str] = []

        async def hear(heard: EventNote, _ask: Asker) -> Answer:
            texts.append(heard.text)
            raise KeyError(heard.text)

        for number in range(3):
            room.notices.send(hear, note(f"{number}"))
        await asyncio.sleep(10)

        assert texts == ["0", "1", "2"]
        (said,) = room.log.records
        assert said[:2] == ("error", "a notice was lost by a mistake of the operator")
        assert isinstance(said[2]["exc_info"], KeyError)

    play(scenario)


def test_more_than_can_wait_are_lost_and_that_is_said() -> None:
    async def scenario(room: Room) -> None:
        desk = Desk()
        desk.takes = 1.0
        for number in range(MOST_WAITING + 3):
            room.notices.send(desk.hear, note(f"{number}"))
        await asyncio.sleep(2 * MOST_WAITING)

        assert desk.texts == [f"{number}" for number in range(MOST_WAITING)]
        assert [keys["notice"] for keys in room.log.of(LOST)] == [f"{MOST_WAITING}"]
        assert room.log.of("notices are delivered again") == [{"lost": 3}]

    play(scenario)


def test_whoever_ends_waits_a_moment_for_what_is_under_way() -> None:
    async def scenario(room: Room) -> None:
        desk, dead = Desk(), Desk()
        desk.takes, dead.takes = 1.0, 1e9
        await room.notices.flush()
        assert clock.monotonic() == 0, "there is nothing to wait for"
        room.notices.send(desk.hear, note("first"))
        room.notices.send(desk.hear, note("second"))
        await room.notices.flush()
        assert clock.monotonic() == 2
        assert desk.texts == ["first", "second"]

        room.notices.send(dead.hear, note("last"))
        await room.notices.flush()
        assert clock.monotonic() == 2 + FLUSH_SECONDS

    play(scenario)


def test_a_sink_asks_as_rounds_do_and_whoever_lost_the_lead_still_tells_what_it_did() -> None:
    async def scenario(room: Room) -> None:
        posted: list[bytes] = []

        async def receive(call: Call) -> Reply:
            posted.append(call.body)
            return Reply(200)

        async def post(heard: EventNote, ask: Asker) -> Answer:
            body = f"{dict(heard.facts)['severity']}: {heard.text}".encode()
            return await ask(Ask(Http("POST", "http://chat.example/hook", body=body), effect=True))

        room.network.serve("chat.example", receive)
        told = EventNote(pod_ref("web"), False, "", "batch 2 waits", facts=(("severity", "info"),))
        room.notices.send(post, told)
        await asyncio.sleep(1)

        assert posted == [b"info: batch 2 waits"]
        (line,) = room.log.of("notice sent")
        assert (line["verb"], line["subject"], line["outcome"]) == ("POST", "http://chat.example/hook", "ok")

    play(scenario)


def test_a_note_without_a_reason_is_no_event_and_only_goes_elsewhere() -> None:
    async def scenario(room: Room) -> None:
        desk = Desk()
        notes = Notes(Recorder(room.api.client(), "fairlead", "me"), room.notices)
        for reason in ("", "Paused"):
            notes.tell(Telling(sink=desk.hear), note(f"told as {reason!r}", reason))
        notes.tell(Telling(), note("no sink", "Other"))
        await notes.flush()

        assert [event["note"] for event in room.api.objects.values()] == ["told as 'Paused'", "no sink"]
        assert desk.texts == ["told as ''", "told as 'Paused'"]

    play(scenario)
