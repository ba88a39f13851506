"""Facts for rounds of DisaggregatedSets: what carries their name in a label, and what has it before its own.

Which of it belongs to a set is decided; what is somebody else's under a name that is wanted must be seen, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from fairlead.contracts.leaderworker.decide.disaggregated.seen import DisaggregatedSeen
from fairlead.contracts.leaderworker.decide.seen import Service
from fairlead.contracts.leaderworker.disaggregated.kinds import NAME, DisaggregatedSet, RoleScaler
from fairlead.contracts.leaderworker.kinds import LeaderWorkerSet
from fairlead.core.ask import Answers
from fairlead.engine.controller import RolloutKey
from kubeloop.store import Named, Readable

DISAGGREGATED = "disaggregated"
"""Index: everything that may concern a DisaggregatedSet."""


def sets_of(item: Named) -> Iterator[RolloutKey]:
    """Those that it may concern: the one of its label, and all whose name and a dash its own begins with."""
    namespace, name = item.metadata.namespace, item.metadata.name
    parts = name.split("-")
    names = ["-".join(parts[:count]) for count in range(1, len(parts))]
    if label := item.metadata.labels.get(NAME):
        names.append(label)
    yield from (RolloutKey((namespace, each)) for each in dict.fromkeys(names))


def _by_sets(item: Named) -> Iterator[str]:
    yield from map(str, sets_of(item))


BY_SETS = {DISAGGREGATED: _by_sets}


class DisaggregatedStores(Struct, frozen=True):
    """What the caches of a namespace show."""

    disaggregated: Readable[DisaggregatedSet]
    children: Readable[LeaderWorkerSet]
    scalers: Readable[RoleScaler] | None
    """None while they are not known, which matters where a role wants one."""
    services: Readable[Service]


def snapshot(key: RolloutKey, stores: DisaggregatedStores, answers: Answers) -> DisaggregatedSeen | None:
    """Everything that a round may read; None when the set is gone."""
    found = stores.disaggregated.get(*key)
    if found is None:
        return None
    index = str(key)
    return DisaggregatedSeen(
        set=found,
        children=stores.children.by(DISAGGREGATED, index),
        scalers=() if stores.scalers is None else stores.scalers.by(DISAGGREGATED, index),
        knows_scalers=stores.scalers is not None,
        services=stores.services.by(DISAGGREGATED, index),
        answers=answers,
    )


def versions(seen: DisaggregatedSeen) -> Iterator[str]:
    items: Iterable[Named] = (seen.set, *seen.children, *seen.scalers, *seen.services)
    yield from (f"{each.metadata.uid}@{each.metadata.resource_version}" for each in items)


def generation_of(found: DisaggregatedSet) -> dict[str, int]:
    """By the name that documents have for it."""
    return {f"disaggregatedset/{found.metadata.name}": found.metadata.generation}
