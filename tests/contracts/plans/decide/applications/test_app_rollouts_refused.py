"""AppRollouts that are refused or wait, and what is odd about them (B-1)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.contracts.plans.kinds import (
    APP_ROLLOUTS,
    APPLICATION_REVISIONS,
    APPLICATIONS,
    CLONE_SETS,
    Json,
)
from fairlead.contracts.plans.settings import PlanSettings
from kubeloop.objects.apps import CONTROLLER_REVISIONS, DEPLOYMENTS
from tests.contracts.plans.decide.applications.app_rollouts import (
    PLAN,
    kept,
    revised,
    rolled,
    running,
    state,
)
from tests.contracts.plans.decide.applications.test_revision_rollouts import sizes
from tests.contracts.plans.decide.applications.world import World, component, lived, outside
from tests.contracts.plans.decide.test_reading import ODD

CART = component("web:1", name="web")


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"targetAppRevisionName": ""}, "targetAppRevisionName is empty: name the ApplicationRevision to go to"),
        (
            {"sourceAppRevisionName": "shop-v2"},
            "the ApplicationRevision shop-v2 is both target and source: name another",
        ),
        (
            {"sourceAppRevisionName": "cart-v1"},
            (
                "the ApplicationRevision shop-v2 is of the Application shop, and cart-v1 of cart: name two of one "
                "Application"
            ),
        ),
        ({"componentList": ["db"]}, "the component db is not in the ApplicationRevisions shop-v2 and shop-v1"),
        (
            {"componentList": ["web", "db"]},
            "componentList names several components, and one is rolled at a time: name one",
        ),
        (
            {"targetAppRevisionName": "shop-v3"},
            "the component web is the same in the ApplicationRevisions shop-v3 and shop-v1: there is nothing to roll",
        ),
        (
            {"targetAppRevisionName": "shop-v4"},
            (
                "the ApplicationRevision shop-v4 holds no Component web with a workload: change its Application to "
                "have another"
            ),
        ),
        (
            {"targetAppRevisionName": "shop-v5"},
            (
                "the ApplicationRevision shop-v5 holds no Application with components: change its Application to "
                "have another"
            ),
        ),
        (
            {"targetAppRevisionName": "odd"},
            "the ApplicationRevision odd does not say which Application it is of: give it the label app.oam.dev/name",
        ),
        (
            {"targetAppRevisionName": "shop-v1", "sourceAppRevisionName": "shop-v2"},
            (
                "no revision of the component web holds what the ApplicationRevision shop-v2 describes, so that none "
                "of its pods are here: leave sourceAppRevisionName out"
            ),
        ),
        ({"targetAppRevisionName": 7}, "spec.targetAppRevisionName: Invalid value: 7: must be a text"),
    ],
)
def test_what_can_never_be_rolled_is_refused_in_a_sentence(spec: Json, said: str) -> None:
    world = running()
    revised(world, CART, name="cart")
    shop = world.get(APPLICATION_REVISIONS, "shop-v1")["spec"]
    label = {"app.oam.dev/name": "shop"}
    world.apply(APPLICATION_REVISIONS, "shop-v3", shop, labels=label)
    world.apply(APPLICATION_REVISIONS, "shop-v4", {**shop, "components": [{"raw": 3}, 4]}, labels=label)
    world.apply(APPLICATION_REVISIONS, "shop-v5", {"application": "rubbish"}, labels=label)
    world.apply(APPLICATION_REVISIONS, "odd", {"application": {"spec": shop["application"]["spec"]}})
    before = outside(world)
    given = {"targetAppRevisionName": "shop-v2", "sourceAppRevisionName": "shop-v1", "rolloutPlan": PLAN, **spec}
    world.apply(APP_ROLLOUTS, "s", {key: value for key, value in given.items() if value is not None})
    world.play()

    assert world.status(APP_ROLLOUTS, "s")["rollingState"] == "rolloutFailed"
    assert world.condition(APP_ROLLOUTS, "s", "TargetAppLocating") == ("False", said)
    del world.objects[APP_ROLLOUTS, "s"]
    assert outside(world) == before, "nothing else was written"


NEVER = (
    "and never comes back, because the Application shop is at number 2: name another, or apply the Application as it "
    "was then and name the revision that is made of it"
)


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (
            ("shop-v3", "shop-v1"),
            "the ApplicationRevision shop-v3 is not there: it is made when its Application changes",
        ),
        (("shop-v2", "shop-v1"), f"the ApplicationRevision shop-v1 is not there, {NEVER}"),
        (
            ("shop-v2", "cart-v1"),
            (
                "the ApplicationRevision cart-v1 is not there, and neither is the Application cart that it would be "
                "made of"
            ),
        ),
        (
            ("shop-v2", "shop"),
            (
                "the ApplicationRevision shop is not there, and none is made under that name: those of an Application "
                "are called <application>-v<N>"
            ),
        ),
    ],
)
def test_a_revision_that_is_not_there_is_waited_for_with_its_true_cause(names: tuple[str, str], said: str) -> None:
    world = running()
    before = sizes(world)
    del world.objects[APPLICATION_REVISIONS, "shop-v1"]
    rolled(world, *names)
    for _ in range(4):
        world.run(APP_ROLLOUTS, "r")

    assert state(world) == "locatingTargetApp"
    assert world.condition(APP_ROLLOUTS, "r", "TargetAppLocating") == ("False", said)
    assert sizes(world) == before


def test_an_application_that_is_not_kept_as_revisions_is_named() -> None:
    world = running()
    world.apply(APPLICATIONS, "shop", annotations={})
    world.play()
    rolled(world, "shop-v3", "shop-v1")
    for _ in range(4):
        world.run(APP_ROLLOUTS, "r")

    assert world.condition(APP_ROLLOUTS, "r", "TargetAppLocating")[1] == (
        "the ApplicationRevision shop-v3 is not there: annotate the Application shop with "
        'app.oam.dev/revision-only: "true" to have revisions of it'
    )


@pytest.mark.parametrize("is_first", [True, False], ids=["the first", "another"])
def test_what_the_api_server_refuses_is_told_and_tried_again(is_first: bool) -> None:
    """A policy of the cluster refuses the Deployment until somebody lifts it."""
    world = kept("web:1") if is_first else running()
    world.refuses = lambda resource, _: resource == DEPLOYMENTS
    target, source = ("shop-v1", "") if is_first else ("shop-v2", "shop-v1")
    rolled(world, target, source, plan={"targetSize": 3})
    for _ in range(6):
        world.round()

    made = "web-v1" if is_first else "web-v2"
    assert state(world) == "locatingTargetApp"
    assert world.condition(APP_ROLLOUTS, "r", "TargetAppLocating") == (
        "False",
        f"Deployment {made} was refused: it asks for it",
    )
    assert not world.has(DEPLOYMENTS, made)

    world.refuses = lambda _resource, _name: False
    world.play()

    assert state(world) == "rolloutSucceed"
    assert sizes(world)[made] == 3


def test_several_common_components_need_a_choice() -> None:
    world = World()
    both = [component("web:1"), component("db:1", name="db", kind="worker")]
    revised(world, *both)
    rolled(world, "shop-v1", plan={"targetSize": 1})
    world.play()

    said = world.condition(APP_ROLLOUTS, "r", "TargetAppLocating")[1]
    assert said == "the ApplicationRevision shop-v1 has the components web, db: name one in componentList"

    rolled(world, "shop-v1", plan={"targetSize": 1}, componentList=["db"])
    world.play()

    assert (state(world), sizes(world)) == ("rolloutSucceed", {"db-v1": 1})


def test_applications_of_a_newer_release_are_waited_for() -> None:
    world = running()
    world.versions["applications.core.oam.dev"] = ("v1alpha2", "v1beta1")
    rolled(world, "shop-v2", "shop-v1")
    for _ in range(3):
        world.round()

    assert "has the version v1beta1" in world.condition(APP_ROLLOUTS, "r", "TargetAppLocating")[1]
    assert sizes(world) == {"web-v1": 3}


def test_a_process_that_dies_after_every_write_comes_to_the_same_end() -> None:
    for kind, resource in (("webservice", DEPLOYMENTS), ("clonesetservice", CLONE_SETS)):
        world, other = running(kind=kind), running(kind=kind)
        rolled(other, "shop-v2", "shop-v1")
        other.play()
        rolled(world, "shop-v2", "shop-v1")
        lives = lived(world)

        assert lives > 5
        assert state(world) == "rolloutSucceed"
        assert outside(world).keys() == outside(other).keys()
        for name in world.names(resource):
            assert world.get(resource, name)["spec"] == other.get(resource, name)["spec"]


def test_the_revisions_that_a_rollout_names_are_not_forgotten() -> None:
    world = kept("web:1", settings=PlanSettings(application_revision_limit=1, revision_limit=1))
    rolled(world, "shop-v1", plan={"targetSize": 1})
    world.play()
    for image in ("web:2", "web:3", "web:4"):
        revised(world, component(image))

    assert world.names(APPLICATION_REVISIONS) == ["shop-v1", "shop-v4"]
    assert world.names(CONTROLLER_REVISIONS) == ["web-v1"]


@given(
    spec=st.dictionaries(
        st.sampled_from(["targetAppRevisionName", "sourceAppRevisionName", "componentList", "rolloutPlan"]),
        ODD | st.just("shop-v1"),
    ),
    status=st.dictionaries(
        st.sampled_from(["rollingState", "lastTargetAppRevision", "LastSourceAppRevision", "lastTargetRef", "sources"]),
        ODD | st.just("locatingTargetApp"),
    ),
    snapshot=st.dictionaries(st.sampled_from(["application", "components"]), ODD),
)
def test_nothing_that_anybody_may_write_is_a_crash(spec: Json, status: Json, snapshot: Json) -> None:
    world = World()
    world.apply(APPLICATION_REVISIONS, "shop-v1", snapshot, labels={"app.oam.dev/name": "shop"})
    world.apply(APP_ROLLOUTS, "r", spec)
    world.objects[APP_ROLLOUTS, "r"]["status"] = status
    for _ in range(5):
        world.run(APP_ROLLOUTS, "r")
