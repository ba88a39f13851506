"""Hooks of a measurement: one accepts, one never answers."""

from __future__ import annotations

import asyncio

import aiohttp
import pytest

from bench.hooks import answering


def test_one_hook_accepts_and_the_other_never_answers() -> None:
    async def scenario() -> None:
        async with answering() as hooks, aiohttp.ClientSession() as session:
            async with session.post(hooks.sound, json={}) as response:
                assert response.status == 200
            waiting = asyncio.create_task(session.post(hooks.dead, json={}).__aenter__())
            async with asyncio.timeout(10):
                await hooks.hanging(1)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting

    asyncio.run(scenario())
