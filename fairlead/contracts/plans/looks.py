"""Looking at rollouts with a plan: documents of what the operator would decide, with nothing but reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import partial

from fairlead.contracts.plans.applications.controllers import PLANNED
from fairlead.contracts.plans.applications.kinds import StoredObject
from fairlead.contracts.plans.decide.seen import RolloutObject, TraitSeen, of_trait
from fairlead.contracts.plans.explain import explain
from fairlead.contracts.plans.gather import generation_of
from fairlead.contracts.plans.kinds import (
    NOUN,
    PART,
    ROLLOUT_TRAITS,
    RolloutTrait,
)
from fairlead.contracts.plans.shown import Shown
from fairlead.contracts.plans.worked_out import HARMLESS, Looked, decide, seen_by
from fairlead.core.ask import Answer, Ask, Bad, Question
from fairlead.core.explain import Explain
from fairlead.engine.controller import RolloutKey
from fairlead.engine.driver.questions import AskContext, asker
from fairlead.engine.driver.round import Asker
from fairlead.engine.first_seen import FirstSeen
from fairlead.engine.look import Heard, Look, ResourceView, ToLook, Views, decided
from kubeloop.client import Client

TRAITS = ResourceView(ROLLOUT_TRAITS, RolloutTrait, optional=True)
OTHERS = {resource: ResourceView(resource, StoredObject, optional=True) for resource in PLANNED}


class PlanLooks:
    def __init__(self, client: Client, views: Sequence[Views]) -> None:
        self._ask = _looking(asker(AskContext(client)))
        self._views = views
        self._seen = FirstSeen()

    async def look(self, now: datetime, heard: Heard) -> list[Explain]:
        """Every rollout as it stands, in the operator's words where it was heard."""
        traits = [of_trait(each) for views in self._views for each in views[TRAITS].items()]
        found = await heard.or_each(PART, NOUN, self._found(traits, now))
        for resource, view in OTHERS.items():
            rollout_of = PLANNED[resource].rollout_of
            others = [rollout_of(each) for views in self._views for each in views[view].items()]
            found += await heard.or_each(PART, resource.kind.lower(), self._found(others, now))
        return found

    def _found(self, rollouts: Sequence[RolloutObject], now: datetime) -> Iterator[ToLook]:
        for each in rollouts:
            key = RolloutKey((each.metadata.namespace, each.metadata.name))
            yield key, generation_of(each), partial(self._look_at, each, key, now)

    async def _look_at(self, rollout: RolloutObject, key: RolloutKey, now: datetime) -> Explain | None:
        found = await decided(decide, partial(Looked, rollout), now, self._ask)
        if found is None:
            return None
        looked, decision = found
        seen = seen_by(looked)
        if not isinstance(seen, TraitSeen):
            seen = TraitSeen(rollout=rollout)
        named = RolloutKey((key.namespace, str(rollout.ref)))
        shown = explain(Shown(seen=seen, decision=decision, at=now, since=self._seen.of(named)))
        self._seen.note(named, shown, now)
        return shown


def _looking(ask: Asker) -> Asker:
    """Reads and lists objects; nobody else is asked, and nothing is written."""

    async def look(question: Question) -> Answer:
        is_read = isinstance(question, Ask) and isinstance(question.to, HARMLESS)
        return await ask(question) if is_read else Bad("not-sent")

    return look


LOOK = Look(roots=(TRAITS, *OTHERS.values()), open=PlanLooks)
