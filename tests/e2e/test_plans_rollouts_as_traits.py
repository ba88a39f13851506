"""Rollouts as traits (C-7): a configuration leaves the workload of its component to the Rollout that it emits."""

from __future__ import annotations

from functools import partial

from fairlead.contracts.plans.kinds import (
    APPLICATIONS,
    COMPONENTS,
    CONFIGURATIONS,
    ROLLOUT_TRAITS,
    ROLLOUTS,
    TRAIT_DEFINITIONS,
)
from fairlead.contracts.plans.verbs import VERBS
from kubeloop.objects.apps import CONTROLLER_REVISIONS, DEPLOYMENTS
from kubeloop.objects.meta import Ref
from kubeloop.request import delete
from tests.e2e.application_play import component
from tests.e2e.clusters import Site, everywhere
from tests.e2e.history import Tree
from tests.e2e.installing import define
from tests.e2e.plan_play import NEW, OLD, batches
from tests.e2e.revision_play import RevisionPlay, definitions_of
from tests.e2e.verbs import said

FOLLOWED = (ROLLOUTS, APPLICATIONS, COMPONENTS, CONFIGURATIONS)
definitions = partial(definitions_of, ROLLOUT_TRAITS, TRAIT_DEFINITIONS, *FOLLOWED)
with_rollout_traits = partial(everywhere, definitions=definitions)


async def begin(site: Site) -> RevisionPlay:
    """The trait `rollout` is a Rollout."""
    await define(site, *definitions())
    for each in (*FOLLOWED, CONTROLLER_REVISIONS, DEPLOYMENTS):
        await site.history.follow(each)
    site.start_kubelet(ready_after=0.05, gone_after=0.05)
    spec = {"definitionRef": {"name": "rollouts.standard.oam.dev"}}
    await site.create(TRAIT_DEFINITIONS, {"metadata": {"name": "rollout"}, "spec": spec})
    play = RevisionPlay(site)
    play.start()
    return play


def rolled(**plan: object) -> Tree:
    return {"name": "rollout", "properties": plan}


def has_run(play: RevisionPlay, **sizes: int) -> bool:
    wanted = {name.replace("_", "-"): size for name, size in sizes.items()}
    return play.deployments() == wanted and play.state("web") == "rolloutSucceed" and play.phase("shop") == "running"


@with_rollout_traits()
async def test_an_application_is_rolled_by_a_rollout_revision_by_revision(site: Site) -> None:
    play = await begin(site)
    await play.apply("shop", component(OLD, rolled(targetSize=2)))
    await play.until(lambda: has_run(play, web_v1=2))
    spec = play.trait("web")["spec"]
    assert (spec["targetRevisionName"], spec["componentName"]) == ("web-v1", "web")

    await play.apply("shop", component(NEW, rolled(**batches(1, 1))))
    await play.until(lambda: has_run(play, web_v2=2))

    assert play.trait("web")["spec"]["sourceRevisionName"] == "web-v1"
    assert play.controller(ROLLOUTS, "web") == "shop-v2"
    assert play.owners("web-v2") == ["ApplicationConfiguration"]
    assert play.sizes_of("web-v1")[-3:] == [2, 1, 0]
    assert play.sizes_of("web-v2") == [0, 1, 2]
    assert not play.sizes_of("web"), "no workload beside"

    await site.client.call(delete(Ref(APPLICATIONS, site.namespace, "shop")))
    await play.until(lambda: not play.trait("web") and play.deployments() == {})


@with_rollout_traits(on=("sim",))
async def test_a_trait_that_is_taken_off_half_way_lets_its_rollout_end_first(site: Site) -> None:
    play = await begin(site)
    await play.apply("shop", component(OLD, rolled(targetSize=2)))
    await play.until(lambda: has_run(play, web_v1=2))
    await play.apply("shop", component(NEW, rolled(**batches(1, 1, batchPartition=0))))
    await play.until(lambda: play.deployments() == {"web-v1": 1, "web-v2": 1})

    await play.apply("shop", component(NEW))
    await play.until(lambda: "is not described any more and is at work" in str(play.object(CONFIGURATIONS, "shop-v3")))
    assert play.deployments() == {"web-v1": 1, "web-v2": 1}

    await said(site, VERBS, "promote", "web")
    await play.until(lambda: not play.trait("web"))
    await play.until(lambda: play.controller(DEPLOYMENTS, "web-v2") == "shop-v3")
    assert play.deployments() == {"web-v2": 2}
    assert min(play.sums()[1:]) >= 2


@with_rollout_traits(on=("sim",))
async def test_an_operator_that_dies_after_every_write_comes_to_the_same_end(site: Site) -> None:
    play = await begin(site)
    await play.apply("shop", component(OLD, rolled(targetSize=2)))
    await play.until(lambda: has_run(play, web_v1=2))
    await play.kill()
    await play.apply("shop", component(NEW, rolled(**batches(1, 1))))

    lives = await play.lives(lambda: has_run(play, web_v2=2))

    assert lives > 15
    assert not play.sizes_of("web")
    assert min(play.sums()[1:]) >= 2


@with_rollout_traits(on=("sim",))
async def test_a_rollout_of_a_component_that_a_configuration_runs_needs_its_revision_as_the_source(site: Site) -> None:
    play = await begin(site)
    await play.apply("shop", component(OLD, replicas=2))
    await play.runs("shop")
    await play.revise(NEW, "web-v2")

    await play.go_to("web-v2", targetSize=2)
    await play.ends("rolloutFailed")
    assert "name its revision as the source" in play.condition("TargetAppLocating")["message"]
    assert play.deployments() == {"web": 2}

    await play.change({"sourceRevisionName": "web-v1"})
    await play.until(lambda: play.deployments() == {"web-v2": 2})
    await play.ends()
    assert min(play.sums()[1:]) >= 2
