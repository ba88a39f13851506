"""Rounds of one controller without a manager, as it runs them while it leads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from structlog.types import FilteringBoundLogger

from fairlead.contracts import deciders
from fairlead.core.act import EventNote
from fairlead.core.replay import DecidedRound, record_of, replayed
from fairlead.engine.controller import BackOff, Controller
from fairlead.engine.driver.questions import AskContext
from fairlead.engine.lane import ControllerLane
from fairlead.engine.manager import BACKGROUND_BACK_OFF
from fairlead.engine.rounds import Rounds, RoundTerms
from fairlead.engine.watch_troubles import WatchTroubles
from kubeloop.caches import Caches
from kubeloop.client import Client
from kubeloop.ledger import Ledger
from kubeloop.queue import Queue


def caches_of(client: Client, log: FilteringBoundLogger) -> Caches:
    """As a process has them."""
    return Caches(client, lambda selection, _: WatchTroubles(selection.resource, "", log))


def rounds_of(
    controller: Controller[Any],
    client: Client,
    log: FilteringBoundLogger,
    tell: Callable[[EventNote], None] = lambda _: None,
    caches: Caches | None = None,
    record: Callable[[DecidedRound], None] | None = None,
) -> ControllerLane:
    back_off: BackOff = controller.back_off or BACKGROUND_BACK_OFF
    queue = Queue[Any](first_delay=back_off.first, longest_delay=back_off.longest)
    terms = RoundTerms(Ledger(10.0, (lambda _: ()) if caches is None else caches.covering), 10.0)
    rounds = Rounds(controller, AskContext(client), terms, log, tell, record=record)
    return ControllerLane(controller, rounds, queue, log)


def decided_again(rounds: Sequence[DecidedRound]) -> None:
    """Fails where a round, written down and read again, is decided otherwise."""
    known = deciders()
    for each in rounds:
        found = replayed(record_of(each, known[each.controller].seen, "now"), known)
        assert not found.problem, found
        assert not found.changes, found
