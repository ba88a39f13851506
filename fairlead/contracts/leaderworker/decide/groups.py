"""The groups of a set: which there are, which are ready, and which carry the selected key (section 3.11).

A group is a leader pod that the leader StatefulSet controls, or is about to adopt because nobody controls it, and the
worker StatefulSet that this very leader owns.
Pods of others that carry the labels, and pods without a usable index, are no groups.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping

from msgspec import Struct

from fairlead.contracts.leaderworker.decide.budgets import Budget
from fairlead.contracts.leaderworker.decide.planner import Leaders, Numbers, PlannedGroup
from fairlead.contracts.leaderworker.decide.trees import part, texts
from fairlead.contracts.leaderworker.kinds import (
    GROUP_INDEX,
    LARGEST_REPLICAS,
    PAUSED,
    REPLICAS,
    REVISION_KEY,
    LeaderWorkerSet,
    Pod,
    Revision,
    RollingUpdate,
    StatefulSet,
)
from fairlead.core.integers import parse_integer
from fairlead.core.ordinals import ordinal_of
from kubeloop.objects.meta import Meta


class GroupState(Struct, frozen=True):
    index: int
    leader: Pod
    workers: StatefulSet | None
    """Those of this leader."""
    size: int
    """Of its own revision."""
    is_updated: bool
    """Leader and workers carry the selected key (section 3.11 point 2)."""
    is_reported: bool = True
    """Whether the status is about these very workers, or their pods say the same (section 3.11 point 1)."""

    @property
    def key(self) -> str:
        return key_on(self.leader.metadata)

    @property
    def counts(self) -> bool:
        """Whether it is whole enough to be counted: a leader without its workers is not (section 3.11 point 3)."""
        return self.size == 1 or self.workers is not None

    @property
    def is_ready(self) -> bool:
        """The leader runs and is ready, and so are all its workers (section 3.11 point 1)."""
        if not is_running_and_ready(self.leader):
            return False
        return self.size == 1 or (self.workers is not None and self.is_reported and are_ready(self.workers))

    @property
    def is_leaving(self) -> bool:
        return self.leader.metadata.deletion_timestamp is not None


def key_on(meta: Meta) -> str:
    return meta.labels.get(REVISION_KEY, "")


def leaders_key(leaders: StatefulSet) -> str:
    """That of its template where somebody took the label away: to take it for another key would roll all groups."""
    return key_on(leaders.metadata) or template_key(leaders)


def template_key(leaders: StatefulSet) -> str:
    """What the StatefulSet controller gives the leaders that it makes."""
    return texts(leaders.spec, "template", "metadata", "labels").get(REVISION_KEY, "")


def is_running_and_ready(pod: Pod) -> bool:
    """By its conditions, as the StatefulSet controller sees it."""
    return pod.status.phase == "Running" and is_ready(pod)


def is_ready(pod: Pod) -> bool:
    return any(each.type == "Ready" and each.status == "True" for each in pod.status.conditions)


def are_ready(workers: StatefulSet) -> bool:
    """All that are wanted are available, and none is of another revision of the StatefulSet's own."""
    status = workers.status
    return (
        replicas_of(workers) == (status.available_replicas or 0) and status.current_revision == status.update_revision
    )


def replicas_of(found: StatefulSet) -> int:
    replicas = found.spec.get("replicas")
    return replicas if isinstance(replicas, int) else 1


def partition_of(found: StatefulSet) -> int:
    """0 where it has none."""
    partition = part(found.spec, "updateStrategy", "rollingUpdate").get("partition")
    return partition if isinstance(partition, int) else 0


def groups_of(
    leaders: StatefulSet | None,
    pods: Iterable[Pod],
    workers: Iterable[StatefulSet],
    members: Iterable[Pod],
    revisions: Iterable[Revision],
    current_key: str,
    size_of: Callable[[str], int],
) -> tuple[GroupState, ...]:
    """By index; `pods` are the leaders and `members` all there are, `size_of` says how large a group of a key is."""
    if leaders is None:
        return ()
    ready = Counter(each.metadata.controller_uid for each in members if _is_ready_to_stay(each))
    owned = {(each.metadata.controller_uid, each.metadata.name) for each in revisions}
    by_owner = {each.metadata.controller_uid: each for each in workers if each.metadata.controller_uid}
    about = frozenset(each.metadata.uid for each in by_owner.values() if _is_reported(each, owned, ready))
    found = (_group(leaders, each, by_owner, about, current_key, size_of) for each in pods)
    return tuple(sorted((each for each in found if each is not None), key=lambda each: each.index))


def _group(
    leaders: StatefulSet,
    pod: Pod,
    by_owner: Mapping[str, StatefulSet],
    reported: Container[str],
    current_key: str,
    size_of: Callable[[str], int],
) -> GroupState | None:
    index = ordinal_of(pod.metadata.name, leaders.metadata.name)
    if pod.metadata.controller_uid not in ("", leaders.metadata.uid) or index is None:
        return None
    if pod.metadata.labels.get(GROUP_INDEX) != str(index):
        return None
    key = key_on(pod.metadata)
    size = size_of(key)
    own = by_owner.get(pod.metadata.uid)
    updated = key == current_key and (size == 1 or (own is not None and key_on(own.metadata) == current_key))
    return GroupState(index, pod, own, size, updated, own is None or own.metadata.uid in reported)


def _is_ready_to_stay(pod: Pod) -> bool:
    return is_running_and_ready(pod) and pod.metadata.deletion_timestamp is None


def _is_reported(workers: StatefulSet, owned: Container[tuple[str, str]], ready: Mapping[str, int]) -> bool:
    """Whether the status is about this StatefulSet: it names a revision that the StatefulSet controls.

    The StatefulSet controller repeats a status that conflicts on whatever has the name by then. Where workers were made
    again it says of the new ones that the old ones are ready, whose pods are going. A revision that somebody deleted is
    not made again before the controller has another reason to look, so pods that it controls and are ready do as well.
    """
    revision = workers.status.update_revision
    is_named = not revision or (workers.metadata.uid, revision) in owned
    return is_named or ready.get(workers.metadata.uid, 0) >= replicas_of(workers)


def carried_keys(pods: Iterable[Pod], workers: Iterable[StatefulSet]) -> frozenset[str]:
    """Keys of all that lives: their revisions must stay."""
    everything: list[Meta] = [*(each.metadata for each in pods), *(each.metadata for each in workers)]
    return frozenset(key_on(each) for each in everything if each.deletion_timestamp is None) - {""}


def are_all_of(pods: Iterable[Pod], key: str) -> bool:
    """Whether no leader that stays carries another key; whoever controls them."""
    return all(key_on(each.metadata) == key for each in pods if each.metadata.deletion_timestamp is None)


def orphans_end(pods: Iterable[Pod], name: str) -> int:
    """One more than the highest index of leaders that nobody controls: a StatefulSet of this name adopts them."""
    alone = (each.metadata for each in pods if not each.metadata.controller_uid)
    indexes = (ordinal_of(each.name, name) for each in alone if each.deletion_timestamp is None)
    return max((index + 1 for index in indexes if index is not None), default=0)


def carried_entries(leader_pods: Iterable[Pod]) -> frozenset[str]:
    """Names of what is counted of groups: a key and an index each, of all that there are."""
    found = ((key_on(each.metadata), each.metadata.labels.get(GROUP_INDEX, "")) for each in leader_pods)
    return frozenset(f"{key}/{index}" for key, index in found if key and index)


def rolling_update(seen: LeaderWorkerSet) -> RollingUpdate:
    """With its defaults, where no webhook has filled them in (section 2.4)."""
    return seen.spec.rollout_strategy.rolling_update_configuration or RollingUpdate()


def numbers_of(
    seen: LeaderWorkerSet,
    allowed: Budget,
    leaders: StatefulSet | None,
    groups: Iterable[GroupState],
    is_new_revision: bool,
    *,
    has_outdated_orphans: bool = False,
    orphans_end: int = 0,
) -> Numbers:
    """What the planner reads. A group whose leader is going is not ready: it is gone before the next look."""
    by_index = {each.index: each for each in groups}
    there = max(by_index, default=-1) + 1
    states = (by_index.get(index) for index in range(there))
    return Numbers(
        replicas=seen.spec.replicas,
        budget=allowed,
        leaders=None if leaders is None else _leaders(leaders),
        groups=tuple(
            PlannedGroup() if each is None else PlannedGroup(each.is_ready and not each.is_leaving, each.is_updated)
            for each in states
        ),
        kept_below=max(0, rolling_update(seen).partition),
        is_new_revision=is_new_revision,
        paused=seen.metadata.annotations.get(PAUSED) == "true",
        has_outdated_orphans=has_outdated_orphans,
        orphans_end=orphans_end,
    )


def _leaders(found: StatefulSet) -> Leaders:
    try:
        recorded = parse_integer(found.metadata.annotations.get(REPLICAS, ""), bits=32)
    except ValueError:
        recorded = None
    recorded = None if recorded is None else min(recorded, LARGEST_REPLICAS)
    return Leaders(min(replicas_of(found), LARGEST_REPLICAS), partition_of(found), recorded, is_observed(found))


def is_observed(found: StatefulSet) -> bool:
    """Whether the StatefulSet controller has seen to what it says; where none says anything there is none."""
    return not found.status.observed_generation or found.status.observed_generation >= found.metadata.generation


def have_moved(found: StatefulSet, wanted: int) -> bool:
    """Whether so many leaders are ready and of its template, by what the StatefulSet controller says, if one does."""
    status = found.status
    counted = min(status.updated_replicas, status.ready_replicas)
    return not status.observed_generation or (is_observed(found) and counted >= wanted)
