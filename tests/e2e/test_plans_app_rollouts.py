"""Rollouts of ApplicationRevisions (section 3.21): their workloads are made and rolled, and the old ones stay empty."""

from __future__ import annotations

import pytest

from fairlead.cli.documents_of import explain_all
from fairlead.contracts.plans.kinds import (
    APP_ROLLOUT_FINALIZER,
    APP_ROLLOUTS,
    APPLICATIONS,
    CONFIGURATIONS,
    LOCATING,
    SUCCEEDED,
)
from fairlead.contracts.plans.verbs import VERBS
from kubeloop.objects.apps import DEPLOYMENTS
from kubeloop.objects.meta import Ref, Resource
from kubeloop.request import delete, get
from tests.e2e.app_rollout_play import AppRolloutPlay, begin, with_app_rollouts
from tests.e2e.clusters import Site
from tests.e2e.mortals import lives_until
from tests.e2e.plan_admission import admit, refused, refused_change
from tests.e2e.plan_play import NEW, batches
from tests.e2e.verbs import said

GATED = ("rollingInBatches", "batchReady", 0)
OLDER = Resource(APP_ROLLOUTS.group, "v1alpha2", APP_ROLLOUTS.plural, APP_ROLLOUTS.kind)


async def gated(play: AppRolloutPlay, **plan: object) -> None:
    """`shop-v2` waits at the gate after its first batch."""
    await play.revise(NEW, "shop-v2")
    await play.upgrade("shop-v2", "shop-v1", **batches(1, 1, batchPartition=0, **plan))
    await play.until(lambda: play.at() == GATED)


@with_app_rollouts()
async def test_a_revision_is_rolled_turned_round_in_the_middle_and_rolled_again(site: Site) -> None:
    play = await begin(site)
    first = play.object(DEPLOYMENTS, "web-v1")["metadata"]
    assert first["labels"]["app.oam.dev/revision"] == "web-v1"
    assert APP_ROLLOUT_FINALIZER in play.trait()["metadata"]["finalizers"]
    assert site.history.objects(CONFIGURATIONS) == {}
    await gated(play)
    assert play.sizes_of("web-v2") == [0, 1]

    await play.upgrade("shop-v1", "shop-v2", **batches(1, 1))
    await play.until(lambda: play.deployments() == {"web-v1": 2, "web-v2": 0})
    await play.ends()
    assert "rolloutAbandoned" in play.states()

    await play.upgrade("shop-v2", "shop-v1", **batches(1, 1))
    await play.until(lambda: play.deployments() == {"web-v1": 0, "web-v2": 2})
    await play.ends()
    assert (play.status()["lastTargetAppRevision"], play.status()["LastSourceAppRevision"]) == ("shop-v2", "shop-v1")
    assert play.object(DEPLOYMENTS, "web-v1")["metadata"]["uid"] == first["uid"]
    assert play.owners("web-v1") == play.owners("web-v2") == ["Application"]
    assert min(play.sums()[1:]) >= 2


@with_app_rollouts()
async def test_another_target_without_a_source_takes_the_pods_of_the_last_one(site: Site) -> None:
    play = await begin(site)
    await play.revise(NEW, "shop-v2")

    await play.upgrade("shop-v2", **batches(1, 1))
    await play.until(lambda: play.deployments() == {"web-v1": 0, "web-v2": 2})
    await play.ends()

    assert (play.status()["lastTargetAppRevision"], play.status()["LastSourceAppRevision"]) == ("shop-v2", "shop-v1")
    assert min(play.sums()[1:]) >= 2


@with_app_rollouts()
async def test_an_older_version_of_the_kind_is_served_beside(site: Site) -> None:
    play = await begin(site)
    spec = {"targetAppRevisionName": "shop-v9", "rolloutPlan": {"targetSize": 1}}
    await site.create(OLDER, {"metadata": {"name": "s"}, "spec": spec})
    await play.until(lambda: play.condition("TargetAppLocating", "s"))

    assert "shop-v9 is not there" in play.condition("TargetAppLocating", "s")["message"]
    shown = (await site.client.call(get(Ref(OLDER, site.namespace, "s")))).body
    assert b'"lastTargetAppRevision":"shop-v9"' in shown
    assert play.deployments() == {"web-v1": 2}


@with_app_rollouts(on=("sim",))
async def test_a_deleted_rollout_goes_back_and_deletes_no_workload(site: Site) -> None:
    play = await begin(site)
    await gated(play, revertOnDelete=True)

    await play.delete(propagation="Foreground")
    await play.until(lambda: not play.trait())

    await play.until(lambda: play.deployments() == {"web-v1": 2, "web-v2": 0})
    await site.history.caught_up()
    assert play.owners("web-v1") == play.owners("web-v2") == ["Application"]


@pytest.mark.parametrize("before", [False, True], ids=["after", "before"])
@with_app_rollouts(on=("sim",))
async def test_an_operator_that_dies_at_every_write_comes_to_the_same_end(site: Site, before: bool) -> None:
    """Sizes go the one way that they go without a crash, so that I-1 and I-2 hold."""
    play = await begin(site)
    await play.revise(NEW, "shop-v2")
    await play.kill()
    await play.upgrade("shop-v2", "shop-v1", **batches(1, 1, targetSize=2))

    lives = await lives_until(play, LOCATING, before=before)
    lives += await lives_until(play, SUCCEEDED, before=before)

    assert lives > 10
    assert play.deployments() == {"web-v1": 0, "web-v2": 2}
    assert play.sizes_of("web-v1")[-3:] == [2, 1, 0]
    assert play.sizes_of("web-v2") == [0, 1, 2]
    assert min(play.sums()[1:]) >= 2
    assert play.owners("web-v1") == play.owners("web-v2") == ["Application"]


@pytest.mark.parametrize("before", [False, True], ids=["after", "before"])
@with_app_rollouts(on=("sim",))
async def test_an_operator_that_dies_at_every_write_of_a_revert_goes_back_once(site: Site, before: bool) -> None:
    play = await begin(site)
    await gated(play, revertOnDelete=True)
    await play.kill()
    await play.delete()

    await lives_until(play, before=before)

    assert play.sizes_of("web-v1")[-3:] == [2, 1, 2]
    assert play.sizes_of("web-v2") == [0, 1, 0]


@with_app_rollouts(on=("sim",))
async def test_what_an_app_rollout_may_say_is_judged_before_it_is_stored(site: Site) -> None:
    play = await begin(site)
    await admit(site)
    spec = {"targetAppRevisionName": "shop-v9", "rolloutPlan": {"numBatches": 0}}
    error = await refused(site, APP_ROLLOUTS, {"metadata": {"name": "s"}, "spec": spec})

    assert error.status == 422
    assert 'spec.targetAppRevisionName: Invalid value: "shop-v9": there is no such ApplicationRevision' in str(error)
    assert "spec.rolloutPlan.numBatches" in str(error)

    await gated(play)
    assert play.trait()["spec"]["rolloutPlan"]["rolloutStrategy"] == "IncreaseFirst"
    changed = {"spec": {"rolloutPlan": {"rolloutStrategy": "DecreaseFirst"}}}
    error = await refused_change(site, APP_ROLLOUTS, "r", changed)
    assert "spec.rolloutPlan.rolloutStrategy: Forbidden" in str(error)


@with_app_rollouts(on=("sim",))
async def test_an_app_rollout_is_told_promoted_and_undone_like_any_other(site: Site) -> None:
    play = await begin(site)
    await gated(play)
    (shown,) = await explain_all(site.client, [site.namespace])

    assert (shown.noun, shown.outcome) == ("approllout", "gated")
    workloads = [(each.object, each.size) for each in shown.workloads or ()]
    assert sorted(workloads) == [("deployment/web-v1", 1), ("deployment/web-v2", 1)]

    await said(site, VERBS, "promote", "r")
    await play.until(lambda: play.deployments() == {"web-v1": 0, "web-v2": 2})
    await play.ends()
    assert play.told("Rollout Finalized")
    await said(site, VERBS, "undo", "r")
    await play.until(lambda: play.deployments() == {"web-v1": 2, "web-v2": 0})


@with_app_rollouts(on=("sim",))
async def test_an_application_that_goes_takes_the_workloads_of_its_rollout_along(site: Site) -> None:
    play = await begin(site)
    await play.delete()
    await play.until(lambda: not play.trait())
    await site.client.call(delete(Ref(APPLICATIONS, site.namespace, "shop")))

    await play.until(lambda: play.deployments() == {})
