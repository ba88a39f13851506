"""Safeties of rollouts, each taken away by a patch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from fairlead.contracts.plans.decide import hooks, lost_status, trait_pass, writes
from fairlead.contracts.plans.decide.applications import revision_workloads
from fairlead.contracts.plans.decide.metrics import judgement
from fairlead.contracts.plans.decide.traffic import shifts
from fairlead.contracts.plans.decide.workloads import claims, in_place, nodes, pair
from fairlead.contracts.plans.decide.workloads.attempt import Claimant
from fairlead.contracts.plans.decide.workloads.live import Workload
from fairlead.contracts.plans.kinds import Json, RolloutPlan
from fairlead.core.decision import Decision, Move

Take = Callable[[pytest.MonkeyPatch], None]


def writes_bound_to_no_version(patch: pytest.MonkeyPatch) -> None:
    real = writes.workload_write

    def write(*given: Any) -> Any:
        return replace(real(*given), resource_version="")

    patch.setattr(trait_pass, "workload_write", write)


def statuses_bound_to_no_version(patch: pytest.MonkeyPatch) -> None:
    real = writes.status_write

    def write(*given: Any) -> Any:
        found = real(*given)
        return None if found is None else replace(found, resource_version="")

    patch.setattr(trait_pass, "status_write", write)


def every_status_is_trusted(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Workload, "is_observed", property(lambda _: True))


def never_verified_again(patch: pytest.MonkeyPatch) -> None:
    _without(patch, lost_status.verify_again)


def claims_of_others_ignored(patch: pytest.MonkeyPatch) -> None:
    """Whoever comes later takes what another one holds."""
    real = claims.claim

    def claim(workload: Workload, owner: Claimant, _gone: frozenset[str], *more: Any, **named: Any) -> Any:
        return real(workload, owner, frozenset(str(each["uid"]) for each in workload.owners), *more, **named)

    for module in (pair, in_place):
        patch.setattr(module, "controlled", lambda *_: None)
        patch.setattr(module, "claim", claim)


def drift_ignored(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(pair, "_drifted", lambda *_, **__: None)


def pods_are_always_ready(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Workload, "ready", property(lambda _: 99))


def every_old_pod_is_deleted(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(nodes, "_doomed", lambda _, old: old)


def new_pods_of_nodes_are_always_ready(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(nodes, "_new_ready", lambda *_: 99)


def old_pods_go_before_traffic_moves(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(shifts, "before_pods_go", lambda *_: None)


def endpoints_not_looked_at(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(shifts, "unready", lambda *_: None)


def routes_left_shared(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(shifts, "settled", lambda *_: None)


def metrics_decide_nothing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(judgement, "_waiting", lambda _: None)
    patch.setattr(judgement, "_is_refused", lambda _: False)


def the_gate_is_open(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(RolloutPlan, "partition", property(lambda _: None))


def _without(patch: pytest.MonkeyPatch, rule: trait_pass.Rule) -> None:
    patch.setattr(trait_pass, "RULES", tuple(each for each in trait_pass.RULES if each is not rule))


def pause_ignored(patch: pytest.MonkeyPatch) -> None:
    _without(patch, trait_pass.pause)


def no_finalizer(patch: pytest.MonkeyPatch) -> None:
    _without(patch, trait_pass.add_finalizer)


def status_before_workloads(patch: pytest.MonkeyPatch) -> None:
    real = trait_pass._decided

    def decided(*given: Any) -> Decision:
        found = real(*given)
        if not isinstance(found.verdict, Move):
            return found
        return replace(found, verdict=replace(found.verdict, writes=found.verdict.writes[::-1]))

    patch.setattr(trait_pass, "_decided", decided)


def no_guard(patch: pytest.MonkeyPatch) -> None:
    """The rollout is the only owner, twice."""

    def guard(owner: Claimant) -> Json:
        return {**claims._claim(owner), "controller": False}

    patch.setattr(claims, "_guard", guard)


def hooks_uncalled(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(hooks, "called", lambda *_: None)


def targets_made_with_pods(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(revision_workloads, "starting_values", lambda _: {})


def pods_beside_ignored(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(revision_workloads, "_beside", lambda *_: "")
