"""Phased Deployments on real API servers: what the webhook makes of updates, and a chain with its real controller."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec

from fairlead.contracts.zones.install.objects import objects
from fairlead.contracts.zones.install.values import Values
from fairlead.contracts.zones.kinds import DEPENDS_ON, GATE, PHASED, RESUME, REVISION, SOAK_DURATION
from fairlead.contracts.zones.settings import Settings
from fairlead.engine.failed_passes import FAILING
from kubeloop.calls import Call, Reply
from kubeloop.objects.apps import DEPLOYMENTS
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import Ref
from kubeloop.request import MERGE_PATCH, Request, Transport, apply, path_of
from tests.e2e.clusters import Site, everywhere
from tests.e2e.history import Tree
from tests.e2e.installing import put
from tests.e2e.meddling import EXCEEDED, Quota
from tests.e2e.operators import Operator
from tests.e2e.webhooks import MUTATING, install, rule, serve
from tests.e2e.zones import change, told


class Phased(Operator):
    """With phased Deployments switched on."""

    def __init__(self, site: Site, through: Callable[[Transport], Transport]) -> None:
        super().__init__(site, interval=None, settings=Settings(phased_deployments=True), through=through)

    async def answer(self, call: Call) -> Reply:
        assert self.manager is not None
        return await self.manager.webhooks.handler(call)


async def begin(
    site: Site, user: str = "admin", through: Callable[[Transport], Transport] = lambda transport: transport
) -> Phased:
    """The operator at work, and its webhook registered as the manifests do."""
    operator = Phased(site, through)
    site.start_operator(operator, user)
    await site.until(lambda: operator.ready, every=0.02)
    hook = {
        "clientConfig": await serve(site, operator.answer, path="/admission/phased-deployment"),
        "rules": [rule("UPDATE", "deployments", groups="apps", versions="v1")],
        "objectSelector": {"matchLabels": {PHASED: "true"}},
        "reinvocationPolicy": "IfNeeded",
    }
    await install(site, MUTATING, "phased", hook)
    return operator


def a_deployment(name: str, depends_on: str = "", image: str = "v1", soak: str = "2s") -> Tree:
    annotations = {REVISION: image, **({DEPENDS_ON: depends_on, SOAK_DURATION: soak} if depends_on else {})}
    return {
        "metadata": {"name": name, "labels": {PHASED: "true"} if depends_on else {}, "annotations": annotations},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "main", "image": image}]},
            },
        },
    }


def rolled(image: str) -> Tree:
    """What a person changes for another revision."""
    template = {"spec": {"containers": [{"name": "main", "image": image}]}}
    return {"metadata": {"annotations": {REVISION: image}}, "spec": {"template": template}}


def is_paused(tree: Tree) -> bool:
    return bool(tree["spec"].get("paused", False))


def mark(tree: Tree) -> str:
    return str(tree["metadata"].get("annotations", {}).get(GATE, "none")).split(" ")[0]


async def stored(site: Site, name: str) -> Tree:
    found = await site.get(DEPLOYMENTS, name)
    assert found is not None
    return found


@everywhere(controllers=False)
async def test_only_changed_templates_of_labelled_deployments_are_held(site: Site) -> None:
    await begin(site)
    await site.create(DEPLOYMENTS, a_deployment("cell", "canary"))
    await site.create(DEPLOYMENTS, a_deployment("plain"))
    assert not is_paused(await stored(site, "cell"))

    by_owner = await change(site, DEPLOYMENTS, "cell", {"spec": {"paused": True}})
    off_again = await change(site, DEPLOYMENTS, "cell", {"spec": {"paused": False, "replicas": 3}})
    plain = await change(site, DEPLOYMENTS, "plain", rolled("v2"))
    held = await change(site, DEPLOYMENTS, "cell", rolled("v2"))

    assert [(is_paused(tree), mark(tree)) for tree in (by_owner, off_again, plain, held)] == [
        (True, "none"),
        (False, "none"),
        (False, "none"),
        (True, "held"),
    ]


@everywhere(controllers=False, on=("sim",))
async def test_a_release_that_is_refused_is_told_and_comes_soon_after_it_may(site: Site) -> None:
    made: list[Quota] = []

    def through(transport: Transport) -> Transport:
        made.append(Quota(transport, "patch deployments"))
        return made[0]

    await begin(site, through=through)
    await site.create(DEPLOYMENTS, a_deployment("cell", "canary"))
    await change(site, DEPLOYMENTS, "cell", rolled("v2"))
    await change(site, DEPLOYMENTS, "cell", {"metadata": {"annotations": {RESUME: "v2"}}})
    await asyncio.sleep(650)
    (event,) = await told(site, FAILING)

    assert event["regarding"]["name"] == "cell"
    assert event["note"].endswith(EXCEEDED)

    made[0].holds = False
    await asyncio.sleep(60)

    assert not is_paused(await stored(site, "cell"))


@everywhere(controllers=False)
async def test_dry_run_is_answered_the_same_and_leaves_no_trace(site: Site) -> None:
    await begin(site)
    before = await site.create(DEPLOYMENTS, a_deployment("cell", "canary"))

    path = path_of(DEPLOYMENTS, site.namespace, "cell")
    body = msgspec.json.encode(rolled("v2"))
    query = (("dryRun", "All"),)
    answer = await site.client.call(Request("PATCH", path, query=query, body=body, content_type=MERGE_PATCH))

    assert is_paused(msgspec.json.decode(answer.body))
    assert await stored(site, "cell") == before


@everywhere(controllers=False, on=("real",))
async def test_applying_the_manifest_again_does_not_open_the_gate(site: Site) -> None:
    """Server-side apply, as a tool does that brings a repository into the cluster every few minutes."""
    await begin(site)
    ref = Ref(DEPLOYMENTS, site.namespace, "cell")
    head: Tree = {"apiVersion": "apps/v1", "kind": "Deployment"}
    first = head | a_deployment("cell", "canary")
    second = head | a_deployment("cell", "canary", image="v2")
    spec: Tree = {**second["spec"], "paused": False}
    explicit = second | {"spec": spec}

    for tree in (first, second, second, explicit):
        await site.client.call(apply(ref, msgspec.json.encode(tree), "flux", force=True))

    found = await stored(site, "cell")
    assert (is_paused(found), mark(found)) == (True, "held")


@everywhere(controllers=False)
async def test_person_may_go_on_in_the_same_update_or_later(site: Site) -> None:
    await begin(site)
    for name in ("at-once", "later"):
        await site.create(DEPLOYMENTS, a_deployment(name, "canary"))

    resumed = rolled("v2")
    resumed["metadata"]["annotations"][RESUME] = "v2"
    at_once = await change(site, DEPLOYMENTS, "at-once", resumed)
    held = await change(site, DEPLOYMENTS, "later", rolled("v2"))
    await change(site, DEPLOYMENTS, "later", {"metadata": {"annotations": {RESUME: "v2"}}})

    assert (is_paused(at_once), mark(at_once)) == (False, "passed")
    assert (is_paused(held), mark(held)) == (True, "held")
    await site.until(shows(site, "later", "passed"), following=[DEPLOYMENTS])
    assert not is_paused(await stored(site, "later"))
    assert [event["type"] for event in await told(site, "RolloutReleased")] == ["Normal"]


@everywhere(controllers=False)
async def test_role_of_the_manifests_is_enough(site: Site) -> None:
    for one in objects(Values(namespace=site.namespace, webhooks=True, phased_deployments=True)):
        if one["kind"] in ("Role", "RoleBinding"):
            subjects = {"subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "operator"}]}
            await put(site, one if one["kind"] == "Role" else one | subjects)
    operator = await begin(site, "operator")
    await site.create(DEPLOYMENTS, a_deployment("cell", "canary"))

    await change(site, DEPLOYMENTS, "cell", rolled("v2"))
    await change(site, DEPLOYMENTS, "cell", {"metadata": {"annotations": {RESUME: "v2"}}})

    await site.until(shows(site, "cell", "passed"), following=[DEPLOYMENTS])
    assert not [record for record in operator.log if "orbidden" in str(record) and "deployments" in str(record)]


def shows(site: Site, name: str, word: str) -> Callable[[], bool]:
    return lambda: mark(site.history.objects(DEPLOYMENTS).get(name, {"metadata": {}})) == word


def is_complete(site: Site, name: str, image: str) -> bool:
    """All pods that are not going have the image, and the controller says that the rollout is complete."""
    found = site.history.objects(DEPLOYMENTS).get(name, {})
    status = found.get("status", {})
    said = [each["reason"] for each in status.get("conditions", []) if each["type"] == "Progressing"]
    images = [pod["spec"]["containers"][0]["image"] for pod in pods_of(site, name)]
    fresh = status.get("observedGeneration") == found.get("metadata", {}).get("generation")
    return fresh and said == ["NewReplicaSetAvailable"] and images == [image] * 2


def pods_of(site: Site, name: str) -> list[Tree]:
    pods = site.history.objects(PODS).values()
    return [
        pod
        for pod in pods
        if pod["metadata"]["labels"].get("app") == name and "deletionTimestamp" not in pod["metadata"]
    ]


async def a_chain(site: Site, **options: Any) -> Phased:
    """canary and cell, both rolled out at v1."""
    site.start_kubelet(ready_after=0.1)
    operator = await begin(site)
    await site.create(DEPLOYMENTS, a_deployment("canary"))
    await site.create(DEPLOYMENTS, a_deployment("cell", "canary", **options))
    await site.until(
        lambda: is_complete(site, "canary", "v1") and is_complete(site, "cell", "v1"), following=[DEPLOYMENTS]
    )
    return operator


@everywhere(on=("real",))
async def test_cell_rolls_out_when_its_canary_has_rolled_out_and_soaked(site: Site) -> None:
    """The changes come in the wrong order; no pod of the cell has the image before the canary is complete."""
    operator = await a_chain(site)

    await change(site, DEPLOYMENTS, "cell", rolled("v2"))
    await change(site, DEPLOYMENTS, "canary", rolled("v2"))
    await site.until(lambda: is_complete(site, "cell", "v2"))

    assert is_complete(site, "canary", "v2")
    soaked = min(
        event.version
        for event in site.history.events
        if event.resource == DEPLOYMENTS
        and event.object["metadata"]["name"] == "cell"
        and mark(event.object) == "passed"
    )
    assert max(made(site, "canary", "v2")) < soaked < min(made(site, "cell", "v2"))
    assert [event["type"] for event in await told(site, "RolloutSoaking")] == ["Normal"]
    assert len([record for record in operator.log if record.message == "deployment released"]) == 1


def made(site: Site, name: str, image: str) -> list[int]:
    """When pods of the Deployment with this image were made, as versions."""
    return [
        event.version
        for event in site.history.events
        if event.resource == PODS
        and event.type == "ADDED"
        and event.object["metadata"]["labels"].get("app") == name
        and event.object["spec"]["containers"][0]["image"] == image
    ]


@everywhere(on=("real",))
async def test_restart_of_a_canary_pod_blocks_the_cell_until_a_person_resumes(site: Site) -> None:
    await a_chain(site, soak="10m")
    await change(site, DEPLOYMENTS, "cell", rolled("v2"))
    await change(site, DEPLOYMENTS, "canary", rolled("v2"))
    await told(site, "RolloutSoaking")

    pod = pods_of(site, "canary")[0]
    (container,) = pod["status"]["containerStatuses"]
    moment = await canary_rolled_out(site)
    ended = {"terminated": {"exitCode": 1, "reason": "Error", "startedAt": moment, "finishedAt": moment}}
    status = {"containerStatuses": [{**container, "restartCount": 1, "lastState": ended}]}
    await site.write_status(PODS, pod["metadata"]["name"], status)

    await site.until(shows(site, "cell", "blocked"))
    assert [event["type"] for event in await told(site, "RolloutBlocked")][:1] == ["Warning"]
    assert made(site, "cell", "v2") == []
    await change(site, DEPLOYMENTS, "cell", {"metadata": {"annotations": {RESUME: "v2"}}})
    await site.until(lambda: is_complete(site, "cell", "v2"))


async def canary_rolled_out(site: Site) -> str:
    conditions = (await stored(site, "canary"))["status"]["conditions"]
    return next(str(each["lastUpdateTime"]) for each in conditions if each["type"] == "Progressing")
