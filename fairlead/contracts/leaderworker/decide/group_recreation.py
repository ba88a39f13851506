"""What a group's restart policy writes: its leader's deletion, and the count of it before (sections 3.9 and 6.8)."""

from __future__ import annotations

from datetime import datetime

import msgspec

from fairlead.contracts.leaderworker.decide import notes, restart_policy
from fairlead.contracts.leaderworker.decide.groups import carried_entries
from fairlead.contracts.leaderworker.decide.living_group import LivingGroup, moved, named, refusal
from fairlead.contracts.leaderworker.decide.recreations import counters_on, limits_of
from fairlead.contracts.leaderworker.kinds import (
    GROUP_INDEX,
    GROUP_RECREATIONS,
    OUR_MANAGER,
    RECREATE_AFTER_START,
    Json,
)
from fairlead.core.act import AnyWrite, Apply, Delete, Does
from fairlead.core.decision import Decision, Hold
from fairlead.core.integers import parse_integer
from fairlead.core.reason import Reason
from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.meta import Meta, Ref


def restarted(group: LivingGroup, now: datetime) -> Decision | datetime | None:
    """Where the group goes on: when its recreations are to be forgotten, if there are any (section 3.4 step 2)."""
    seen, leader = group.seen, group.leader.metadata
    index = _index(leader)
    if index is None:
        return Decision("read_index", Hold(Reason.SPEC_INVALID, details=((named(leader), _NO_INDEX),)))
    verdict = restart_policy.judge(
        restart_policy.RestartSeen(
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
        case restart_policy.Recreate(_, failed, counters):
            return moved(group, "recreate", Reason.RECREATING, (*_counted(group, counters), _deleted(group, failed)))
        case restart_policy.Postponed(until, failed, counters):
            text = f"pod {failed} failed; the group is recreated at {until:%H:%M:%S}"
            return _bounded(group, Hold(Reason.RECREATION_SPACING, until, ((named(leader), text),)), counters)
        case restart_policy.Exhausted(failed, counters):
            text = f"pod {failed} failed; the group was recreated as often as it may be"
            held = Hold(Reason.RESTARTS_EXCEEDED, details=((named(leader), text),))
            return _bounded(group, held, counters, told=True)
        case restart_policy.Recovered(at, None):
            return at
        case restart_policy.Recovered(_, counters):
            return moved(group, "recover", Reason.SETTLING, _counted(group, counters))
    return None


_NO_INDEX = "the leader pod has no group-index label that is a number"


def _index(leader: Meta) -> int | None:
    try:
        return parse_integer(leader.labels.get(GROUP_INDEX, ""), bits=32)
    except ValueError:
        return None


def _bounded(group: LivingGroup, held: Hold, counters: str | None, *, told: bool = False) -> Decision:
    """The trigger is kept, also over a restart of the operator (section 6.8)."""
    note = (notes.restarts_exceeded(group.set, group.leader.metadata),) if told else ()
    counted = _counted(group, counters)
    if (refused := refusal(group, counted)) is not None:
        return Decision("recreate", refused, tell=note)
    return Decision("recreate", held, reports=counted, tell=note)


def _counted(group: LivingGroup, counters: str | None) -> tuple[AnyWrite, ...]:
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
            refusable=True,
            contested=True,
        ),
    )


def _deleted(group: LivingGroup, failed: str) -> Delete:
    """In the foreground: the whole old group is gone before another leader is made (section 3.9 point 5)."""
    leader = group.leader.metadata
    return Delete(
        ref=notes.pod_ref(leader),
        propagation="Foreground",
        does=Does.RECREATE_GROUP,
        scope=group.scope,
        change_from=failed,
        tell=notes.recreated(group.set, failed, leader),
        refusable=True,
    )
