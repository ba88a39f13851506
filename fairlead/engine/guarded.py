"""A controller behind the guard of versions: what `decide/guard` answers comes before what its own rules do.

Decisions of the guard are told, explained and counted here, because no contract has words for them.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Generic, TypeVar

from msgspec import structs

from fairlead.core.act import AnyWrite, Does
from fairlead.core.ask import Need, StartOver
from fairlead.core.decision import Decision, Hold, Outcome
from fairlead.core.explain import Block, Explain, Stands
from fairlead.core.outcome import outcome_of
from fairlead.engine.controller import Controller, LogRecord, RolloutKey, Watcher
from fairlead.engine.counted_objects import CountedObjects
from fairlead.engine.decide.guard import RULE, GuardedObject, Ignored, VersionPolicy, stamping, standing
from kubeloop.objects.meta import Resource

S = TypeVar("S")

STAMPED = LogRecord("info", "object stamped with the version of the operator")


def guarded(controller: Controller[S], policy: VersionPolicy, foreign: CountedObjects) -> Controller[S]:
    """The controller with the guard before its rounds; one that is about no object of a kind of ours stays as it is."""
    guards = controller.guards
    if guards is None:
        return controller
    behind = _Guarded(controller, policy, foreign)
    return structs.replace(
        controller,
        decide=behind.decide,
        say=behind.say,
        writes=controller.writes | {Does.STAMP_VERSION},
        done={**controller.done, Does.STAMP_VERSION: STAMPED},
        handled=behind.handled,
        observe=behind.observe,
        wrote=None if controller.wrote is None else behind.wrote,
        explain=None if controller.explain is None else behind.explain,
        watcher=_Watching(behind, controller.watcher),
    )


class _Guarded(Generic[S]):
    def __init__(self, controller: Controller[S], policy: VersionPolicy, foreign: CountedObjects) -> None:
        self._controller = controller
        self._policy = policy
        self._foreign = foreign
        self._resources: dict[RolloutKey, Resource] = {}

    def _subject(self, seen: S) -> GuardedObject | None:
        return None if self._controller.guards is None else self._controller.guards(seen)

    def decide(self, seen: S, now: datetime) -> Outcome:
        subject = self._subject(seen)
        if subject is None:
            return self._controller.decide(seen, now)
        found = standing(subject, self._policy)
        if isinstance(found, Ignored):
            return found.decision
        outcome = self._controller.decide(seen, now)
        if found.stamp is not None and _acts(outcome):
            return stamping(found.stamp, outcome, found.tell)
        if found.tell and isinstance(outcome, Decision):
            return structs.replace(outcome, tell=(*found.tell, *outcome.tell))
        return outcome

    def say(self, seen: S, decision: Decision, now: datetime) -> tuple[LogRecord, ...]:
        if decision.rule != RULE:
            return self._controller.say(seen, decision, now)
        verdict = decision.verdict
        keys: dict[str, object] = {"reason": verdict.reason.word}
        if not isinstance(verdict, Hold):
            return (LogRecord("debug", "object gets the stamp of this version before it is handled", keys),)
        why = "; ".join(text for _, text in verdict.details)
        return (LogRecord("info", "object left alone", {**keys, "why": why, "help": verdict.reason.clears}),)

    def handled(self, seen: S, decision: Decision) -> None:
        """What goes with an object that is only being stamped is seen to by the next round."""
        if decision.rule != RULE or isinstance(decision.verdict, Hold):
            self._controller.handled(seen, decision)

    def observe(self, key: RolloutKey, seen: S, decision: Decision, now: datetime) -> None:
        subject = self._subject(seen)
        if subject is not None:
            why = self._why(subject) if decision.rule == RULE else ""
            self._resources[key] = subject.ref.resource
            self._foreign.passed(subject.ref.resource, subject.ref.namespace, subject.ref.name, why)
        if decision.rule != RULE and self._controller.observe is not None:
            self._controller.observe(key, seen, decision, now)

    def _why(self, subject: GuardedObject) -> str:
        found = standing(subject, self._policy)
        return found.why if isinstance(found, Ignored) else ""

    def vanished(self, key: RolloutKey) -> None:
        resource = self._resources.pop(key, None)
        if resource is not None:
            self._foreign.passed(resource, key.namespace, key.name, "")

    def wrote(self, key: RolloutKey, writes: tuple[AnyWrite, ...]) -> None:
        own = tuple(each for each in writes if each.does is not Does.STAMP_VERSION)
        if self._controller.wrote is not None and (own or not writes):
            self._controller.wrote(key, own)

    def explain(self, seen: S, decision: Decision, now: datetime) -> Explain:
        subject, own = self._subject(seen), self._controller.explain
        if own is not None and (decision.rule != RULE or subject is None):
            return own(seen, decision, now)
        if subject is None:
            raise TypeError(f"controller {self._controller.name} explains nothing")
        return _explained(self._controller, subject, decision)


def _explained(controller: Controller[Any], subject: GuardedObject, decision: Decision) -> Explain:
    reason = decision.verdict.reason
    details = decision.verdict.details if isinstance(decision.verdict, Hold) else ()
    return Explain(
        part=controller.part or controller.name,
        noun=controller.noun,
        namespace=subject.ref.namespace,
        rollout=subject.ref.name,
        outcome=outcome_of(reason),
        stands=Stands(reason.word, 0, 1, controller.noun or "object"),
        blocked_by=tuple(
            Block(RULE, reason.word, about, text, reason.clears, kind=reason.kind.value) for about, text in details
        ),
    )


def _acts(outcome: Outcome) -> bool:
    """Whether something would be done now."""
    if isinstance(outcome, Need):
        return outcome.has_effect
    if isinstance(outcome, StartOver):
        return False
    return not isinstance(outcome.verdict, Hold) or bool(outcome.reports)


class _Watching:
    """Tells that an object has vanished, beside what the controller's own watcher does."""

    def __init__(self, behind: _Guarded[Any], watcher: Watcher) -> None:
        self.started = watcher.started
        self.ended = watcher.ended
        self._behind = behind
        self._watcher = watcher

    def vanished(self, key: RolloutKey) -> None:
        self._behind.vanished(key)
        self._watcher.vanished(key)
