"""Facts for rounds of sets and groups: which objects a decision may need, and whom a change concerns.

Everything that is made for a set carries its name in a label, and everything of a group the name of its leader in its
own: both are looked up by index. Which of it really belongs to the set is decided.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from msgspec import Struct, structs

from fairlead.contracts.leaderworker.decide.identity import parent_and_ordinal
from fairlead.contracts.leaderworker.decide.seen import GroupSeen, ReportedStatus, Service, SetSeen
from fairlead.contracts.leaderworker.kinds import (
    LEADER_WORKER_SETS,
    NAME,
    WORKER_INDEX,
    LeaderWorkerSet,
    Pod,
    PodBudget,
    Revision,
    StatefulSet,
)
from fairlead.contracts.leaderworker.settings import Settings
from fairlead.core.ask import Answers
from fairlead.engine.controller import RolloutKey
from fairlead.engine.decide.guard import GuardedObject, subject_of
from kubeloop.objects.meta import Ref
from kubeloop.store import Named, Readable

SET, GROUP, MEMBERS = "set", "group", "members"
"""Indexes: everything of a set, of pods its leaders; all pods of a group; all pods of a set."""


def set_of(item: Named) -> RolloutKey | None:
    """The set whose name it carries."""
    name = item.metadata.labels.get(NAME)
    return RolloutKey((item.metadata.namespace, name)) if name else None


def set_of_all_groups(item: Named) -> RolloutKey | None:
    """The set all of whose groups go by it: of the StatefulSet of leaders and of revisions that it controls itself.

    Those of worker StatefulSets carry the same labels.
    """
    owners = item.metadata.owner_references
    is_for_all = not owners or any(each.kind == LEADER_WORKER_SETS.kind for each in owners)
    return set_of(item) if is_for_all else None


def group_of(pod: Pod) -> RolloutKey | None:
    """The group that the pod is in by its name: that of the leader `a-0` is the one of its worker `a-0-1`."""
    if not pod.metadata.labels.get(NAME):
        return None
    if is_leader(pod):
        return RolloutKey((pod.metadata.namespace, pod.metadata.name))
    leader, _ = parent_and_ordinal(pod.metadata.name)
    return RolloutKey((pod.metadata.namespace, leader)) if leader else None


def is_leader(pod: Pod) -> bool:
    return pod.metadata.labels.get(WORKER_INDEX) == "0"


def _by_set(item: Named) -> Iterator[str]:
    if (key := set_of(item)) is not None:
        yield str(key)


def _leaders_by_set(pod: Pod) -> Iterator[str]:
    if is_leader(pod):
        yield from _by_set(pod)


def by_group(pod: Pod) -> Iterator[str]:
    if (key := group_of(pod)) is not None:
        yield str(key)


BY_SET = {SET: _by_set}


def _members_by_set(pod: Pod) -> Iterator[str]:
    yield from _by_set(pod)


POD_INDEXES = {SET: _leaders_by_set, GROUP: by_group, MEMBERS: _members_by_set}


class Stores(Struct, frozen=True):
    """What the caches of a namespace show."""

    sets: Readable[LeaderWorkerSet]
    statefulsets: Readable[StatefulSet]
    pods: Readable[Pod]
    revisions: Readable[Revision]
    services: Readable[Service]
    budgets: Readable[PodBudget] | None = None
    """None where the operator keeps none."""


def set_snapshot(
    key: RolloutKey,
    stores: Stores,
    settings: Settings,
    answers: Answers,
    reported: ReportedStatus | None = None,
    applied: dict[Ref, str] | None = None,
) -> SetSeen | None:
    """Everything that a round of the set may read; None when it is gone."""
    found = stores.sets.get(*key)
    if found is None:
        return None
    index = str(key)
    sets = stores.statefulsets.by(SET, index)
    return SetSeen(
        set=found,
        leaders=stores.statefulsets.get(*key),
        pods=stores.pods.by(SET, index),
        members=stores.pods.by(MEMBERS, index),
        workers=tuple(each for each in sets if each.metadata.name != key.name),
        revisions=stores.revisions.by(SET, index),
        services=stores.services.by(SET, index),
        budgets=() if stores.budgets is None else stores.budgets.by(SET, index),
        applied=applied or {},
        reported=reported,
        answers=answers,
        settings=settings,
    )


class GonePods(Protocol):
    """Tombstones, or none."""

    def by(self, value: str) -> tuple[Pod, ...]: ...


def group_snapshot(
    key: RolloutKey, stores: Stores, gone: GonePods, settings: Settings, answers: Answers
) -> GroupSeen | None:
    """Everything that a round of the group may read; None when nothing is left of it."""
    pods, lost = stores.pods.by(GROUP, str(key)), gone.by(str(key))
    owner = next((found for each in (*pods, *lost) if (found := set_of(each)) is not None), None)
    if owner is None:
        return None
    leader = stores.pods.get(*key)
    return GroupSeen(
        set=stores.sets.get(*owner),
        leader=leader if leader is not None and is_leader(leader) else None,
        pods=pods,
        gone=lost,
        leaders=stores.statefulsets.get(*owner),
        leader_pods=stores.pods.by(SET, str(owner)),
        workers=stores.statefulsets.get(*key),
        revisions=stores.revisions.by(SET, str(owner)),
        services=stores.services.by(SET, str(owner)),
        answers=answers,
        settings=settings,
    )


def set_subject(seen: SetSeen) -> GuardedObject:
    meta = seen.set.metadata
    leaders = () if seen.leaders is None else (seen.leaders.metadata,)
    made = (*leaders, *(each.metadata for each in seen.revisions))
    return subject_of(LEADER_WORKER_SETS, meta, meta.annotations, made, seen.answers, may_be_stamped=False)


def group_subject(seen: GroupSeen) -> GuardedObject | None:
    """The set that the group is of; None where it is gone."""
    if seen.set is None:
        return None
    meta = seen.set.metadata
    made = () if seen.leaders is None else (seen.leaders.metadata,)
    found = subject_of(LEADER_WORKER_SETS, meta, meta.annotations, made, seen.answers, may_be_stamped=False)
    return structs.replace(found, is_told=False)


def set_versions(seen: SetSeen) -> Iterator[str]:
    leaders = () if seen.leaders is None else (seen.leaders,)
    made: tuple[Named, ...] = (*seen.workers, *seen.revisions, *seen.services, *seen.budgets)
    yield from _versions((seen.set, *leaders, *seen.members, *made))


def group_versions(seen: GroupSeen) -> Iterator[str]:
    single = (seen.set, seen.leaders, seen.workers)
    yield from _versions((*(each for each in single if each is not None), *seen.pods, *seen.revisions, *seen.services))
    yield from (f"{each.metadata.uid}@gone" for each in seen.gone)


def _versions(items: Iterable[Named]) -> Iterator[str]:
    return (f"{each.metadata.uid}@{each.metadata.resource_version}" for each in items)


def observed(seen: SetSeen) -> dict[str, int]:
    return generation_of(seen.set)


def generation_of(found: LeaderWorkerSet) -> dict[str, int]:
    """By the name that documents have for it."""
    return {f"leaderworkerset/{found.metadata.name}": found.metadata.generation}


def set_scopes(key: RolloutKey, stores: Stores) -> Iterator[str]:
    """A set waits for what was written to it, and for what the rounds of its groups wrote."""
    found = stores.sets.get(*key)
    if found is not None:
        yield found.metadata.uid
    yield from (each.metadata.uid for each in stores.pods.by(SET, str(key)))


def group_scopes(key: RolloutKey, stores: Stores) -> Iterator[str]:
    """A group waits for its own writes alone."""
    leader = stores.pods.get(*key)
    if leader is not None:
        yield leader.metadata.uid
