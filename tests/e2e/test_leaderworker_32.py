"""Acceptance scenario 32: the roles of a DisaggregatedSet are rolled together, within their limits at every moment."""

from __future__ import annotations

from pathlib import Path

from bench.managers import OURS, UPSTREAM
from fairlead.cli.documents_of import explain_all
from fairlead.contracts.leaderworker.disaggregated.kinds import (
    DISAGGREGATED_SETS,
    INITIAL_REPLICAS,
    NAME,
    REVISION,
    ROLE,
    SLICE,
)
from fairlead.contracts.leaderworker.disaggregated.kinds import NOUN as ROLES
from fairlead.contracts.leaderworker.kinds import LEADER_WORKER_SETS
from kubeloop.objects.core import PODS, SERVICES
from tests.contracts.leaderworker.decide.sets import a_set
from tests.e2e.clusters import Site, everywhere
from tests.e2e.disaggregated_play import RolePlay, a_disaggregated_set, a_role, begin, judged
from tests.e2e.history import World
from tests.e2e.leaderworker_play import SECOND, owner_of
from tests.e2e.leaderworkers import with_sets
from tests.e2e.managers import turns


@with_sets()
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

    await played.play.kill()
    written = len(played.play.sent)
    played.play.start()
    await played.play.at_rest()
    assert played.play.sent[written:] == [], "a start at rest writes nothing"


@with_sets(long=True)
async def test_a_look_shows_roles_as_lanes_as_the_operator_tells_them(site: Site) -> None:
    played = await begin(site)
    await played.create(a_disaggregated_set())
    await played.available()
    await played.play.create(a_set("ds", replicas=1))
    await played.play.available("ds")
    await played.play.at_rest()
    (revision,) = played.revisions()

    documents = {(each.noun, each.rollout): each for each in await explain_all(site.client, [site.namespace])}

    names = {f"ds-0-{revision}-prefill", f"ds-0-{revision}-decode", "ds"}
    assert documents.keys() == {(ROLES, "ds"), *(("leaderworkerset", name) for name in names)}, "two have one name"
    shown = documents[ROLES, "ds"]
    assert (shown.outcome, shown.stands.phase, shown.stands.done, shown.stands.total) == ("done", "Current", 6, 6)
    assert [(lane.name, lane.done, lane.total) for lane in shown.stands.lanes] == [("prefill", 4, 4), ("decode", 2, 2)]
    manager = played.play.operator.manager
    assert manager is not None
    told = {(each.noun, each.rollout): each for each in (await manager.report("lws-manager", [site.namespace])).items}
    assert told[ROLES, "ds"].stands == shown.stands
    assert told["leaderworkerset", "ds"].stands == documents["leaderworkerset", "ds"].stands


@everywhere(on=("real",))
async def test_what_upstream_has_made_is_taken_over_as_it_is(site: Site, tmp_path: Path) -> None:
    """Scenario 32: at rest nothing moves, in either hand; a rollout that upstream has begun is brought to its end.

    The kinds are those of its release: it knows neither scalers nor slices, and drops a field of the status.
    """
    async with turns(site, tmp_path) as exchanged:
        played = RolePlay(exchanged.play)
        await site.history.follow(DISAGGREGATED_SETS)
        async with exchanged.at_work(UPSTREAM):
            await played.create(a_disaggregated_set(a_role("prefill", 2), a_role("decode", 1)))
            await played.until(lambda: _ready(played) == 3 and len(played.services()) == 2)
            (old,) = played.revisions()
            assert played.replicas() == {f"ds-{old}-prefill": 2, f"ds-{old}-decode": 1}
            made = _uids(played)
        async with exchanged.at_work(OURS):
            await played.until(lambda: played.conditions() == {"Available": "True"})
            assert made.items() <= _uids(played).items()
        async with exchanged.at_work(UPSTREAM):
            await played.until(lambda: made.items() <= _uids(played).items())
            await played.give_image(SECOND)
            # A revision of which upstream has made one role only is no target that can be known again.
            await played.until(lambda: len(played.children()) == 4)
        async with exchanged.at_work(OURS):
            await played.until(lambda: _ready(played) == 3 and not played.children(revision=old), within=120)
            (new,) = played.revisions()
            assert played.replicas() == {f"ds-{new}-prefill": 2, f"ds-{new}-decode": 1}
            services = {f"ds-{new}-prefill-prv", f"ds-{new}-decode-prv"}
            await played.until(lambda: played.services().keys() == services)
            await played.until(lambda: played.conditions().get("Available") == "True")
    assert {event.name for event in site.history.of(LEADER_WORKER_SETS, "ADDED")} == {
        f"ds-{revision}-{role}" for revision in (old, new) for role in ("prefill", "decode")
    }


def _ready(played: RolePlay) -> int:
    return sum(each.get("status", {}).get("readyReplicas", 0) for each in played.children().values())


def _uids(played: RolePlay) -> dict[str, str]:
    """Of children and their pods."""
    pods = played.site.history.objects(PODS)
    return {name: each["metadata"]["uid"] for name, each in {**played.children(), **pods}.items()}


def _services_switched_together(site: Site, old: str, new: str) -> None:
    """New ones come when all roles have something ready; old ones go after them, when their revision serves no more."""
    for event, world in site.history.replay():
        revisions = {each["metadata"].get("labels", {}).get(REVISION) for each in world[SERVICES].values()} - {None}
        assert revisions in ({old}, {old, new}, {new}, set())
        if event.resource == SERVICES and event.type == "ADDED" and event.object["metadata"]["name"].endswith("-prv"):
            revision = event.object["metadata"]["labels"][REVISION]
            ready = {role: _ready_in(world, revision, role) for role in ("prefill", "decode")}
            assert min(ready.values()) >= 1, f"{event.name} came with {ready}"
        if event.resource == SERVICES and event.type == "DELETED" and event.name.endswith("-prv"):
            assert _ready_in(world, old, "prefill") == 0 or _ready_in(world, old, "decode") == 0


def _ready_in(world: World, revision: str, role: str) -> int:
    child = world[LEADER_WORKER_SETS].get(f"ds-0-{revision}-{role}", {})
    return int(child.get("status", {}).get("readyReplicas", 0))
