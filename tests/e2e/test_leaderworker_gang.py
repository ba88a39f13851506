"""Groups of a gang scheduler whose kind is not installed, and comes later (section 6.2)."""

from __future__ import annotations

from fairlead.contracts.leaderworker.kinds import POD_GROUPS
from fairlead.contracts.leaderworker.settings import Settings
from tests.contracts.leaderworker.decide.sets import a_set
from tests.e2e.clusters import Site
from tests.e2e.installing import a_kind_of, define
from tests.e2e.leaderworker_play import FIRST, begin
from tests.e2e.leaderworker_rules import judged
from tests.e2e.leaderworkers import with_sets


@with_sets(on=("sim",))
async def test_groups_wait_for_the_kind_of_their_pod_groups(site: Site) -> None:
    play = await begin(site, Settings(gang_scheduler="volcano"))
    judged(play)
    await play.create(a_set())
    await play.until(lambda: len(play.told("FailedCreate")) == 2)
    assert all(
        "the cluster has no kind PodGroup of scheduling.volcano.sh/v1beta1" in each
        for each in play.told("FailedCreate")
    )
    assert play.worker_sets() == []
    manager = play.operator.manager
    assert manager is not None
    (shown,) = (await manager.report("lws-manager", [site.namespace])).items
    assert shown.outcome == "blocked"
    assert "the cluster has no kind PodGroup" in shown.blocked_by[0].text

    await define(site, a_kind_of(POD_GROUPS.api_version, POD_GROUPS.kind))
    await play.until(lambda: play.is_available() and play.is_whole(0, FIRST) and play.is_whole(1, FIRST), within=600)
