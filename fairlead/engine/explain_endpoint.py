"""The operator's word about its rollouts, served to whoever asks.

What only the operator knows is in it: what it was answered, what it waits for, that its passes fail, and when it looks
again. Nothing in it is secret beyond what the objects of the rollouts and the operator's log show. Only who leads has
anything to say. One report is made at a time, and between two documents others get their turn.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import parse_qs

import msgspec
from msgspec import Struct, structs

from fairlead import __version__
from fairlead.core.decision import Hold
from fairlead.core.explain import Block, Explain, OperatorReport, Source, Undecided
from fairlead.core.outcome import FAILED, MOVING, WAITING
from fairlead.core.reason import Reason, ReasonKind
from fairlead.engine.accounts import Account, Accounts, PassFailure, verdict_key
from fairlead.engine.controller import Controller, RolloutKey
from fairlead.engine.failed_passes import FAILING
from fairlead.engine.serving.routes import text
from kubeloop import clock
from kubeloop.calls import Call, Handler, Reply

PATH = "/fairlead/explain"
JSON = (("Content-Type", "application/json"),)
STANDS_AFTER = 30.0
"""Seconds for which something is refused before its rollout counts as one that does not go on."""


class ExplainedController(Struct, frozen=True):
    """A controller and what its rounds know."""

    controller: Controller[Any]
    accounts: Accounts[Any]
    due: Callable[[RolloutKey], float | None]
    """Seconds until a rollout is looked at again; None when that is not fixed."""
    behind: Callable[[RolloutKey], float]
    """Seconds for which a rollout has been waiting for its caches."""


Report = Callable[[Sequence[str]], Awaitable[OperatorReport]]
"""About the rollouts in these namespaces; in all when none is named."""


def handling(report: Report) -> Handler:
    """Answers `GET /fairlead/explain?namespace=a&namespace=b`."""
    turn = asyncio.Lock()

    async def handle(call: Call) -> Reply:
        if call.method != "GET":
            refused = text(405, "only GET is answered here")
            return Reply(refused.status, refused.body, (*refused.headers, ("Allow", "GET")))
        namespaces = parse_qs(call.url.partition("?")[2]).get("namespace", [])
        async with turn:
            return Reply(200, msgspec.json.encode(await report(namespaces)), JSON)

    return handle


async def reported(every: Iterable[ExplainedController], process: str, namespaces: Sequence[str]) -> OperatorReport:
    """What the leader says."""
    items: list[Explain] = []
    undecided: list[Undecided] = []
    for told in every:
        for key in list(told.controller.rollouts()) if told.controller.explain is not None else ():
            if namespaces and key.namespace not in namespaces:
                continue
            await asyncio.sleep(0)
            shown = document(told, key, clock.now())
            if shown is not None:
                items.append(shown)
            else:
                failure = told.accounts.failure(key)
                text = failure.text if failure is not None else ""
                part = told.controller.part or told.controller.name
                undecided.append(Undecided(part, key.namespace, key.name, told.controller.noun, text))
    return OperatorReport(
        process=process, version=__version__, leads=True, items=tuple(items), undecided=tuple(undecided)
    )


def silent(process: str, leaves: str = "") -> OperatorReport:
    """Of a replica that does not lead."""
    return OperatorReport(process=process, version=__version__, leads=False, leaves=leaves)


def document(told: ExplainedController, key: RolloutKey, now: datetime) -> Explain | None:
    """The last decision about a rollout as a document, with what its rounds wait for; None before there is one."""
    account, failure = told.accounts.of(key), told.accounts.failure(key)
    if account is None or told.controller.explain is None:
        return None
    shown = told.controller.explain(account.seen, account.decision, account.at)
    stands = structs.replace(
        shown.stands,
        lanes=tuple(structs.replace(lane, waits=_dated(lane.waits, account)) for lane in shown.stands.lanes),
    )
    due = told.due(key)
    stands_still = failure is not None and failure.lasts(STANDS_AFTER, now) and shown.outcome in (MOVING, WAITING)
    return structs.replace(
        shown,
        stands=stands,
        outcome=FAILED if stands_still else shown.outcome,
        blocked_by=(*_engine_waits(key, told, failure, now), *_dated(shown.blocked_by, account)),
        again=None if due is None else now + timedelta(seconds=due),
        source=Source(
            "operator", decided_at=min(account.at, now), observed=dict(told.controller.observed(account.seen))
        ),
    )


def _dated(blocks: Iterable[Block], account: Account[Any]) -> tuple[Block, ...]:
    """Waits that no fact dates are as old as the decision to wait for them."""
    return tuple(
        block if block.since is not None else structs.replace(block, since=_since(block, account)) for block in blocks
    )


def _since(block: Block, account: Account[Any]) -> datetime | None:
    verdict = account.decision.verdict
    beside = account.since.get(f"{block.reason}:{block.object}")
    if beside is None and isinstance(verdict, Hold):
        beside = account.since.get(verdict_key(block.reason, ",".join(about for about, _ in verdict.details)))
    return None if beside is None else beside.at


LONG_BEHIND = 5.0
"""Seconds; a watch usually shows a write long before."""


def _engine_waits(
    key: RolloutKey, told: ExplainedController, failure: PassFailure | None, now: datetime
) -> Iterator[Block]:
    """What keeps rounds from deciding at all."""
    about = told.controller.title(key)
    if failure is not None:
        yield Block(
            "round",
            FAILING,
            about,
            f"the last pass failed: {failure.text}",
            "a pass succeeds; it is tried again",
            failure.since.at,
            kind=ReasonKind.FAILED.value,
        )
    if (seconds := told.behind(key)) > LONG_BEHIND:
        reason, since = Reason.CACHE_BEHIND, now - timedelta(seconds=seconds)
        text = "waiting for the caches: a watch does not show earlier writes, or cannot be had"
        yield Block("round", reason.word, about, text, reason.clears, since)
