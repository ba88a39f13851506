"""Acceptance scenario of definitions that another release installed, and how ours are put beside them."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import msgspec
import pytest

from fairlead.contracts.plans.install.definitions import definitions, rollout_traits
from fairlead.contracts.plans.kinds import ROLLING, ROLLOUT_TRAITS
from fairlead.contracts.plans.settings import PlanSettings
from fairlead.engine.kinds.registration import RegistrationFailed
from kubeloop.objects.meta import Ref
from kubeloop.request import JSON, MERGE_PATCH, Request, get, patch, path_of
from tests.e2e.clusters import CUSTOM_RESOURCES, Site, everywhere
from tests.e2e.history import Tree
from tests.e2e.installing import define
from tests.e2e.plan_play import FOLLOWED, Play, a_pair, batches, reference
from tests.e2e.plans import Operator

NAME = "rollouttraits.standard.oam.dev"
REGISTERS = PlanSettings(registers_kinds=True)
# What KubeVela's release knows of a RolloutTrait; everything else is pruned.
PLAN = (
    "batchPartition",
    "canaryMetric",
    "numBatches",
    "paused",
    "rolloutBatches",
    "rolloutStrategy",
    "rolloutWebhooks",
    "targetSize",
)
BATCH = ("batchRolloutWebhooks", "canaryMetric", "instanceInterval", "maxUnavailable", "podList", "replicas")
STATUS = (
    "batchRollingState",
    "conditions",
    "currentBatch",
    "lastAppliedPodTemplateIdentifier",
    "rollingState",
    "rolloutTargetSize",
    "targetGeneration",
    "upgradedReadyReplicas",
    "upgradedReplicas",
)
REQUIRED = ["currentBatch", "rollingState", "upgradedReadyReplicas", "upgradedReplicas"]


def _only(schema: Tree, names: tuple[str, ...]) -> None:
    schema["properties"] = {name: schema["properties"][name] for name in names}


def upstream() -> Tree:
    """The definition of RolloutTraits with the fields that KubeVela's release has."""
    found = deepcopy(rollout_traits())
    version = found["spec"]["versions"][0]
    version.pop("additionalPrinterColumns", None)
    schema = version["schema"]["openAPIV3Schema"]["properties"]
    plan = schema["spec"]["properties"]["rolloutPlan"]
    _only(plan, PLAN)
    _only(plan["properties"]["rolloutBatches"]["items"], BATCH)
    _only(schema["status"], STATUS)
    conditions = schema["status"]["properties"]["conditions"]["items"]
    _only(conditions, ("lastTransitionTime", "message", "reason", "status", "type"))
    schema["status"]["required"] = REQUIRED
    return found


async def live(site: Site, name: str = NAME) -> Tree:
    found: Tree = msgspec.json.decode((await site.client.call(get(Ref(CUSTOM_RESOURCES, "", name)))).body)
    return found


async def begin(site: Site, *given: Tree) -> Play:
    """With these definitions there, and nobody at work yet."""
    await define(site, *given)
    for each in FOLLOWED:
        if each != ROLLOUT_TRAITS:  # those are told anew when the definition changes
            await site.history.follow(each)
    site.start_kubelet(ready_after=0.05, gone_after=0.05)
    return Play(site, REGISTERS)


async def leads(play: Play) -> None:
    """The operator has registered its kinds and is at work."""
    await play.until(lambda: play.operator.manager is not None and play.operator.manager.leading.is_set(), every=0.1)


async def in_force(site: Site) -> None:
    """The API server keeps fields that only our definition has; from then on rollouts are recorded."""
    spec = {"targetRef": reference("d2"), "rolloutPlan": {"revertOnDelete": True}}
    tree = {
        "apiVersion": ROLLOUT_TRAITS.api_version,
        "kind": "RolloutTrait",
        "metadata": {"name": "asked"},
        "spec": spec,
    }
    asked = Request(
        "POST",
        path_of(ROLLOUT_TRAITS, site.namespace),
        query=(("dryRun", "All"),),
        body=msgspec.json.encode(tree),
        content_type=JSON,
    )

    async def is_kept() -> bool:
        answer = msgspec.json.decode((await site.client.call(asked)).body)
        return "revertOnDelete" in answer["spec"]["rolloutPlan"]

    await site.until(is_kept, every=0.1)
    await site.history.follow(ROLLOUT_TRAITS)


def properties(definition: Tree, *path: str) -> Any:
    found: Any = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    for name in path:
        found = found["properties"][name]
    return found["properties"]


@everywhere()
async def test_scenario_36_upstreams_definitions(site: Site) -> None:
    """A rollout on the definition of another release, whose operator dies in batch 1, keeps its sources."""
    play = await begin(site, upstream())
    target, source = await a_pair(site)
    play.start()
    await leads(play)
    await in_force(site)
    await play.roll(batches("10%", "40%", "50%"), target, source)
    await play.until(lambda: play.at()[0] == ROLLING and play.at()[2] == 1)
    await play.kill()
    await site.history.caught_up()
    (kept,) = play.status()["sources"]

    play.start()
    await play.ends()

    assert (kept["ref"]["name"], kept["originalReplicas"]) == ("d1", 5)
    assert play.sizes_of("d2") == [0, 1, 3, 5]
    definition = await live(site)
    assert properties(definition, "status").keys() > {*STATUS, "sources", "carried"}
    assert "revertOnDelete" in properties(definition, "spec", "rolloutPlan")
    status = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"]
    assert status["required"] == REQUIRED
    assert {each["metadata"]["name"] for each in definitions()} <= site.history.objects(CUSTOM_RESOURCES).keys()


@everywhere(on=("sim",))
async def test_an_operator_that_starts_again_writes_no_definition(site: Site) -> None:
    play = await begin(site, upstream())
    play.start()
    await leads(play)
    generation = (await live(site))["metadata"]["generation"]
    await play.kill()
    play.sent.clear()

    play.start()
    await leads(play)

    assert play.writes(CUSTOM_RESOURCES.plural) == []
    assert (await live(site))["metadata"]["generation"] == generation


@everywhere(on=("sim",))
async def test_a_field_that_somebody_takes_away_comes_back(site: Site) -> None:
    play = await begin(site, upstream())
    play.start()
    await leads(play)

    body = msgspec.json.encode({"spec": {"versions": upstream()["spec"]["versions"]}})
    await site.client.call(patch(Ref(CUSTOM_RESOURCES, "", NAME), MERGE_PATCH, body))

    async def is_back() -> bool:
        return "sources" in properties(await live(site), "status")

    await play.until(is_back, every=0.1)


@everywhere(on=("sim",))
async def test_a_definition_with_versions_that_are_not_known_is_left_as_it_is(site: Site) -> None:
    """It is told, and everything else goes on."""
    newer = deepcopy(next(each for each in definitions() if each["metadata"]["name"] == "applications.core.oam.dev"))
    other = deepcopy(newer["spec"]["versions"][0])
    other |= {"name": "v1beta1", "storage": False}
    newer["spec"]["versions"].append(other)
    play = await begin(site, upstream(), newer)
    before = (await live(site, "applications.core.oam.dev"))["metadata"]["resourceVersion"]
    target, source = await a_pair(site)

    play.start()
    await leads(play)
    await in_force(site)
    await play.roll(batches(5), target, source)
    await play.ends()

    assert (await live(site, "applications.core.oam.dev"))["metadata"]["resourceVersion"] == before
    assert play.operator.log.of("definition left as it is")
    assert play.operator.manager is not None
    assert [*play.operator.manager.remarks()] == [
        "the definition applications.core.oam.dev is left as it is: this release does not know v1beta1"
    ]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [((), "is not there"), ((upstream(),), f"the definition {NAME} lacks status.")],
    ids=["missing", "lacking"],
)
@everywhere(on=("sim",))
async def test_without_registering_a_definition_that_forgets_ends_the_start(
    site: Site, given: tuple[Tree, ...], sentence: str
) -> None:
    await define(site, *given)

    with pytest.raises(BaseExceptionGroup) as ended:
        await Operator(site)(site.ground.transport("admin"))

    failures = ended.value.subgroup(RegistrationFailed)
    assert failures is not None
    assert sentence in repr(failures)
