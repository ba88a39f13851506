"""What a call may say of itself: headers, credentials, accepted codes, when to send it again; over real sockets."""

from __future__ import annotations

import asyncio
from base64 import b64encode

import msgspec
import pytest
from aiohttp import web
from msgspec import structs

from fairlead.core.ask import Answer, Ask, Bad, Credential, Good, Http, Need, Retry
from fairlead.core.written import written
from fairlead.engine.driver.questions import AskContext, asker
from kubeloop import clock, request
from kubeloop.calls import Call, NoReply, Reply
from kubeloop.client import Client
from kubeloop.objects.core import SECRETS
from kubeloop.objects.meta import Ref
from kubesim.cluster import Cluster
from kubesim.time import run
from tests.engine.driver.test_outside import Pods, ask_one, nobody
from tests.kubeloop.called import Handler, a_caller, serving

SECRET = Ref(SECRETS, "default", "tokens")
TOKEN = Credential(SECRET, "token")
GET = Http("GET", "http://metrics.svc/query")


def asked(handler: Handler, call: Http, *, secret: dict[str, bytes] | None = None, timeout: float = 20.0) -> Answer:
    """The answer of a real server, by the call with its address."""

    async def script() -> Answer:
        client = Client(Cluster(seed=1).transport())
        if secret is not None:
            data = {key: b64encode(value).decode() for key, value in secret.items()}
            body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "tokens"}, "data": data}
            await client.call(request.create(SECRETS, "default", msgspec.json.encode(body)))
        async with serving(handler) as address, a_caller() as caller:
            context = AskContext(client, caller=caller, headers=(("X-Scope", "usual"),))
            return await asker(context)(Ask(structs.replace(call, url=f"{address}/query"), timeout=timeout))

    return asyncio.run(script())


async def headers(request: web.Request) -> web.Response:
    return web.json_response({name.lower(): value for name, value in request.headers.items()})


def shown(answer: Answer) -> dict[str, str]:
    assert isinstance(answer, Good), answer
    found: dict[str, str] = msgspec.json.decode(answer.value)
    return found


def test_own_headers_go_beside_the_usual_ones_and_in_their_place() -> None:
    call = structs.replace(GET, headers=(("X-Tenant", "one"), ("content-type", "text/plain"), ("x-scope", "own")))

    found = shown(asked(headers, call))

    assert (found["x-tenant"], found["content-type"], found["x-scope"]) == ("one", "text/plain", "own")
    assert shown(asked(headers, GET))["x-scope"] == "usual"


@pytest.mark.parametrize(
    ("credential", "header", "value"),
    [
        (TOKEN, "authorization", "Bearer s3cret-t0ken"),
        (structs.replace(TOKEN, header="X-Api-Key", prefix=""), "x-api-key", "s3cret-t0ken"),
        (
            structs.replace(TOKEN, username="admin"),
            "authorization",
            "Basic " + b64encode(b"admin:s3cret-t0ken\n").decode(),
        ),
    ],
    ids=["bearer", "own header", "basic"],
)
def test_a_credential_is_put_in_when_the_call_is_sent_and_nowhere_else(
    credential: Credential, header: str, value: str
) -> None:
    call = structs.replace(GET, credential=credential)

    found = shown(asked(headers, call, secret={"token": b"s3cret-t0ken\n"}))

    assert found[header] == value
    assert "s3cret" not in repr(call)
    assert b"s3cret" not in written(call, Http)


@pytest.mark.parametrize(
    ("secret", "said"),
    [
        (None, "cannot be read"),
        ({"other": b"x"}, "has no token"),
        ({"token": b"two\nlines"}, "one line of ASCII"),
        ({"token": "päss-wört".encode()}, "one line of ASCII"),
    ],
    ids=["no Secret", "no key", "two lines", "no ASCII"],
)
def test_without_its_credential_a_call_is_not_sent(secret: dict[str, bytes] | None, said: str) -> None:
    calls: list[str] = []

    async def noting(request: web.Request) -> web.Response:
        calls.append(request.path)
        return web.Response()

    answer = asked(noting, structs.replace(GET, credential=TOKEN), secret=secret)

    assert isinstance(answer, Bad)
    assert answer.kind == "sign-in"
    assert said in answer.text
    assert "lines" not in answer.text.replace("one line", "")
    assert calls == []


def test_a_credential_follows_no_redirect() -> None:
    seen: list[str | None] = []

    async def away(request: web.Request) -> web.Response:
        seen.append(request.headers.get("X-Api-Key"))
        return web.Response(status=307, headers={"Location": "/elsewhere"})

    keyed = structs.replace(GET, follows=True, credential=structs.replace(TOKEN, header="X-Api-Key", prefix=""))
    answer = asked(away, keyed, secret={"token": b"t"})

    assert isinstance(answer, Bad)
    assert (answer.code, seen) == (307, ["t"])


@pytest.mark.parametrize(
    ("accepts", "status", "answer"),
    [
        ((), 204, Good()),
        ((200, 404), 404, Good(b"", code=404)),
        ((200, 404), 200, Good(b"", code=200)),
        ((200, 404), 204, Bad("failed", "it answered with status 204", 204)),
        ((302,), 302, Good(b"", code=302)),
    ],
)
def test_a_call_names_the_codes_that_are_an_answer(accepts: tuple[int, ...], status: int, answer: Answer) -> None:
    async def fixed(_: web.Request) -> web.Response:
        return web.Response(status=status)

    assert asked(fixed, structs.replace(GET, accepts=accepts)) == answer


@pytest.mark.parametrize(
    ("retry", "replies", "times"),
    [
        (Retry(3, codes=(503,)), (Reply(503), Reply(500), Reply(200)), [0, 0.2]),
        (Retry(3, codes=(503,)), (Reply(503), Reply(503), Reply(200)), [0, 0.2, 0.4]),
        (Retry(4, spacing_seconds=1, growth=2), (Reply(500),), [0, 1, 3, 7]),
        (Retry(3, when_unanswered=False), (NoReply("gone"), Reply(200)), [0]),
        (Retry(3, codes=()), (NoReply("gone"), Reply(500), Reply(200)), [0, 0.2]),
        (Retry(), (Reply(503),), [0]),
    ],
    ids=["other code", "its code", "growing", "never unanswered", "only unanswered", "never"],
)
def test_a_call_says_after_what_it_is_sent_again(
    retry: Retry, replies: tuple[Reply | NoReply, ...], times: list[float]
) -> None:
    pods = Pods(*replies)

    ask_one(Ask(structs.replace(GET, retry=retry)), lambda: AskContext(nobody(), caller=pods))

    assert [when for when, _ in pods.calls] == pytest.approx(times)


def test_a_call_that_is_accepted_is_not_sent_again() -> None:
    pods = Pods(Reply(404))
    call = structs.replace(GET, accepts=(404,), retry=Retry(3))

    answer, _ = ask_one(Ask(call), lambda: AskContext(nobody(), caller=pods))

    assert (answer, len(pods.calls)) == (Good(b"", code=404), 1)


def test_reading_the_secret_is_within_the_time_of_the_call() -> None:
    """An API server that hangs keeps nobody longer than the question allows."""

    class Hanging:
        async def send(self, _: object) -> None:
            await asyncio.Event().wait()

    async def never(_: Call) -> Reply:
        raise AssertionError("it is not sent")

    async def scenario() -> tuple[Answer, float]:
        begun = clock.monotonic()
        context = AskContext(Client(Hanging()), caller=never)  # type: ignore[arg-type]
        answer = await asker(context)(Ask(structs.replace(GET, credential=TOKEN), timeout=3))
        return answer, clock.monotonic() - begun

    answer, took = run(scenario())

    assert isinstance(answer, Bad)
    assert took == 3
    assert Need(((Ask(GET),),)).goes_outside
