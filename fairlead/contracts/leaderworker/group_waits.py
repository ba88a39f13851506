"""What a group waits for, and since when: its leader's node, workers of the leader before, pods, or its turn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime

from fairlead.contracts.leaderworker.decide.edited_labels import labels_of_workers
from fairlead.contracts.leaderworker.decide.groups import GroupState, is_running_and_ready
from fairlead.contracts.leaderworker.decide.planner import Stage
from fairlead.contracts.leaderworker.decide.recreations import counters_on, entry_name
from fairlead.contracts.leaderworker.decide.revisions import key_of, readable
from fairlead.contracts.leaderworker.decide.stuck import keeps_group
from fairlead.contracts.leaderworker.edited_leaders import edited_labels, is_unadmitted, leader_of
from fairlead.contracts.leaderworker.exclusive_waits import needs_of, room_for
from fairlead.contracts.leaderworker.kinds import MAX_GROUP_RESTARTS, NAME, Pod
from fairlead.contracts.leaderworker.shown import Shown
from fairlead.contracts.leaderworker.verb_options import TO_REVISION
from fairlead.contracts.leaderworker.words import text_of
from fairlead.core.decision import Hold
from fairlead.core.explain import Block, key_of_wait
from fairlead.core.ordinals import natural_key
from fairlead.core.pod_readiness import is_terminating
from fairlead.core.pod_trouble import TERMINATING, UNSCHEDULABLE, PodTrouble, advice_on_missing, failure_of, trouble_of
from fairlead.core.reason import Reason, ReasonKind

MOST_PODS = 10
"""How many pods of a group are named as waited for."""
MOST_WORKERS = 10_000
"""How many workers of a group are looked for by their names."""
OF_PODS = (Reason.COMPLETE, Reason.GROUP_LEAVING)
"""Decisions about a group after which only its pods tell what it waits for."""
SEVERITY = tuple(
    kind.value
    for kind in (
        ReasonKind.FAILED,
        ReasonKind.BLOCKED,
        ReasonKind.INVALID,
        ReasonKind.HELD,
        ReasonKind.WAITING,
    )
)


def worst_first(blocks: Iterable[Block]) -> tuple[Block, ...]:
    """What needs a person before what passes, and a pod that is stuck before what it keeps."""
    stuck = Reason.POD_STUCK.word
    return tuple(sorted(blocks, key=lambda block: (SEVERITY.index(block.kind), block.reason != stuck)))


def block_of(
    shown: Shown,
    rule: str,
    reason: Reason,
    about: str,
    detail: str = "",
    *,
    since: datetime | None = None,
    advice: tuple[str, ...] = (),
) -> Block:
    return Block(
        rule=rule,
        reason=reason.word,
        object=about,
        text=text_of(reason, about.partition("/")[2], detail),
        clears=reason.clears,
        since=since or shown.since.get(key_of_wait(reason.word, about)),
        since_exact=since is not None,
        kind=reason.kind.value,
        advice=advice,
    )


def waits_of(shown: Shown, index: int) -> Iterator[Block]:
    """All that keeps the group from being ready at its revision."""
    yield from _unadmitted(shown, index)
    yield from _edited(shown, index)
    yield from _held(shown, index)
    yield from _pods(shown, index)


def _edited(shown: Shown, index: int) -> Iterator[Block]:
    name, namespace = shown.leader_name(index), shown.seen.set.metadata.namespace
    for detail, label in edited_labels(shown, index):
        advice = f"put it back: kubectl -n {namespace} label --overwrite pod {name} {label}"
        yield block_of(shown, "groups", Reason.LABEL_CHANGED, f"pod/{name}", detail, advice=(advice,))


def _unadmitted(shown: Shown, index: int) -> Iterator[Block]:
    pod, namespace = leader_of(shown, index), shown.seen.set.metadata.namespace
    if pod is None or is_terminating(pod) or not is_unadmitted(pod):
        return
    name = pod.metadata.name
    detail = "it was made without the webhook of pods, which gives leaders their index, variables and placement"
    advice = (
        "see that the webhook mpod.kb.io is registered and answers: kubectl get mutatingwebhookconfigurations",
        f"then have it made again: kubectl -n {namespace} delete pod {name}",
    )
    yield block_of(shown, "groups", Reason.LABEL_CHANGED, f"pod/{name}", detail, advice=advice)


def _held(shown: Shown, index: int) -> Iterator[Block]:
    """What its round waits for."""
    name = shown.leader_name(index)
    decision, group = shown.rounds.get(name), shown.groups.get(index)
    if decision is None or group is None or not isinstance(decision.verdict, Hold):
        return
    reason = decision.verdict.reason
    if reason in OF_PODS or (reason is Reason.LEADER_UNBOUND and _is_unschedulable(shown, group.leader)):
        return
    since, advice = _since(shown, group, reason), _advice(shown, name, reason)
    for about, detail in decision.verdict.details or ((f"pod/{name}", ""),):
        yield block_of(shown, decision.rule, reason, about, detail, since=since, advice=advice)


def _is_unschedulable(shown: Shown, leader: Pod) -> bool:
    """Whether the wait for its pods says more than that the leader has no node."""
    trouble = trouble_of(leader, shown.at, shown.deadline)
    return trouble is not None and trouble.reason == UNSCHEDULABLE


def _since(shown: Shown, group: GroupState, reason: Reason) -> datetime | None:
    """As far as a fact dates it."""
    match reason:
        case Reason.LEADER_UNBOUND | Reason.LEADER_STARTING | Reason.REVISION_MISSING:
            return group.leader.metadata.creation_timestamp
        case Reason.RECREATION_SPACING | Reason.RESTARTS_EXCEEDED:
            counted = counters_on(shown.seen.leaders).get(entry_name(group.key, group.index))
            return None if counted is None else counted.at
        case Reason.WORKERS_LEAVING:
            former = [each for each in shown.seen.workers if each.metadata.name == group.leader.metadata.name]
            return next((each.metadata.deletion_timestamp for each in former), None)
    return None


def _advice(shown: Shown, name: str, reason: Reason) -> tuple[str, ...]:
    namespace = shown.seen.set.metadata.namespace
    match reason:
        case Reason.RESTARTS_EXCEEDED:
            anew = f"start it anew: kubectl -n {namespace} delete pod {name}"
            return (anew, f"go back to what ran before: {_undone(shown)}") if _has_others(shown) else (anew,)
        case Reason.LABEL_CHANGED:
            labels = _workers_labels(shown, name)
            return (f"put it back: kubectl -n {namespace} label --overwrite statefulset {name} {labels}",)
        case Reason.LEADER_UNBOUND:
            return (f"kubectl -n {namespace} describe pod {name}",)
    return ()


def _has_others(shown: Shown) -> bool:
    """Whether there is a revision to go back to."""
    return any(key_of(each) != shown.key for each in readable(shown.seen.set, shown.seen.revisions))


def _workers_labels(shown: Shown, name: str) -> str:
    """As they should be; workers without the name of the set are not seen, and lost nothing else."""
    found = next((each for each in shown.seen.workers if each.metadata.name == name), None)
    wanted = {NAME: shown.name} if found is None else labels_of_workers(shown.name, found)
    return " ".join(f"{label}={value}" for label, value in wanted.items())


def _pods(shown: Shown, index: int) -> Iterator[Block]:
    """Pods of the group that are not ready, those that are stuck first; then those that are not there."""
    name = shown.leader_name(index)
    pods = sorted(shown.members.get(name, ()), key=lambda pod: natural_key(pod.metadata.name))
    found = [_pod(shown, index, pod) for pod in pods if not is_running_and_ready(pod) or is_terminating(pod)]
    found += [_missing(shown, index, each) for each in missing_names(shown, index)]
    yield from worst_first(found)[:MOST_PODS]
    if (more := len(found) - MOST_PODS) > 0:
        yield block_of(shown, "groups", Reason.GROUPS_NOT_READY, f"pod/{name}", f"{more} more pods are not ready")
    if not found:
        yield from _unlike_their_template(shown, index)


def _unlike_their_template(shown: Shown, index: int) -> Iterator[Block]:
    """All pods are ready, and their StatefulSet is of two revisions: workers are never changed but by a person."""
    group = shown.groups.get(index)
    if group is None or group.workers is None:
        return
    meta, status = group.workers.metadata, group.workers.status
    if status.current_revision == status.update_revision or not status.update_revision:
        return
    detail = f"StatefulSet {meta.name} has another template than its pods: somebody has changed it"
    advice = f"have it made again: kubectl -n {meta.namespace} delete statefulset {meta.name}"
    about = f"statefulset/{meta.name}"
    yield block_of(shown, "groups", Reason.GROUPS_NOT_READY, about, detail, advice=(advice,))


def _missing(shown: Shown, index: int, name: str) -> Block:
    """A worker is not made before its StatefulSet is; of a leader only the set's rounds know."""
    maker = shown.name if name == shown.leader_name(index) else shown.leader_name(index)
    advice = advice_on_missing(shown.seen.set.metadata.namespace, maker)
    detail = f"StatefulSet {maker} makes it"
    return block_of(shown, "groups", Reason.POD_MISSING, f"pod/{name}", detail, advice=(advice,))


def missing_names(shown: Shown, index: int) -> Iterator[str]:
    """Pods that the group should have and has not; workers once their StatefulSet is there, unless the group goes."""
    name, group = shown.leader_name(index), shown.groups.get(index)
    there = {pod.metadata.name for pod in shown.members.get(name, ())}
    if group is None:
        if index < shown.replicas and leader_of(shown, index) is None:
            yield name
        return
    if group.workers is not None and not group.is_leaving:
        yield from (each for each in worker_names(name, group.size) if each not in there)


def worker_names(leader: str, size: int) -> Iterator[str]:
    """Of those that can be shown: a size is anybody's to write."""
    return (f"{leader}-{place}" for place in range(1, min(size, MOST_WORKERS)))


def _pod(shown: Shown, index: int, pod: Pod) -> Block:
    about, node = f"pod/{pod.metadata.name}", pod.spec.node_name
    trouble = trouble_of(pod, shown.at, shown.deadline)
    if trouble is None:
        return block_of(shown, "groups", Reason.PODS_NOT_READY, about, "its condition Ready is not True")
    where = f" on node {node}" if node and trouble.reason == TERMINATING else ""
    going = sum(map(is_terminating, shown.members.get(shown.leader_name(index), ())))
    detail = f"{trouble.text}{where}{needs_of(pod, trouble)}"
    room = room_for(shown, index, pod, trouble)
    if keeps_group(pod, trouble, is_leaving=_is_going(shown, index), going=going):
        advice = (*room, *_pod_advice(shown, index, trouble))
        return block_of(shown, "groups", Reason.POD_STUCK, about, detail, since=trouble.since, advice=advice)
    if is_terminating(pod):
        why = _failure(shown, index)
        advice = _recreated(shown) if why and pod.metadata.name == shown.leader_name(index) else ()
        return block_of(
            shown, "groups", Reason.POD_TERMINATING, about, f"{where}{why}", since=trouble.since, advice=advice
        )
    advice = (*room, *(trouble.advice if trouble.reason == UNSCHEDULABLE else ()))
    return block_of(shown, "groups", Reason.PODS_NOT_READY, about, detail, since=trouble.since, advice=advice)


def _failure(shown: Shown, index: int) -> str:
    """Why a group that goes is recreated, as far as its pods tell; they are gone in a moment and come back as new."""
    group = shown.groups.get(index)
    is_moved = group is not None and group.key != shown.key and index >= shown.partition
    if group is None or not group.is_leaving or is_moved or index >= shown.replicas:
        return ""
    pods = sorted(shown.members.get(shown.leader_name(index), ()), key=lambda pod: natural_key(pod.metadata.name))
    told = ((pod.metadata.name, failure_of(pod)) for pod in pods)
    return next((f", as its group is recreated: {name} failed ({how})" for name, how in told if how), "")


def _recreated(shown: Shown) -> tuple[str, ...]:
    """What helps when a group fails again and again: its pods are never there for long enough to be looked at."""
    namespace = shown.seen.set.metadata.namespace
    kept = f"kubectl -n {namespace} annotate leaderworkersets {shown.name} {MAX_GROUP_RESTARTS}=3"
    events = f"kubectl -n {namespace} get events --field-selector reason=RecreateGroup"
    is_on_its_way = any(not each.is_updated for each in shown.groups.values())
    back = (f"go back to the earlier template: {_undone(shown)}",) if is_on_its_way else ()
    return f"how often that happened: {events}", f"leave the group for a look after three times: {kept}", *back


def _is_going(shown: Shown, index: int) -> bool:
    """Whether the pods of the group go with their leader, so that only one which does not go is in the way."""
    group = shown.groups.get(index)
    return group is not None and group.is_leaving


def _pod_advice(shown: Shown, index: int, trouble: PodTrouble) -> tuple[str, ...]:
    group = shown.groups.get(index)
    is_on_its_way = any(not each.is_updated for each in shown.groups.values())
    if trouble.reason == TERMINATING or group is None or not group.is_updated or not is_on_its_way:
        return trouble.advice
    return (*trouble.advice, f"go back to the earlier template: {_undone(shown)}")


def _undone(shown: Shown) -> str:
    """The command that goes back to the revision of the groups that did not move, of most of those that are ready.

    It is named where there are any: the one before in time may be an attempt that failed as well.
    """
    left = [each for each in shown.groups.values() if not each.is_updated and each.key not in ("", shown.key)]
    votes = Counter(each.key for each in left if each.is_ready) or Counter(each.key for each in left)
    which = "".join(f" {TO_REVISION.flag} {key}" for key, _ in votes.most_common(1))
    return f"fairlead undo {shown.place}{which}"


def turn_of(shown: Shown, index: int) -> Iterator[Block]:
    """Why a group that is ready stays at its earlier revision."""
    group = shown.groups.get(index)
    if group is None or group.key == shown.key or group.is_leaving or not group.is_ready or index >= shown.replicas:
        return
    about = f"pod/{shown.leader_name(index)}"
    if index < shown.kept_below:
        yield block_of(shown, "plan", Reason.PARTITION_REACHED, about, kept(shown))
    elif (rolled := shown.rolled) is not None:
        plan = rolled.plan
        if plan.stage is Stage.PAUSED:
            yield block_of(shown, "plan", Reason.PAUSED, about, f" with {shown.name}", advice=(resumed(shown),))
        elif plan.blocked_by:
            yield block_of(shown, "plan", Reason.OLD_GROUPS_NOT_READY, about, blocked(shown, plan.blocked_by))
        elif index >= plan.partition:
            yield block_of(shown, "plan", Reason.GROUPS_NOT_READY, about, _its_turn(shown, index, plan.waits_for))
        elif plan.waits_for:
            detail = f"waiting for {names(shown, plan.waits_for)} to become ready"
            yield block_of(shown, "plan", Reason.GROUPS_NOT_READY, about, detail)


def _its_turn(shown: Shown, index: int, waits_for: Iterable[int]) -> str:
    """Of a group that may go; its StatefulSet takes leaders from above, and not more at once than it may."""
    above = [each for each in waits_for if each > index]
    after = f", and {names(shown, above)} before it" if above else ""
    return f"StatefulSet {shown.name} replaces its leader{after}"


def kept(shown: Shown) -> str:
    return f"groups below {shown.kept_below} stay at their revision: so says the partition of the spec"


def resumed(shown: Shown) -> str:
    return f"let it go on: fairlead resume {shown.place}"


def blocked(shown: Shown, indexes: tuple[int, ...]) -> str:
    verb = "is" if len(indexes) == 1 else "are"
    least = max(0, shown.seen.set.spec.replicas - shown.budget.unavailable)
    return (
        f"{names(shown, indexes)} {verb} not ready at the earlier revision,"
        f" and to update a ready group would leave fewer than {least} ready"
    )


def names(shown: Shown, indexes: Iterable[int]) -> str:
    """`a-1`, `a-1 and a-3`, or `a-1 to a-3` where they follow one another."""
    found = indexes if isinstance(indexes, range) else sorted(indexes)
    if len(found) > 2 and found[-1] - found[0] == len(found) - 1:
        return f"{shown.leader_name(found[0])} to {shown.leader_name(found[-1])}"
    *others, last = map(shown.leader_name, found)
    return f"{', '.join(others)} and {last}" if others else last
