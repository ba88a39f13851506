"""One round of a group (section 3.4): its restart policy, its Service, its PodGroup, its workers.

Everything that rolls is taken from the revision that its leader was made of. What exists is never changed, and what
somebody else controls is never touched.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from fairlead.contracts.leaderworker.decide import notes, restart
from fairlead.contracts.leaderworker.decide.gang_scheduling import pod_group_name
from fairlead.contracts.leaderworker.decide.groups import carried_entries, is_ready, key_on
from fairlead.contracts.leaderworker.decide.normal_form import UnreadableData
from fairlead.contracts.leaderworker.decide.pod_groups import volcano_pod_group
from fairlead.contracts.leaderworker.decide.recreations import counters_on, limits_of
from fairlead.contracts.leaderworker.decide.revisions import readable, stored, with_key
from fairlead.contracts.leaderworker.decide.seen import GroupSeen
from fairlead.contracts.leaderworker.decide.services import group_service
from fairlead.contracts.leaderworker.decide.set_view import SetView, of_revision, of_spec
from fairlead.contracts.leaderworker.decide.worker_set import Topology, worker_set
from fairlead.contracts.leaderworker.kinds import (
    EXCLUSIVE_TOPOLOGY,
    GROUP_INDEX,
    GROUP_RECREATIONS,
    LEADER_NAME,
    LEADER_READY,
    OUR_MANAGER,
    PARALLEL_TEARDOWN,
    POD_GROUPS,
    RECREATE_AFTER_START,
    TEARDOWN,
    UNIQUE_PER_REPLICA,
    Json,
    LeaderWorkerSet,
    Pod,
    Revision,
    StatefulSet,
)
from fairlead.core.act import AnyWrite, Apply, Create, Delete, Does
from fairlead.core.ask import Ask, Bad, Good, Need, Question, Read
from fairlead.core.decision import Decision, Hold, Move, Outcome
from fairlead.core.integers import parse_integer
from fairlead.core.reason import Reason
from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.core import NODES, SERVICES
from kubeloop.objects.meta import Meta, Ref, Resource

MISSING_AGAIN = timedelta(seconds=1)
"""A revision that is not there is looked for again after so long."""


class _Group(Struct, frozen=True):
    """A group that is there, with the revision of its leader."""

    seen: GroupSeen
    set: LeaderWorkerSet
    leader: Pod
    revision: Revision | None
    """That of the leader's key."""
    view: SetView
    """Of the leader's revision; of the live set where that is not known."""
    is_known: bool

    @property
    def scope(self) -> str:
        return self.leader.metadata.uid


def decide(seen: GroupSeen, now: datetime) -> Outcome:
    if seen.set is None or seen.set.metadata.deletion_timestamp is not None or seen.leader is None:
        return Decision("leave", Hold(Reason.COMPLETE))
    if not _is_of_the_set(seen, seen.set, seen.leader):
        return Decision("leave", Hold(Reason.COMPLETE))
    found = with_key(readable(seen.set, seen.revisions), key_on(seen.leader.metadata))
    view = None if found is None else _view(found)
    group = _Group(seen, seen.set, seen.leader, found, view or of_spec(seen.set), view is not None)
    judged = _restarted(group, now)
    if isinstance(judged, Decision):
        return judged
    return _looked_at_again(_furnished(group, now), judged)


def _looked_at_again(outcome: Outcome, at: datetime | None) -> Outcome:
    """Then too, where nothing else is to be looked at before."""
    match outcome:
        case Decision(verdict=Hold(again=again) as held) if at is not None and (again is None or at < again):
            return replace(outcome, verdict=replace(held, again=at))
    return outcome


def _is_of_the_set(seen: GroupSeen, given: LeaderWorkerSet, leader: Pod) -> bool:
    """By the UIDs of its owners: whoever else carries the labels is no business of ours (section 4, S10)."""
    leaders = seen.leaders
    return (
        leaders is not None
        and leaders.metadata.controller_uid == given.metadata.uid
        and leader.metadata.controller_uid == leaders.metadata.uid
    )


def _view(revision: Revision) -> SetView | None:
    try:
        return of_revision(stored(revision))
    except UnreadableData:
        return None


# Restart policy.


def _restarted(group: _Group, now: datetime) -> Decision | datetime | None:
    """Where the group goes on: when its recreations are to be forgotten, if there are any (section 3.4 step 2)."""
    seen, leader = group.seen, group.leader.metadata
    index = _index(leader)
    if index is None:
        return Decision("read_index", Hold(Reason.SPEC_INVALID, details=((_named(leader), _NO_INDEX),)))
    verdict = restart.judge(
        restart.RestartSeen(
            index=index,
            leader=group.leader,
            pods=seen.pods,
            gone=seen.gone,
            workers=seen.workers,
            policy=group.view.restart_policy,
            size=group.view.size,
            waits_for_start=RECREATE_AFTER_START in group.set.metadata.annotations,
            limits=limits_of(group.set),
            counters=counters_on(seen.leaders),
            living=carried_entries(seen.leader_pods),
        ),
        now,
    )
    match verdict:
        case restart.Recreate(_, failed, counters):
            return Decision("recreate", Move(Reason.RECREATING, (*_counted(group, counters), _deleted(group, failed))))
        case restart.Postponed(until, failed, counters):
            text = f"pod {failed} failed; the group is recreated at {until:%H:%M:%S}"
            return _bounded(group, Hold(Reason.RECREATION_SPACING, until, ((_named(leader), text),)), counters)
        case restart.Exhausted(failed, counters):
            text = f"pod {failed} failed; the group was recreated as often as it may be"
            held = Hold(Reason.RESTARTS_EXCEEDED, details=((_named(leader), text),))
            return _bounded(group, held, counters, told=True)
        case restart.Recovered(at, None):
            return at
        case restart.Recovered(_, counters):
            return Decision("recover", Move(Reason.SETTLING, _counted(group, counters)))
    return None


_NO_INDEX = "the leader pod has no group-index label that is a number"


def _index(leader: Meta) -> int | None:
    try:
        return parse_integer(leader.labels.get(GROUP_INDEX, ""), bits=32)
    except ValueError:
        return None


def _named(meta: Meta) -> str:
    return f"pod/{meta.name}"


def _bounded(group: _Group, held: Hold, counters: str | None, *, told: bool = False) -> Decision:
    """The trigger is kept, also over a restart of the operator (section 6.8)."""
    note = (notes.restarts_exceeded(group.set, group.leader.metadata),) if told else ()
    return Decision("recreate", held, reports=_counted(group, counters), tell=note)


def _counted(group: _Group, counters: str | None) -> tuple[AnyWrite, ...]:
    """Written before the deletion that it counts, under our own name."""
    leaders = group.seen.leaders
    if counters is None or leaders is None:
        return ()
    meta = leaders.metadata
    body: Json = {
        "apiVersion": STATEFULSETS.api_version,
        "kind": STATEFULSETS.kind,
        "metadata": {"name": meta.name, "namespace": meta.namespace, "annotations": {GROUP_RECREATIONS: counters}},
    }
    return (
        Apply(
            ref=Ref(STATEFULSETS, meta.namespace, meta.name, meta.uid),
            body=msgspec.json.encode(body, order="sorted"),
            manager=OUR_MANAGER,
            force=True,
            resource_version=meta.resource_version,
            does=Does.COUNT_RECREATION,
            scope=group.scope,
            change_to=counters,
            contested=True,
        ),
    )


def _deleted(group: _Group, failed: str) -> Delete:
    """In the foreground: the whole old group is gone before another leader is made (section 3.9 point 5)."""
    leader = group.leader.metadata
    return Delete(
        ref=notes.pod_ref(leader),
        propagation="Foreground",
        does=Does.RECREATE_GROUP,
        scope=group.scope,
        change_from=failed,
        tell=notes.recreated(group.set, failed, leader),
    )


# What a group needs.


def _furnished(group: _Group, now: datetime) -> Outcome:
    """What the leader lacks; a leader that carries `leader-name` gets nothing (section 3.4 step 3)."""
    leader = group.leader.metadata
    if LEADER_NAME in leader.annotations:
        held = Hold(Reason.GROUP_NESTED, details=((_named(leader), f"it carries the annotation {LEADER_NAME}"),))
        return Decision("refuse_nested", held, tell=(notes.nested_leader(group.set, leader),))
    if leader.deletion_timestamp is not None:
        return _left(group)
    if not group.is_known:  # section 3.4 step 5
        return _unknown(group, now)
    writes: list[AnyWrite] = []
    for outcome in (_service(group), _pod_group(group), _workers(group, now)):
        match outcome:
            case Create():
                writes.append(outcome)
            case Need() | Decision():
                # What comes before it is written all the same: workers that wait need their Service no less.
                return outcome if not writes or isinstance(outcome, Need) else _written(group, writes)
    return _written(group, writes) if writes else Decision("furnish", Hold(Reason.COMPLETE))


def _unknown(group: _Group, now: datetime) -> Decision:
    """Workers that are there go on; others cannot be made before the rollout reaches the group (section 5.6)."""
    leader, workers, revision = group.leader.metadata, group.seen.workers, group.revision
    if workers is not None and workers.metadata.controller_uid == leader.uid:
        return Decision("find_revision", Hold(Reason.COMPLETE))
    if revision is not None:
        text = f"ControllerRevision {revision.metadata.name} cannot be read"
        held = Hold(Reason.REVISION_UNREADABLE, now + MISSING_AGAIN, ((_named(leader), text),))
        return Decision("find_revision", held, tell=(notes.workers_not_created(group.set, leader, text),))
    text = f"there is no ControllerRevision with key {key_on(leader) or '(none)'}"
    held = Hold(Reason.REVISION_MISSING, now + MISSING_AGAIN, ((_named(leader), text),))
    return Decision("find_revision", held, tell=(notes.revision_missing(group.set, leader),))


def _written(group: _Group, writes: list[AnyWrite]) -> Decision:
    for write in writes:
        if isinstance(answer := group.seen.answers.known.get(write), Bad):
            return _refused(group, write, answer)
    return Decision("furnish", Move(Reason.SCALING, tuple(writes)))


def _refused(group: _Group, write: AnyWrite, answer: Bad) -> Decision:
    leader = group.leader.metadata
    if write.does is Does.CREATE_WORKERS:
        note = notes.workers_not_created(group.set, leader, answer.text)
    elif write.does is Does.CREATE_SERVICE:
        note = notes.service_not_created(group.set, answer.text)
    else:
        note = notes.pod_group_not_created(group.set, leader, answer.text)
    held = Hold(Reason.OBJECT_REFUSED, details=((_named(leader), answer.text),))
    return Decision("furnish", held, tell=(note,))


def _left(group: _Group) -> Decision:
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
    )
    return Decision("leave", Move(Reason.RETIRING, (removed,)))


class _Found(Struct, frozen=True):
    metadata: Meta


def _service(group: _Group) -> Create | Need | None:
    """The Service of the leader's name, where each group has its own (section 3.4 step 6)."""
    leader = group.leader.metadata
    if group.view.subdomain_policy != UNIQUE_PER_REPLICA:
        return None
    if any(each.metadata.name == leader.name for each in group.seen.services):
        return None
    question = Ask(Read(Ref(SERVICES, leader.namespace, leader.name)), is_expected_to_fail=True)
    if stages := group.seen.answers.lacking((question,)):
        return Need(stages)
    if isinstance(group.seen.answers[question], Good):
        return None
    return _created(group, SERVICES, leader.name, group_service(group.set, leader), Does.CREATE_SERVICE)


def _pod_group(group: _Group) -> Create | Need | None:
    """PodGroups are not watched: there is one question per group that is furnished (section 3.4 step 7)."""
    if not group.seen.settings.gang_scheduler:
        return None
    leader = group.leader.metadata
    name = pod_group_name(group.set.metadata.name, leader.labels.get(GROUP_INDEX, ""), key_on(leader))
    question = Ask(Read(Ref(POD_GROUPS, leader.namespace, name)), is_expected_to_fail=True)
    if stages := group.seen.answers.lacking((question,)):
        return Need(stages)
    if isinstance(group.seen.answers[question], Good):
        return None
    body = volcano_pod_group(name, group.set, group.view, leader)
    return _created(group, POD_GROUPS, name, body, Does.CREATE_POD_GROUP)


def _created(group: _Group, resource: Resource, name: str, body: Json, does: Does) -> Create:
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


def _workers(group: _Group, now: datetime) -> Create | Need | Decision | None:
    """None where there is nothing to make: a group of one has no workers (section 3.4 step 8)."""
    leader, found = group.leader.metadata, group.seen.workers
    if group.view.size == 1:
        return None
    if found is not None:
        return None if found.metadata.controller_uid == leader.uid else _in_the_way(group, found)
    if group.set.spec.startup_policy == LEADER_READY and not is_ready(group.leader):  # section 3.4 step 9
        text = "its workers are made when the leader is ready"
        return Decision("await_leader", Hold(Reason.LEADER_STARTING, details=((_named(leader), text),)))
    topology = group.set.metadata.annotations.get(EXCLUSIVE_TOPOLOGY, "")
    placed = _placed(group, topology) if topology else None
    if isinstance(placed, Need | Decision):
        return placed
    question = Ask(Read(Ref(STATEFULSETS, leader.namespace, leader.name)), is_expected_to_fail=True)
    if stages := group.seen.answers.lacking((question,)):
        return Need(stages)
    if isinstance(answer := group.seen.answers[question], Good):
        return _unseen(group, answer, now)
    body = worker_set(group.set, group.view, leader, placed)
    return _created(group, STATEFULSETS, leader.name, body, Does.CREATE_WORKERS)


def _unseen(group: _Group, answer: Good, now: datetime) -> Decision:
    """A StatefulSet that the cache lacks: that of somebody else, who has the name, or one on its way."""
    meta = msgspec.json.decode(answer.value, type=_Found).metadata
    if meta.controller_uid == group.leader.metadata.uid or meta.deletion_timestamp is not None:
        return Decision("await_workers", Hold(Reason.CACHE_BEHIND, now + MISSING_AGAIN))
    return _taken(group, now + timedelta(seconds=5))


def _in_the_way(group: _Group, found: StatefulSet) -> Decision:
    """That of an earlier leader goes with it; one of nobody, or of somebody else, does not (section 3.4 step 11)."""
    leader = group.leader.metadata
    owners = found.metadata.owner_references
    is_former = any(each.controller and each.kind == "Pod" and each.name == leader.name for each in owners)
    if found.metadata.deletion_timestamp is not None or is_former:
        text = f"StatefulSet {found.metadata.name} of the leader before it is still there"
        return Decision("await_workers", Hold(Reason.WORKERS_LEAVING, details=((_named(leader), text),)))
    return _taken(group)


def _taken(group: _Group, again: datetime | None = None) -> Decision:
    leader = group.leader.metadata
    problem = f"a StatefulSet {leader.name} exists that the leader pod does not control"
    held = Hold(Reason.NAME_TAKEN, again, ((_named(leader), problem),))
    return Decision("await_workers", held, tell=(notes.workers_not_created(group.set, leader, problem),))


class _Labelled(Struct, frozen=True):
    labels: dict[str, str] = {}


class _Node(Struct, frozen=True):
    metadata: _Labelled = _Labelled()


def _placed(group: _Group, topology: str) -> Topology | Need | Decision:
    """Workers follow the leader by the label of its node (section 3.4 step 10)."""
    leader, node = group.leader.metadata, group.leader.spec.node_name
    if not node:
        text = "its workers are made when the leader has a node"
        return Decision("await_node", Hold(Reason.LEADER_UNBOUND, details=((_named(leader), text),)))
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
    return Decision("await_node", Hold(Reason.NODE_UNLABELLED, details=((_named(leader), problem),)))
