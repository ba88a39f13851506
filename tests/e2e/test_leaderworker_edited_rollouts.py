"""Edge cases of section 5 that concern rollouts: budgets and partitions that are edited, and views that are old."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from fairlead.contracts.leaderworker.kinds import PAUSED
from kubeloop.objects.apps import CONTROLLER_REVISIONS, STATEFULSETS
from kubeloop.objects.core import PODS
from kubeloop.request import Request
from kubesim.faults import Faulty
from tests.contracts.leaderworker.decide.sets import a_set
from tests.e2e.clusters import Site
from tests.e2e.history import Tree
from tests.e2e.leaderworker_play import FIRST, SECOND, THIRD, Noted, Play, Sent, begin, image_of, key_of, owner_of
from tests.e2e.leaderworker_rules import judged
from tests.e2e.leaderworkers import Operator, with_sets
from tests.e2e.meddling import Meddling
from tests.e2e.zones import change

FAILURES = "controller_runtime_reconcile_errors_total"


async def begun(site: Site, **spec: Any) -> Play:
    """A set that is available, and an operator at rest."""
    play = await begin(site)
    await play.create(a_set(**spec))
    await play.available()
    await play.at_rest()
    return play


async def give_budget(play: Play, **update: Any) -> None:
    await play.change({"spec": {"rolloutStrategy": {"rollingUpdateConfiguration": update}}})


def images(play: Play) -> list[str]:
    """Of the leaders, by index."""
    leaders = sorted(play.pods(set="a", worker="0"), key=lambda each: each["metadata"]["name"])
    return [image_of(each) for each in leaders]


def failures(play: Play) -> float | None:
    return play.operator.metrics.registry.get_sample_value(FAILURES, {"controller": "leaderworkerset"})


@with_sets(on=("sim",))
@pytest.mark.parametrize(
    ("update", "expected"),
    [
        ({"maxUnavailable": "25%", "maxSurge": "1%"}, ["0/3", "3/4", "2/4", "1/4", "0/4", "0/3"]),
        ({"maxUnavailable": "100%"}, ["0/3", "3/3", "0/3"]),
    ],
    ids=["rounded", "all"],
)
async def test_percentages_of_unavailable_groups_are_rounded_down_and_of_surge_up(
    site: Site, update: Tree, expected: list[str]
) -> None:
    """Section 5.20: 25 % of 3 are none, 1 % are one, and 100 % are legal."""
    play = await begun(site, replicas=3, update=update)
    judged(play)

    await play.give_image(SECOND)
    await play.until(lambda: play.is_available() and set(images(play)) == {SECOND} and len(play.keys()) == 1)
    await play.at_rest()

    assert play.numbers_so_far() == expected


@with_sets(long=True)
async def test_a_partition_above_all_groups_updates_none(site: Site) -> None:
    """Section 5.22: surge and revisions stay, and groups that scaling adds are of the old revision."""
    play = await begun(site, update={"maxSurge": 1, "partition": 5})
    judged(play)
    before, old = play.uids(0, 1), play.keys()[0]

    await play.give_image(SECOND)
    await play.at_numbers("5/3")
    await play.until(lambda: play.is_whole(2, FIRST) and play.is_available())
    await play.change({"spec": {"replicas": 4}})
    await play.until(lambda: play.is_whole(3, FIRST) and play.is_available())
    await play.at_rest()

    assert play.uids(0, 1) == before
    assert set(images(play)) == {FIRST}
    assert {key_of(pod) for pod in play.pods(set="a")} == {old}
    assert len(play.keys()) == 2
    assert play.numbers().startswith("5/")

    await give_budget(play, partition=0)
    await play.until(lambda: play.is_available() and images(play) == [SECOND] * 4 and len(play.keys()) == 1)
    await play.at_numbers("0/4")


@with_sets(long=True)
async def test_a_partition_that_rises_reverts_no_group_that_lives(site: Site) -> None:
    """Section 5.23: one whose leader dies comes back on the old revision."""
    play = await begun(site, replicas=3)
    judged(play, budget=False)
    old = play.keys()[0]
    await play.give_image(SECOND, hold=True)
    await play.at_group(2, SECOND)
    await play.release(2)
    await play.at_numbers("1/3")
    await play.at_group(1, SECOND)
    moved = play.uids(1, 2)

    await give_budget(play, partition=3)
    await play.at_numbers("3/3")
    await play.release(1)
    await play.until(lambda: play.is_whole(1, SECOND) and play.is_whole(2, SECOND))
    await play.at_rest()
    assert play.uids(1, 2) == moved
    assert images(play) == [FIRST, SECOND, SECOND]

    await play.delete(PODS, "a-2")
    await play.until(lambda: not moved & play.uids(2) and play.is_whole(2, FIRST))
    await play.at_rest()
    assert {key_of(pod) for pod in play.group(2)} == {old}
    assert play.uids(1) <= moved
    assert len(play.keys()) == 2


@with_sets(on=("sim",))
async def test_a_budget_that_grows_counts_at_once(site: Site) -> None:
    """Section 5.33."""
    play = await begun(site, replicas=4)
    judged(play)
    await play.give_image(SECOND, hold=True)
    await play.at_group(3, SECOND)
    await play.at_rest()
    assert play.numbers() == "3/4"

    await give_budget(play, maxUnavailable=3)
    await play.at_numbers("1/4")
    for index in (3, 2, 1, 0):
        await play.at_group(index, SECOND)
        await play.release(index)
    await play.available()
    assert play.numbers_so_far() == ["0/4", "4/4", "3/4", "1/4", "0/4"]


@with_sets(on=("sim",))
async def test_a_surge_that_shrinks_is_reclaimed_at_once(site: Site) -> None:
    """Section 5.33: in the middle of a rollout, though nothing of the surge is ready."""
    play = await begun(site, update={"maxUnavailable": 0, "maxSurge": 2})
    judged(play, budget=False)
    before = play.uids(0, 1)
    await play.give_image(SECOND, hold=True)
    await play.at_numbers("2/4")
    for index in (2, 3):
        await play.at_group(index, SECOND)

    await give_budget(play, maxSurge=1)
    await play.at_numbers("2/3")
    await play.until(lambda: not play.group(3))
    await play.at_rest()
    assert play.uids(0, 1) == before

    for index in (2, 1, 0):
        await play.at_group(index, SECOND)
        await play.release(index)
    await play.available()
    await play.at_numbers("0/2")


@with_sets(long=True)
async def test_groups_that_are_no_longer_wanted_after_a_pause_give_no_room_to_those_that_stay(site: Site) -> None:
    """An autoscaler takes half of the groups away while a rollout is paused: those that stay are the old ones."""
    play = await begun(site, replicas=4)
    judged(play, budget=False)
    await play.give_image(SECOND, hold=True)
    for index in (3, 2):
        await play.at_group(index, SECOND)
        if index == 2:
            await play.change({"metadata": {"annotations": {PAUSED: "true"}}})
        await play.release(index)
    await play.until(lambda: play.status()["readyReplicas"] == 4)
    await play.change({"spec": {"replicas": 2}})
    await play.at_rest()
    assert play.numbers() == "2/4"
    before = play.uids(0)

    await play.change({"metadata": {"annotations": {PAUSED: None}}})
    await play.at_group(1, SECOND)
    await play.at_rest()

    assert play.numbers_so_far()[-2:] == ["2/2", "1/2"]
    assert play.uids(0) == before
    for index in (1, 0):
        await play.at_group(index, SECOND)
        await play.release(index)
    await play.available()


@with_sets(on=("sim",))
async def test_an_old_view_of_the_leaders_never_moves_the_partition_back(site: Site) -> None:
    """Section 5.3: what rests on an old version is refused, and that is no failure."""
    play = await begun(site, replicas=3)
    judged(play, budget=False)
    await play.kill()
    wire = Faulty(site.ground.transport("admin"))
    play.start(wire)
    await play.at_rest()
    wire.freeze(STATEFULSETS.plural)
    mark = {"metadata": {"annotations": {"example.test/mark": "1"}}}
    await change(site, STATEFULSETS, "a", mark)

    await play.give_image(SECOND)
    await play.until(lambda: any(each.status == 409 for each in play.writes(STATEFULSETS.plural)), every=0.05)
    assert set(images(play)) == {FIRST}
    wire.thaw(STATEFULSETS.plural)
    await play.until(lambda: play.is_available() and set(images(play)) == {SECOND})

    assert play.numbers_so_far() == ["0/3", "3/3", "2/3", "1/3", "0/3"]
    assert failures(play) == 0
    assert play.told("FailedUpdate") == []


@with_sets(on=("sim",))
@pytest.mark.parametrize("other_data", [False, True], ids=["same data", "other data"])
async def test_a_revision_that_the_cache_lacks_is_used_or_given_another_name(site: Site, other_data: bool) -> None:
    """Section 5.4: somebody creates one of the name just before the operator does."""
    play = await begun(site)
    judged(play)
    await play.kill()
    first: list[Tree] = []

    async def meddle(request: Request) -> None:
        tree = msgspec.json.decode(request.body)
        if other_data:
            tree["data"]["spec"]["leaderWorkerTemplate"]["size"] = 7
        first.append(await site.create(CONTROLLER_REVISIONS, tree))

    play.start(Meddling(site.ground.transport("admin"), "create", CONTROLLER_REVISIONS.plural, meddle))
    await play.give_image(SECOND)
    await play.until(lambda: play.is_available() and set(images(play)) == {SECOND})
    await play.at_rest()

    (theirs,) = first
    made = {each.object["metadata"]["name"]: each.object for each in site.history.of(CONTROLLER_REVISIONS, "ADDED")}
    ours = [each for each in made.values() if owner_of(each).get("uid") == play.tree()["metadata"]["uid"]]
    assert len(ours) == (3 if other_data else 2)
    (left,) = play.revisions()
    assert (left["metadata"]["uid"] == theirs["metadata"]["uid"]) is not other_data
    assert left["data"]["spec"]["leaderWorkerTemplate"]["size"] == 2
    assert (key_of(left) == key_of(theirs)) is not other_data
    assert failures(play) == 0


@with_sets(timing=True)
async def test_two_operators_at_once_keep_to_the_budget_and_to_what_is_theirs(site: Site) -> None:
    """Section 5.30: a Lease that two believe to hold; S1, S4 and S10."""
    play = await begun(site, replicas=3)
    judged(play)
    others: list[Sent] = []
    other = Operator(site, identity="lws-2", lease="other")
    site.start(other(Noted(site.ground.transport("admin"), others)))

    for image in (SECOND, THIRD):
        await play.give_image(image)
        await play.until(lambda image=image: play.is_available() and set(images(play)) == {image})
    await play.until(lambda: len(play.keys()) == 1)

    everything = [*play.sent, *others]
    owners = [
        owner_of(msgspec.json.decode(each.body))["uid"]
        for each in everything
        if (each.verb, each.plural, each.status) == ("create", STATEFULSETS.plural, 201)
    ]
    assert len(owners) == len(set(owners)) >= 6
    assert not [str(each) for each in everything if each.verb == "delete" and each.plural != "controllerrevisions"]
    assert others
