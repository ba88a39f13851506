"""Looking at plans and asking things of them: with the operator and without, on both clusters."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import yaml

from fairlead.cli import exits
from fairlead.cli.commands.watch import WatchEnd, WatchScope, within
from fairlead.cli.connect import Cluster
from fairlead.cli.documents_of import explain_all
from fairlead.cli.views.explanation import explanation
from fairlead.cli.views.render import plain
from fairlead.contracts.plans.kinds import FAILED, ROLLOUT_TRAITS, SUCCEEDED
from fairlead.contracts.plans.verbs import VERBS
from fairlead.core.explain import Explain
from fairlead.core.verb import Nothing, VerbTable
from fairlead.engine.verbs import Acted
from kubeloop import clock
from kubeloop.client import Client
from kubeloop.objects.apps import DEPLOYMENTS
from tests.cli.notes import Notes
from tests.e2e.application_play import begin as begin_applications
from tests.e2e.application_play import old_and_new, with_applications
from tests.e2e.clusters import Site
from tests.e2e.plan_play import Play, a_pair, batches, begin
from tests.e2e.plans import with_traits
from tests.e2e.roles import Rights, grant
from tests.e2e.verbs import asked, interrupted, patches, said
from tests.e2e.zones import change

GATED = ("rollingInBatches", "batchReady", 0)
TRAITS: Rights = {
    ("apps", "statefulsets"): ("list",),
    ("standard.oam.dev", "rollouttraits"): ("get", "list", "watch"),
}
"""What a look needs to find plans, and no more."""
LOOKING: Rights = {**TRAITS, ("apps", "deployments"): ("get",)}


async def look(play: Play, client: Client | None = None) -> Explain:
    """As a command works it out: no operator is asked."""
    (shown,) = await explain_all(client or play.site.client, [play.site.namespace])
    return shown


async def told(play: Play) -> Explain:
    """As the operator tells it."""
    (shown,) = await report(play)
    return shown


async def report(play: Play) -> tuple[Explain, ...]:
    """All that the operator tells."""
    manager = play.operator.manager
    assert manager is not None
    return (await manager.report("vela-core", [play.site.namespace])).items


def bare(shown: Explain) -> dict[str, object]:
    """Without who says it and when."""
    tree = msgspec.to_builtins(shown)
    return {key: value for key, value in tree.items() if key not in ("source", "again")}


async def gated(site: Site, **plan: int) -> Play:
    """A pair that waits at the gate after its first batch."""
    play = await begin(site)
    target, source = await a_pair(site, 3)
    await play.roll(batches(1, 1, 1, lastBatchToRollout=0, **plan), target, source)
    await play.until(lambda: play.at() == GATED)
    return play


async def watched(play: Play, **scope: bool) -> WatchEnd:
    cluster = Cluster(play.site.client, (play.site.namespace,))
    return await within(60, cluster, WatchScope("r", **scope), Notes())


@with_traits(long=True)
async def test_operator_and_command_tell_the_same_at_a_gate(site: Site) -> None:
    play = await gated(site)

    async def is_told() -> bool:
        shown = await told(play)
        return shown.outcome == "gated" and shown.blocked_by[0].since_exact

    await site.until(is_told)
    shown = await told(play)

    assert bare(await look(play)) == bare(shown)
    assert [(each.phase, each.done, each.total, each.goal) for each in shown.stands.lanes] == [
        ("Done", 1, 1, 1),
        ("Gated", 0, 1, 2),
        ("Pending", 0, 1, 3),
    ]
    assert [(each.object, each.size, each.after) for each in shown.workloads or ()] == [
        ("deployment/d1", 2, 0),
        ("deployment/d2", 1, 3),
    ]
    assert shown.source
    assert shown.source.observed == {"rollouttrait/r": 1}


@with_traits()
async def test_promote_opens_gate_after_gate_until_the_end(site: Site) -> None:
    play = await gated(site)

    assert (await patches(site, VERBS, "promote", "r"))["r"]["spec"] == {"rolloutPlan": {"lastBatchToRollout": 1}}
    await said(site, VERBS, "promote", "r")
    await play.until(lambda: play.at() == ("rollingInBatches", "batchReady", 1))
    assert "no gate is left" in await said(site, VERBS, "promote", "r")
    await play.ends()

    assert play.sizes_of("d2") == [0, 1, 2, 3]
    assert isinstance(await asked(site, VERBS, "history", "r"), VerbTable)


@with_traits(on=("sim",))
async def test_a_watch_follows_a_plan_over_a_gate_and_leaves_there_when_asked_to(site: Site) -> None:
    play = await gated(site)

    at_gate = await watched(play, exit_when_blocked=True)
    await said(site, VERBS, "promote", "r", full="true")
    end = await watched(play)

    assert (at_gate.code, at_gate.text) == (
        exits.GATED,
        "r waits at the gate after batch 0; the last one is batch 2",
    )
    assert end == WatchEnd(exits.OK)
    assert play.state() == SUCCEEDED


@with_traits(on=("sim",))
async def test_a_watch_whose_time_passes_at_a_gate_says_so(site: Site) -> None:
    play = await gated(site)

    end = await watched(play)

    assert end == WatchEnd(exits.GATED, "not complete after 1m0s")


@with_traits(on=("sim",))
async def test_a_watch_tells_what_failed_from_what_went_back(site: Site) -> None:
    play = await gated(site)

    await said(site, VERBS, "abort", "r", revert="true")
    reverted = await watched(play)
    assert (play.size("d1"), play.size("d2")) == (3, 0)
    await said(site, VERBS, "retry", "r")
    again = await watched(play, exit_when_blocked=True)
    await said(site, VERBS, "abort", "r")
    failed = await watched(play)

    assert (reverted.code, again.code, failed.code) == (exits.REVERTED, exits.GATED, exits.FAILED)
    assert failed.text == "r failed: aborted"
    assert (play.size("d1"), play.size("d2")) == (2, 1)


@with_traits(long=True)
async def test_a_plan_is_paused_and_resumed(site: Site) -> None:
    play = await gated(site)

    await said(site, VERBS, "pause", "r")
    await said(site, VERBS, "promote", "r", full="true")
    await play.until(lambda: play.condition("BatchPaused").get("status") == "True")
    paused = await look(play)
    assert (paused.outcome, paused.stands.phase) == ("held", "Paused")
    assert play.size("d2") == 1
    await said(site, VERBS, "resume", "r")
    await play.ends()

    assert isinstance(await asked(site, VERBS, "resume", "r"), Nothing)


@with_traits(long=True)
async def test_undo_turns_a_plan_round_in_flight(site: Site) -> None:
    play = await gated(site)

    await said(site, VERBS, "undo", "r", full="true")
    await play.until(lambda: play.state() == SUCCEEDED and play.size("d2") == 0)

    assert (play.size("d1"), play.trait()["spec"]["targetRef"]["name"]) == (3, "d1")
    assert min(each["d1"] + each["d2"] for each in play.sizes() if len(each) == 2) == 3
    assert "rolloutAbandoned" in play.states()


@with_traits(on=("sim",))
async def test_two_people_who_promote_at_once_open_one_gate(site: Site) -> None:
    """What one of them was shown is open already: the next gate is for somebody who has seen it."""
    play = await gated(site)

    async def promoted() -> None:
        await change(site, ROLLOUT_TRAITS, "r", {"spec": {"rolloutPlan": {"lastBatchToRollout": 1}}})

    async with interrupted(site, 1, promoted) as (client, seen):
        done = await asked(site, VERBS, "promote", "r", client)

    assert isinstance(done, Acted)
    assert (seen.patches, done.written) == (1, ())
    await play.until(lambda: play.at() == ("rollingInBatches", "batchReady", 1))
    assert play.trait()["spec"]["rolloutPlan"]["lastBatchToRollout"] == 1


@with_traits(on=("sim",))
async def test_who_may_see_the_plan_and_its_deployments_sees_all_of_it(site: Site) -> None:
    play = await gated(site)
    user = await grant(site, LOOKING, "looker")
    transport = site.ground.transport(user.name)
    client = Client(user.limits(transport))
    try:
        shown = await look(play, client)
    finally:
        await Client(transport).close()

    assert (shown.outcome, shown.stands.done) == ("gated", 1)


@with_traits(on=("sim",))
async def test_what_may_not_be_read_is_said_and_not_guessed(site: Site) -> None:
    play = await gated(site)
    user = await grant(site, TRAITS, "looker")
    transport = site.ground.transport(user.name)
    client = Client(user.limits(transport))
    try:
        shown = await look(play, client)
    finally:
        await Client(transport).close()

    assert shown.blocked_by[0].text.startswith("deployment/d2 cannot be read here: ")
    assert shown.outcome == "failed"
    assert not shown.ended


@with_traits(on=("sim",))
async def test_a_failed_verification_is_told_with_its_numbers(site: Site) -> None:
    play = await begin(site)
    target, source = await a_pair(site, 3)
    await play.roll(batches(9, 1), target, source)
    await play.ends(FAILED)

    shown = await look(play)

    assert (shown.outcome, shown.ended) == ("failed", True)
    assert "total batch size = 9, totalReplicas size = 3" in shown.blocked_by[0].text
    assert await watched(play) == WatchEnd(exits.FAILED, shown.blocked_by[0].text)


@with_traits(on=("sim",))
async def test_the_first_plan_of_the_guide_comes_to_the_gate_that_it_shows(site: Site) -> None:
    guide = (Path(__file__).parents[2] / "docs" / "plans.md").read_text()
    workloads, plan, *_ = re.findall(r"```yaml\n(.*?)```", guide, re.DOTALL)
    (page,) = re.findall(r"\$ fairlead explain web\n(.*?)```", guide, re.DOTALL)
    play = await begin(site)
    for each in yaml.safe_load_all(workloads):
        await site.create(DEPLOYMENTS, each)
    await play.until(lambda: play.ready("web-v1") == 6)
    await site.create(ROLLOUT_TRAITS, yaml.safe_load(plan))
    await play.until(lambda: play.at("web") == GATED)

    shown = plain(explanation(await look(play), clock.now())).splitlines()

    told = [line for line in page.replace("default", site.namespace).splitlines() if not line.startswith("    for ")]
    assert [line for line in told if line not in shown] == []
    await said(site, VERBS, "promote", "web", full="true")
    await play.ends(name="web")
    assert (play.size("web-v1"), play.size("web-v2")) == (0, 6)


@with_applications(on=("sim",))
async def test_an_application_deployment_is_told_alike_and_promoted(site: Site) -> None:
    play = await begin_applications(site)
    await old_and_new(play)
    await play.deploy("next", "shop", **batches(1, 1, batchPartition=0))

    async def is_told() -> bool:
        shown = [each for each in await report(play) if each.noun == "applicationdeployment"]
        return bool(shown) and shown[0].outcome == "gated" and shown[0].blocked_by[0].since_exact

    await site.until(is_told)
    (shown,) = await explain_all(site.client, [site.namespace])

    assert [bare(each) for each in await report(play) if each.noun == "applicationdeployment"] == [bare(shown)]
    assert [(each.object, each.size) for each in shown.workloads or ()] == [
        ("deployment/web", 1),
        ("deployment/web-v2", 1),
    ]
    await said(site, VERBS, "promote", "d")
    await play.deployed()
