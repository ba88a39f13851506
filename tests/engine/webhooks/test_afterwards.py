"""What goes on after an answer, when the process ends: all of it at once, and no longer than it has time."""

from __future__ import annotations

import asyncio
from datetime import datetime

from fairlead.core.ask import Ask, Http
from fairlead.core.decision import Admit
from fairlead.engine.driver.questions import AskContext
from kubeloop import clock
from kubeloop.calls import Call, NoReply, Reply
from kubesim.time import run
from tests.engine.webhooks.benches import Court, Seen, body, call
from tests.kubeloop.scripted import Scripted

PODS = 100
UNDO = tuple(Ask(Http("DELETE", f"http://a-{pod}.svc/prepare"), effect=True) for pod in range(PODS))


def test_at_the_end_every_pod_is_undone_although_all_of_them_hang() -> None:
    """Of 100 calls that take 5 seconds each 32 are out at a time: 20 seconds, of which an end has 10."""
    called: list[str] = []

    async def hanging(sent: Call) -> Reply:
        called.append(sent.url)
        await asyncio.sleep(5)
        raise NoReply("hung")

    def denying(seen: Seen, now: datetime) -> Admit:
        return Admit(allowed=False, afterwards=(UNDO,))

    async def scenario() -> tuple[int, float, int]:
        court = Court(denying, AskContext(Scripted().client(), caller=hanging))
        await court.answer(call(body()))
        await asyncio.sleep(1)
        before, begun = len(called), clock.monotonic()
        await court.afterwards.finished(10)
        return before, clock.monotonic() - begun, len(court.of("work after admission answers was given up"))

    before, took, given_up = run(scenario())

    assert before == 32
    assert len(set(called)) == len(called) == PODS
    assert took < 6
    assert given_up == 0
