"""Looking at sets: documents of what the operator would decide, with nothing but reads.

The operator's settings are not known here; of them only how many old revisions are kept could differ, which no document
tells.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial

from fairlead.contracts.leaderworker.decide import group_round, set_round
from fairlead.contracts.leaderworker.decide.seen import Service
from fairlead.contracts.leaderworker.disaggregated.gather import BY_SETS
from fairlead.contracts.leaderworker.disaggregated.kinds import NOUN as DISAGGREGATED_NOUN
from fairlead.contracts.leaderworker.disaggregated.looks import (
    DISAGGREGATED,
    ROLE_SERVICES,
    SCALERS,
    DisaggregatedLooks,
)
from fairlead.contracts.leaderworker.explain import explain
from fairlead.contracts.leaderworker.gather import (
    BY_SET,
    MEMBERS,
    POD_INDEXES,
    SET,
    Stores,
    generation_of,
    group_snapshot,
    set_snapshot,
)
from fairlead.contracts.leaderworker.kinds import (
    DISRUPTION_BUDGETS,
    LEADER_WORKER_SETS,
    NAME,
    NOUN,
    PART,
    LeaderWorkerSet,
    Pod,
    PodBudget,
    Revision,
    StatefulSet,
)
from fairlead.contracts.leaderworker.settings import Settings
from fairlead.contracts.leaderworker.shown import Shown
from fairlead.core.ask import Answer, Ask, Bad, Listing, Question, Read
from fairlead.core.decision import Decision
from fairlead.core.explain import Explain
from fairlead.engine.controller import RolloutKey
from fairlead.engine.driver.questions import AskContext, asker
from fairlead.engine.driver.round import Asker
from fairlead.engine.first_seen import FirstSeen
from fairlead.engine.look import Heard, Look, ResourceView, ToLook, Views, decided
from kubeloop.client import Client
from kubeloop.objects.apps import CONTROLLER_REVISIONS, STATEFULSETS
from kubeloop.objects.core import PODS, SERVICES

SETS = ResourceView(LEADER_WORKER_SETS, LeaderWorkerSet, indexes=BY_SETS, optional=True)
OWN_STATEFULSETS = ResourceView(STATEFULSETS, StatefulSet, NAME, BY_SET)
OWN_PODS = ResourceView(PODS, Pod, NAME, POD_INDEXES)
REVISIONS = ResourceView(CONTROLLER_REVISIONS, Revision, NAME, BY_SET)
BUDGETS = ResourceView(DISRUPTION_BUDGETS, PodBudget, NAME, BY_SET, optional=True)
OWN_SERVICES = ResourceView(SERVICES, Service, NAME, BY_SET, optional=True)


class _NoTombstones:
    """Who has only just come has seen nobody go."""

    def by(self, value: str) -> tuple[Pod, ...]:
        return ()


class SetLooks:
    def __init__(self, client: Client, views: Sequence[Views]) -> None:
        self._ask = _looking(asker(AskContext(client)))
        self._views = views
        self._seen = FirstSeen()
        self._disaggregated = DisaggregatedLooks(self._ask, SETS)

    async def look(self, now: datetime, heard: Heard) -> list[Explain]:
        """Every set as it stands, in the operator's words where it was heard."""
        found = [one for views in self._views for one in self._found(views, now)]
        others = [one for views in self._views for one in self._disaggregated.found(views, now)]
        return [
            *await heard.or_each(PART, NOUN, found),
            *await heard.or_each(PART, DISAGGREGATED_NOUN, others),
        ]

    def _found(self, views: Views, now: datetime) -> Iterator[ToLook]:
        for each in views[SETS].items():
            key = RolloutKey((each.metadata.namespace, each.metadata.name))
            yield key, generation_of(each), partial(self._look_at, views, key, now)

    async def _look_at(self, views: Views, key: RolloutKey, now: datetime) -> Explain | None:
        """None when the set went away while it was looked at."""
        stores, settings = _stores(views), Settings()
        gather = partial(set_snapshot, key, stores, settings)
        found = await decided(set_round.decide, gather, now, self._ask)
        if found is None:
            return None
        seen, decision = found
        shown = explain(
            Shown(
                seen=seen,
                decision=decision,
                pods=stores.pods.by(MEMBERS, str(key)),
                rounds=await self._rounds(stores, key, now),
                since=self._seen.of(key),
                at=now,
            )
        )
        self._seen.note(key, shown, now)
        return shown

    async def _rounds(self, stores: Stores, key: RolloutKey, now: datetime) -> Mapping[str, Decision]:
        """What would be decided about each group, by the name of its leader."""
        rounds: dict[str, Decision] = {}
        for pod in stores.pods.by(SET, str(key)):
            group = RolloutKey((pod.metadata.namespace, pod.metadata.name))
            gather = partial(group_snapshot, group, stores, _NoTombstones(), Settings())
            heard = _Heard(self._ask)
            found = await decided(group_round.decide, gather, now, heard.ask)
            if found is not None and not heard.was_refused:
                rounds[group.name] = found[1]
        return rounds


class _Heard:
    """Asks, and remembers whether it was refused: what the operator may read, a person may not, and it decides."""

    def __init__(self, ask: Asker) -> None:
        self._ask = ask
        self.was_refused = False

    async def ask(self, question: Question) -> Answer:
        answer = await self._ask(question)
        self.was_refused |= isinstance(answer, Bad) and answer.kind == "refused"
        return answer


def _stores(views: Views) -> Stores:
    made = views[OWN_STATEFULSETS], views[OWN_PODS], views[REVISIONS], views[OWN_SERVICES]
    return Stores(views[SETS], *made, views[BUDGETS])


def _looking(ask: Asker) -> Asker:
    """Reads and lists objects; what would be written is not."""

    async def look(question: Question) -> Answer:
        is_read = isinstance(question, Ask) and isinstance(question.to, Read | Listing)
        return await ask(question) if is_read else Bad("not-sent")

    return look


LOOK = Look(
    roots=(SETS, DISAGGREGATED),
    rest=(OWN_STATEFULSETS, OWN_PODS, REVISIONS, OWN_SERVICES, BUDGETS, SCALERS, ROLE_SERVICES),
    open=SetLooks,
)
