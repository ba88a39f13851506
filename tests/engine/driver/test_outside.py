"""Questions and their answers: time-outs, tries, the deadline of a round, the gate, headers, and what is heard."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import msgspec
import pytest
from msgspec import structs

from fairlead.core.act import Does, Patch, PatchKind
from fairlead.core.ask import Answer, Ask, Bad, Good, Http, Listing, Question, Read, ReadRecord, Retry, SwapRecord
from fairlead.engine.driver.ask_context import BETWEEN_TRIES
from fairlead.engine.driver.questions import AskContext, asker
from kubeloop import clock
from kubeloop.calls import Call, NoReply, Reply
from kubeloop.client import Client
from kubeloop.errors import NotLeader
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import Ref
from kubeloop.rate_limit import Limiter
from kubeloop.records import LARGEST, MemoryRecords
from kubeloop.request import Request, Response
from kubesim.time import run
from tests.kubeloop.garbage import GARBAGE
from tests.kubeloop.scripted import Scripted, a_pod, failure

POST = Http("POST", "http://a-0.svc/prepare")
PATCH = Patch(
    does=Does.STAMP_DOWNSCALE, ref=Ref(PODS, "ns", "a"), kind=PatchKind.MERGE, body=b'{"metadata":{"labels":{"x":"y"}}}'
)


class Pods:
    """Answers calls with these replies in turn, the last one for ever, each after `seconds`."""

    def __init__(self, *replies: Reply | NoReply, seconds: float = 0.0) -> None:
        self.calls: list[tuple[float, Call]] = []
        self._replies = replies
        self._seconds = seconds

    async def __call__(self, call: Call) -> Reply:
        self.calls.append((clock.monotonic(), call))
        await asyncio.sleep(self._seconds)
        reply = self._replies[min(len(self.calls), len(self._replies)) - 1]
        if isinstance(reply, NoReply):
            raise reply
        return reply


def nobody() -> Client:
    return Scripted().client()


def ask_one(
    question: Question, outside: Callable[[], AskContext], *, within: float | None = None
) -> tuple[Answer, float]:
    """The answer, and how long it took."""

    async def scenario() -> tuple[Answer, float]:
        begun = clock.monotonic()
        deadline = None if within is None else begun + within
        answer = await asker(outside(), deadline=deadline)(question)
        return answer, clock.monotonic() - begun

    return run(scenario())


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        (Reply(200, b"{}"), Good(b"{}")),
        (Reply(204), Good()),
        (Reply(302), Bad("failed", "it answered with status 302", 302)),
        (Reply(500, b"oops"), Bad("failed", "it answered with status 500", 500)),
        (NoReply("no such host"), Bad("unreachable", "no such host")),
        (
            Reply(511, b'{"cluster_validation_error_message": "not mine", "route": "r"}'),
            Bad("failed", "it rejected the request: not mine", 511),
        ),
        (Reply(511, b"<html>"), Bad("failed", "it answered with status 511", 511)),
    ],
    ids=lambda value: str(getattr(value, "status", "")) or None,
)
def test_any_2xx_is_good_and_all_else_is_a_failure_with_its_code(reply: Reply | NoReply, answer: Answer) -> None:
    pods = Pods(reply)

    assert ask_one(Ask(POST, effect=True), lambda: AskContext(nobody(), caller=pods))[0] == answer


def test_a_body_that_nobody_heeds_is_no_part_of_the_answer() -> None:
    """It would be kept for as long as the answer serves, for each of very many questions."""
    call = structs.replace(POST, accepts=(202,), heeds_body=False)

    found, _ = ask_one(Ask(call, effect=True), lambda: AskContext(nobody(), caller=Pods(Reply(202, b"x" * 1000))))

    assert found == Good(code=202)


def test_a_call_says_how_much_of_an_answer_is_read() -> None:
    pods = Pods(Reply(200))

    ask_one(Ask(structs.replace(POST, largest=7, heeds_body=False)), lambda: AskContext(nobody(), caller=pods))

    ((_, call),) = pods.calls
    assert (call.largest, call.heeds_body) == (7, False)


def test_a_call_carries_its_own_headers_and_the_given_ones() -> None:
    pods = Pods(Reply(200))

    ask_one(Ask(POST, timeout=3), lambda: AskContext(nobody(), caller=pods, headers=(("X-Cluster", "ns"),)))

    ((_, call),) = pods.calls
    assert (call.method, call.url, call.body, call.timeout) == ("POST", "http://a-0.svc/prepare", b"", 3)
    assert call.headers == (("Content-Type", "application/json"), ("X-Cluster", "ns"))


def test_a_call_is_given_up_after_its_time() -> None:
    pods = Pods(Reply(200), seconds=60)

    answer, took = ask_one(Ask(POST, timeout=5), lambda: AskContext(nobody(), caller=pods))

    assert isinstance(answer, Bad)
    assert (answer.kind, took) == ("timeout", 5)


def test_a_call_that_fails_is_tried_again_each_time_with_its_whole_time() -> None:
    pods = Pods(Reply(500), NoReply("gone"), Reply(200, b"at last"), seconds=4)

    answer, took = ask_one(
        Ask(msgspec.structs.replace(POST, retry=Retry(3))), lambda: AskContext(nobody(), caller=pods)
    )

    assert answer == Good(b"at last")
    assert took == pytest.approx(3 * 4 + 2 * BETWEEN_TRIES)


def test_no_try_begins_after_the_deadline_and_the_last_one_is_cut() -> None:
    pods = Pods(Reply(500), seconds=4)

    answer, took = ask_one(
        Ask(msgspec.structs.replace(POST, retry=Retry(9))), lambda: AskContext(nobody(), caller=pods), within=6
    )

    assert isinstance(answer, Bad)
    assert (answer.kind, took, len(pods.calls)) == ("late", 6, 2)


def test_after_the_deadline_nothing_is_begun() -> None:
    pods, server, records = Pods(Reply(200)), Scripted(), MemoryRecords()
    questions: tuple[Question, ...] = (
        Ask(POST),
        Ask(Read(Ref(PODS, "ns", "a"))),
        Ask(Listing(PODS, "ns")),
        Ask(SwapRecord("r", "", b"x"), effect=True),
        PATCH,
    )

    async def scenario() -> list[Answer]:
        ask = asker(AskContext(server.client(), caller=pods, records=records), deadline=clock.monotonic())
        return [await ask(question) for question in questions]

    answers = run(scenario())

    assert [answer.kind for answer in answers if isinstance(answer, Bad)] == ["late"] * len(questions)
    assert (pods.calls, server.requests, run(records.get("r")).value) == ([], [], b"")


def slow(seconds: float) -> Callable[[Request, str], Awaitable[Response | None]]:
    async def fault(_: Request, when: str) -> Response | None:
        if when == "before":
            await asyncio.sleep(seconds)
        return None

    return fault


@pytest.mark.parametrize("question", [Ask(Read(Ref(PODS, "ns", "a"))), Ask(Listing(PODS, "ns")), PATCH])
def test_what_the_api_server_does_not_answer_by_the_deadline_is_late(question: Question) -> None:
    server = Scripted()
    server.fault = slow(60)

    answer, took = ask_one(question, lambda: AskContext(server.client()), within=2)

    assert isinstance(answer, Bad)
    assert (answer.kind, took) == ("late", 2)


def test_a_token_that_would_come_after_the_deadline_is_not_waited_for() -> None:
    server = Scripted()

    async def scenario() -> tuple[Answer, float]:
        client = Client(server, limiter=Limiter(0.1, 1))
        begun = clock.monotonic()
        ask = asker(AskContext(client), deadline=begun + 5)
        await ask(PATCH)
        return await ask(PATCH), clock.monotonic() - begun

    answer, took = run(scenario())

    assert isinstance(answer, Bad)
    assert (answer.kind, took, len(server.requests)) == ("limited", 0, 1)


def test_a_page_is_one_request_and_a_cursor_that_expired_is_a_fact() -> None:
    server = Scripted()

    async def gone(request: Request, when: str) -> Response | None:
        return failure(410, "Expired") if when == "before" and "continue" in dict(request.query) else None

    server.fault = gone
    first, _ = ask_one(Ask(Listing(PODS, "ns", limit=3)), lambda: AskContext(server.client()))
    later, _ = ask_one(Ask(Listing(PODS, "ns", limit=3, cursor="c")), lambda: AskContext(server.client()))

    assert isinstance(first, Good)
    assert isinstance(later, Bad)
    assert (later.kind, later.code) == ("expired", 410)
    assert [dict(each.query) for each in server.requests] == [{"limit": "3"}, {"limit": "3", "continue": "c"}]


def test_metadata_alone_is_taken_even_from_a_server_that_shows_more() -> None:
    server = Scripted()
    server.objects["/api/v1/namespaces/ns/pods/a"] = a_pod("a")

    answer, _ = ask_one(Ask(Listing(PODS, "ns", metadata_only=True)), lambda: AskContext(server.client()))

    assert isinstance(answer, Good)
    (item,) = msgspec.json.decode(answer.value)["items"]
    assert (list(item), item["metadata"]["name"]) == (["metadata"], "a")
    (sent,) = server.requests
    assert dict(sent.headers)["Accept"] == "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"


def test_live_reads_neither_wait_for_the_limit_nor_use_it_up() -> None:
    server = Scripted()

    async def scenario() -> list[str]:
        ask = asker(AskContext(Client(server, limiter=Limiter(0.1, 1))), deadline=clock.monotonic() + 5)
        for _ in range(3):
            await ask(Ask(Listing(PODS, "ns")))
            await ask(Ask(Read(Ref(PODS, "ns", "a"))))
        first, second = await ask(PATCH), await ask(PATCH)
        return [answer.kind if isinstance(answer, Bad) else "" for answer in (first, second)]

    kinds = run(scenario())

    assert (kinds[0] == "limited", kinds[1]) == (False, "limited")
    assert len(server.asked("GET")) == 6


def test_a_page_that_has_expired_says_where_to_go_on() -> None:
    server = Scripted()
    expired = msgspec.json.encode({"code": 410, "reason": "Expired", "metadata": {"continue": "later"}})

    async def fault(_: Request, when: str) -> Response | None:
        return Response(410, expired) if when == "before" else None

    server.fault = fault
    answer, _ = ask_one(Ask(Listing(PODS, "ns", limit=2, cursor="old")), lambda: AskContext(server.client()))

    assert isinstance(answer, Bad)
    assert (answer.kind, answer.cursor) == ("expired", "later")


@pytest.mark.parametrize("repeatable", [True, False])
def test_a_write_that_may_be_repeated_waits_where_the_server_asks_for_a_pause(repeatable: bool) -> None:
    server = Scripted()
    server.put(a_pod("a"))
    busy = [Response(429, b"{}", {"retry-after": "2"})]

    async def fault(_: Request, when: str) -> Response | None:
        return busy.pop() if when == "before" and busy else None

    server.fault = fault
    patch = structs.replace(PATCH, repeatable=repeatable)
    answer, took = ask_one(patch, lambda: AskContext(server.client()))

    assert isinstance(answer, Good) is repeatable
    assert took == (2 if repeatable else 0)


def test_failures_of_the_api_server_become_words_to_decide_by() -> None:
    server = Scripted()
    answers: dict[int, str] = {}

    async def scenario() -> None:
        for code in (401, 403, 404, 409, 500):

            async def fault(_: Request, when: str, code: int = code) -> Response | None:
                return failure(code) if when == "before" else None

            server.fault = fault
            answer = await asker(AskContext(server.client()))(Ask(Read(Ref(PODS, "ns", "a"))))
            assert isinstance(answer, Bad)
            assert answer.code == code
            answers[code] = answer.kind

    run(scenario())

    assert answers == {401: "refused", 403: "refused", 404: "absent", 409: "conflict", 500: "failed"}


def test_a_record_is_recalled_with_its_version_and_replaced_once() -> None:
    records = MemoryRecords()

    async def scenario() -> None:
        ask = asker(AskContext(nobody(), records=records))
        assert await ask(Ask(ReadRecord("r"))) == Good()
        first = await ask(Ask(SwapRecord("r", "", b"one"), effect=True))
        assert isinstance(first, Good)
        assert await ask(Ask(ReadRecord("r"))) == Good(b"one", first.version, age=0.0)
        late = await ask(Ask(SwapRecord("r", "", b"two"), effect=True))
        assert isinstance(late, Bad)
        assert late.kind == "conflict"
        huge = await ask(Ask(SwapRecord("r", first.version, b"x" * (LARGEST + 1)), effect=True))
        assert isinstance(huge, Bad)
        assert huge.kind == "failed"

    run(scenario())


def closed() -> None:
    raise NotLeader("the lease is lost")


def test_no_effect_passes_a_closed_gate_and_questions_do() -> None:
    pods, records = Pods(Reply(200, b"seen")), MemoryRecords()

    async def scenario() -> list[Answer]:
        ask = asker(AskContext(nobody(), caller=pods, records=records, gate=closed))
        asked = (
            Ask(msgspec.structs.replace(POST, retry=Retry(5)), effect=True),
            Ask(SwapRecord("r", "", b"x")),
            Ask(POST),
        )
        return [await ask(question) for question in asked]

    effect, record, question = run(scenario())

    assert effect == Bad("not-sent", "the lease is lost")
    assert record == Bad("not-sent", "the lease is lost")
    assert question == Good(b"seen")
    assert len(pods.calls) == 1
    assert run(records.get("r")).value == b""


def test_every_effect_is_heard_with_what_became_of_it_and_no_mere_question_is() -> None:
    pods, server = Pods(Reply(200)), Scripted()
    heard: list[tuple[Question, str]] = []

    def hear(question: Question, answer: Answer) -> None:
        heard.append((question, "good" if isinstance(answer, Good) else answer.kind))

    async def scenario() -> None:
        server.put(a_pod("a"))
        outside = AskContext(server.client(), caller=pods, records=MemoryRecords())
        ask = asker(outside, heard=hear)
        for question in (
            Ask(POST),
            Ask(POST, effect=True),
            Ask(ReadRecord("r")),
            Ask(SwapRecord("r", "7", b"")),
            PATCH,
        ):
            await ask(question)

    run(scenario())

    assert heard == [
        (Ask(POST, effect=True), "good"),
        (Ask(SwapRecord("r", "7", b"")), "conflict"),
        (PATCH, "good"),
    ]


@pytest.mark.parametrize("question", [Ask(POST, effect=True), Ask(Read(Ref(PODS, "ns", "a"))), PATCH])
def test_a_mistake_of_ours_is_told_once_and_is_one_failed_answer(question: Question) -> None:
    """zones S11: an exception would end the round, and nothing that other calls did would be undone."""
    mistakes: list[Exception] = []

    async def broken(*_: object) -> Reply:
        raise ZeroDivisionError("oops")

    async def broken_server(*_: object) -> Response | None:
        raise ZeroDivisionError("oops")

    def outside(mistaken: Callable[[Exception], None] | None) -> AskContext:
        server = Scripted()
        server.fault = broken_server
        return AskContext(server.client(), caller=broken, mistaken=mistaken)

    answer, _ = ask_one(question, lambda: outside(mistakes.append))

    assert answer == Bad("failed", "a mistake of the operator (ZeroDivisionError); its log says more")
    assert [str(each) for each in mistakes] == ["oops"]
    with pytest.raises(ZeroDivisionError):
        ask_one(question, lambda: outside(None))


@pytest.mark.parametrize("body", [*GARBAGE.values(), b"{}", b'{"metadata": {}}'], ids=[*GARBAGE, "{}", "no name"])
def test_an_object_that_nobody_can_read_is_no_answer(body: bytes) -> None:
    """So that a decision never sees what is no object at all."""
    api = Scripted()

    async def saying(_sent: Request, _when: str) -> Response:
        return Response(200, body)

    api.fault = saying

    answer, _ = ask_one(Ask(Read(Ref(PODS, "ns", "a"))), lambda: AskContext(api.client()))

    assert isinstance(answer, Bad)
    assert answer.kind == "unreachable"
    assert "the answer cannot be read" in answer.text
