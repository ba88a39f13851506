"""What a leader pod lacks: its Service, its PodGroup and its workers (section 3.4).

Everything that rolls is taken from the revision that the leader was made of. What exists is never changed, and what
somebody else controls is never touched.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

import msgspec
from msgspec import Struct

from fairlead.contracts.leaderworker.decide import notes
from fairlead.contracts.leaderworker.decide.edited_labels import edited, labels_of_workers
from fairlead.contracts.leaderworker.decide.gang_scheduling import pod_group_name
from fairlead.contracts.leaderworker.decide.groups import is_ready, key_on
from fairlead.contracts.leaderworker.decide.living_group import LivingGroup, moved, named
from fairlead.contracts.leaderworker.decide.pod_groups import volcano_pod_group
from fairlead.contracts.leaderworker.decide.services import group_service
from fairlead.contracts.leaderworker.decide.worker_set import Topology, worker_set
from fairlead.contracts.leaderworker.kinds import (
    EXCLUSIVE_TOPOLOGY,
    GROUP_INDEX,
    LEADER_NAME,
    LEADER_READY,
    PARALLEL_TEARDOWN,
    POD_GROUPS,
    TEARDOWN,
    UNIQUE_PER_REPLICA,
    Json,
    StatefulSet,
)
from fairlead.core.act import AnyWrite, Create, Delete, Does
from fairlead.core.ask import Ask, Bad, Good, Need, Question, Read
from fairlead.core.decision import Decision, Hold, Move, Outcome
from fairlead.core.reason import Reason
from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.core import NODES, PODS, SERVICES
from kubeloop.objects.meta import Meta, OwnerReference, Ref, Resource

MISSING_AGAIN = timedelta(seconds=1)
"""A revision that is not there is looked for again after so long."""
LONG_THERE = timedelta(seconds=5)
"""A leader that lacks something for so long is looked for before it is made."""


def furnished(group: LivingGroup, now: datetime) -> Outcome:
    """What the leader lacks; a leader that carries `leader-name` gets nothing (section 3.4 step 3)."""
    leader = group.leader.metadata
    if LEADER_NAME in leader.annotations:
        held = Hold(Reason.GROUP_NESTED, details=((named(leader), f"it carries the annotation {LEADER_NAME}"),))
        return Decision("refuse_nested", held, tell=(notes.nested_leader(group.set, leader),))
    if leader.deletion_timestamp is not None:
        return _left(group)
    if not group.is_known:  # section 3.4 step 5
        return _unknown(group, now)
    writes: list[AnyWrite] = []
    for outcome in (_service(group), _pod_group(group, now), _workers(group, now)):
        match outcome:
            case Create():
                writes.append(outcome)
            case Need() | Decision():
                # What comes before it is written all the same: workers that wait need their Service no less.
                return outcome if not writes or isinstance(outcome, Need) else _written(group, writes, now)
    return _written(group, writes, now) if writes else Decision("furnish", Hold(Reason.COMPLETE))


def _unknown(group: LivingGroup, now: datetime) -> Decision:
    """Workers that are there go on; others cannot be made before the rollout reaches the group (section 5.6)."""
    leader, workers, revision = group.leader.metadata, group.seen.workers, group.revision
    if workers is not None and workers.metadata.controller_uid == leader.uid:
        return Decision("find_revision", Hold(Reason.COMPLETE))
    if revision is not None:
        text = f"ControllerRevision {revision.metadata.name} cannot be read"
        held = Hold(Reason.REVISION_UNREADABLE, now + MISSING_AGAIN, ((named(leader), text),))
        return Decision("find_revision", held, tell=(notes.workers_not_created(group.set, leader, text),))
    text = f"there is no ControllerRevision with key {key_on(leader) or '(none)'}"
    held = Hold(Reason.REVISION_MISSING, now + MISSING_AGAIN, ((named(leader), text),))
    return Decision("find_revision", held, tell=(notes.revision_missing(group.set, leader),))


def _written(group: LivingGroup, writes: list[AnyWrite], now: datetime) -> Outcome:
    if (gone := _looked_for(group, now)) is not None:
        return gone
    for write in writes:
        if isinstance(answer := group.seen.answers.known.get(write), Bad):
            return _refused(group, write, answer)
    return Decision("furnish", Move(Reason.SCALING, tuple(writes)))


def _looked_for(group: LivingGroup, now: datetime) -> Need | Decision | None:
    """Whether a leader that was there for long still is: the cache may stand still.

    What is made for one that is gone is collected at once, and would be made again as soon as that is seen. One that
    was made in the time to come, by the clock of this machine, may be of any age.
    """
    leader = group.leader.metadata
    if leader.creation_timestamp is None or abs(now - leader.creation_timestamp) < LONG_THERE:
        return None
    live = _unread(group, PODS, leader.name)
    if isinstance(live, Need | Decision):
        return live
    found = None if live is None else msgspec.json.decode(live.value, type=_Found).metadata
    if found is not None and found.uid == leader.uid and found.deletion_timestamp is None:
        return None
    return Decision("await_leader", Hold(Reason.CACHE_BEHIND, now + MISSING_AGAIN))


def _refused(group: LivingGroup, write: AnyWrite, answer: Bad) -> Decision:
    leader, text = group.leader.metadata, answer.text
    if write.does is Does.CREATE_WORKERS:
        note = notes.workers_not_created(group.set, leader, text)
    elif write.does is Does.CREATE_SERVICE:
        note = notes.service_not_created(group.set, text)
    else:
        text = _without_kind(text) if answer.kind == "absent" else text
        note = notes.pod_group_not_created(group.set, leader, text)
    held = Hold(Reason.OBJECT_REFUSED, details=((named(leader), text),))
    return Decision("furnish", held, tell=(note,))


def _without_kind(text: str) -> str:
    """The server's 404 says nothing of why: nothing is absent that a PodGroup needs but its kind."""
    kind = f"{POD_GROUPS.kind} of {POD_GROUPS.api_version}"
    return f"the cluster has no kind {kind}: install the gang scheduler that the operator is told to use ({text})"


def _left(group: LivingGroup) -> Decision:
    """Nothing is made for a leader that is going (section 3.4 step 4).

    Its workers go with it, or at once where the set asks for that.
    """
    workers = group.seen.workers
    is_asked = group.set.metadata.annotations.get(TEARDOWN) == PARALLEL_TEARDOWN
    is_own = workers is not None and workers.metadata.controller_uid == group.leader.metadata.uid
    if workers is None or not is_asked or not is_own or workers.metadata.deletion_timestamp is not None:
        return Decision("leave", Hold(Reason.GROUP_LEAVING))
    removed = Delete(
        ref=Ref(STATEFULSETS, workers.metadata.namespace, workers.metadata.name, workers.metadata.uid),
        propagation="Background",
        does=Does.REMOVE_WORKERS,
        scope=group.scope,
        refusable=True,
    )
    return moved(group, "leave", Reason.RETIRING, (removed,))


class _Found(Struct, frozen=True):
    metadata: Meta


def _unread(group: LivingGroup, resource: Resource, name: str) -> Need | Decision | Good | None:
    """The answer about an object that the cache lacks: None where it is absent, a hold where nobody can tell."""
    question = Ask(Read(Ref(resource, group.leader.metadata.namespace, name)), is_expected_to_fail=True)
    if stages := group.seen.answers.lacking((question,)):
        return Need(stages)
    answer = group.seen.answers[question]
    if isinstance(answer, Good) or answer.kind == "absent":
        return answer if isinstance(answer, Good) else None
    about = f"{resource.kind.lower()}/{name}"
    return Decision("read_object", Hold(Reason.READ_FAILED, details=((about, answer.text),)))


def _service(group: LivingGroup) -> Create | Need | Decision | None:
    """The Service of the leader's name, where each group has its own (section 3.4 step 6)."""
    leader = group.leader.metadata
    if group.view.subdomain_policy != UNIQUE_PER_REPLICA:
        return None
    if any(each.metadata.name == leader.name for each in group.seen.services):
        return None
    if (found := _unread(group, SERVICES, leader.name)) is not None:
        return None if isinstance(found, Good) else found
    return _created(group, SERVICES, leader.name, group_service(group.set, leader), Does.CREATE_SERVICE)


def _pod_group(group: LivingGroup, now: datetime) -> Create | Need | Decision | None:
    """PodGroups are not watched: there is one question per group that is furnished (section 3.4 step 7)."""
    if not group.seen.settings.gang_scheduler:
        return None
    leader = group.leader.metadata
    name = pod_group_name(group.set.metadata.name, leader.labels.get(GROUP_INDEX, ""), key_on(leader))
    if (found := _unread(group, POD_GROUPS, name)) is not None:
        return _former_pod_group(group, name, found, now) if isinstance(found, Good) else found
    body = volcano_pod_group(name, group.set, group.view, leader)
    return _created(group, POD_GROUPS, name, body, Does.CREATE_POD_GROUP)


class _Owners(Struct, frozen=True, rename="camel"):
    deletion_timestamp: datetime | None = None
    owner_references: tuple[OwnerReference, ...] = ()


class _Owned(Struct, frozen=True):
    metadata: _Owners = _Owners()


def _former_pod_group(group: LivingGroup, name: str, answer: Good, now: datetime) -> Decision | None:
    """That of an earlier leader with the same key goes with it, and nobody would notice: it is looked for again."""
    leader, found = group.leader.metadata, msgspec.json.decode(answer.value, type=_Owned).metadata
    if found.deletion_timestamp is None and not _is_of_former(leader, found.owner_references):
        return None
    text = f"PodGroup {name} of the leader before it is still there"
    held = Hold(Reason.OBJECTS_GOING, now + MISSING_AGAIN, ((named(leader), text),))
    return Decision("await_pod_group", held)


def _is_of_former(leader: Meta, owners: Iterable[OwnerReference]) -> bool:
    """Whether it belongs to a leader that had the name before."""
    found = [each for each in owners if each.controller and each.kind == PODS.kind]
    return any(each.name == leader.name and each.uid != leader.uid for each in found)


def _created(group: LivingGroup, resource: Resource, name: str, body: Json, does: Does) -> Create:
    note = notes.created_workers(group.set, group.leader.metadata) if does is Does.CREATE_WORKERS else None
    return Create(
        resource=resource,
        namespace=group.leader.metadata.namespace,
        name=name,
        body=msgspec.json.encode(body, order="sorted"),
        does=does,
        scope=group.scope,
        tell=note,
        refusable=True,
        contested=True,
    )


def _workers(group: LivingGroup, now: datetime) -> Create | Need | Decision | None:
    """None where there is nothing to make: a group of one has no workers (section 3.4 step 8)."""
    leader, found = group.leader.metadata, group.seen.workers
    if group.view.size == 1:
        return None
    if found is not None:
        return _relabelled(group, found) if found.metadata.controller_uid == leader.uid else _in_the_way(group, found)
    if group.set.spec.startup_policy == LEADER_READY and not is_ready(group.leader):  # section 3.4 step 9
        text = "its workers are made when the leader is ready"
        return Decision("await_leader", Hold(Reason.LEADER_STARTING, details=((named(leader), text),)))
    topology = group.set.metadata.annotations.get(EXCLUSIVE_TOPOLOGY, "")
    placed = _placed(group, topology) if topology else None
    if isinstance(placed, Need | Decision):
        return placed
    if (live := _unread(group, STATEFULSETS, leader.name)) is not None:
        return _unseen(group, live, now) if isinstance(live, Good) else live
    body = worker_set(group.set, group.view, leader, placed)
    return _created(group, STATEFULSETS, leader.name, body, Does.CREATE_WORKERS)


def _unseen(group: LivingGroup, answer: Good, now: datetime) -> Decision:
    """A StatefulSet that the cache lacks: that of somebody else, who has the name, or one on its way."""
    found = msgspec.json.decode(answer.value, type=StatefulSet)
    on_its_way = Decision("await_workers", Hold(Reason.CACHE_BEHIND, now + MISSING_AGAIN))
    if found.metadata.deletion_timestamp is not None:
        return on_its_way
    if found.metadata.controller_uid == group.leader.metadata.uid:
        return _relabelled(group, found) or on_its_way
    return _taken(group, now + timedelta(seconds=5))


def _relabelled(group: LivingGroup, found: StatefulSet) -> Decision | None:
    """Workers of the leader whose labels somebody has edited are told, and never changed.

    Without the name of the set they are not even in the cache.
    """
    meta = found.metadata
    wanted = labels_of_workers(group.set.metadata.name, found)
    problems = edited(meta.labels, wanted, of=f"StatefulSet {meta.name}")
    if not problems:
        return None
    details = tuple((f"statefulset/{meta.name}", each) for each in problems.values())
    return Decision("await_workers", Hold(Reason.LABEL_CHANGED, details=details))


def _in_the_way(group: LivingGroup, found: StatefulSet) -> Decision:
    """That of an earlier leader goes with it; one of nobody, or of somebody else, does not (section 3.4 step 11)."""
    leader = group.leader.metadata
    if found.metadata.deletion_timestamp is not None or _is_of_former(leader, found.metadata.owner_references):
        text = f"StatefulSet {found.metadata.name} of the leader before it is still there"
        return Decision("await_workers", Hold(Reason.WORKERS_LEAVING, details=((named(leader), text),)))
    return _taken(group)


def _taken(group: LivingGroup, again: datetime | None = None) -> Decision:
    leader = group.leader.metadata
    problem = f"a StatefulSet {leader.name} exists that the leader pod does not control"
    held = Hold(Reason.NAME_TAKEN, again, ((named(leader), problem),))
    return Decision("await_workers", held, tell=(notes.workers_not_created(group.set, leader, problem),))


class _Labelled(Struct, frozen=True):
    labels: dict[str, str] = {}


class _Node(Struct, frozen=True):
    metadata: _Labelled = _Labelled()


def _placed(group: LivingGroup, topology: str) -> Topology | Need | Decision:
    """Workers follow the leader by the label of its node (section 3.4 step 10)."""
    leader, node = group.leader.metadata, group.leader.spec.node_name
    if not node:
        text = "its workers are made when the leader has a node"
        return Decision("await_node", Hold(Reason.LEADER_UNBOUND, details=((named(leader), text),)))
    question: Question = Ask(Read(Ref(NODES, "", node)), is_expected_to_fail=True)
    if stages := group.seen.answers.lacking((question,)):
        return Need(stages)
    answer = group.seen.answers[question]
    if isinstance(answer, Bad):
        problem = f"node {node} cannot be read: {answer.text}"
    else:
        value = msgspec.json.decode(answer.value, type=_Node).metadata.labels.get(topology)
        if value is not None:
            return Topology(topology, value)
        problem = f"node {node} has no label {topology}"
    return Decision("await_node", Hold(Reason.NODE_UNLABELLED, details=((named(leader), problem),)))
