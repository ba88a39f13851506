"""Rollouts of component revisions (section 3.19): their workloads are made, rolled, and cleared away."""

from __future__ import annotations

from fairlead.cli.documents_of import explain_all
from fairlead.contracts.plans.kinds import COMPONENTS, ROLLOUT_FINALIZER, ROLLOUTS, WORKLOAD_NAME
from fairlead.contracts.plans.verbs import VERBS
from kubeloop.objects.apps import DEPLOYMENTS
from tests.e2e.clusters import Site
from tests.e2e.plan_admission import admit, refused, refused_change
from tests.e2e.plan_play import NEW, batches
from tests.e2e.revision_play import RevisionPlay, begin, with_rollouts
from tests.e2e.verbs import said

GATED = ("rollingInBatches", "batchReady", 0)


async def gated(play: RevisionPlay, **plan: object) -> None:
    """`web-v2` waits at the gate after its first batch."""
    await play.revise(NEW, "web-v2")
    await play.go_to("web-v2", **batches(1, 1, batchPartition=0, **plan))
    await play.until(lambda: play.at() == GATED)


@with_rollouts()
async def test_a_revision_is_rolled_turned_round_in_the_middle_and_rolled_again(site: Site) -> None:
    play = await begin(site)
    first = play.object(DEPLOYMENTS, "web-v1")["metadata"]
    assert first["labels"]["app.oam.dev/revision"] == "web-v1"
    assert ROLLOUT_FINALIZER in play.trait()["metadata"]["finalizers"]
    await gated(play)
    assert play.trait()["metadata"]["annotations"][WORKLOAD_NAME] == "web-v2"
    assert play.sizes_of("web-v2") == [0, 1]

    await play.go_to("web-v1", **batches(1, 1))
    await play.until(lambda: play.deployments() == {"web-v1": 2})
    await play.ends()
    assert "rolloutAbandoned" in play.states()
    assert play.object(DEPLOYMENTS, "web-v1")["metadata"]["uid"] == first["uid"]

    await play.go_to("web-v2", **batches(1, 1))
    await play.until(lambda: play.deployments() == {"web-v2": 2})
    await play.ends()
    assert (play.status()["lastTargetRevision"], play.status()["LastSourceRevision"]) == ("web-v2", "web-v1")
    assert play.owners("web-v2") == []
    assert min(play.sums()[1:]) >= 2


@with_rollouts(on=("sim",))
async def test_a_deleted_rollout_goes_back_and_deletes_no_workload(site: Site) -> None:
    play = await begin(site)
    await gated(play, revertOnDelete=True)

    await play.delete(propagation="Foreground")
    await play.until(lambda: not play.trait())

    await play.until(lambda: play.deployments() == {"web-v1": 2, "web-v2": 0})
    await site.history.caught_up()
    assert play.owners("web-v1") == play.owners("web-v2") == []


@with_rollouts(on=("sim",))
async def test_an_operator_that_dies_after_every_write_comes_to_the_same_end(site: Site) -> None:
    play = await begin(site)
    await play.revise(NEW, "web-v2")
    await play.kill()
    await play.go_to("web-v2", **batches(1, 1))
    play.start()

    lives = await play.lives(
        lambda: play.state() == "rolloutSucceed" and play.status()["lastTargetRef"]["name"] == "web-v2"
    )

    assert lives > 10
    assert play.deployments() == {"web-v2": 2}
    assert min(play.sums()) >= 2


@with_rollouts(on=("sim",))
async def test_a_rollout_is_scaled_by_its_size_once_it_is_done(site: Site) -> None:
    play = await begin(site)
    for size in (4, 1):
        await play.go_to("web-v1", targetSize=size)
        await play.until(lambda: play.ready("web-v1") == size and play.state() == "rolloutSucceed")  # noqa: B023


@with_rollouts(on=("sim",))
async def test_what_a_rollout_may_say_is_judged_before_it_is_stored(site: Site) -> None:
    play = await begin(site)
    await admit(site)
    spec = {"targetRevisionName": "web-v9", "sourceRevisionName": "web-v9", "rolloutPlan": {"numBatches": 0}}
    error = await refused(site, ROLLOUTS, {"metadata": {"name": "s"}, "spec": spec})

    assert error.status == 422
    assert 'spec.sourceRevisionName: Invalid value: "web-v9": must not be the target' in str(error)
    assert "spec.rolloutPlan.numBatches" in str(error)

    await gated(play)
    changed = {"spec": {"rolloutPlan": {"rolloutStrategy": "DecreaseFirst"}}}
    error = await refused_change(site, ROLLOUTS, "r", changed)
    assert "spec.rolloutPlan.rolloutStrategy: Forbidden" in str(error)


@with_rollouts(on=("sim",))
async def test_a_rollout_is_told_promoted_and_undone_like_any_other(site: Site) -> None:
    play = await begin(site)
    await gated(play)
    (shown,) = await explain_all(site.client, [site.namespace])

    assert (shown.noun, shown.outcome) == ("rollout", "gated")
    workloads = [(each.object, each.size) for each in shown.workloads or ()]
    assert sorted(workloads) == [("deployment/web-v1", 1), ("deployment/web-v2", 1)]

    await said(site, VERBS, "promote", "r")
    await play.until(lambda: play.deployments() == {"web-v2": 2})
    await play.ends()
    await said(site, VERBS, "undo", "r")
    await play.until(lambda: play.deployments() == {"web-v1": 2})


@with_rollouts(on=("sim",))
async def test_a_revision_that_cannot_be_rolled_changes_nothing(site: Site) -> None:
    play = await begin(site)
    workload = {"apiVersion": "example.test/v1", "kind": "Widget", "spec": {}}
    await site.create(COMPONENTS, {"metadata": {"name": "odd"}, "spec": {"workload": workload}})
    await play.go_to("odd-v1", targetSize=1)
    await play.ends("rolloutFailed")

    assert "is not supported" in play.condition("TargetAppLocating")["message"]
    assert play.deployments() == {"web-v1": 2}
