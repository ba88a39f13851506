"""Programs that were found by chance, each under the name of what went wrong."""

from __future__ import annotations

from tests.chaos.leaderworker.steps import DeleteObject, Edit, SetProgram
from tests.chaos.leaderworker.world import GroupedSetting, SetPlan
from tests.chaos.steps import Compact, Restart, Wait


def test_leaders_whose_revision_is_deleted_before_an_edit_may_change_under_their_key() -> None:
    """Section 5.8: the key then stands for what the spec says."""
    exclusive = {
        "leaderworkerset.sigs.k8s.io/exclusive-topology": "kubernetes.io/hostname",
        "fairlead.dev/exclusive-scope": "LeaderWorkerSet",
    }
    given = SetPlan(
        "a", 2, 2, unavailable=2, surge=3, policy="RecreateGroupAfterStart", network="Shared", annotations=exclusive
    )
    setting = GroupedSetting(
        (), seed=181396, latency=0.2, leased=True, nodes=24, feature_gates=("MaxUnavailableStatefulSet",), sets=(given,)
    )
    workers = {"spec": {"containers": [{"name": "main", "image": "example.test/main:3"}]}}
    edit = Edit({"spec": {"leaderWorkerTemplate": {"workerTemplate": workers}}}, 1)
    lost = DeleteObject("revision", 11, "Foreground")
    restarted = (Wait(0.01), Restart(0))

    steps = (Wait(8.0), lost, *restarted, Wait(0.01), lost, Wait(5.0), edit, *restarted, Wait(0.3), Compact())
    SetProgram(setting, (*steps, *restarted), rests=True).play()
