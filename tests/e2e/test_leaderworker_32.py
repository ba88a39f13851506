"""Acceptance scenario 32: the roles of a DisaggregatedSet are rolled together, within their limits at every moment."""

from __future__ import annotations

from fairlead.cli.documents_of import explain_all
from fairlead.contracts.leaderworker.disaggregated.kinds import INITIAL_REPLICAS, NAME, REVISION, ROLE, SLICE
from kubeloop.objects.core import SERVICES
from tests.e2e.clusters import Site, everywhere
from tests.e2e.disaggregated_play import a_disaggregated_set, begin, judged
from tests.e2e.leaderworker_play import SECOND, owner_of


@everywhere()
async def test_two_roles_are_rolled_within_their_limits(site: Site) -> None:
    """Scenario 32."""
    played = await begin(site)
    judged(played, {"prefill": 4, "decode": 2})
    made = await played.create(a_disaggregated_set())
    await played.available()

    (old,) = played.revisions()
    children = played.children()
    assert played.replicas() == {f"ds-0-{old}-prefill": 4, f"ds-0-{old}-decode": 2}
    child = children[f"ds-0-{old}-prefill"]
    labels = {"app": "ds-0-prefill", NAME: "ds", ROLE: "prefill", SLICE: "0", REVISION: old}
    assert child["metadata"]["labels"] == labels
    assert owner_of(child)["uid"] == made["metadata"]["uid"]
    assert child["spec"]["leaderWorkerTemplate"]["workerTemplate"]["metadata"]["labels"] == labels
    await played.until(lambda: len(played.services()) == 2)
    service = played.services()[f"ds-0-{old}-decode-prv"]
    selector = {NAME: "ds", ROLE: "decode", SLICE: "0", REVISION: old}
    assert (service["spec"]["clusterIP"], service["spec"]["selector"]) == ("None", selector)
    assert service["metadata"]["labels"] == selector

    await played.give_image(SECOND)
    await played.rolled()

    (new,) = played.revisions()
    assert new != old
    assert played.replicas() == {f"ds-0-{new}-prefill": 4, f"ds-0-{new}-decode": 2}
    assert played.services().keys() == {f"ds-0-{new}-prefill-prv", f"ds-0-{new}-decode-prv"}
    assert played.status()["roleStatuses"] == [
        {"name": "prefill", "replicas": 4, "readyReplicas": 4, "updatedReplicas": 4},
        {"name": "decode", "replicas": 2, "readyReplicas": 2, "updatedReplicas": 2},
    ]
    assert played.conditions() == {"Available": "True", "Progressing": "False"}
    assert all(INITIAL_REPLICAS not in each["metadata"].get("annotations", {}) for each in played.children().values())
    await played.until(lambda: played.told("RollingUpdateCompleted") and len(played.told("LWSDeleted")) == 2)
    assert played.told("RollingUpdateStarted") == [f"Started rolling update to revision {new}"]
    assert played.told("RollingUpdateCompleted") == [f"Completed rolling update to revision {new}"]
    assert played.told("LWSDeleted") == [f"Deleted drained LWS ds-0-{old}-{each}" for each in ("decode", "prefill")]
    assert played.told("ScalingUp")[:2] == [
        f"Scaling up prefill LWS ds-0-{new}-prefill from 0 to 1 replicas",
        f"Scaling up decode LWS ds-0-{new}-decode from 0 to 1 replicas",
    ]
    assert played.told("ScalingDown")[0] == f"Scaling down prefill LWS ds-0-{old}-prefill from 4 to 3 replicas"
    _services_switched_together(site, old, new)


@everywhere()
async def test_a_look_shows_roles_as_lanes_as_the_operator_tells_them(site: Site) -> None:
    played = await begin(site)
    await played.create(a_disaggregated_set())
    await played.available()
    await played.play.at_rest()
    (revision,) = played.revisions()

    documents = {each.rollout: each for each in await explain_all(site.client, [site.namespace])}

    assert documents.keys() == {"ds", f"ds-0-{revision}-prefill", f"ds-0-{revision}-decode"}
    shown = documents["ds"]
    assert (shown.outcome, shown.stands.phase, shown.stands.done, shown.stands.total) == ("done", "Current", 6, 6)
    assert [(lane.name, lane.done, lane.total) for lane in shown.stands.lanes] == [("prefill", 4, 4), ("decode", 2, 2)]
    manager = played.play.operator.manager
    assert manager is not None
    told = {each.rollout: each for each in (await manager.report("lws-manager", [site.namespace])).items}
    assert told["ds"].stands == shown.stands


def _services_switched_together(site: Site, old: str, new: str) -> None:
    """New ones come when all roles have something ready, and before old ones go."""
    for _, world in site.history.replay():
        found = {each["metadata"].get("labels", {}).get(REVISION) for each in world[SERVICES].values()} - {None}
        assert found in ({old}, {old, new}, {new}, set())
