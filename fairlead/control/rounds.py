"""Rounds: one pass over one rollout, from its key to its effects.

A round starts only when the cache shows what earlier rounds of the same rollout wrote; that is what makes it safe to
start the next one at once. When the cache does not catch up in time, it is filled by a fresh list.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from datetime import datetime
from itertools import count
from typing import Generic, Protocol, TypeVar

from msgspec import Struct
from structlog.types import FilteringBoundLogger

from fairlead.api.audit import Line
from fairlead.control.part import Key, Part, Saying
from fairlead.decide.act import Does, Tell
from fairlead.decide.ask import Answers
from fairlead.decide.decision import Decision, Hold, Move
from fairlead.decide.reason import Reason
from fairlead.drive.outside import asker
from fairlead.drive.perform import Effects, Round, carry_out, digest
from fairlead.drive.round import settle
from fairlead.kube import clock
from fairlead.kube.client import Client
from fairlead.kube.ledger import Ledger

S = TypeVar("S")


class PassFailed(Exception):
    """The decision says that this pass failed; it is tried again after a while."""


class Gone(Exception):
    """The rollout vanished while its round asked for facts."""


class _Said(Struct, frozen=True):
    """The last words about a rollout, so that they are logged and told when they change and not each round."""

    rule: str
    reason: Reason
    tells: tuple[Tell, ...]
    sayings: tuple[Saying, ...] = ()


_NOTHING = _Said("", Reason.COMPLETE, ())


class Watcher(Protocol):
    """Told when passes begin and end."""

    def started(self, group: str) -> None: ...

    def ended(self, group: str, seconds: float, *, failed: bool, at: float) -> None: ...

    def vanished(self, group: str) -> None: ...


class Rounds(Generic[S]):
    """Runs the rounds of one part."""

    def __init__(
        self,
        part: Part[S],
        client: Client,
        patience: float,
        log: FilteringBoundLogger,
        tell: Callable[[Tell], None],
        watcher: Watcher,
    ) -> None:
        self._part = part
        self._patience = patience
        self._ledger = ledger = Ledger(patience)
        self._log = log
        self._tell = tell
        self._watcher = watcher
        self._ask = asker(client)
        self._effects = Effects(client, ledger, self._audit, tell)
        self._said: dict[Key, _Said] = {}
        self._numbers = count(1)

    async def run(self, key: Key) -> float | None:
        """One round; answers with the seconds after which to look again without being woken."""
        if (wait := await self._catch_up(key)) is not None:
            return wait
        now = clock.now()
        if self._part.gather(key, Answers(), {}) is None:
            self._forget(key)
            return None
        begun = clock.monotonic()
        self._watcher.started(key.name)
        failed = True
        try:
            again = await self._pass(key, now)
            failed = False
        except Gone:
            failed = False
            return None
        finally:
            took = clock.monotonic() - begun
            self._watcher.ended(key.name, took, failed=failed, at=clock.now().timestamp())
        return None if again is None else max(0.0, (again - now).total_seconds())

    async def _pass(self, key: Key, now: datetime) -> datetime | None:
        def gather(answers: Answers) -> S:
            seen = self._part.gather(key, answers, {})
            if seen is None:
                raise Gone
            return seen

        seen, decision = await settle(self._part.decide, gather, now, self._ask)
        assert isinstance(decision, Decision)  # a Need comes back only from a look  # noqa: S101
        self._announce(key, seen, decision)
        match decision.verdict:
            case Move(reason, writes, again):
                this = Round(f"{next(self._numbers)}", str(key), decision.rule, reason.word, digest(seen))
                await carry_out(writes, this, self._effects)
                return again
            case Hold(reason) if reason.fails:
                raise PassFailed(reason.word)
            case Hold(_, again):
                return again

    async def _catch_up(self, key: Key) -> float | None:
        """None once the cache shows this rollout's own writes; else how long to give it before looking again."""
        watched = self._part.watched(key)
        if not self._ledger.pending(str(key), watched):
            return None
        overdue = self._ledger.overdue(str(key))
        if overdue:
            await asyncio.gather(*(watched[resource].refresh() for resource in overdue))
        if not self._ledger.pending(str(key), watched):
            return None
        return self._patience

    def _announce(self, key: Key, seen: S, decision: Decision) -> None:
        before = self._said.get(key, _NOTHING)
        if (decision.rule, decision.verdict.reason, decision.tell) == (before.rule, before.reason, before.tells):
            return
        sayings = self._part.say(seen, decision)
        self._said[key] = _Said(decision.rule, decision.verdict.reason, decision.tell, sayings)
        for saying in sayings:
            if saying not in before.sayings:
                self._record(saying, {"rollout": str(key), "rule": decision.rule})
        for tell in decision.tell:
            if tell not in before.tells:
                self._tell(tell)

    def _audit(self, line: Line) -> None:
        """One record per effect: what was done to which object, why, and how it ended."""
        done = self._part.done[Does(line.does)]
        level = done.level if line.outcome in ("ok", "gone", "exists") else "warn"
        keys = {name: value for name in Line.__struct_fields__ if name != "time" and (value := getattr(line, name))}
        self._record(Saying(level, done.message, keys), {})

    def _record(self, saying: Saying, keys: Mapping[str, object]) -> None:
        method = "warning" if saying.level == "warn" else saying.level
        getattr(self._log, method)(saying.message, **keys, **saying.keys)

    def _forget(self, key: Key) -> None:
        self._said.pop(key, None)
        self._ledger.forget(str(key))
        if all(other.name != key.name for other in self._part.rollouts()):  # series know the name alone
            self._watcher.vanished(key.name)
