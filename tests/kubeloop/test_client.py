from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import msgspec
import pytest

from kubeloop import request as requests
from kubeloop.client import Client
from kubeloop.clock import monotonic
from kubeloop.errors import (
    Conflict,
    Forbidden,
    Gone,
    NotFound,
    NotLeader,
    RateLimited,
    ServerError,
    Throttled,
    TransportError,
)
from kubeloop.objects.core import PODS, Pod
from kubeloop.objects.meta import Ref
from kubeloop.rate_limit import Limiter
from kubeloop.request import Request, Response
from kubesim.time import run
from tests.kubeloop.scripted import Scripted, a_pod, failure, pod_ref

POD = Ref(PODS, "ns", "cart-0", "u1")
DELETE = requests.delete(POD)
GET = requests.get(POD)
OK = Response(200, b"{}")
LOST = TransportError("the wire was cut")
BUSY = failure(429, "TooManyRequests", "come back", {"retry-after": "2"})


class Script:
    """Answers one request after the other; an exception is raised, None never answers. The last one repeats."""

    def __init__(self, *answers: Response | Exception | None) -> None:
        self.answers = list(answers)
        self.sent: list[tuple[float, Request]] = []
        self.closed = False

    async def send(self, request: Request) -> Response:
        self.sent.append((monotonic(), request))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if answer is None:
            await asyncio.get_running_loop().create_future()
        if isinstance(answer, Exception):
            raise answer
        assert answer is not None
        return answer

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[Opened]:
        response = await self.send(request)
        yield Opened(response)

    async def close(self) -> None:
        self.closed = True


class Opened:
    def __init__(self, response: Response) -> None:
        self.status = response.status
        self.headers = response.headers
        self._lines = response.body.split(b"\n")

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for line in self._lines:
            yield line


def calling(client: Client, request: Request) -> tuple[Response | Exception, float]:
    """The answer or the error of a call in virtual time, and how long it took."""

    async def call() -> tuple[Response | Exception, float]:
        start = monotonic()
        try:
            return await client.call(request), monotonic() - start
        except Exception as error:  # noqa: BLE001  (the test looks at it)
            return error, monotonic() - start

    return run(call())


def test_a_failure_says_what_was_being_done_to_which_object() -> None:
    script = Script(failure(409, "Conflict", "the UID does not match"))

    error, _ = calling(Client(script), DELETE)

    assert isinstance(error, Conflict)
    assert str(error) == "delete pods/cart-0 in namespace ns: the UID does not match"
    assert len(script.sent) == 1


def test_a_write_is_never_sent_again_after_a_lost_answer() -> None:
    script = Script(LOST, OK)

    for write in (DELETE, requests.replace(POD, b"{}"), requests.create(PODS, "ns", b"{}")):
        script.sent.clear()
        script.answers = [LOST, OK]
        error, _ = calling(Client(script), write)

        assert isinstance(error, TransportError)
        assert str(error).endswith(": the wire was cut; whether it was carried out is not known")
        assert len(script.sent) == 1


def test_a_read_is_sent_once_more_after_a_lost_answer() -> None:
    once = Script(LOST, OK)
    twice = Script(LOST, LOST, OK)

    answer, _ = calling(Client(once), GET)
    error, _ = calling(Client(twice), GET)

    assert answer == OK
    assert isinstance(error, TransportError)
    assert str(error) == "get pods/cart-0 in namespace ns: the wire was cut"
    assert len(twice.sent) == 2


@pytest.mark.parametrize("status", [429, 503])
def test_a_request_comes_back_when_the_server_says(status: int) -> None:
    script = Script(failure(status, "", "", {"retry-after": "2"}), OK)

    answer, took = calling(Client(script), DELETE)

    assert answer == OK
    assert took == 2


def test_the_body_may_say_when_to_come_back() -> None:
    body = msgspec.json.encode({"reason": "TooManyRequests", "details": {"retryAfterSeconds": 4}})

    answer, took = calling(Client(Script(Response(429, body), OK)), DELETE)

    assert answer == OK
    assert took == 4


def test_a_wait_past_the_deadline_is_an_error_at_once() -> None:
    script = Script(BUSY)

    error, took = calling(Client(script, timeout=5), GET)

    # Sent at 0, 2 and 4 seconds; at 6 it would be too late.
    assert isinstance(error, Throttled)
    assert error.retry_after == 2
    assert took == 4
    assert len(script.sent) == 3


def test_a_server_that_asks_for_no_wait_is_not_hammered() -> None:
    script = Script(failure(429, "", "", {"retry-after": "0"}))

    calling(Client(script, timeout=1), GET)

    assert len(script.sent) <= 11


@pytest.mark.parametrize("answer", [failure(429), failure(503), failure(500, "", "", {"retry-after": "1"})])
def test_without_being_asked_to_come_back_a_failure_is_an_error(answer: Response) -> None:
    script = Script(answer, OK)

    error, took = calling(Client(script), GET)

    assert isinstance(error, Throttled | ServerError)
    assert took == 0


def test_no_answer_before_the_deadline_is_a_transport_error() -> None:
    by_client, took = calling(Client(Script(None), timeout=30), GET)
    by_request, took_less = calling(Client(Script(None)), msgspec.structs.replace(DELETE, timeout=3.5))

    assert str(by_client) == "get pods/cart-0 in namespace ns: no answer within 30 seconds"
    assert took == 30
    assert isinstance(by_request, TransportError)
    assert "no answer within 3.5 seconds; whether it was carried out is not known" in str(by_request)
    assert took_less == 3.5


def test_the_deadline_covers_all_tries_together() -> None:
    error, took = calling(Client(Script(BUSY, BUSY, None), timeout=10), GET)

    assert isinstance(error, TransportError)
    assert took == 10


def test_a_closed_gate_stops_writes_and_lets_reads_pass() -> None:
    def gate() -> None:
        raise NotLeader("the lease is gone")

    script = Script(OK)
    client = Client(script, gate=gate)

    error, _ = calling(client, DELETE)
    answer, _ = calling(client, GET)

    assert isinstance(error, NotLeader)
    assert answer == OK
    assert [request.method for _, request in script.sent] == ["GET"]


def test_who_adds_a_gate_keeps_the_one_that_is_there() -> None:
    asked: list[str] = []
    client = Client(Script(OK), gate=lambda: asked.append("first"))

    calling(client.gated(lambda: asked.append("second")), DELETE)

    assert asked == ["first", "second"]


def test_the_gate_is_asked_again_before_a_retry() -> None:
    """A lease lost while waiting for the server must stop the second try."""
    script = Script(BUSY, OK)
    asked: list[float] = []

    def gate() -> None:
        asked.append(monotonic())
        if len(asked) > 1:
            raise NotLeader("the lease is gone")

    error, took = calling(Client(script, gate=gate), DELETE)

    assert isinstance(error, NotLeader)
    assert len(script.sent) == 1
    assert took == 2


def test_the_gate_is_asked_after_the_wait_for_the_rate_limit() -> None:
    async def scenario() -> tuple[list[float], list[float]]:
        script, asked = Script(OK), list[float]()
        client = Client(script, limiter=Limiter(1, 1), gate=lambda: asked.append(monotonic()))
        start = monotonic()
        await client.call(DELETE)
        await client.call(DELETE)
        return [at - start for at in asked], [at - start for at, _ in script.sent]

    asked, sent = run(scenario())

    assert asked == sent == [0, 1]


def test_a_request_without_a_token_before_its_deadline_is_not_sent() -> None:
    async def scenario() -> tuple[Exception, int]:
        script = Script(OK)
        client = Client(script, limiter=Limiter(0.1, 1), timeout=5)
        await client.call(GET)
        with pytest.raises(RateLimited, match="API group core") as caught:
            await client.call(GET)
        return caught.value, len(script.sent)

    _, sent = run(scenario())

    assert sent == 1


def test_each_try_and_each_watch_takes_one_token() -> None:
    async def scenario() -> list[float]:
        script = Script(BUSY, OK, OK)
        client = Client(script, limiter=Limiter(0.25, 1))
        start = monotonic()
        await client.call(GET)
        async with client.stream(requests.watch(PODS)):
            pass
        return [at - start for at, _ in script.sent]

    # Without the limit: 0, 2 and 2. One token every 4 seconds.
    assert run(scenario()) == [0, 4, 8]


def test_every_request_sent_is_observed_with_its_status() -> None:
    seen: list[tuple[str, int | None, float]] = []

    def observe(request: Request, status: int | None, seconds: float) -> None:
        seen.append((request.verb, status, seconds))

    async def scenario() -> None:
        client = Client(Script(BUSY, OK, LOST, failure(404), OK, None), timeout=3, observe=observe)
        await client.call(DELETE)
        for _ in range(2):
            with pytest.raises((TransportError, NotFound)):
                await client.call(DELETE)
        async with client.stream(requests.watch(PODS)):
            pass
        with pytest.raises(TransportError):
            await client.call(DELETE)

    run(scenario())

    assert [(verb, status) for verb, status, _ in seen] == [
        ("delete", 429),
        ("delete", 200),
        ("delete", None),
        ("delete", 404),
        ("watch", 200),
        ("delete", None),
    ]
    assert seen[-1][2] == 3


def test_requests_carry_the_user_agent_and_may_name_their_own_headers() -> None:
    script = Script(OK)
    client = Client(script, user_agent="fairlead-zones/1", headers=(("X-Part", "zones"),))

    calling(client, GET)
    calling(client, msgspec.structs.replace(GET, headers=(("accept", "text/plain"),)))

    assert script.sent[0][1].headers == (
        ("User-Agent", "fairlead-zones/1"),
        ("Accept", "application/json"),
        ("X-Part", "zones"),
    )
    assert ("Accept", "application/json") not in script.sent[1][1].headers
    assert ("accept", "text/plain") in script.sent[1][1].headers


def test_an_object_is_read_into_its_struct() -> None:
    server = Scripted()
    server.put(a_pod("cart-0", app="cart"))

    pod = run(server.client().read(pod_ref("cart-0"), Pod))

    assert (pod.metadata.name, pod.metadata.labels, pod.status.phase) == ("cart-0", {"app": "cart"}, "Running")


def test_an_answer_that_is_not_the_object_is_a_transport_error() -> None:
    with pytest.raises(TransportError, match="get pods/cart-0 in namespace ns: the answer cannot be read"):
        run(Client(Script(Response(200, b"<html>"))).read(POD, Pod))


def names(server: Scripted, page: int) -> list[str]:
    listed = run(server.client().list(PODS, Pod, namespace="ns", page=page))
    assert listed.resource_version == "105"
    return [pod.metadata.name for pod in listed.items]


@pytest.mark.parametrize("page", [0, 1, 2, 5, 500])
def test_a_list_is_whole_whatever_the_size_of_its_pages(page: int) -> None:
    server = Scripted()
    for name in "abcde":
        server.put(a_pod(name))

    assert names(server, page) == list("abcde")


def test_a_list_whose_token_expires_is_read_again_at_once_without_a_limit() -> None:
    server = Scripted()
    for name in "abcde":
        server.put(a_pod(name))

    async def forget(request: Request, when: str) -> Response | None:
        if when == "before" and "continue" in dict(request.query):
            return failure(410, "Expired")
        return None

    server.fault = forget

    assert names(server, 2) == list("abcde")
    assert [dict(request.query) for request in server.requests] == [
        {"limit": "2"},
        {"limit": "2", "continue": "105:2"},
        {},
    ]


def test_a_list_that_is_gone_from_the_start_is_an_error() -> None:
    script = Script(failure(410, "Expired"))

    with pytest.raises(Gone):
        run(Client(script).list(PODS, Pod))

    assert len(script.sent) == 1


def test_a_list_may_be_empty_in_the_way_of_go() -> None:
    script = Script(Response(200, b'{"metadata":{"resourceVersion":"5"},"items":null}'))

    listed = run(Client(script).list(PODS, Pod))

    assert (listed.items, listed.resource_version) == ([], "5")


def test_selectors_go_to_the_server() -> None:
    script = Script(Response(200, b'{"metadata": {"resourceVersion": "5"}}'))

    run(Client(script).list(PODS, Pod, labels="app=cart", fields="spec.nodeName=n1", page=10))

    assert dict(script.sent[0][1].query) == {
        "labelSelector": "app=cart",
        "fieldSelector": "spec.nodeName=n1",
        "limit": "10",
    }


def opening(script: Script, inside: Callable[[], None] = lambda: None) -> list[bytes]:
    async def scenario() -> list[bytes]:
        async with Client(script, timeout=5).stream(requests.watch(PODS)) as opened:
            inside()
            return [line async for line in opened]

    return run(scenario())


def test_a_watch_gives_its_lines() -> None:
    assert opening(Script(Response(200, b"one\ntwo"))) == [b"one", b"two"]


def test_a_watch_that_is_refused_is_an_error() -> None:
    with pytest.raises(Gone, match="watch pods: too old"):
        opening(Script(failure(410, "Expired", "too old")))


def test_a_watch_that_does_not_open_is_a_transport_error() -> None:
    with pytest.raises(TransportError, match="watch pods: no answer within 5 seconds"):
        opening(Script(None))
    with pytest.raises(TransportError, match="watch pods: the wire was cut"):
        opening(Script(LOST))


def test_an_error_of_the_reader_of_a_watch_stays_what_it_is() -> None:
    def fail() -> None:
        raise TimeoutError("the reader's own")

    with pytest.raises(TimeoutError, match="the reader's own"):
        opening(Script(OK), fail)


def test_the_deadline_of_a_watch_is_for_its_opening_only() -> None:
    async def scenario() -> float:
        start = monotonic()
        async with Client(Script(OK), timeout=5).stream(requests.watch(PODS)):
            await asyncio.sleep(3600)
        return monotonic() - start

    assert run(scenario()) == 3600


def test_closing_a_client_closes_its_transport() -> None:
    script = Script(OK)

    run(Client(script).close())
    run(Client(Scripted()).close())

    assert script.closed


def test_whoever_wants_to_hears_of_every_answer() -> None:
    async def scenario() -> list[tuple[str, int]]:
        heard: list[tuple[str, int]] = []
        script = Script(failure(403, "Forbidden"), OK, failure(403, "Forbidden"))
        client = Client(
            script, heard=lambda asked, error: heard.append((asked.verb, 0 if error is None else error.status))
        )
        with pytest.raises(Forbidden):
            await client.call(DELETE)
        await client.call(GET)
        with pytest.raises(Forbidden):
            async with client.stream(requests.watch(PODS, "ns", "1")):
                pass
        return heard

    assert run(scenario()) == [("delete", 403), ("get", 0), ("watch", 403)]
