"""A pass that says how long its questions may take gets `late` for what is not answered by then."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from datetime import datetime

import pytest

from fairlead.core.ask import Answer, Answers, Ask, Good, Need, Read
from fairlead.core.decision import Decision, Hold
from fairlead.core.reason import Reason
from fairlead.engine.controller import Controller, RolloutKey
from fairlead.engine.driver.questions import AskContext
from fairlead.engine.rounds import Rounds, RoundTerms
from kubeloop import clock
from kubeloop.client import Client
from kubeloop.ledger import Ledger
from kubeloop.objects.core import NAMESPACES
from kubeloop.objects.meta import Ref
from kubeloop.request import Request, Response, Stream
from kubesim.time import run
from tests.engine.world import Log

QUESTION = Ask(Read(Ref(NAMESPACES, "", "ns")), timeout=10)
BODY = b'{"metadata": {"name": "ns", "uid": "u", "resourceVersion": "1"}}'


class Slow:
    """Answers after three seconds."""

    async def send(self, _: Request) -> Response:
        await asyncio.sleep(3)
        return Response(200, BODY)

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        raise NotImplementedError(request)


def asked(within: Callable[[Answers], float] | None) -> tuple[Answer, float]:
    """The answer, and how many seconds it took."""

    def decide(answers: Answers, _: datetime) -> Decision | Need:
        if lacking := answers.lacking((QUESTION,)):
            return Need(lacking)
        found.append(answers[QUESTION])
        return Decision("rest", Hold(Reason.COMPLETE))

    async def scenario() -> float:
        controller = Controller[Answers](
            name="asking",
            informers=(),
            subscribe=lambda _: None,
            watched=lambda _: {},
            scopes=lambda _: (),
            rollouts=lambda: (),
            gather=lambda _, answers: answers,
            versions=lambda _: (),
            decide=decide,
            say=lambda *_: (),
            writes=frozenset(),
            done={},
            asks_within=within,
        )
        terms = RoundTerms(Ledger(5.0, lambda _: ()), 5.0)
        rounds = Rounds(controller, AskContext(Client(Slow())), terms, Log().logger(), lambda _: None)
        begun = clock.monotonic()
        await rounds.run(RolloutKey(("", "a")))
        return clock.monotonic() - begun

    found: list[Answer] = []
    took = run(scenario(), seed=0)
    return found[0], took


def test_what_is_not_answered_in_the_time_of_the_pass_is_late() -> None:
    answer, took = asked(lambda _: 1.0)

    assert getattr(answer, "kind", "") == "late"
    assert took == pytest.approx(1.0)


@pytest.mark.parametrize("within", [None, lambda _: 5.0], ids=["its own time", "enough time"])
def test_what_is_answered_in_time_is_good(within: Callable[[Answers], float] | None) -> None:
    answer, took = asked(within)

    assert answer == Good(BODY)
    assert took == pytest.approx(3.0)
