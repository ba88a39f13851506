"""Looking at groups of zones: the operator's documents, or else those that are worked out here."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from fairlead.contracts.zones.gather import POD_INDEXES, STATEFULSET_INDEXES, all_groups, generations, members
from fairlead.contracts.zones.kinds import GROUP_LABEL, NOUN, PART
from fairlead.core.explain import Explain
from fairlead.engine.controller import RolloutKey
from fairlead.engine.look import Heard, Look, ResourceView, Views
from kubeloop.client import Client
from kubeloop.objects.apps import STATEFULSETS, StatefulSet
from kubeloop.objects.core import PODS, Pod

if TYPE_CHECKING:
    from fairlead.contracts.zones.worked_out import WorkedOut

ZONES = ResourceView(STATEFULSETS, StatefulSet, GROUP_LABEL, STATEFULSET_INDEXES)
"""The StatefulSets that have a group."""
ALL_PODS = ResourceView(PODS, Pod, indexes=POD_INDEXES)


class ZoneLooks:
    def __init__(self, client: Client, views: Sequence[Views]) -> None:
        self._client = client
        self._views = views
        self._own: WorkedOut | None = None
        """Once something had to be worked out."""

    async def look(self, now: datetime, heard: Heard) -> list[Explain]:
        """Every group as it stands: in the operator's words where it was heard."""
        return await heard.or_each(
            PART,
            NOUN,
            [
                (key, generations(members(key, views[ZONES])), partial(self._work_out, views, key, now))
                for views in self._views
                for key in all_groups(views[ZONES])
            ],
        )

    async def _work_out(self, views: Views, key: RolloutKey, now: datetime) -> Explain | None:
        """None when the rollout went away while it was looked at."""
        from fairlead.contracts.zones.worked_out import WorkedOut  # noqa: PLC0415  (all rules; most looks need none)

        self._own = self._own or WorkedOut(self._client)
        return await self._own.document(key, views[ZONES], views[ALL_PODS], now)


LOOK = Look(roots=(ZONES,), rest=(ALL_PODS,), open=ZoneLooks)
