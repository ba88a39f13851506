"""Answers of earlier rounds: how long they serve, and that they never fill the memory."""

from __future__ import annotations

import asyncio

import msgspec
from msgspec import structs

from fairlead.core.ask import Answer, Ask, Bad, Discover, Good, Http, Read
from fairlead.engine.driver.answer_cache import ABSENT_FOR, SERVED_FOR, AnswerCache
from fairlead.engine.driver.questions import AskContext, asker
from kubeloop import clock
from kubeloop.calls import Call, NoReply, Reply
from kubeloop.client import Client
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import Ref, Resource, ServedVersion
from kubeloop.request import Request, Response
from kubesim.time import run
from tests.kubeloop.scripted import Scripted

WIDGETS = Resource("example.org", "v1", "widgets", "Widget")
FIND = Ask(Discover("example.org", "Widget"))
FOUND = Good(msgspec.json.encode((ServedVersion(WIDGETS),)))
NOTHING = Good(b"[]")


def cancel(subject: str = "uid-1") -> Ask:
    return Ask(Http("DELETE", "http://a-0.svc/prepare", subject=subject), effect=True, max_age=5)


def test_an_answer_serves_as_long_as_its_question_says() -> None:
    async def scenario() -> None:
        kept = AnswerCache()
        kept.put(cancel(), Good(b"done"))

        await asyncio.sleep(4.9)
        assert kept.get(cancel()) == Good(b"done")
        assert kept.get(cancel("uid-2")) is None
        await asyncio.sleep(0.1)
        assert kept.get(cancel()) is None

    run(scenario())


def test_silence_serves_longer_at_its_place_whomever_the_question_is_about() -> None:
    async def scenario() -> None:
        kept, patient = AnswerCache(), structs.replace(cancel(), no_reply_max_age=60)
        another = structs.replace(cancel("uid-2"), no_reply_max_age=60)
        kept.put(patient, Bad("timeout"))

        await asyncio.sleep(59)
        assert kept.get(patient) == Bad("timeout")
        assert kept.get(another) == Bad("timeout")
        await asyncio.sleep(1)
        assert kept.get(patient) is None

        nobody = structs.replace(cancel(""), no_reply_max_age=60)
        kept.put(nobody, Good(b"done"))
        assert kept.get(another) is None
        kept.put(patient, Bad("failed", code=500))
        assert kept.get(another) is None

    run(scenario())


def test_of_a_question_that_wants_new_answers_only_a_wait_in_vain_is_not_repeated() -> None:
    async def scenario() -> None:
        kept = AnswerCache()
        asked = Ask(Http("POST", "http://a-0.svc/prepare", "uid-1"), effect=True, no_reply_max_age=60)
        another = structs.replace(asked, to=structs.replace(asked.to, subject="uid-2"))

        for answered in (Good(b"done"), Bad("failed", code=500), Bad("unreachable")):
            kept.put(asked, answered)
            assert kept.get(asked) is None

        kept.put(asked, Bad("timeout"))
        assert (kept.get(asked), kept.get(another)) == (Bad("timeout"), Bad("timeout"))
        kept.overtaken(Http("DELETE", "http://a-0.svc/prepare"))
        assert kept.get(asked) is None

    run(scenario())


def test_a_question_that_names_no_age_is_asked_anew() -> None:
    async def scenario() -> None:
        kept = AnswerCache()
        question = Ask(Http("POST", "http://a-0.svc/prepare"), effect=True)
        kept.put(question, Good())

        assert kept.get(question) is None
        assert len(kept) == 0

    run(scenario())


def test_an_effect_at_the_same_place_ends_what_was_answered_there_before_it() -> None:
    async def scenario() -> None:
        heard: list[str] = []
        prepare = Ask(Http("POST", "http://a-0.svc/prepare"), effect=True)

        async def caller(call: Call) -> Reply:
            heard.append(call.method)
            return Reply(200, b"{}")

        def told(question: object, _: Answer) -> None:
            if isinstance(question, Ask) and isinstance(question.to, Http):
                told_of.append(question.to.method)

        told_of: list[str] = []
        ask = asker(AskContext(Client(Scripted()), caller, kept=AnswerCache()), heard=told)
        for question in (cancel(), cancel(), prepare, cancel(), cancel()):
            await ask(question)

        assert heard == ["DELETE", "POST", "DELETE"]
        assert told_of == heard

    run(scenario())


def test_how_a_kind_is_served_is_known_for_minutes_and_that_it_is_not_for_seconds() -> None:
    async def scenario() -> None:
        kept = AnswerCache()
        kept.put(FIND, FOUND)
        await asyncio.sleep(SERVED_FOR - 1)
        assert kept.get(FIND) == FOUND
        await asyncio.sleep(1)
        assert kept.get(FIND) is None

        kept.put(FIND, NOTHING)
        await asyncio.sleep(ABSENT_FOR - 1)
        assert kept.get(FIND) == NOTHING
        await asyncio.sleep(1)
        assert kept.get(FIND) is None

        kept.put(FIND, Bad("unreachable"))
        assert kept.get(FIND) is None

    run(scenario())


def test_a_read_that_finds_nothing_makes_discovery_look_again_but_not_all_the_time() -> None:
    async def scenario() -> None:
        kept = AnswerCache()
        gone = Ref(WIDGETS, "ns", "w")
        kept.put(FIND, FOUND)
        kept.absent(gone)
        assert kept.get(FIND) == FOUND
        await asyncio.sleep(ABSENT_FOR)
        assert kept.get(FIND) is None

        kept.put(FIND, FOUND)
        await asyncio.sleep(60)
        kept.absent(Ref(PODS, "ns", "w"))
        assert kept.get(FIND) == FOUND
        kept.absent(gone)
        assert kept.get(FIND) is None

    run(scenario())


def test_the_oldest_go_when_there_are_too_many_and_those_past_their_time_before_them() -> None:
    async def scenario() -> None:
        kept = AnswerCache(most=3)
        kept.put(cancel("short"), Good())
        await asyncio.sleep(4)
        for name in ("first", "second"):
            kept.put(cancel(name), Good())
        await asyncio.sleep(1)
        kept.put(cancel("third"), Good())
        assert [kept.get(cancel(name)) is not None for name in ("short", "first", "second", "third")] == [
            False,
            True,
            True,
            True,
        ]

        for number in range(100):
            kept.put(cancel(f"more-{number}"), Good())
        assert len(kept) == 3
        assert kept.get(cancel("first")) is None
        assert kept.get(cancel("more-99")) == Good()

    run(scenario())


def test_large_answers_do_not_fill_the_memory() -> None:
    """Whoever is asked says how long an answer is, and each question may be another one."""

    async def scenario() -> None:
        kept = AnswerCache(most_bytes=1000)
        kept.put(cancel("small"), Good(b"x"))
        for number in range(5):
            kept.put(cancel(f"large-{number}"), Good(b"x" * 400))
        assert [number for number in range(5) if kept.get(cancel(f"large-{number}"))] == [3, 4]
        assert kept.get(cancel("small")) is None

        kept.put(cancel("too large"), Good(b"x" * 1001))
        assert len(kept) == 0
        kept.put(cancel("large-0"), Good(b"x" * 1000))
        kept.put(cancel("large-0"), Good(b"y" * 1000))
        assert kept.get(cancel("large-0")) == Good(b"y" * 1000)

    run(scenario())


def test_within_its_age_a_call_is_made_once_in_all_rounds_also_when_it_failed() -> None:
    calls: list[float] = []

    async def caller(_: Call) -> Reply:
        calls.append(clock.monotonic())
        raise NoReply("refused")

    async def scenario() -> None:
        outside = AskContext(Scripted().client(), caller=caller, kept=AnswerCache())
        for _ in range(10):
            assert await asker(outside)(cancel()) == Bad("unreachable", "refused")
            await asyncio.sleep(1)

    run(scenario())

    assert [at - calls[0] for at in calls] == [0, 5]


def test_what_a_hurry_of_ours_cut_off_is_not_kept() -> None:
    async def caller(_: Call) -> Reply:
        await asyncio.sleep(3)
        return Reply(200, b"late")

    async def scenario() -> tuple[Answer, Answer]:
        outside = AskContext(Scripted().client(), caller=caller, kept=AnswerCache())
        hurried = await asker(outside, deadline=clock.monotonic() + 1)(cancel())
        return hurried, await asker(outside)(cancel())

    hurried, patient = run(scenario())

    assert isinstance(hurried, Bad)
    assert (hurried.kind, patient) == ("late", Good(b"late"))


def test_discovery_is_asked_once_until_a_read_through_it_finds_nothing() -> None:
    group = {"versions": [{"version": "v1"}], "preferredVersion": {"version": "v1"}}
    entries = {"resources": [{"name": "widgets", "kind": "Widget", "namespaced": True}]}
    bodies = {"/apis/example.org": group, "/apis/example.org/v1": entries}
    server = Scripted()

    async def fault(request: Request, when: str) -> Response | None:
        body = bodies.get(request.path)
        return Response(200, msgspec.json.encode(body)) if body and when == "before" else None

    async def scenario() -> None:
        server.fault = fault
        outside = AskContext(server.client(), kept=AnswerCache())
        for _ in range(5):
            assert await asker(outside)(FIND) == FOUND
            await asyncio.sleep(10)
        assert len(server.requests) == 2
        gone = await asker(outside)(Ask(Read(Ref(WIDGETS, "ns", "w"))))
        assert isinstance(gone, Bad)
        assert await asker(outside)(FIND) == FOUND

    run(scenario())

    assert len(server.requests) == 2 + 1 + 2
