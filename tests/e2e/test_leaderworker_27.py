"""Acceptance scenario 27: drains that take whole groups, with the webhook of evictions and without it."""

from __future__ import annotations

import asyncio
from typing import Any

from fairlead.contracts.leaderworker.install.values import CHART
from fairlead.contracts.leaderworker.kinds import (
    DISRUPTION_BUDGET,
    DISRUPTION_BUDGETS,
    GROUP_INDEX,
    LEADER_WORKER_SETS,
    WORKER_INDEX,
)
from fairlead.contracts.leaderworker.settings import Settings
from fairlead.engine.charts import data_of
from kubeloop.objects.core import PODS
from kubesim.pods.behaviour import HANG_TERMINATING
from tests.contracts.leaderworker.decide.sets import a_set
from tests.e2e.clusters import Site
from tests.e2e.downscaling import Answered
from tests.e2e.evicting import evict_pod
from tests.e2e.history import Tree
from tests.e2e.leaderworker_play import LOOK_EVERY, SECOND, Play, begin
from tests.e2e.leaderworker_rules import judged, ready_so_far
from tests.e2e.leaderworkers import Operator, review_evictions, with_sets
from tests.e2e.roles import allow
from tests.e2e.rollouts import is_ready
from tests.e2e.zones import change

KEEPING = Settings(keeps_budgets=True)


def with_budget(asked: str | None = "1", **template: Any) -> Tree:
    tree = a_set(replicas=3, template={"size": 3, **template})
    annotations = {} if asked is None else {DISRUPTION_BUDGET: asked}
    return {**tree, "metadata": {**tree["metadata"], "annotations": annotations}}


async def drain(site: Site, pods: dict[str, Tree]) -> dict[str, Answered]:
    """Evictions of these very pods, all sent at once; by name."""

    async def one(name: str, pod: Tree) -> Answered:
        uid = {"preconditions": {"uid": pod["metadata"]["uid"]}}
        return await evict_pod(site, name, options=uid, client=site.client_as("admin"))

    answers = await asyncio.gather(*(one(name, pod) for name, pod in pods.items()))
    return dict(zip(pods, answers, strict=True))


def let_go(answers: dict[str, Answered]) -> list[str]:
    return sorted(name for name, answer in answers.items() if answer.status == 201)


@with_sets(seeds=(0, 1, 2), long=True)
async def test_a_drain_takes_one_group_after_the_other(site: Site) -> None:
    """Scenario 27, with the webhook and two replicas that answer it in turn."""
    settings = Settings(reviews_evictions=True)
    play = await begin(site, settings)
    first = play.operator
    await site.until(lambda: first.manager is not None and first.manager.leading.is_set(), every=LOOK_EVERY)
    second = Operator(site, settings, identity="lws-2")
    site.start(second(site.ground.transport("admin")))
    await site.until(lambda: second.manager is not None and second.manager.ready.is_set(), every=LOOK_EVERY)
    judged(play)
    await review_evictions(site, first, second)
    await play.create(with_budget())
    await play.available()
    await play.at_rest()
    pods = dict(site.history.objects(PODS))
    groups = {name: pod["metadata"]["labels"][GROUP_INDEX] for name, pod in pods.items()}
    assert len(pods) == 9

    answers = await drain(site, pods)
    assert len({groups[name] for name in let_go(answers)}) == 1
    denied = [answer for answer in answers.values() if answer.status == 429]
    assert len(denied) == 6
    assert all("of LeaderWorkerSet a is disturbed" in answer.text for answer in denied)

    async def are_gone() -> bool:
        there = {pod["metadata"]["uid"] for pod in site.history.objects(PODS).values()}
        left = {name: pod for name, pod in pods.items() if pod["metadata"]["uid"] in there}
        await drain(site, left)
        return not left

    await site.until(are_gone, every=0.1)
    await play.available()
    whole = [len(ready) for ready in ready_so_far(site)]
    assert min(whole[whole.index(3) :]) == 2


def budget_of(site: Site) -> Tree | None:
    return site.history.objects(DISRUPTION_BUDGETS).get("a")


async def allows(play: Play, disruptions: int) -> None:
    def is_allowed() -> bool:
        found = budget_of(play.site)
        return found is not None and found.get("status", {}).get("disruptionsAllowed") == disruptions

    await play.until(is_allowed)


@with_sets()
async def test_without_the_webhook_at_most_as_many_pods_are_out(site: Site) -> None:
    """Scenario 27, the fallback: groups are not recreated here, and no leader goes, so that what is out was evicted."""
    await site.history.follow(DISRUPTION_BUDGETS)
    play = await begin(site, KEEPING)
    judged(play, budget=False)
    await play.create(with_budget(restartPolicy="None"))
    await play.available()
    await allows(play, 3)
    found = budget_of(site)
    assert found is not None
    assert found["spec"]["minAvailable"] == 6
    assert found["metadata"]["ownerReferences"][0]["uid"] == play.tree()["metadata"]["uid"]

    found_pods = site.history.objects(PODS)
    pods = {name: pod for name, pod in found_pods.items() if pod["metadata"]["labels"][WORKER_INDEX] != "0"}
    for name in pods:  # none is back before the last eviction is answered
        await change(site, PODS, name, {"metadata": {"annotations": {HANG_TERMINATING: "true"}}})
    first = await drain(site, pods)
    assert len(let_go(first)) == 3
    for name in pods:
        await change(site, PODS, name, {"metadata": {"annotations": {HANG_TERMINATING: None}}})
    await play.available()
    await play.at_rest()
    ready = [sum(map(is_ready, world[PODS].values())) for _, world in site.history.replay() if PODS in world]
    assert min(ready[ready.index(9) :]) >= 6


@with_sets()
async def test_the_budget_of_pods_follows_the_set_and_goes_with_its_annotation(site: Site) -> None:
    await site.history.follow(DISRUPTION_BUDGETS)
    play = await begin(site, KEEPING)
    judged(play)
    await play.create(with_budget())
    await play.available()
    await play.until(lambda: budget_of(site) is not None)
    await play.change({"spec": {"replicas": 4}})
    await play.until(lambda: (budget_of(site) or {})["spec"]["minAvailable"] == 9)

    await play.change({"metadata": {"annotations": {DISRUPTION_BUDGET: "none"}}})
    await play.until(lambda: budget_of(site) is None)
    await play.until(lambda: len(play.told("InvalidAnnotation")) == 1)
    await play.change({"metadata": {"annotations": {DISRUPTION_BUDGET: "50%"}}})
    await play.until(lambda: (budget_of(site) or {}).get("spec", {}).get("minAvailable") == 6)
    await play.change({"metadata": {"annotations": {DISRUPTION_BUDGET: None}}})
    await play.until(lambda: budget_of(site) is None)
    await play.at_rest()
    assert len(play.told("InvalidAnnotation")) == 1


@with_sets(long=True)
async def test_a_budget_of_somebody_else_is_told_and_left_alone(site: Site) -> None:
    await site.history.follow(DISRUPTION_BUDGETS)
    foreign = await site.create(
        DISRUPTION_BUDGETS,
        {"metadata": {"name": "a"}, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "other"}}}},
    )
    play = await begin(site, KEEPING)
    judged(play)
    await play.create(with_budget())
    await play.available()
    await play.until(lambda: len(play.told("DisruptionBudgetUnavailable")) == 1)
    await play.change({"metadata": {"annotations": {DISRUPTION_BUDGET: None}}})
    await play.at_rest()

    found = budget_of(site)
    assert found is not None
    assert (found["metadata"]["uid"], found["spec"]) == (foreign["metadata"]["uid"], foreign["spec"])
    assert play.writes(DISRUPTION_BUDGETS.plural) == []
    await play.delete(LEADER_WORKER_SETS, "a")


@with_sets(long=True)
async def test_without_the_right_a_budget_is_a_warning_and_nothing_else(site: Site) -> None:
    """leaderworker 2.14: an opt-in that the installation did not grant holds nothing up."""
    await site.history.follow(DISRUPTION_BUDGETS)
    play = await begin(site, KEEPING)
    judged(play)
    await play.kill()
    granted: dict[str, list[Tree]] = data_of(CHART, "permissions.yaml")
    user = f"lws-manager-{site.namespace}"
    await allow(site, user, [*granted["manager"], *granted["leaderElection"]], everywhere=True)
    play.start(site.ground.transport(user))
    await play.create(with_budget())
    await play.available()
    await play.until(lambda: play.told("DisruptionBudgetUnavailable"))

    await play.give_image(SECOND)
    await play.until(lambda: play.is_available() and len(play.keys()) == 1 and play.is_whole(0, SECOND, 3))
    (note,) = play.told("DisruptionBudgetUnavailable")
    assert 'cannot get resource "poddisruptionbudgets"' in note
    assert budget_of(site) is None
