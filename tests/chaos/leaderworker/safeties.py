"""Safeties of groups, each taken away by a patch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec import structs

from fairlead.contracts.leaderworker.decide import (
    budgets,
    group_recreation,
    groups,
    living_group,
    planner,
    pod_admission,
    restart_policy,
    revision_writes,
    revisions,
    set_reports,
    set_round,
    status,
)
from fairlead.contracts.leaderworker.decide.groups import GroupState
from fairlead.contracts.leaderworker.decide.revisions import Drafted, Reused
from fairlead.contracts.leaderworker.decide.seen import GroupSeen
from fairlead.contracts.leaderworker.decide.set_view import of_spec
from kubeloop import request
from kubeloop.election import Election
from kubeloop.ledger import Ledger
from kubeloop.objects.meta import Ref
from kubeloop.request import Request

Take = Callable[[pytest.MonkeyPatch], None]


def groups_placed_anywhere(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(pod_admission, "place_exclusively", lambda *_: None)


def surge_reclaimed_unguarded(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(planner, "_reclaimable", lambda _seen, _leaders, _partition, replicas: replicas)


def partition_lowered_unguarded(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(planner, "_spared", lambda _seen, _leaders, partition, _highest: partition)


def the_controller_is_not_waited_for(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(groups, "is_observed", lambda _: True)


def leaders_as_they_were_seen(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(set_round, "_is_first_step", lambda *_: False)


def partition_of_a_person_ignored(patch: pytest.MonkeyPatch) -> None:
    real = planner.plan
    patch.setattr(set_round, "plan", lambda seen: real(structs.replace(seen, kept_below=0)))


def pause_ignored(patch: pytest.MonkeyPatch) -> None:
    real = planner.plan
    patch.setattr(set_round, "plan", lambda seen: real(structs.replace(seen, paused=False)))


def surge_unbounded(patch: pytest.MonkeyPatch) -> None:
    real = budgets.budget

    def budget(*given: Any) -> Any:
        found = real(*given)
        return structs.replace(found, surge=found.surge + 1)

    patch.setattr(set_round, "budget", budget)


def all_that_is_ready_counts(patch: pytest.MonkeyPatch) -> None:
    """Leaders are enough, as they are for the StatefulSet controller."""
    patch.setattr(GroupState, "is_ready", property(lambda group: groups.is_running_and_ready(group.leader)))


def leaders_bound_to_no_version(patch: pytest.MonkeyPatch) -> None:
    real = request.apply

    def apply(ref: Ref, body: bytes, manager: str, **more: Any) -> Request:
        return real(structs.replace(ref, uid=""), body, manager, **{**more, "resource_version": ""})

    patch.setattr(request, "apply", apply)


def deletions_bound_to_no_uid(patch: pytest.MonkeyPatch) -> None:
    real = request.delete

    def delete(ref: Ref, *, resource_version: str = "", propagation: str = "") -> Request:
        return real(structs.replace(ref, uid=""), resource_version=resource_version, propagation=propagation)

    patch.setattr(request, "delete", delete)


def nothing_recorded_before(patch: pytest.MonkeyPatch) -> None:
    """What carries the key comes first, and its revision with the next round."""
    real = set_round._decided

    def decided(seen: Any, found: Any, now: Any) -> Any:
        if found.apply is not None and isinstance(found.chosen, Drafted):
            patch.setattr(set_round, "recorded", lambda *_: ())
            try:
                return real(seen, found, now)
            finally:
                patch.setattr(set_round, "recorded", revision_writes.recorded)
        return real(seen, found, now)

    patch.setattr(set_round, "_decided", decided)


def always_recorded_anew(patch: pytest.MonkeyPatch) -> None:
    def drafted(seen: Any, everything: Any, known: Any, wanted: bytes, occasion: Any) -> Drafted | Reused:
        return revisions._drafted(seen, everything, known, wanted, occasion)

    patch.setattr(revisions, "_reused_or_drafted", drafted)


def truncated_before_it_is_done(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(status, "is_done", lambda *_: True)


def truncated_whoever_carries_it(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(set_reports, "carried_keys", lambda *_: frozenset())


def truncated_by_the_view_of_pods(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(set_reports, "have_moved", lambda *_: True)


def revisions_of_anybody(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(revisions, "is_owned", lambda *_: True)


def leaders_of_anybody(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(set_round, "_taken", set_round._selected)


def workers_by_name(patch: pytest.MonkeyPatch) -> None:
    """Whoever owns them, and whichever group they were made for."""

    def is_worker_of(_seen: Any, leader: Any, pod: Any) -> bool:
        return bool(pod.metadata.name.startswith(f"{leader.metadata.name}-"))

    patch.setattr(restart_policy, "_is_worker_of", is_worker_of)


def pods_of_anybody(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(living_group, "_is_of_the_set", lambda *_: True)


def groups_of_the_live_spec(patch: pytest.MonkeyPatch) -> None:
    """A group that is rebuilt is made of what the set says now."""
    real = living_group.living_group

    def group(seen: GroupSeen) -> Any:
        found = real(seen)
        return found if found is None else structs.replace(found, view=of_spec(found.set))

    patch.setattr("fairlead.contracts.leaderworker.decide.group_round.living_group", group)


def own_writes_forgotten(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Ledger, "pending", lambda *_: ())


def recreations_uncounted(patch: pytest.MonkeyPatch) -> None:
    """They are written after the deletion, which is too late for who dies in between."""
    patch.setattr(group_recreation, "_counted", lambda *_: ())


def the_lease_is_not_minded(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Election, "gate", lambda _: None)


def every_apply_is_sent(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(set_round, "is_unchanged", lambda *_: False)


def conditions_exclude_nothing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(status, "_EXCLUDED", dict.fromkeys(status._EXCLUDED, frozenset()))
