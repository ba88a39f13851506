"""Acceptance scenarios 1, 2, 4, 5 and 6: sets come, become available, and are rolled within their budgets."""

from __future__ import annotations

from fairlead.contracts.leaderworker.kinds import (
    GROUP_INDEX,
    GROUP_KEY,
    LEADER_NAME,
    LEADER_WORKER_SETS,
    NAME,
    REPLICAS,
    REVISION_KEY,
    SIZE,
    WORKER_INDEX,
)
from kubeloop.objects.core import PODS, SERVICES
from tests.contracts.leaderworker.decide.sets import a_set
from tests.e2e.clusters import Site
from tests.e2e.leaderworker_play import SECOND, begin, key_of, owner_of
from tests.e2e.leaderworker_rules import judged
from tests.e2e.leaderworkers import with_sets


@with_sets()
async def test_a_set_is_created_and_becomes_available(site: Site) -> None:
    """Scenarios 1 and 2."""
    play = await begin(site, ready_after=2.0)
    judged(play)
    made = await play.create(a_set(template={"size": 4}))
    await play.until(lambda: len(play.worker_sets()) == 2 and play.conditions().get("Progressing") == "True")

    leaders, (revision,) = play.leaders(), play.revisions()
    key = key_of(revision)
    assert play.numbers() == "0/2"
    assert leaders["spec"]["podManagementPolicy"] == "Parallel"
    assert leaders["spec"]["serviceName"] == "a"
    assert leaders["spec"]["selector"] == {"matchLabels": {NAME: "a", WORKER_INDEX: "0"}}
    assert leaders["metadata"]["labels"] == {NAME: "a", REVISION_KEY: key}
    assert leaders["metadata"]["annotations"] == {REPLICAS: "2"}
    assert leaders["spec"]["template"]["metadata"]["labels"] == {NAME: "a", WORKER_INDEX: "0", REVISION_KEY: key}
    assert leaders["spec"]["template"]["metadata"]["annotations"] == {SIZE: "4"}
    assert (revision["revision"], owner_of(revision)["uid"]) == (1, made["metadata"]["uid"])

    service = site.history.objects(SERVICES)["a"]
    assert (service["spec"]["clusterIP"], service["spec"]["selector"]) == ("None", {NAME: "a"})
    assert service["spec"]["publishNotReadyAddresses"] is True

    for index in range(2):
        workers, leader = play.workers(index), site.history.objects(PODS)[f"a-{index}"]
        assert workers is not None
        assert owner_of(workers)["uid"] == leader["metadata"]["uid"]
        assert (workers["spec"]["replicas"], workers["spec"]["ordinals"]) == (3, {"start": 1})
        labels = {name: leader["metadata"]["labels"][name] for name in (GROUP_INDEX, GROUP_KEY, NAME, REVISION_KEY)}
        assert workers["metadata"]["labels"] == labels
        assert key_of(workers) == key
        assert workers["spec"]["template"]["metadata"]["annotations"] == {SIZE: "4", LEADER_NAME: f"a-{index}"}
    assert "UpdateInProgress" not in play.conditions()

    await play.available()
    assert play.conditions() == {"Progressing": "False", "Available": "True"}
    status = dict(play.status())
    conditions = {each["type"]: (each["reason"], each["message"]) for each in status.pop("conditions")}
    assert conditions == {
        "Available": ("AllGroupsReady", "All replicas are ready"),
        "Progressing": ("GroupsProgressing", "Replicas are progressing"),
    }
    assert status == {
        "replicas": 2,
        "readyReplicas": 2,
        "updatedReplicas": 2,
        "observedGeneration": play.tree()["metadata"]["generation"],
        "hpaPodSelector": f"{NAME}=a,{WORKER_INDEX}=0",
    }

    await play.at_rest()
    await play.until(lambda: len(play.told()) >= 6)
    assert sorted(play.told()) == sorted(
        [
            f"Creating revision with key {key} for a newly created LeaderWorkerSet",
            "Created leader statefulset a",
            "Created worker statefulset for leader pod a-0",
            "Created worker statefulset for leader pod a-1",
            "Replicas are progressing, with 0 groups ready of total 2 groups",
            "All replicas are ready, with 2 groups ready of total 2 groups",
        ]
    )
    for note, reason, action, related in (
        (play.told("CreatingRevision")[0], "CreatingRevision", "Create", ("ControllerRevision", revision)),
        ("Created leader statefulset a", "GroupsProgressing", "Create", ("ControllerRevision", revision)),
        ("Created worker statefulset for leader pod a-1", "GroupsProgressing", "Create", ("Pod", play.group(1)[0])),
        ("All replicas are ready, with 2 groups ready of total 2 groups", "AllGroupsReady", "Update", None),
    ):
        event = play.event(note)
        assert (event["type"], event["reason"], event["action"]) == ("Normal", reason, action)
        assert event["reportingController"] == "leaderworkerset"
        regarding = event["regarding"]
        assert (regarding["kind"], regarding["uid"]) == (LEADER_WORKER_SETS.kind, made["metadata"]["uid"])
        if related is None:
            assert "related" not in event
        else:
            kind, tree = related
            assert (event["related"]["kind"], event["related"]["name"]) == (kind, tree["metadata"]["name"])


@with_sets()
async def test_groups_are_updated_one_after_the_other(site: Site) -> None:
    """Scenario 4, and section 5.25: group 3 is no longer ready, and group 1 is not touched."""
    play = await begin(site)
    judged(play, budget=False)
    await play.create(a_set(replicas=4))
    await play.available()
    await play.at_rest()
    before, old = play.uids(0, 1, 2), play.keys()[0]

    await play.give_image(SECOND, hold=True)
    await play.at_numbers("3/4")
    await play.at_group(3, SECOND)
    await play.at_rest()
    new = play.keys()[1]
    assert play.conditions() == {"Available": "False", "Progressing": "True", "UpdateInProgress": "True"}
    workers = play.workers(3)
    assert workers is not None
    assert {key_of(pod) for pod in play.group(3)} | {key_of(workers)} == {new}
    assert play.uids(0, 1, 2) == before
    assert play.event("Updating replica 3")["related"]["name"] == play.revisions()[1]["metadata"]["name"]

    await play.release(3)
    await play.at_numbers("2/4")
    await play.at_group(2, SECOND)
    await play.hold(3)
    await play.release(2)
    await play.until(lambda: play.is_whole(2, SECOND))
    await play.at_rest()
    assert play.numbers() == "2/4"
    assert play.uids(0, 1) <= before

    await play.release(3)
    for index in (1, 0):
        await play.at_group(index, SECOND)
        await play.release(index)
    await play.available()
    await play.until(lambda: play.keys() == [new])
    assert old != new
    assert play.numbers_so_far() == ["0/4", "4/4", "3/4", "2/4", "1/4", "0/4"]
    assert play.conditions() == {"Available": "True", "Progressing": "False", "UpdateInProgress": "False"}
    await play.until(
        lambda: (
            play.told("GroupsUpdating")
            == [
                "Rolling Upgrade is in progress, with 4 groups ready of total 4 groups",
                *(f"Updating replica {index}" for index in (3, 2, 1, 0)),
            ]
        )
    )


@with_sets(long=True)
async def test_a_surge_takes_the_place_of_what_may_not_be_away(site: Site) -> None:
    """Scenario 5."""
    play = await begin(site)
    judged(play)
    await play.create(a_set(replicas=4, update={"maxUnavailable": 0, "maxSurge": 1}))
    await play.available()

    await play.give_image(SECOND, hold=True)
    for index in (4, 3, 2, 1, 0):
        await play.at_group(index, SECOND)
        await play.at_rest()
        assert play.numbers() == f"{index}/5"
        assert play.status()["readyReplicas"] == 4
        await play.release(index)
    await play.at_numbers("0/4")
    await play.available()
    await play.at_rest()

    assert play.numbers_so_far() == ["0/4", "4/5", "3/5", "2/5", "1/5", "0/5", "0/4"]
    assert play.told("GroupsProgressing")[-1] == "deleting surge replica a-4"
    assert "related" not in play.event("deleting surge replica a-4")
    assert len(play.revisions()) == 1
    await play.until(lambda: play.worker_sets() == ["a-0", "a-1", "a-2", "a-3"])


@with_sets(long=True)
async def test_a_surge_and_a_budget_together(site: Site) -> None:
    """Scenario 6."""
    play = await begin(site)
    judged(play)
    await play.create(a_set(replicas=4, update={"maxUnavailable": 2, "maxSurge": 2}))
    await play.available()

    await play.give_image(SECOND, hold=True)
    for index in (5, 4):
        await play.at_group(index, SECOND)
    await play.at_numbers("2/6")
    for index in (5, 4):
        await play.release(index)
    for index in (3, 2):
        await play.at_group(index, SECOND)
        await play.release(index)
    await play.at_numbers("0/4")
    for index in (1, 0):
        await play.at_group(index, SECOND)
        await play.release(index)
    await play.available()
    assert play.leaders()["spec"]["updateStrategy"]["rollingUpdate"].get("maxUnavailable", 4) == 4
