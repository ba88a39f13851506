"""Rounds that hold and could not send all they had to report: they are decided again soon, though nothing woke them."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from msgspec import structs

from fairlead.core.ask import Answers
from fairlead.core.decision import Decision, Hold
from fairlead.core.reason import Reason
from fairlead.engine.controller import RolloutKey
from fairlead.engine.rounds import LOOK_AGAIN
from kubeloop.client import Client
from kubesim.time import run
from tests.engine.bare import bare_controller, bare_rounds
from tests.engine.test_refusals import WRITE, Refusing

REPORT = structs.replace(WRITE, refusable=False, contested=True, resource_version="1")


@pytest.mark.parametrize("wait", [None, 3600.0], ids=["without a time", "before its time"])
def test_a_report_that_somebody_outran_is_decided_again_soon(wait: float | None) -> None:
    def decide(_: Answers, now: datetime) -> Decision:
        again = None if wait is None else now + timedelta(seconds=wait)
        return Decision("wait", Hold(Reason.COMPLETE, again), reports=(REPORT,))

    handled: list[Answers] = []
    server = Refusing()
    controller = bare_controller(decide, REPORT.does, handled=lambda seen, _: handled.append(seen))
    rounds = bare_rounds(controller, Client(server))

    assert run(rounds.run(RolloutKey(("test", "m")))) == LOOK_AGAIN
    assert len(server.times) == 1
    assert handled == []
