"""Rounds of a controller that watches nothing and sees only the answers to what it asked."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from fairlead.core.act import Does, EventNote
from fairlead.core.ask import Answers, Need
from fairlead.core.decision import Decision
from fairlead.engine.controller import Controller, LogRecord
from fairlead.engine.driver.questions import AskContext
from fairlead.engine.rounds import Rounds, RoundTerms
from kubeloop.client import Client
from kubeloop.ledger import Ledger
from tests.engine.world import Log

Tell = Callable[[EventNote], None]


def bare_controller(
    decide: Callable[[Answers, datetime], Decision | Need],
    does: Does,
    handled: Callable[[Answers, Decision], None] = lambda _seen, _decision: None,
) -> Controller[Answers]:
    """Of which this is the only write."""
    return Controller(
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
        writes=frozenset({does}),
        done={does: LogRecord("info", "done")},
        handled=handled,
    )


def bare_rounds(
    controller: Controller[Answers],
    client: Client,
    log: Log | None = None,
    tell: Tell = lambda _: None,
    notice: Tell = lambda _: None,
) -> Rounds[Answers]:
    terms = RoundTerms(Ledger(10.0, lambda _: ()), 10.0)
    return Rounds(controller, AskContext(client), terms, (log or Log()).logger(), tell, notice=notice)
