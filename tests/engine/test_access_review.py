"""A verdict about a token serves for a while; who cannot be asked about is not let in."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from fairlead.engine.serving.access_review import (
    AT_ONCE,
    LET_SECONDS,
    MOST_VERDICTS,
    REFUSED_SECONDS,
    TIMEOUT,
    AuthorizedHandler,
    bearer_of,
)
from kubeloop.calls import Call, Reply
from kubeloop.client import Client
from kubeloop.request import Request, Response, Transport
from kubesim.auth.rbac import master
from kubesim.cluster import Cluster
from kubesim.faults import Fault, Faulty
from kubesim.time import run
from tests.engine.world import Log


class Door:
    """A reviewed handler, on a cluster that knows two tokens: `admin` may do everything, `other` nothing."""

    def __init__(self) -> None:
        self.cluster = Cluster(seed=1)
        self.cluster.handler.tokens.give({"admin": "admin", "other": "nobody"})
        self.asked: list[str] = []
        self.fault: Fault | None = None
        self.log = Log()
        client = Client(Faulty(self.cluster.transport(master("operator")), self._strike), timeout=5.0)
        self.handler = AuthorizedHandler(self._shown, client, self.log.logger())

    def _strike(self, request: Request, _: int) -> Fault | None:
        self.asked.append(request.path.rsplit("/", 1)[1])
        return self.fault

    async def _shown(self, _: Call) -> Reply:
        return Reply(200, b"shown")

    async def status(self, *authorization: str) -> int:
        headers = tuple(("Authorization", each) for each in authorization)
        return (await self.handler(Call(method="GET", url="/metrics?x=1", headers=headers))).status


def played(scenario: Callable[[Door], Awaitable[None]]) -> None:
    async def whole() -> None:
        await scenario(Door())

    run(whole())


@pytest.mark.parametrize(
    ("headers", "token"),
    [
        ((), ""),
        (("Bearer x",), "x"),
        (("bearer  x ",), "x"),
        (("Basic eDp5",), ""),
        (("Bearer",), ""),
        (("Bearer x", "Bearer y"), ""),
        (("Bearer \udcff\u00e9",), ""),
    ],
)
def test_a_request_has_one_bearer_token_or_none(headers: tuple[str, ...], token: str) -> None:
    made = tuple(("authorization", each) for each in headers)

    assert bearer_of(Call(method="GET", url="/", headers=made)) == token


def test_without_a_token_nobody_is_asked() -> None:
    async def scenario(door: Door) -> None:
        assert await door.status() == 401
        assert door.asked == []

    played(scenario)


def test_who_is_let_in_is_asked_about_once_a_minute() -> None:
    async def scenario(door: Door) -> None:
        both = ["tokenreviews", "subjectaccessreviews"]
        assert [await door.status("Bearer admin") for _ in range(3)] == [200] * 3
        assert door.asked == both

        await asyncio.sleep(LET_SECONDS)
        assert await door.status("Bearer admin") == 200
        assert door.asked == both * 2

    played(scenario)


def test_who_is_refused_is_asked_about_again_sooner() -> None:
    async def scenario(door: Door) -> None:
        assert await door.status("Bearer other") == 403
        assert await door.status("Bearer unknown") == 401
        asked = len(door.asked)
        assert [await door.status("Bearer other"), await door.status("Bearer unknown")] == [403, 401]
        assert len(door.asked) == asked

        await asyncio.sleep(REFUSED_SECONDS)
        assert await door.status("Bearer other") == 403
        assert len(door.asked) > asked

    played(scenario)


def test_while_the_api_server_fails_only_who_was_let_in_lately_is_answered() -> None:
    async def scenario(door: Door) -> None:
        assert await door.status("Bearer admin") == 200
        door.fault = Fault("status", status=500)

        assert await door.status("Bearer admin") == 200
        assert [await door.status("Bearer other") for _ in range(2)] == [500, 500]
        assert len(door.log.of("requests cannot be reviewed")) == 1, "the same trouble is said once"
        await asyncio.sleep(LET_SECONDS)
        assert await door.status("Bearer admin") == 500

        door.fault = None
        assert await door.status("Bearer admin") == 200, "a failure is no verdict"

    played(scenario)


def test_who_was_let_in_lately_waits_for_nobody_whose_review_hangs() -> None:
    async def scenario(door: Door) -> None:
        assert await door.status("Bearer admin") == 200
        door.fault = Fault("timeout")
        hanging = [asyncio.create_task(door.status(f"Bearer {number}")) for number in range(2 * AT_ONCE)]
        await asyncio.sleep(0.1)

        async with asyncio.timeout(0.1):
            assert await door.status("Bearer admin") == 200

        for each in hanging:
            each.cancel()

    played(scenario)


def test_nobody_waits_longer_than_a_request_may_take_however_many_reviews_hang() -> None:
    async def scenario(door: Door) -> None:
        door.fault = Fault("timeout")
        async with asyncio.timeout(TIMEOUT + 0.1):
            answers = await asyncio.gather(*(door.status(f"Bearer {number}") for number in range(3 * AT_ONCE)))

        assert set(answers) == {500}
        assert len(door.log.of("requests cannot be reviewed")) >= 1

    played(scenario)


class Proxy:
    """Answers everything itself, and calls it a success."""

    def __init__(self, transport: Transport, body: bytes) -> None:
        self.stream = transport.stream
        self._body = body

    async def send(self, _: Request) -> Response:
        return Response(200, self._body)


@pytest.mark.parametrize(
    ("body", "status"), [(b"<html>", 500), (b"{}", 401), (b'{"status": {"authenticated": 1}}', 500)]
)
def test_garbage_in_the_place_of_a_review_lets_nobody_in(body: bytes, status: int) -> None:
    async def scenario(door: Door) -> None:
        client = Client(Proxy(door.cluster.transport(), body))
        handler = AuthorizedHandler(door.handler._handler, client, door.log.logger())

        answer = await handler(Call(method="GET", url="/metrics", headers=(("Authorization", "Bearer admin"),)))

        assert answer.status == status

    played(scenario)


def test_tokens_that_somebody_makes_up_cost_neither_memory_nor_the_whole_api_server() -> None:
    async def scenario(door: Door) -> None:
        under_way, most = 0, 0
        real = door.handler._asked

        async def counted(token: str, verb: str, path: str) -> Reply | None:
            nonlocal under_way, most
            under_way, most = under_way + 1, max(most, under_way + 1)
            try:
                await asyncio.sleep(0.05)
                return await real(token, verb, path)
            finally:
                under_way -= 1

        door.handler._asked = counted  # type: ignore[method-assign]
        answers = await asyncio.gather(*(door.status(f"Bearer {number}") for number in range(2 * MOST_VERDICTS)))

        assert set(answers) == {401}
        assert most == AT_ONCE
        assert len(door.handler._verdicts) == MOST_VERDICTS

    played(scenario)


def test_tokens_that_somebody_makes_up_push_out_nobody_who_was_let_in() -> None:
    async def scenario(door: Door) -> None:
        assert await door.status("Bearer admin") == 200
        for number in range(MOST_VERDICTS + 1):
            assert await door.status(f"Bearer {number}") == 401
        door.asked.clear()

        assert await door.status("Bearer admin") == 200
        assert door.asked == []

    played(scenario)


def test_no_token_is_kept() -> None:
    async def scenario(door: Door) -> None:
        await door.status("Bearer admin")

        assert "admin" not in repr(door.handler._verdicts)

    played(scenario)
