"""Rounds: one pass over one rollout, from its key to its effects.

A round starts only when the cache shows what was written before to anything it decides about; that is what makes it
safe to start the next one at once. When the cache does not catch up in time, a fresh list is asked for. Nothing waits
here: a round that may not start yet says when to look again, and the worker goes on with other rollouts.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Hashable, Iterable, Mapping
from contextlib import asynccontextmanager
from datetime import datetime
from functools import partial
from itertools import count
from math import inf, nextafter
from typing import Any, Generic, TypeVar

from msgspec import Struct, structs
from structlog.types import FilteringBoundLogger

from fairlead.core.act import AnyWrite, EventNote
from fairlead.core.ask import Answer, Answers, Ask, Question
from fairlead.core.decision import Decision, Hold
from fairlead.core.replay import DecidedRound
from fairlead.engine.accounts import Accounts
from fairlead.engine.controller import Controller, RolloutKey
from fairlead.engine.decide.guard import RULE as GUARD
from fairlead.engine.driver.perform import Effects, Round, WriteRefused, carry_out, digest, scope_of
from fairlead.engine.driver.questions import AskContext, asker, bad_of
from fairlead.engine.driver.round import Asker, Outpaced, settle
from fairlead.engine.driver.slow_writes import SlowWrites
from fairlead.engine.failed_passes import FailedPasses
from fairlead.engine.round_log import RoundLog
from fairlead.engine.tried_writes import TriedWrites, before_refusal
from kubeloop import clock
from kubeloop.errors import ApiError
from kubeloop.informer import Informer
from kubeloop.ledger import Cache, Ledger
from kubeloop.worker import LooksAgain, NotBegun, stepping_aside

S = TypeVar("S")

LOOK_AGAIN = 0.2
"""Seconds until a round that may not start yet is looked at again, should no event wake it."""
MOST_REFUSALS = 64
"""In one pass; a decision that goes on to want other writes does not end, which is our mistake."""
LONG_BEHIND = 30.0
"""Seconds after which it is told that a rollout waits for its caches."""
LONGEST_HOLD = 60.0
"""Seconds for which a server that asks to be left alone is believed."""


class PassFailed(LooksAgain):
    """The decision says that this pass failed; it is tried again after a while, or when the decision says."""

    def __init__(self, text: str, again: float | None = None) -> None:
        super().__init__(text)
        self.again = again


class StillRefused(PassFailed):
    """The decision wants a write of whose refusal it knows: it has nothing to say about it, and the write stays
    unsent for as long as the refusal holds."""


class Vanished(Exception):
    """The rollout vanished while its round asked for facts."""


class Overtaken(Exception):
    """While a round asked for facts, what it decides about became another; it begins anew."""


class _Asking(Struct, frozen=True):
    """A round that asks somebody who may take long."""

    edition: Hashable
    """Of the rollout that it asks about."""
    until: asyncio.Timeout


class RoundTerms(Struct, frozen=True):
    """What rounds are held to."""

    ledger: Ledger
    """That of the process: rounds of all kinds see each other's writes."""
    write_timeout: float
    """Seconds."""
    slow: SlowWrites | None = None
    """Where writes may take longer that were seen to be slow."""


class Rounds(Generic[S]):
    """Runs the rounds of one controller."""

    def __init__(
        self,
        controller: Controller[S],
        outside: AskContext,
        terms: RoundTerms,
        log: FilteringBoundLogger,
        tell: Callable[[EventNote], None],
        *,
        notice: Callable[[EventNote], None] = lambda _: None,
        record: Callable[[DecidedRound], None] | None = None,
    ) -> None:
        """`tell` makes an Event of a note, `notice` brings it elsewhere; neither waits."""
        self.listed_since = nextafter(-inf, inf)
        """Loop time; a round reads only caches whose last list began then or later, and none that was never filled."""
        self.accounts: Accounts[S] = Accounts()
        """What came of the rounds, for whoever asks."""
        self._controller = controller
        self._ledger = terms.ledger
        self._said = RoundLog(controller, log, tell, notice)
        self._failures = FailedPasses(controller, tell)
        self._keep = record
        self._watcher = controller.watcher
        self._outside = outside if controller.records is None else structs.replace(outside, records=controller.records)
        self._effects = Effects(
            outside.client,
            terms.ledger,
            self._said.audit,
            self._said.happened,
            terms.write_timeout,
            controller.applied,
            terms.slow,
            self._failures.write_failed,
        )
        self._wrote: dict[RolloutKey, tuple[str, ...]] = {}
        """Scopes that the last round of a rollout wrote to, until the caches show it; so no scope is left behind."""
        self._tried = TriedWrites(hold=controller.refusals_hold)
        self._scopes: dict[RolloutKey, tuple[str, ...]] = {}
        """What a rollout was last seen to decide about, to forget what was applied to it when it is gone."""
        self._behind_since: dict[RolloutKey, float] = {}
        """Loop time since when the caches of a rollout are behind."""
        self._told_behind: set[RolloutKey] = set()
        """Of which rollouts that was told."""
        self._held: dict[RolloutKey, float] = {}
        """Loop time until which the server asked to be spared a rollout."""
        self._asking: dict[RolloutKey, _Asking] = {}
        self._numbers = count(1)

    def woken(self, key: RolloutKey) -> None:
        """Told of every change that concerns the rollout: what is asked about an edition that is over is given up."""
        asking = self._asking.get(key)
        if asking is not None and self._edition(key) != asking.edition:
            del self._asking[key]
            asking.until.reschedule(clock.monotonic())

    def forgets(self, key: RolloutKey) -> bool:
        """Whether a round would find nothing of the rollout; nothing is then remembered of it any more."""
        if self._controller.gather(key, Answers()) is not None:
            return False
        self._forget(key)
        self._wrote.pop(key, None)
        self._held.pop(key, None)
        return True

    async def run(self, key: RolloutKey) -> float | None:
        """One round; answers with the seconds after which to look again without being woken."""
        if (wait := self._must_wait(key)) is not None:
            return wait
        now = clock.now()
        given = self._tried.answers(key, now)
        seen = self._controller.gather(key, Answers(given))
        if seen is None:
            self._forget(key)
            return None
        self._scopes[key] = tuple(self._controller.scopes(key))
        begun = clock.monotonic()
        self._watcher.started(key)
        failed = True
        try:
            again = await self._pass(key, seen, given, now)
            failed = False
            if not isinstance(again, NotBegun):
                self.accounts.succeeded(key)
        except (Vanished, Overtaken, Outpaced):
            failed = False
            return NotBegun(LOOK_AGAIN)
        except PassFailed as error:
            if isinstance(error, StillRefused):
                self._failed(key, seen, error)
            else:
                self.accounts.succeeded(key)  # the decision tells why
            raise
        except Exception as error:
            self._failed(key, seen, error)
            if isinstance(error, ApiError) and error.retry_after is not None:
                self._hold(key, error.retry_after)
            raise
        finally:
            took = clock.monotonic() - begun
            self._watcher.ended(key, took, failed=failed, at=clock.now().timestamp())
        return again

    async def _pass(self, key: RolloutKey, first: S, given: dict[Question, Answer], now: datetime) -> float | None:
        """Decides and acts; when a write is refused whose refusal is a fact, once more with it; seconds until to look.

        Refusals hold from the pass that was decided with all of them, however long it took to get there: a pass that
        tries one write after the other again would never come to what else is to be done.
        """
        for _ in range(MOST_REFUSALS):
            try:
                again = await self._decided(key, first, given, now)
            except WriteRefused as refusal:
                bad = bad_of(refusal.error)
                if not self._controller.refuses(bad):
                    raise refusal.error from refusal
                given[refusal.write] = bad
                self._tried.refused(key, refusal.write, bad)
                if isinstance(refusal.error, ApiError) and refusal.error.retry_after is not None:
                    self._hold(key, refusal.error.retry_after)
                    return 0.0
                seen = None if self._is_behind(key) else self._controller.gather(key, Answers(given))
                if seen is None:
                    self.accounts.failed(key, refusal.error, now)
                    return NotBegun(LOOK_AGAIN)
                first = seen
            except PassFailed:
                self._tried.settled(key, now)
                raise
            else:
                self._tried.settled(key, now)
                return again
        raise PassFailed(f"{MOST_REFUSALS} writes were refused in one pass")

    async def _decided(
        self, key: RolloutKey, first: S, given: Mapping[Question, Answer], now: datetime
    ) -> float | None:
        """Decides on what was seen first, or anew once more is known, and carries it out."""

        def gather(answers: Answers) -> S:
            if len(answers.known) == len(given):
                return first
            if self._is_behind(key):
                raise Overtaken
            seen = self._controller.gather(key, answers)
            if seen is None:
                raise Vanished
            return seen

        number = f"{next(self._numbers)}"
        within = self._controller.asks_within
        deadline = None if within is None else clock.monotonic() + within(first)
        ask = asker(self._outside, deadline=deadline, heard=partial(self._said.heard, key, number))
        declared = partial(self._ask, ask)
        seen, decision = await settle(
            self._controller.decide,
            gather,
            now,
            declared,
            given=given,
            at_once=self._controller.at_once,
            aside=partial(self._aside, key),
        )
        self._observed(DecidedRound(self._controller.name, str(key), number, now, seen, decision), key, decision)
        return await self._acted(key, seen, decision, given, now, number)

    async def _acted(
        self, key: RolloutKey, seen: S, decision: Decision, given: Mapping[Question, Answer], now: datetime, number: str
    ) -> float | None:
        """Carries it out, up to a write of whose refusal the decision knew; seconds until to look again."""
        verdict = decision.verdict
        again = None if verdict.again is None else max(0.0, (verdict.again - now).total_seconds())
        writes = decision.reports if isinstance(verdict, Hold) else (*verdict.writes, *decision.reports)
        allowed, refusal = before_refusal(writes, given)
        sent = await self._write(key, number, seen, decision, allowed)
        if sent == len(writes):
            self._said.give_notice(key, decision)
        for write in writes[:sent]:
            if write.refusable:
                self._tried.succeeded(key, write, now)
        if isinstance(verdict, Hold) and verdict.reason.fails:
            raise PassFailed(verdict.reason.word, again)
        if refusal is not None and sent == len(allowed):
            raise StillRefused(refusal.text or refusal.kind)
        if sent == len(writes):
            self._controller.handled(seen, decision)
            if isinstance(verdict, Hold):
                return again
        # What was left is decided again; and should the watch be silent, somebody must notice that writes do not show.
        return LOOK_AGAIN if again is None else min(again, LOOK_AGAIN)

    def _observed(self, decided: DecidedRound, key: RolloutKey, decision: Decision) -> None:
        """Tells everybody who keeps, counts or reports decisions."""
        seen, now = decided.seen, decided.at
        if self._keep is not None and decision.rule != GUARD:  # no Snapshot shows the version of the process
            self._keep(decided)
        self._said.announce(key, seen, decision, now)
        if self._controller.explain is not None:
            self.accounts.decided(key, seen, decision, now)
        if self._controller.observe is not None:
            self._controller.observe(key, seen, decision, now)

    async def _write(
        self, key: RolloutKey, number: str, seen: S, decision: Decision, writes: tuple[AnyWrite, ...]
    ) -> int:
        """How many of them were sent; the others are left to the next round."""
        if not writes:
            return 0
        self._refuse_undeclared(writes)
        reason, versions = decision.verdict.reason, self._controller.versions(seen)
        this = Round(number, str(key), decision.rule, reason.word, digest(versions), self._scope(key))
        self._wrote[key] = tuple(scope_of(write, this) for write in writes)
        sent = await carry_out(writes, this, self._effects)
        if self._controller.wrote is not None:
            self._controller.wrote(key, writes[:sent])
        return sent

    @asynccontextmanager
    async def _aside(self, key: RolloutKey) -> AsyncIterator[None]:
        """Others go on meanwhile, and so does this rollout once people want something else of it."""
        async with stepping_aside():
            try:
                async with asyncio.timeout(None) as until:
                    self._asking[key] = _Asking(self._edition(key), until)
                    yield
            except TimeoutError:
                if until.expired():
                    raise Overtaken from None
                raise
            finally:
                self._asking.pop(key, None)

    def _edition(self, key: RolloutKey) -> Hashable:
        return None if self._controller.edition is None else self._controller.edition(key)

    async def _ask(self, ask: Asker, question: Question) -> Answer:
        if not isinstance(question, Ask):
            self._refuse_undeclared((question,))
        return await ask(question)

    def _refuse_undeclared(self, writes: tuple[AnyWrite, ...]) -> None:
        if undeclared := {write.does.value for write in writes if write.does not in self._controller.writes}:
            raise TypeError(
                f"controller {self._controller.name} does not say that it writes {', '.join(sorted(undeclared))}"
            )

    def _failed(self, key: RolloutKey, seen: S, error: Exception) -> None:
        now = clock.now()
        failure = self.accounts.failed(key, error, now, refused=isinstance(error, StillRefused))
        self._failures.failed(key, seen, failure, now)

    def _hold(self, key: RolloutKey, seconds: float) -> None:
        self._held[key] = clock.monotonic() + min(seconds, LONGEST_HOLD)

    def _must_wait(self, key: RolloutKey) -> float | None:
        """None when a round may start; else the seconds until to look again."""
        left = self._held.get(key, -inf) - clock.monotonic()
        if left > 0:
            return NotBegun(left)
        self._held.pop(key, None)
        return NotBegun(LOOK_AGAIN) if self._is_behind(key) else None

    def _is_behind(self, key: RolloutKey) -> bool:
        """Whether the caches lack what a round of the rollout must see; asks for lists where no watch will bring it.

        It must see all writes to what it decides about, whichever rollout of whichever controller made them, and all of
        its own; and what others did until a moment ago.
        """
        lacking: list[Cache] = [each for each in self._controller.watched(key).values() if self._is_old(each)]
        lacking += [each for each in self._controller.optional if _is_of(each, key) and _is_missed(each)]
        scopes = dict.fromkeys((self._scope(key), *self._wrote.get(key, ()), *self._controller.scopes(key)))
        pending = [scope for scope in scopes if self._ledger.pending(scope)]
        for scope in pending:
            lacking += self._ledger.overdue(scope)
        for cache in dict.fromkeys(lacking):
            cache.ask_for_list()
        if pending or lacking:
            self._tell_behind(key, lacking)
            return True
        self._wrote.pop(key, None)
        self._caught_up(key)
        return False

    def _is_old(self, informer: Informer[Any]) -> bool:
        """Whether it shows too little of what there is by now.

        What is known to be absent is missed only by whoever cannot do without it.
        """
        is_needed = any(informer is each for each in self._controller.informers)
        return informer.listed_at < self.listed_since or (informer.is_outdated if is_needed else _is_missed(informer))

    def _scope(self, key: RolloutKey) -> str:
        """Of what its rounds write to nothing that is rolled; keys of several controllers may be the same."""
        return f"{self._controller.name} {key}"

    def _caught_up(self, key: RolloutKey) -> None:
        self._behind_since.pop(key, None)
        self._told_behind.discard(key)

    def behind(self, key: RolloutKey) -> float:
        """Seconds for which the rollout has been waiting for its caches."""
        since = self._behind_since.get(key)
        return 0.0 if since is None else clock.monotonic() - since

    def _tell_behind(self, key: RolloutKey, lacking: Iterable[Cache]) -> None:
        """A rollout that does not go on because of its caches must not be silent about it."""
        now = clock.monotonic()
        if now - self._behind_since.setdefault(key, now) > LONG_BEHIND and key not in self._told_behind:
            self._told_behind.add(key)
            self._said.waits_for_caches(key, lacking)

    def _forget(self, key: RolloutKey) -> None:
        self._said.forget(key)
        self._tried.forget(key)
        self._caught_up(key)
        self.accounts.forget(key)
        for scope in self._scopes.pop(key, ()):
            if self._controller.applied is not None:
                self._controller.applied.forget(scope)
        self._watcher.vanished(key)


def _is_of(informer: Informer[Any], key: RolloutKey) -> bool:
    return informer.selection.namespace in ("", key.namespace)


def _is_missed(informer: Informer[Any]) -> bool:
    """What can be done without, and is known to be absent, shows all there is."""
    return informer.is_outdated and not informer.is_absent
