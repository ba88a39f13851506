"""Looking at DisaggregatedSets: documents of what the operator would decide about them, with nothing but reads."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from functools import partial

from fairlead.contracts.leaderworker.decide.disaggregated import round as deciding
from fairlead.contracts.leaderworker.decide.seen import Service
from fairlead.contracts.leaderworker.disaggregated.explain import explain
from fairlead.contracts.leaderworker.disaggregated.gather import (
    BY_SETS,
    DisaggregatedStores,
    generation_of,
    snapshot,
)
from fairlead.contracts.leaderworker.disaggregated.kinds import (
    DISAGGREGATED_SETS,
    NAME,
    ROLE_SCALERS,
    DisaggregatedSet,
    RoleScaler,
)
from fairlead.contracts.leaderworker.kinds import LeaderWorkerSet
from fairlead.core.explain import Explain
from fairlead.engine.controller import RolloutKey
from fairlead.engine.driver.round import Asker
from fairlead.engine.first_seen import FirstSeen
from fairlead.engine.look import ResourceView, ToLook, Views, decided
from kubeloop.objects.core import SERVICES

DISAGGREGATED = ResourceView(DISAGGREGATED_SETS, DisaggregatedSet, optional=True)
SCALERS = ResourceView(ROLE_SCALERS, RoleScaler, indexes=BY_SETS, optional=True)
ROLE_SERVICES = ResourceView(SERVICES, Service, NAME, BY_SETS, optional=True)


class DisaggregatedLooks:
    """At the sets of one look; `children` is how it reads LeaderWorkerSets."""

    def __init__(self, ask: Asker, children: ResourceView[LeaderWorkerSet]) -> None:
        self._ask = ask
        self._children = children
        self._seen = FirstSeen()

    def found(self, views: Views, now: datetime) -> Iterator[ToLook]:
        for each in views[DISAGGREGATED].items():
            key = RolloutKey((each.metadata.namespace, each.metadata.name))
            yield key, generation_of(each), partial(self._look_at, views, key, now)

    async def _look_at(self, views: Views, key: RolloutKey, now: datetime) -> Explain | None:
        """None when the set went away while it was looked at."""
        stores = DisaggregatedStores(views[DISAGGREGATED], views[self._children], views[SCALERS], views[ROLE_SERVICES])
        found = await decided(deciding.decide, partial(snapshot, key, stores), now, self._ask)
        if found is None:
            return None
        shown = explain(*found, self._seen.of(key))
        self._seen.note(key, shown, now)
        return shown
