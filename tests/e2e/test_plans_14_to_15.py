"""Acceptance scenarios 14 and 15: who is called when, and what waits for whom."""

from __future__ import annotations

from fairlead.contracts.plans.kinds import BATCH_INITIALIZING, ROLLING
from kubeloop.calls import Call, Reply
from tests.e2e.clusters import Site
from tests.e2e.history import Tree
from tests.e2e.plan_play import a_pair, begin
from tests.e2e.plans import with_traits
from tests.e2e.receivers import receiving


def hook(url: str, kind: str, **given: object) -> Tree:
    return {"type": kind, "name": kind, "url": f"{url}/{kind}", **given}


@with_traits()
async def test_scenario_14_hooks(site: Site) -> None:
    """Four types in their order, around every batch, each with what it is about."""
    async with receiving(site) as receiver:
        play = await begin(site)
        target, source = await a_pair(site, 2)
        around = [hook(receiver.url, each) for each in ("pre-batch-rollout", "post-batch-rollout")]
        plan = {
            "rolloutWebhooks": [
                hook(receiver.url, "initialize-rollout", metadata={"who": "me"}),
                hook(receiver.url, "finalize-rollout", method="PUT"),
            ],
            "rolloutBatches": [{"replicas": 1, "batchRolloutWebhooks": around} for _ in range(2)],
        }

        await play.roll(plan, target, source)
        await play.ends()

    batch = ["batchInitializing", "batchFinalizing"]
    assert [each["phase"] for each in receiver.bodies] == ["initializing", *batch, *batch, "finalising"]
    first, *others = receiver.bodies
    assert first == {"name": "r", "namespace": site.namespace, "phase": "initializing", "metadata": {"who": "me"}}
    assert all(each.keys() == {"name", "namespace", "phase"} for each in others)
    assert [each.method for each in receiver.calls] == [*("POST",) * 5, "PUT"]
    assert all(each.header("Content-Type") == ["application/json"] for each in receiver.calls)
    assert [each.url for each in receiver.calls[1:3]] == ["/pre-batch-rollout", "/post-batch-rollout"]


@with_traits(timing=True)
async def test_scenario_15_hook_refuses(site: Site) -> None:
    """As long as the hook of a batch refuses, the batch does not begin."""

    def refuse(_: Call) -> Reply:
        return Reply(403)

    async with receiving(site, refuse) as receiver:
        play = await begin(site)
        target, source = await a_pair(site, 2)
        plan = {"rolloutBatches": [{"batchRolloutWebhooks": [hook(receiver.url, "pre-batch-rollout")]}]}
        await play.roll(plan, target, source)
        await play.until(lambda: play.condition("BatchInitializing").get("status") == "False")
        await play.until(lambda: len(receiver.calls) >= 3, every=0.1)
        assert play.at()[:2] == (ROLLING, BATCH_INITIALIZING)
        assert play.condition("BatchInitializing")["message"].startswith("failed to invoke a webhook")
        assert play.sizes_of("d1") == [2]
        assert play.sizes_of("d2") == [0]

        receiver.answer = lambda _: Reply(200)
        await play.ends()

    assert play.sizes_of("d2") == [0, 2]
    assert len(await play.tells("WebhookFailed")) == 1
