"""What is told of a workload that is not given free."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from fairlead.contracts.plans.decide.seen import of_trait
from fairlead.contracts.plans.decide.trait_pass import _kept_by_refusal
from fairlead.contracts.plans.decide.turns import Turn
from fairlead.contracts.plans.decide.workloads.answers import Purpose, WorkloadChange
from fairlead.contracts.plans.decide.writes import workload_write
from fairlead.contracts.plans.kinds import RolloutStatus, RolloutTrait, TraitMeta
from fairlead.core.ask import Answers, Bad
from kubeloop.objects.apps import DEPLOYMENTS
from kubeloop.objects.meta import Ref


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (Bad("refused", "no right", 403), ["Failed to release the Deployment"]),
        (Bad("unreachable", "no answer"), ["Failed to release the Deployment"]),
        (Bad("not-sent", "not the leader"), []),
    ],
)
def test_whoever_has_lost_the_lease_tells_nothing(answer: Bad, told: list[str]) -> None:
    rollout = of_trait(RolloutTrait(TraitMeta("r", "uid-r", "1", namespace="ns"), {}, {}))
    change = WorkloadChange(Ref(DEPLOYMENTS, "ns", "d1"), "7", {}, Purpose.RELEASE)
    seen = SimpleNamespace(rollout=rollout, answers=Answers({workload_write(change, rollout): answer}))
    given = cast("Any", SimpleNamespace(seen=seen, status=RolloutStatus()))

    found = _kept_by_refusal("step", given, Turn(status=RolloutStatus(), changes=(change,)))

    assert found is not None
    assert [each.reason for each in found.tell] == told
