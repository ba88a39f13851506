"""Rollouts with a plan whose new pods do not come up: they say so, once, with the cause, and go on after it."""

from __future__ import annotations

import pytest

from fairlead.cli.documents_of import explain_all
from fairlead.contracts.plans.kinds import ROLLING
from kubeloop.objects.apps import DEPLOYMENTS
from kubesim.pods.behaviour import CRASH_AFTER, IMAGE_PULL, READY_AFTER
from tests.e2e.clusters import SERVICE_ACCOUNTS, Site
from tests.e2e.plan_play import Play, a_pair, batches, begin
from tests.e2e.plans import with_traits
from tests.e2e.zones import change

CRASHING = {CRASH_AFTER: "500ms", READY_AFTER: "1m"}


def blocked(play: Play, reason: str = "PodStuck") -> bool:
    labels = {"part": "plans", "namespace": play.site.namespace, "rollout": "r", "reason": reason}
    return play.operator.metrics.registry.get_sample_value("fairlead_rollout_blocked", labels) == 1


@pytest.mark.parametrize(
    ("annotations", "cause"),
    [({IMAGE_PULL: "fail"}, "ImagePullBackOff"), (CRASHING, "CrashLoopBackOff")],
    ids=["image", "crash"],
)
@with_traits(long=True)
async def test_a_pod_that_does_not_come_up_blocks_its_rollout(
    site: Site, annotations: dict[str, str], cause: str
) -> None:
    play = await begin(site)
    target, source = await a_pair(site, 2)
    await change(site, DEPLOYMENTS, "d2", {"spec": {"template": {"metadata": {"annotations": annotations}}}})
    await play.roll(batches(1, 1), target, source)

    await play.until(lambda: blocked(play) and play.condition("RolloutInProgress")["reason"] == "PodStuck", within=60)
    await play.tells("RolloutBlocked")
    (told,) = play.told("RolloutBlocked")
    (shown,) = await explain_all(site.client, [site.namespace])
    said = play.condition("RolloutInProgress")

    assert play.state() == ROLLING
    assert (play.size("d1"), play.size("d2")) == (2, 1)
    assert cause in told
    assert (said["status"], said["reason"]) == ("False", "PodStuck")
    assert said["message"] == f"pod {play.pods('d2')[0]['metadata']['name']} is stuck: container main is in {cause}"
    assert shown.outcome == "blocked"
    assert shown.blocked_by[0].reason == "PodStuck"

    await change(site, DEPLOYMENTS, "d2", {"spec": {"template": {"metadata": {"annotations": None}}}})
    await play.ends()

    assert not blocked(play)


@with_traits(long=True)
async def test_a_rollout_whose_pods_are_not_made_says_why(site: Site) -> None:
    """A quota, a policy or an account that is missing: nothing but the Deployment tells."""
    play = await begin(site)
    target, source = await a_pair(site, 2)
    account = {"spec": {"template": {"spec": {"serviceAccountName": "nobody"}}}}
    await change(site, DEPLOYMENTS, "d2", account)
    await play.roll(batches(1, 1), target, source)

    await play.until(lambda: "not made" in play.condition("RolloutInProgress").get("message", ""))

    said = play.condition("RolloutInProgress")["message"]
    assert said.startswith(
        "0 of 1 pods of the Deployment d2 are ready; its pods are not made: forbidden: error looking up"
    )
    assert "nobody" in said
    assert (play.size("d1"), play.size("d2")) == (2, 1)
    await site.create(SERVICE_ACCOUNTS, {"metadata": {"name": "nobody"}})
    await play.ends(within=180)
