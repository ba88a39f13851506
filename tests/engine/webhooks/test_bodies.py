"""Bytes in work: a server holds no more of them than it may, refuses before it reads, and forgets what was answered."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

import aiohttp

from fairlead.engine.serving.bodies import BodyBudget
from fairlead.engine.serving.server import ServerTerms
from kubeloop.calls import Call, Reply
from tests.engine.webhooks.test_server import connected, staged

LARGEST = 1000
TERMS = ServerTerms(largest={"/x": LARGEST}, most_held=1500)


class Slow:
    """Answers with the body once it is let; `met` has the size of each that came."""

    def __init__(self) -> None:
        self.met: list[int] = []
        self.came = asyncio.Event()
        self.go_on = asyncio.Event()

    async def __call__(self, call: Call) -> Reply:
        self.met.append(len(call.body))
        self.came.set()
        await self.go_on.wait()
        return Reply(200, call.body)


async def posted(session: aiohttp.ClientSession, url: str, size: int) -> tuple[int, str]:
    """Status and Retry-After."""
    async with session.post(url, data=b"x" * size) as answer:
        await answer.read()
        return answer.status, answer.headers.get("Retry-After", "")


def test_a_body_that_does_not_fit_is_sent_away_and_taken_once_others_were_answered() -> None:
    async def scenario() -> None:
        slow = Slow()
        async with staged(TERMS, {"/x": slow}) as stage, aiohttp.ClientSession() as session:
            url = stage.url("/x")
            first = asyncio.ensure_future(posted(session, url, 900))
            await slow.came.wait()

            assert await posted(session, url, 601) == (429, "1")
            slow.go_on.set()
            assert await first == (200, "")
            assert await posted(session, url, 601) == (200, "")

            assert slow.met == [900, 601]
            assert [each.status for each in stage.counts.served_] == [429, 200, 200]

    asyncio.run(scenario())


def test_what_still_fits_is_not_held_up() -> None:
    async def scenario() -> None:
        slow = Slow()
        async with staged(TERMS, {"/x": slow}) as stage, aiohttp.ClientSession() as session:
            first = asyncio.ensure_future(posted(session, stage.url("/x"), 900))
            await slow.came.wait()
            second = asyncio.ensure_future(posted(session, stage.url("/x"), 600))
            while len(slow.met) < 2:  # noqa: ASYNC110  (no event tells it)
                await asyncio.sleep(0)
            slow.go_on.set()

            assert [await first, await second] == [(200, ""), (200, "")]

    asyncio.run(scenario())


def test_a_body_is_refused_by_what_it_announces_before_a_byte_of_it_came() -> None:
    async def scenario() -> None:
        slow = Slow()
        async with staged(TERMS, {"/x": slow}) as stage, aiohttp.ClientSession() as session:
            first = asyncio.ensure_future(posted(session, stage.url("/x"), 900))
            await slow.came.wait()
            async with connected(stage) as (reader, writer):
                writer.write(b"POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 601\r\n\r\n")

                head = await reader.readuntil(b"\r\n\r\n")

            assert head.startswith(b"HTTP/1.1 429")
            assert b"\r\nConnection: close\r\n" in head
            slow.go_on.set()
            await first

    asyncio.run(scenario())


def test_a_body_that_does_not_say_its_size_weighs_as_much_as_the_largest() -> None:
    async def pieces() -> AsyncIterator[bytes]:
        yield b"x"
        await asyncio.sleep(0)
        yield b"x"

    async def scenario() -> list[int]:
        slow = Slow()
        async with staged(TERMS, {"/x": slow}) as stage, aiohttp.ClientSession() as session:
            first = asyncio.ensure_future(posted(session, stage.url("/x"), 501))
            await slow.came.wait()
            async with session.post(stage.url("/x"), data=pieces()) as before:
                pass
            slow.go_on.set()
            await first
            async with session.post(stage.url("/x"), data=pieces()) as after:
                pass
            return [before.status, after.status]

    assert asyncio.run(scenario()) == [429, 200]


def test_requests_without_a_body_and_bodies_that_are_too_large_anyway_weigh_nothing() -> None:
    async def scenario() -> None:
        slow = Slow()
        async with staged(TERMS, {"/x": slow, "/live": _alive}) as stage, aiohttp.ClientSession() as session:
            full = [asyncio.ensure_future(posted(session, stage.url("/x"), size)) for size in (LARGEST, 500)]
            while len(slow.met) < 2:  # noqa: ASYNC110  (no event tells it)
                await asyncio.sleep(0)

            async with session.get(stage.url("/live")) as answer:
                assert answer.status == 200
            assert await posted(session, stage.url("/x"), LARGEST + 1) == (413, "")

            slow.go_on.set()
            await asyncio.gather(*full)

    asyncio.run(scenario())


async def _alive(_: Call) -> Reply:
    return Reply(200)


def test_a_client_that_goes_away_in_the_middle_of_its_body_leaves_no_weight_behind() -> None:
    async def scenario() -> None:
        slow = Slow()
        slow.go_on.set()
        async with staged(TERMS, {"/x": slow}) as stage, aiohttp.ClientSession() as session:
            for _ in range(3):
                async with connected(stage) as (_reader, writer):
                    writer.write(b"POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nfirst")
                    while not stage.counts.working:  # noqa: ASYNC110
                        await asyncio.sleep(0)
                stage.counts.working.clear()

            while (found := await posted(session, stage.url("/x"), LARGEST)) != (200, ""):
                assert found == (429, "1")

    asyncio.run(scenario())


def test_a_scale_without_a_bound_takes_everything_and_gives_back_what_failed() -> None:
    scale = BodyBudget(10)

    with suppress(ValueError), scale.holding(10) as fits:
        assert fits
        raise ValueError
    with scale.holding(10) as fits:
        assert fits
        with scale.holding(1) as also:
            assert not also
    with scale.holding(10) as fits, BodyBudget(None).holding(1 << 40) as all_fits:
        assert fits
        assert all_fits
