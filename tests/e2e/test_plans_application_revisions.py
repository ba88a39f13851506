"""ApplicationRevisions (section 3.20): kept while nothing is made of an Application, and taken on by its rollout."""

from __future__ import annotations

from fairlead.contracts.plans.kinds import (
    APPLICATION_REVISION_HASH,
    APPLICATION_REVISIONS,
    APPLICATIONS,
    CONFIGURATIONS,
    SUCCEEDED,
)
from tests.e2e.application_play import begin, component, with_applications
from tests.e2e.clusters import Site
from tests.e2e.plan_play import NEW, OLD


@with_applications(on=("sim",))
async def test_revisions_are_kept_until_a_rollout_takes_the_application_on(site: Site) -> None:
    play = await begin(site)
    await site.history.follow(APPLICATION_REVISIONS)
    await play.apply("shop", component(OLD), template=True)
    await play.until(lambda: play.object(APPLICATION_REVISIONS, "shop-v1"))
    await play.apply("shop", component(NEW))
    await play.until(lambda: play.object(APPLICATION_REVISIONS, "shop-v2"))

    first, second = (play.object(APPLICATION_REVISIONS, each) for each in ("shop-v1", "shop-v2"))
    assert first["spec"]["application"]["spec"]["components"][0]["settings"]["image"] == OLD
    hashes = [each["metadata"]["labels"][APPLICATION_REVISION_HASH] for each in (first, second)]
    assert hashes[0] != hashes[1]
    assert play.object(APPLICATIONS, "shop")["status"]["latestRevision"]["name"] == "shop-v2"
    assert site.history.objects(CONFIGURATIONS) == {}

    await play.deploy("shop", targetSize=2)
    await play.deployed(SUCCEEDED)

    assert set(site.history.objects(CONFIGURATIONS)) == {"shop-v2"}
    assert set(site.history.objects(APPLICATION_REVISIONS)) == {"shop-v1", "shop-v2"}
