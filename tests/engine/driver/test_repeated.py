"""A repeatable write is sent again at once when the server fails at it, as long as the facts it rests on are fresh."""

from __future__ import annotations

import asyncio

import pytest
from msgspec import structs

from fairlead.core.act import AnyWrite, Apply, Does
from fairlead.engine.driver.perform import FRESH_SECONDS, Effects, carry_out
from kubeloop import clock
from kubeloop.client import Client
from kubeloop.errors import KubeError
from kubeloop.ledger import SETTLE
from kubeloop.objects.core import SERVICES
from kubeloop.objects.meta import Ref
from kubeloop.request import Request, Response
from kubesim.time import run
from tests.engine.driver.test_perform import THIS, WRITE_TIMEOUT, Server, Told, completion, deletion, expected, status
from tests.kubeloop.ledgers import ShownLedger

SERVICE = Ref(SERVICES, "test", "s")


class Failing(Server):
    """Fails at the first few requests, then does what it is asked."""

    def __init__(self, times: int, answer: Response | None) -> None:
        super().__init__()
        self.times = times
        self.at: list[float] = []
        self._answer = answer

    async def send(self, request: Request) -> Response:
        self.at.append(clock.monotonic())
        self._answers = {request.path: self._answer} if len(self.at) <= self.times else {}
        return await super().send(request)


def repeatable(write: AnyWrite) -> AnyWrite:
    return structs.replace(write, repeatable=True)


def an_apply(body: bytes = b"{}") -> Apply:
    return Apply(does=Does.APPLY_OBJECT, ref=SERVICE, body=body, manager="m", repeatable=True)


WRITES = [repeatable(completion()), repeatable(deletion("a")), an_apply()]
FAULTS = [None, status(500, "InternalError"), status(503, "ServiceUnavailable")]


@pytest.mark.parametrize("answer", FAULTS, ids=["no answer", "500", "503"])
@pytest.mark.parametrize(
    "write", [repeatable(completion()), repeatable(deletion("a")), an_apply()], ids=["replace", "delete", "apply"]
)
def test_a_fault_that_passes_costs_nothing(write: AnyWrite, answer: Response | None) -> None:
    server, told, ledger = Failing(2, answer), Told(), ShownLedger(10)

    async def scenario() -> int:
        return await carry_out((write,), THIS, effects_of(server, told, ledger))

    assert run(scenario()) == 1
    assert len(server.requests) == 3
    assert [line.outcome for line in told.lines] == ["ok"]


def effects_of(server: Server, told: Told, ledger: ShownLedger) -> Effects:
    return Effects(Client(server), ledger, told.lines.append, told.tells.append, WRITE_TIMEOUT)


def test_facts_that_grow_old_end_it_and_nothing_is_known_then() -> None:
    server, told, ledger = Failing(100, None), Told(), ShownLedger(10)

    async def scenario() -> None:
        await carry_out((repeatable(completion()),), THIS, effects_of(server, told, ledger))

    with pytest.raises(KubeError):
        run(scenario())
    assert 3 <= len(server.at) <= 5
    assert server.at[-1] - server.at[0] <= FRESH_SECONDS
    assert len(told.lines) == 1
    assert expected(ledger, {}) == ()  # no cache shows it: it is read live


def test_a_server_that_asks_to_be_left_alone_is() -> None:
    answer = Response(503, status(503, "ServiceUnavailable").body, {"retry-after": "1"})
    server, told, ledger = Failing(1, answer), Told(), ShownLedger(10)

    async def scenario() -> None:
        await carry_out((an_apply(),), THIS, effects_of(server, told, ledger))

    with pytest.raises(KubeError):
        run(scenario())
    assert len(server.requests) == 1


def test_what_would_be_undone_by_an_apply_that_may_still_arrive_waits_for_it() -> None:
    """The same one does not: twice it does what it does once."""
    server, told, ledger = Failing(1, None), Told(), ShownLedger(10)

    async def scenario() -> list[int]:
        effects = effects_of(server, told, ledger)
        other = an_apply(b'{"spec":{}}')
        sent = [await carry_out((an_apply(),), THIS, effects)]
        sent += [await carry_out((each,), THIS, effects) for each in (an_apply(), other)]
        await asyncio.sleep(SETTLE)
        return [*sent, await carry_out((other,), THIS, effects)]

    assert run(scenario()) == [1, 1, 0, 1]
