"""Rollouts that cannot go on, on clusters whose own controllers act: they say so, once, and go on when it is over."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from fairlead.cli.documents_of import explain_all
from fairlead.contracts.zones.kinds import PAUSED
from fairlead.core.explain import Explain
from fairlead.core.progress_deadline import PROGRESS_DEADLINE
from fairlead.core.times import parse_rfc3339
from kubeloop import clock
from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.core import EVENTS, PODS
from kubeloop.objects.meta import Ref
from kubeloop.request import delete
from kubesim.pods.behaviour import CRASH_AFTER, HOLD, IMAGE_PULL, PENDING, READY_AFTER
from tests.e2e.clusters import Site, everywhere
from tests.e2e.history import Tree
from tests.e2e.programs import finished
from tests.e2e.rollouts import FIRST, SECOND, ZONES, is_complete, pods_out, release, roll, three_zones
from tests.e2e.zones import PREFIX, Play, begin, change, statefulset, told

CRASHING = {CRASH_AFTER: "500ms", READY_AFTER: "1m"}
"""Pods that crash before they are ready."""


async def roll_badly(site: Site, **annotations: str) -> None:
    """Gives every zone a template whose pods behave like this."""
    template = {
        "metadata": {"annotations": annotations},
        "spec": {"containers": [{"name": "main", "image": SECOND}]},
    }
    for letter in ZONES:
        await change(site, STATEFULSETS, f"{PREFIX}{letter}", {"spec": {"template": template}})


async def correct(site: Site, *keys: str) -> None:
    """Gives every zone a template without this behaviour."""
    template = {"metadata": {"annotations": dict.fromkeys(keys)}}
    for letter in ZONES:
        await change(site, STATEFULSETS, f"{PREFIX}{letter}", {"spec": {"template": template}})


async def annotate(site: Site, **annotations: str | None) -> None:
    for letter in ZONES:
        await change(site, STATEFULSETS, f"{PREFIX}{letter}", {"metadata": {"annotations": annotations}})


def blocked(play: Play, reason: str = "PodStuck") -> bool:
    """What the metric says."""
    labels = {"part": "zones", "namespace": play.site.namespace, "rollout": "ingester", "reason": reason}
    return play.operator.metrics.registry.get_sample_value("fairlead_rollout_blocked", labels) == 1


async def until_blocked(play: Play, reason: str = "PodStuck") -> None:
    await play.site.until(lambda: blocked(play, reason), every=0.05)


async def explained(site: Site) -> Explain:
    (shown,) = await explain_all(site.client, [site.namespace])
    return shown


def warned(site: Site) -> list[Tree]:
    return [event for event in site.history.objects(EVENTS).values() if event["reason"] == "RolloutBlocked"]


def restarts(site: Site, pod: str) -> int:
    statuses = site.history.objects(PODS)[f"{PREFIX}{pod}"]["status"].get("containerStatuses", ())
    return max((each["restartCount"] for each in statuses), default=0)


@everywhere(seeds=(0, 1, 2))
async def test_a_crash_loop_blocks_is_told_once_and_ends_with_a_corrected_template(site: Site) -> None:
    await three_zones(site)
    play = await begin(site)

    await roll_badly(site, **CRASHING)
    await site.until(lambda: f"{PREFIX}a-0" in pods_out(site) and restarts(site, "a-0") >= 2)
    await until_blocked(play)

    (event,) = await told(site, "RolloutBlocked")
    assert event["regarding"]["name"] == f"{PREFIX}a"
    assert event["note"] == f"{PREFIX}a-0 is stuck: container main is in CrashLoopBackOff"
    shown = await explained(site)
    first = shown.blocked_by[0]
    assert (shown.stands.phase, shown.next, first.object) == ("Blocked", (), f"pod/{PREFIX}a-0")
    assert f"kubectl -n {site.namespace} logs {PREFIX}a-0 -c main --previous" in first.advice

    before = restarts(site, "a-0")
    await site.until(lambda: restarts(site, "a-0") >= before + 3)
    await play.operator.at_rest()
    assert blocked(play)
    assert len(warned(site)) == 1
    assert play.deletions == ["a-0"]

    await correct(site, *CRASHING)
    await site.until(lambda: is_complete(site, SECOND))
    await play.operator.at_rest()

    assert not blocked(play)
    assert (await explained(site)).stands.phase == "Current"
    assert play.deletions == ["a-0", *(f"{letter}-{place}" for letter in "abc" for place in range(3))]


@everywhere(on=("served", "real"))
async def test_an_image_that_cannot_be_pulled_ends_the_watch_with_4(site: Site) -> None:
    await three_zones(site)
    play = await begin(site)
    await roll_badly(site, **{IMAGE_PULL: "fail"})
    await until_blocked(play)

    watched = await finished(
        *("fairlead", "watch", "ingester", "-n", site.namespace, "--exit-when-blocked", "--timeout", "60s"),
        kubeconfig=site.server.kubeconfig,
    )

    assert watched.code == 4
    assert f"{PREFIX}a-0 is stuck: container main is in ImagePullBackOff (image {SECOND})" in watched.err


@everywhere(seeds=(0, 1), long=True)
async def test_a_pod_that_gets_no_node_blocks_after_its_deadline_and_goes_on_with_one(site: Site) -> None:
    """Nothing happens in the cluster when the deadline passes; the group is looked at all the same."""
    await three_zones(site)
    await annotate(site, **{PROGRESS_DEADLINE: "3s"})
    await site.history.follow(EVENTS)
    play = await begin(site)

    await roll_badly(site, **{PENDING: "true"})
    await site.until(lambda: pods_out(site) == [f"{PREFIX}a-0"] and is_of(site, "a-0", SECOND))
    await play.operator.at_rest()
    if not site.real:  # a machine with other work may take as long as the deadline to come here
        assert not blocked(play)
        assert warned(site) == []
    await until_blocked(play)

    found = await site.get(PODS, f"{PREFIX}a-0")
    assert found is not None
    assert clock.now() - parse_rfc3339(found["metadata"]["creationTimestamp"]) >= timedelta(seconds=3)
    shown = await explained(site)
    assert shown.blocked_by[0].text == f"{PREFIX}a-0 is stuck: its phase is Pending"
    await change(site, PODS, f"{PREFIX}a-0", {"metadata": {"annotations": {PENDING: None}}})
    await correct(site, PENDING)
    await site.until(lambda: is_complete(site, SECOND))
    await play.operator.at_rest()
    assert not blocked(play)


@everywhere(long=True)
async def test_a_pod_without_a_node_of_a_template_that_was_corrected_is_to_be_deleted_by_hand(site: Site) -> None:
    """It uses the budget, and is in none of the states in which the rollout may delete it beside the budget."""
    await three_zones(site)
    await annotate(site, **{PROGRESS_DEADLINE: "1s"})
    play = await begin(site)
    await roll_badly(site, **{PENDING: "true"})
    await until_blocked(play)

    await correct(site, PENDING)
    await play.operator.at_rest()
    first = (await explained(site)).blocked_by[0]
    await by_hand(site, f"{PREFIX}a-0")
    await site.until(lambda: is_complete(site, SECOND))

    assert first.advice[0].endswith(f": kubectl -n {site.namespace} delete pod {PREFIX}a-0")


def is_of(site: Site, pod: str, image: str) -> bool:
    found = site.history.objects(PODS).get(f"{PREFIX}{pod}")
    return found is not None and found["spec"]["containers"][0]["image"] == image


@everywhere(long=True)
async def test_a_pod_that_becomes_ready_after_its_deadline_is_no_longer_in_the_way(site: Site) -> None:
    await three_zones(site)
    await annotate(site, **{PROGRESS_DEADLINE: "1s"})
    play = await begin(site)
    await roll(site, hold=True)
    await until_blocked(play)

    await correct(site, HOLD)
    await release(site, f"{PREFIX}a-0")
    await site.until(lambda: is_complete(site, SECOND))
    await play.operator.at_rest()

    assert not blocked(play)
    assert (await explained(site)).blocked_by == ()


@everywhere(long=True)
async def test_a_group_that_is_created_while_the_operator_looks_is_not_warned_about(site: Site) -> None:
    site.start_kubelet(ready_after=1.0, gone_after=0.01)
    await site.history.follow(EVENTS)
    play = await begin(site)

    for letter in ZONES:
        await site.create(STATEFULSETS, statefulset(f"{PREFIX}{letter}", 3))
    await site.until(lambda: is_complete(site, FIRST))
    await play.operator.at_rest()
    await site.history.caught_up()

    assert [event for event in site.history.objects(EVENTS).values() if is_warning(event)] == []


def is_warning(event: Tree) -> bool:
    ours = event.get("reportingController", "") not in ("statefulset-controller", "kubelet", "default-scheduler")
    return ours and event["type"] == "Warning"


@everywhere(long=True)
async def test_zones_that_grow_together_in_a_rollout_are_waited_for_and_block_nothing(site: Site) -> None:
    """E-6: an autoscaler grows them, and their new pods become ready by themselves."""
    await site.history.follow(EVENTS)
    await three_zones(site)
    play = await begin(site)
    await roll(site, hold=True)
    await site.until(lambda: pods_out(site) == [f"{PREFIX}a-0"])

    for letter in "bc":
        await change(site, STATEFULSETS, f"{PREFIX}{letter}", {"spec": {"replicas": 4}})
    await site.until(lambda: len(pods_out(site)) == 3)
    await play.operator.at_rest()
    shown = await explained(site)
    assert shown.blocked_by[0].text == f"3 zones are not ready: {PREFIX}a, {PREFIX}b, {PREFIX}c"
    assert (shown.outcome, blocked(play, "TwoZonesNotReady")) == ("waiting", False)

    for pod in ("b-3", "c-3", "a-0"):
        await release(site, f"{PREFIX}{pod}")
    await site.until(lambda: pods_out(site) == [f"{PREFIX}a-1"])
    await play.operator.at_rest()
    await site.history.caught_up()
    assert play.deletions == ["a-0", "a-1"]
    assert warned(site) == [], "nobody needs to act"


@everywhere(long=True)
async def test_a_pod_of_a_paused_zone_that_starts_is_waited_for_and_blocks_nothing(site: Site) -> None:
    """H-8: it holds the others back, and becomes ready by itself."""
    await site.history.follow(EVENTS)
    await three_zones(site)
    held = {"metadata": {"annotations": {HOLD: "true"}}}
    paused = {"metadata": {"annotations": {PAUSED: "true"}}, "spec": {"template": held}}
    await change(site, STATEFULSETS, f"{PREFIX}a", paused)
    await by_hand(site, f"{PREFIX}a-1")
    await site.until(lambda: pods_out(site) == [f"{PREFIX}a-1"])

    play = await begin(site)
    await roll(site, hold=True)
    await play.operator.at_rest()
    shown = await explained(site)
    assert shown.blocked_by[0].text == f"{PREFIX}a is paused and not ready, which holds back {PREFIX}b, {PREFIX}c"
    assert (shown.outcome, blocked(play, "OtherZoneNotReady")) == ("waiting", False)

    await release(site, f"{PREFIX}a-1")
    await site.until(lambda: pods_out(site) == [f"{PREFIX}b-0"])
    await play.operator.at_rest()
    await site.history.caught_up()
    assert play.deletions == ["b-0"]
    assert warned(site) == []


@everywhere(long=True)
async def test_outdated_pods_stuck_in_two_zones_are_named_and_deleting_them_helps(site: Site) -> None:
    """Nobody may delete a pod of either zone but a person, who is told which."""
    await three_zones(site)
    for pod in ("a-1", "b-2"):
        await change(site, PODS, f"{PREFIX}{pod}", {"metadata": {"annotations": CRASHING}})
    await site.until(lambda: all(restarts(site, pod) >= 2 for pod in ("a-1", "b-2")))
    play = await begin(site)
    await roll(site)
    await until_blocked(play, "TwoZonesNotReady")

    first = (await explained(site)).blocked_by[0]
    assert first.text.startswith(f"2 zones are not ready ({PREFIX}a, {PREFIX}b)")
    (advice,) = first.advice
    command = f"kubectl -n {site.namespace} delete pod {PREFIX}a-1"
    assert advice.endswith(command)
    assert play.deletions == []
    assert play.operator.failures() == 0

    await by_hand(site, f"{PREFIX}a-1")
    await site.until(lambda: is_complete(site, SECOND))
    await play.operator.at_rest()
    assert not blocked(play, "TwoZonesNotReady")


async def by_hand(site: Site, pod: str) -> None:
    await site.client.call(delete(Ref(PODS, site.namespace, pod)))


@everywhere(long=True)
async def test_a_paused_zone_with_a_stuck_pod_says_both(site: Site) -> None:
    await three_zones(site)
    await change(site, STATEFULSETS, f"{PREFIX}a", {"metadata": {"annotations": {PAUSED: "true"}}})
    await change(site, PODS, f"{PREFIX}a-1", {"metadata": {"annotations": CRASHING}})
    await site.until(lambda: restarts(site, "a-1") >= 2)
    play = await begin(site)

    await roll(site)
    await until_blocked(play, "OtherZoneNotReady")

    shown = await explained(site)
    assert [block.reason for block in shown.blocked_by] == ["OtherZoneNotReady", "PodStuck"]
    assert play.deletions == []


@everywhere(long=True)
async def test_a_new_operator_does_not_tell_it_again(site: Site) -> None:
    await three_zones(site)
    play = await begin(site)
    await roll_badly(site, **{IMAGE_PULL: "fail"})
    await until_blocked(play)
    await told(site, "RolloutBlocked")

    await site.stop(play.task)
    again = await begin(site)
    await until_blocked(again)
    await again.operator.at_rest()
    if not site.real:
        await asyncio.sleep(60)
    await site.history.caught_up()

    assert len(warned(site)) == 1
