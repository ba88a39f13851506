"""What the API server refuses while Applications are made: it is told, and asked for at a pace that hurts nobody."""

from __future__ import annotations

import asyncio

import pytest

from fairlead.contracts.plans.kinds import APPLICATIONS, COMPONENTS, CONFIGURATIONS, ROLLOUT_TRAITS, SUCCEEDED
from kubeloop.objects.apps import CONTROLLER_REVISIONS
from kubeloop.objects.meta import Ref
from kubeloop.request import Transport, delete
from tests.e2e.application_play import ApplicationPlay, begin, component, with_applications
from tests.e2e.clusters import Site
from tests.e2e.history import Tree
from tests.e2e.meddling import EXCEEDED, Quota
from tests.e2e.plan_play import NEW, OLD, batches
from tests.e2e.webhooks import MUTATING, answering, install, patching, rule, serve
from tests.e2e.zones import change, told


async def limited(play: ApplicationPlay, *what: str) -> Quota:
    """Another operator goes on, of which this is refused."""
    made: list[Quota] = []

    def through(transport: Transport) -> Transport:
        made.append(Quota(transport, *what))
        return made[0]

    await play.kill()
    play.start(through)
    return made[0]


@with_applications(on=("sim",))
async def test_a_revision_that_is_refused_is_told_and_recorded_once_it_may_be(site: Site) -> None:
    play = await begin(site)
    await play.apply("shop", component(OLD))
    await play.runs("shop")
    quota = await limited(play, "create controllerrevisions")

    await play.apply("shop", component(NEW))
    await asyncio.sleep(60)
    (event,) = await told(site, "RevisionRefused")

    assert 5 <= quota.asked <= 8
    assert (event["regarding"]["kind"], event["regarding"]["name"]) == (COMPONENTS.kind, "web")
    assert event["note"].startswith("ControllerRevision web-v2 was refused: ")
    assert event["note"].endswith(EXCEEDED)

    quota.holds = False
    await play.until(lambda: "shop-v2" in site.history.objects(CONFIGURATIONS), within=30)

    assert await site.get(CONTROLLER_REVISIONS, "web-v2") is not None


@with_applications(on=("sim",))
async def test_a_rollout_that_may_not_be_changed_is_told_by_its_configuration(site: Site) -> None:
    def rolled(image: str) -> Tree:
        return component(image, {"name": "rollout", "properties": batches(1, 1, targetSize=2)})

    def synced() -> Tree:
        status = site.history.objects(CONFIGURATIONS).get("shop-v2", {}).get("status", {})
        found: list[Tree] = status.get("conditions", [])
        return next((each for each in found if each["type"] == "Synced"), {})

    play = await begin(site)
    await play.apply("shop", rolled(OLD))
    await play.until(lambda: play.state("web") == SUCCEEDED)
    quota = await limited(play, "patch rollouttraits")

    await play.apply("shop", rolled(NEW))
    await asyncio.sleep(60)
    await site.history.caught_up()

    assert 5 <= quota.asked <= 8
    assert synced()["status"] == "False"
    assert "was refused: patch rollouttraits/web" in synced()["message"]

    quota.holds = False
    await play.until(lambda: synced()["status"] == "True" and play.state("web") == SUCCEEDED, within=60)
    assert play.object(ROLLOUT_TRAITS, "web")["spec"]["targetRef"]["name"] == "web-v2"


@with_applications(on=("sim",))
async def test_a_component_that_a_finalizer_keeps_is_named_and_made_again(site: Site) -> None:
    play = await begin(site)
    await play.apply("shop", component(OLD))
    await play.runs("shop")
    await change(site, COMPONENTS, "web", {"metadata": {"finalizers": ["example.test/kept"]}})
    await site.client.call(delete(Ref(COMPONENTS, site.namespace, "web")))

    await play.apply("shop", component(NEW))
    await asyncio.sleep(30)
    await site.history.caught_up()
    conditions = site.history.objects(APPLICATIONS)["shop"]["status"]["conditions"]

    (built,) = [each for each in conditions if each["type"] == "Built"]
    assert built["message"] == "waiting for the Component web to be gone: it is being deleted"

    await change(site, COMPONENTS, "web", {"metadata": {"finalizers": None}})
    await play.until(lambda: "shop-v2" in site.history.objects(CONFIGURATIONS), within=30)


@pytest.mark.parametrize("taken", ["ownerReferences", "labels"])
@with_applications(on=("sim",))
async def test_a_revision_whose_marks_admission_takes_away_is_recorded_once(site: Site, taken: str) -> None:
    made: list[str] = []

    def stripped(review: Tree) -> Tree:
        made.append(review["name"])
        if len(made) > 5:
            return {"allowed": False, "status": {"message": "that is enough"}}
        return patching({"op": "remove", "path": f"/metadata/{taken}"})

    hook = {"clientConfig": await serve(site, answering(stripped)), "rules": [rule("CREATE", "controllerrevisions")]}
    await install(site, MUTATING, "strips", hook)
    play = await begin(site)
    await play.apply("shop", component(OLD))
    await asyncio.sleep(30)
    (event,) = await told(site, "RevisionChanged")

    assert made == ["web-v1"]
    assert "ControllerRevision web-v1 was recorded for this Component" in event["note"]

    await site.client.call(delete(Ref(MUTATING, "", "strips")))
    await site.client.call(delete(Ref(CONTROLLER_REVISIONS, site.namespace, "web-v1")))
    await play.runs("shop")
