"""Rounds that hold and could not send all they had to report: they are decided again soon, though nothing woke them."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from msgspec import structs

from fairlead.core.ask import Answers
from fairlead.core.decision import Decision, Hold
from fairlead.core.reason import Reason
from fairlead.engine.controller import Controller, LogRecord, RolloutKey
from fairlead.engine.driver.questions import AskContext
from fairlead.engine.rounds import LOOK_AGAIN, Rounds, Terms
from kubeloop.client import Client
from kubeloop.ledger import Ledger
from kubesim.time import run
from tests.engine.test_refusals import WRITE, Refusing
from tests.engine.world import Log

REPORT = structs.replace(WRITE, refusable=False, contested=True, resource_version="1")


@pytest.mark.parametrize("wait", [None, 3600.0], ids=["without a time", "before its time"])
def test_a_report_that_somebody_outran_is_decided_again_soon(wait: float | None) -> None:
    def decide(_: Answers, now: datetime) -> Decision:
        again = None if wait is None else now + timedelta(seconds=wait)
        return Decision("wait", Hold(Reason.COMPLETE, again), reports=(REPORT,))

    handled: list[Answers] = []
    controller: Controller[Answers] = Controller(
        name="test",
        informers=(),
        subscribe=lambda _: None,
        watched=lambda _: {},
        scopes=lambda _: (),
        rollouts=lambda: (),
        gather=lambda _, answers: answers,
        versions=lambda _: (),
        decide=decide,
        say=lambda *_: (),
        writes=frozenset({REPORT.does}),
        done={REPORT.does: LogRecord("info", "applied")},
        handled=lambda seen, _: handled.append(seen),
    )
    server = Refusing()
    terms = Terms(Ledger(10.0, lambda _: ()), 10.0)
    rounds = Rounds(controller, AskContext(Client(server)), terms, Log().logger(), lambda _: None)

    assert run(rounds.run(RolloutKey(("test", "m")))) == LOOK_AGAIN
    assert len(server.times) == 1
    assert handled == []
