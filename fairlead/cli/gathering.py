"""Explain documents of everything that is rolling in some namespaces, made by the same decisions as the operator's.

Nothing is written: a question that would change the world is not asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial

from fairlead.api.apps import STATEFULSETS, StatefulSet
from fairlead.api.core import PODS, Pod
from fairlead.api.explain import Block, Explain
from fairlead.api.zones import GROUP_LABEL, Settings
from fairlead.control.gather.zones import POD_INDEXES, STATEFULSET_INDEXES, all_groups, snapshot
from fairlead.control.part import Key
from fairlead.decide.ask import Answers
from fairlead.decide.decision import Decision
from fairlead.decide.zones import decide
from fairlead.decide.zones.explain import explain, wait_key
from fairlead.decide.zones.seen import Snapshot
from fairlead.drive.outside import asker
from fairlead.drive.round import settle
from fairlead.kube import clock
from fairlead.kube.client import Client
from fairlead.kube.store import Store

Stores = tuple[Store[StatefulSet], Store[Pod]]
"""The StatefulSets that have a group and all pods, of the same namespaces."""


class View:
    """Looks at stores again and again, and remembers since when it has seen each wait."""

    def __init__(self, client: Client, stores: Sequence[Stores]) -> None:
        self._ask = asker(client)
        self._stores = stores
        self._since: dict[Key, dict[str, datetime]] = {}
        """By rollout, then by wait: when this view first saw it; only waits that were there at the last look."""

    async def look(self) -> list[Explain]:
        """Every rollout as it stands now, ordered by namespace and name."""
        now = clock.now()
        groups = [(stores, key) for stores in self._stores for key in all_groups(stores[0])]
        seen = [await self._look_at(stores, key, now) for stores, key in groups]
        return sorted(filter(None, seen), key=lambda one: (one.namespace, one.rollout))

    async def _look_at(self, stores: Stores, key: Key, now: datetime) -> Explain | None:
        """None when the rollout went away while it was looked at."""
        since = self._since.get(key, {})
        try:
            seen, outcome = await settle(decide, partial(_gathered, stores, key, since), now, self._ask, look=True)
        except _GoneError:
            return None
        if not isinstance(outcome, Decision):
            raise TypeError("a question about zones has an effect, which a look must not have")
        shown = explain(seen, outcome)
        undated = [wait_key(block) for block in waits_in(shown) if not block.since_exact]
        self._since[key] = {wait: since.get(wait, now) for wait in undated}
        return shown


class _GoneError(Exception):
    pass


def _gathered(stores: Stores, key: Key, since: Mapping[str, datetime], answers: Answers) -> Snapshot:
    zones, pods = stores
    seen = snapshot(key, zones, pods, Settings(), answers, since)
    if seen is None:
        raise _GoneError
    return seen


def waits_in(shown: Explain) -> Sequence[Block]:
    """Every wait that the document names, those of its lanes included."""
    return [*shown.blocked_by, *(block for lane in shown.stands.lanes for block in lane.waits)]


async def explain_all(client: Client, namespaces: Sequence[str]) -> list[Explain]:
    """One look at these namespaces; an empty name stands for all."""
    return await View(client, [await _listed(client, namespace) for namespace in namespaces]).look()


async def _listed(client: Client, namespace: str) -> Stores:
    zones: Store[StatefulSet] = Store(STATEFULSET_INDEXES)
    for zone in (await client.list(STATEFULSETS, StatefulSet, namespace=namespace, labels=GROUP_LABEL)).items:
        zones.put(zone)
    pods: Store[Pod] = Store(POD_INDEXES)
    if len(zones):
        for pod in (await client.list(PODS, Pod, namespace=namespace)).items:
            pods.put(pod)
    return zones, pods
