"""What a call may say of itself: headers, credentials, accepted codes, when to send it again; over real sockets."""

from __future__ import annotations

import asyncio
from base64 import b64encode

import msgspec
import pytest
from aiohttp import web
from msgspec import structs

from fairlead.core.ask import Answer, Ask, Bad, Credential, Good, Http, Need, Read, Retry
from fairlead.core.written import read, written
from fairlead.engine.driver.questions import AskContext, asker
from fairlead.engine.driver.secrets import without
from kubeloop import clock, request
from kubeloop.calls import Call, NoReply, Reply
from kubeloop.client import Client
from kubeloop.objects.core import CONFIGMAPS, SECRETS
from kubeloop.objects.meta import Ref
from kubeloop.sealing import seal
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
        (
            structs.replace(TOKEN, username_key="user"),
            "authorization",
            "Basic " + b64encode(b"s3cret-name:s3cret-t0ken\n").decode(),
        ),
    ],
    ids=["bearer", "own header", "basic", "basic with a name of the Secret"],
)
def test_a_credential_is_put_in_when_the_call_is_sent_and_nowhere_else(
    credential: Credential, header: str, value: str
) -> None:
    call = structs.replace(GET, credential=credential)

    found = shown(asked(headers, call, secret={"token": b"s3cret-t0ken\n", "user": b"s3cret-name"}))

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


def test_a_credential_without_the_name_of_its_user_is_not_sent() -> None:
    call = structs.replace(GET, credential=structs.replace(TOKEN, username_key="user"))

    answer = asked(headers, call, secret={"token": b"s3cret"})

    assert isinstance(answer, Bad)
    assert (answer.kind, "has no user" in answer.text, "s3cret" in answer.text) == ("sign-in", True, False)


HEADERS = {"X-Tenant": ["s3cret-one", "s3cret-two"], "X-Scope": "s3cret-scope"}


def test_sealed_headers_are_opened_when_the_call_is_sent_and_nowhere_else() -> None:
    call = structs.replace(GET, sealed_headers=seal(msgspec.json.encode(HEADERS)))

    async def all_headers(request: web.Request) -> web.Response:
        return web.json_response([*map(list, request.headers.items())])

    found = asked(all_headers, call)

    assert isinstance(found, Good)
    sent = [tuple(each) for each in msgspec.json.decode(found.value)]
    assert {("X-Tenant", "s3cret-one"), ("X-Tenant", "s3cret-two"), ("X-Scope", "s3cret-scope")} <= {*sent}
    assert ("X-Scope", "usual") not in sent
    assert "s3cret" not in repr(call)
    assert b"s3cret" not in written(call, Http)
    assert read(written(call, Http), Http) == call


UNSENDABLE = {
    "a list": b"[]",
    "no JSON": b"s3cret",
    "a number": b'{"X-A": 5}',
    "no name": b'{"": "s3cret"}',
    "a space in a name": b'{"X A": "s3cret"}',
    "two lines": b'{"X-A": "s3cret\\nX-B: 1"}',
    "no ASCII": b'{"X-A": "s3cr\xc3\xa9t"}',
}


@pytest.mark.parametrize("held", UNSENDABLE.values(), ids=UNSENDABLE.keys())
def test_headers_that_cannot_be_sent_send_nothing(held: bytes) -> None:
    calls: list[str] = []

    async def noting(request: web.Request) -> web.Response:
        calls.append(request.path)
        return web.Response()

    answer = asked(noting, structs.replace(GET, sealed_headers=seal(held)))

    assert isinstance(answer, Bad)
    assert (answer.kind, "headers cannot be sent" in answer.text, "s3cr" in answer.text) == ("sign-in", True, False)
    assert calls == []


def test_sealed_headers_follow_no_redirect() -> None:
    async def away(request: web.Request) -> web.Response:
        raise web.HTTPTemporaryRedirect("/elsewhere")

    call = structs.replace(GET, follows=True, sealed_headers=seal(msgspec.json.encode(HEADERS)))

    answer = asked(away, call)

    assert isinstance(answer, Bad)
    assert answer.code == 307


OBJECT = b'{"metadata":{"name":"m"},"spec":{"provider":{"headers":{"A":"s3cret"},"type":"x"}}}'


@pytest.mark.parametrize(
    ("path", "left"),
    [("spec.provider.headers", b'"provider":{"type":"x"}'), ("spec.provider", b'"spec":{}'), ("spec", b'"m"}}')],
)
def test_what_a_read_seals_is_not_in_its_body(path: str, left: bytes) -> None:
    found = without(OBJECT, path)

    assert found.value.rstrip(b"}").endswith(left.rstrip(b"}"))
    ((named, held),) = found.sealed
    assert (named, b"s3cret" in held.open()) == (path, True)
    assert "s3cret" not in repr(found)


@pytest.mark.parametrize("path", ["spec.other", "spec.provider.type.x", "status.x", "spec.provider.headers.A.b"])
def test_a_read_without_the_field_seals_nothing(path: str) -> None:
    assert without(OBJECT, path) == Good(OBJECT)


def test_a_live_read_seals_the_field() -> None:
    async def script() -> Answer:
        client = Client(Cluster(seed=1).transport())
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}, "data": {"a": "s3cret", "b": "x"}}
        await client.call(request.create(CONFIGMAPS, "default", msgspec.json.encode(body)))
        return await asker(AskContext(client))(Ask(Read(Ref(CONFIGMAPS, "default", "m"), sealed="data.a")))

    answer = asyncio.run(script())

    assert isinstance(answer, Good)
    assert b"s3cret" not in answer.value
    assert msgspec.json.decode(answer.value)["data"] == {"b": "x"}
    assert [(key, held.open()) for key, held in answer.sealed] == [("data.a", b'"s3cret"')]


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
