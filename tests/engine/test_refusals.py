"""Writes whose refusal is a fact: the pass goes on with it, and after a while they are tried again."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from datetime import datetime, timedelta

import msgspec
import pytest

from fairlead.core.act import Apply, Does
from fairlead.core.ask import REFUSAL_HOLDS, Answers, Bad
from fairlead.core.decision import Decision, Hold, Move
from fairlead.core.reason import Reason
from fairlead.engine.controller import RolloutKey
from fairlead.engine.rounds import PassFailed, Rounds
from kubeloop import clock
from kubeloop.client import Client
from kubeloop.objects.core import CONFIGMAPS
from kubeloop.objects.meta import Ref
from kubeloop.request import Request, Response, Stream
from kubesim.time import run
from tests.engine.bare import bare_controller, bare_rounds

KEY = RolloutKey(("test", "m"))
WRITE = Apply(
    ref=Ref(CONFIGMAPS, "test", "c"), body=b"{}", manager="m", force=True, does=Does.APPLY_OBJECT, refusable=True
)


class Refusing:
    """An API server that refuses every write."""

    def __init__(self) -> None:
        self.times: list[float] = []

    async def send(self, _: Request) -> Response:
        self.times.append(clock.monotonic())
        status = {"kind": "Status", "code": 409, "reason": "Conflict", "message": "no"}
        return Response(409, msgspec.json.encode(status))

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        raise AssertionError("nobody watches here")

    async def close(self) -> None:
        pass


def rounds_on(server: Refusing, reason: Reason) -> Rounds[Answers]:
    """Of a part that wants one object and gives this reason when it is refused."""

    def decide(seen: Answers, _: datetime) -> Decision:
        if isinstance(seen.known.get(WRITE), Bad):
            return Decision("refused", Hold(reason))
        return Decision("apply", Move(Reason.APPLYING, (WRITE,)))

    return bare_rounds(bare_controller(decide, Does.APPLY_OBJECT), Client(server))


@pytest.mark.parametrize("reason", [Reason.OBJECT_REFUSED, Reason.COMPLETE], ids=["the pass fails", "it does not"])
def test_a_refused_write_is_tried_again_after_a_while(reason: Reason) -> None:
    server = Refusing()

    async def scenario() -> None:
        rounds = rounds_on(server, reason)
        for _ in range(40):
            try:
                await rounds.run(KEY)
            except PassFailed:
                assert reason.fails
            await asyncio.sleep(1)

    run(scenario())

    seconds = REFUSAL_HOLDS.total_seconds()
    assert server.times == [0, seconds, 2 * seconds, 3 * seconds]


def test_a_clock_that_was_set_back_keeps_no_write_from_being_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    server, now = Refusing(), clock.now

    async def scenario() -> None:
        rounds = rounds_on(server, Reason.COMPLETE)
        await rounds.run(KEY)
        monkeypatch.setattr(clock, "now", lambda: now() - timedelta(hours=1))
        for _ in range(40):
            await asyncio.sleep(1)
            await rounds.run(KEY)

    run(scenario())

    assert server.times[:4] == [0, 1, 11, 21], "once because of the clock, and then as ever"


def test_a_write_is_not_sent_again_to_a_decision_that_knows_of_its_refusal() -> None:
    server = Refusing()

    async def scenario() -> None:
        rounds = bare_rounds(bare_controller(insists, Does.APPLY_OBJECT), Client(server))
        for second in range(25):
            with pytest.raises(PassFailed, match="no"):
                await rounds.run(KEY)
            failure = rounds.accounts.failure(KEY)
            assert failure is not None, f"nothing is told of it after {second} seconds"
            assert failure.text.endswith("no")
            await asyncio.sleep(1)

    def insists(_seen: Answers, _now: datetime) -> Decision:
        return Decision("apply", Move(Reason.APPLYING, (WRITE,)))

    run(scenario())

    assert server.times == [0, 10, 20]


def test_a_write_that_the_part_does_not_declare_is_not_sent() -> None:
    server = Refusing()

    async def scenario() -> None:
        rounds = rounds_on(server, Reason.COMPLETE)
        rounds._controller = msgspec.structs.replace(rounds._controller, writes=frozenset())
        with pytest.raises(TypeError, match="controller test does not say that it writes apply-object"):
            await rounds.run(KEY)

    run(scenario())
    assert server.times == []
