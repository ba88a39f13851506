"""A process that is given less time to end takes less time for everything that it does then."""

from __future__ import annotations

import asyncio

import pytest

from fairlead.engine.serving.https_server import Shutdown
from kubeloop import clock
from kubesim.time import run


@pytest.mark.parametrize(("pace", "seconds"), [(1.0, 6.0), (1 / 3, 2.0)])
def test_draining_takes_the_same_part_of_what_there_is(pace: float, seconds: float) -> None:
    async def scenario() -> float:
        ending = Shutdown(6.0, pace)
        begun = clock.monotonic()
        asyncio.get_running_loop().call_soon(ending.asked)
        await ending.drained()
        return clock.monotonic() - begun

    assert run(scenario()) == pytest.approx(seconds)
