"""Environments under users, tools and settings that do the unusual; each row of the contract's edge cases once."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from fairlead.contracts.environments.kinds import (
    BALANCERS,
    CERTIFICATES,
    CONSOLES,
    FINALIZER,
    FORCE_ROLLOUT,
    LAST_KNOWN_GENERATION,
    MATERIALIZES,
    NETWORK_POLICIES,
    NIL,
    ROLE_BINDINGS,
)
from kubeloop.errors import ServerError
from kubeloop.objects.apps import DEPLOYMENTS, STATEFULSETS
from kubeloop.objects.core import CONFIGMAPS, SECRETS, SERVICE_ACCOUNTS
from kubeloop.objects.meta import Ref, Resource
from kubeloop.request import JSON_PATCH, MERGE_PATCH, Request, delete, patch, path_of
from kubesim.kinds.registry import NODES
from kubesim.pods.behaviour import READY_AFTER
from tests.e2e.clusters import SimGround
from tests.e2e.converting import definition, patched
from tests.e2e.environments import ENVIRONMENT, HASH_V, HASH_W, IMAGE, NEWER, OLD, Scene, V, W, manifest, on_clusters
from tests.e2e.history import Tree
from tests.e2e.installing import a_kind_of, define
from tests.e2e.legacies import FIRST, SECOND

SIM = ("sim",)
WITH_DOWNTIME = {"rolloutStrategy": "ImmediatelyPromoteCausingDowntime"}


async def nothing_rolled_out(scene: Scene) -> None:
    await scene.rest()
    await scene.promoted(1)
    assert scene.requested() == [HASH_V]
    assert scene.stubs.promoted == [1]


@on_clusters(on=SIM)
async def test_another_request_of_v1alpha1_alone_starts_no_rollout(scene: Scene) -> None:
    await scene.apply(manifest({**V, "requestRollout": FIRST}, OLD))
    await scene.promoted(1)

    await scene.apply(manifest({**V, "requestRollout": SECOND}, OLD))

    await nothing_rolled_out(scene)


@pytest.mark.parametrize("resource", [OLD, MATERIALIZES], ids=lambda each: each.version)
@on_clusters(on=SIM)
async def test_the_same_manifest_again_changes_nothing(scene: Scene, resource: Resource) -> None:
    await scene.apply(manifest(V, resource))
    await scene.promoted(1)
    before = await scene.read()

    for _ in range(3):
        await scene.apply(manifest(V, resource))

    assert (await scene.read())["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]
    await nothing_rolled_out(scene)


@on_clusters(on=SIM)
async def test_another_spelling_of_a_uuid_starts_no_rollout(scene: Scene) -> None:
    await scene.apply(manifest({**V, "environmentId": ENVIRONMENT}))
    await scene.promoted(1)

    for spelling in (ENVIRONMENT.upper(), ENVIRONMENT.replace("-", "")):
        await scene.apply(manifest({**V, "environmentId": spelling, "forceRollout": NIL.replace("-", "")}))
        await scene.rest()

    await nothing_rolled_out(scene)


@on_clusters(on=SIM)
async def test_every_change_of_the_annotation_rolls_out_its_removal_too(scene: Scene) -> None:
    await scene.apply(manifest(V))
    await scene.promoted(1)

    for generation, value in ((2, "x"), (3, "y"), (4, None)):
        await scene.change({"metadata": {"annotations": {FORCE_ROLLOUT: value}}})
        await scene.promoted(generation)

    assert (await scene.status())["requestedRolloutHash"] == HASH_V


@on_clusters(on=SIM)
async def test_an_image_from_before_is_refused_and_the_active_generation_goes_on(scene: Scene) -> None:
    await scene.apply(manifest(W))
    await scene.promoted(1)

    await scene.apply(manifest(V))
    condition = await scene.reason("FailedDeploy")

    assert condition["message"].startswith(f"Refusing to upgrade from {NEWER} to {IMAGE}.")
    await scene.rest()
    assert not await scene.exists(2)
    assert await scene.exists(1)
    assert (await scene.status())["activeGeneration"] == 1

    await scene.apply(manifest(W))
    await scene.promoted(1)


@on_clusters(on=SIM)
async def test_without_the_webhook_the_stored_version_goes_on(scene: Scene) -> None:
    await scene.apply(manifest(V))
    await scene.promoted(1)
    ground = scene.site.ground
    assert isinstance(ground, SimGround)

    ground.cluster.network.withdraw(scene.operator.host)

    with pytest.raises(ServerError, match="conversion webhook"):
        await scene.read(OLD)
    await scene.apply(manifest(W))
    await scene.promoted(2)

    await scene.operator.kill()
    await scene.operator.start()

    assert (await scene.read(OLD))["spec"]["environmentdImageRef"] == NEWER


@on_clusters(on=SIM, follows=False)
async def test_a_definition_that_another_tool_overwrites_is_repaired(scene: Scene) -> None:
    await scene.apply(manifest(V))
    await scene.promoted(1)
    before = (await definition(scene.site))["spec"]

    await patched(scene.site, {"op": "replace", "path": "/spec/conversion", "value": {"strategy": "None"}})

    async def is_repaired() -> bool:
        return bool((await definition(scene.site))["spec"] == before)

    await scene.until(is_repaired)
    await scene.apply(manifest(W, OLD))
    await scene.promoted(2)


@on_clusters(on=SIM)
async def test_a_status_that_is_deleted_makes_it_another_environment(scene: Scene) -> None:
    """A documented hazard: what the old one had stays until the object is deleted."""
    await scene.apply(manifest(V))
    old = await scene.promoted(1)

    path = path_of(MATERIALIZES, scene.site.namespace, "m", "status")
    removal = b'[{"op": "remove", "path": "/status"}]'
    await scene.site.client.call(Request("PATCH", path, body=removal, content_type=JSON_PATCH))

    async def has_another_id() -> bool:
        return bool((await scene.status()).get("resourceId", old["resourceId"]) != old["resourceId"])

    await scene.until(has_another_id)
    await scene.promoted(1)
    assert await scene.statefulset_of(old["resourceId"], 1)

    await scene.site.client.call(delete(Ref(MATERIALIZES, scene.site.namespace, "m")))
    await scene.site.until(lambda: not scene.site.history.objects(STATEFULSETS))


@on_clusters(on=SIM)
async def test_an_older_status_that_somebody_restores_takes_nothing_down(scene: Scene) -> None:
    await scene.apply(manifest(V))
    await scene.promoted(1)
    await scene.apply(manifest(W))
    await scene.promoted(2)
    uid = (await scene.statefulset(2))["metadata"]["uid"]

    for active in (1, 5):
        await restored(scene, active)

    assert (await scene.statefulset(2))["metadata"]["uid"] == uid
    assert not await scene.exists(5)
    await scene.site.write_status(MATERIALIZES, "m", {"activeGeneration": 2})
    await scene.promoted(2)


async def restored(scene: Scene, active: int) -> None:
    """The status says for a minute that this generation serves."""
    await scene.site.write_status(MATERIALIZES, "m", {"activeGeneration": active})
    await scene.site.until(lambda: scene.operator.said(f"status.activeGeneration is {active}"))
    await asyncio.sleep(60)


@on_clusters(on=SIM)
async def test_a_certificate_without_cert_manager_fails_with_the_name_of_the_kind(scene: Scene) -> None:
    await scene.apply(manifest({**V, "internalCertificateSpec": {"issuerRef": {"name": "ca"}}}))

    await scene.site.until(lambda: scene.operator.said("Certificate"))

    assert not scene.site.history.objects(STATEFULSETS)

    await define(scene.site, a_kind_of("cert-manager.io/v1", "Certificate"))

    await scene.promoted(1)
    name = f"mz{(await scene.status())['resourceId']}-environmentd-external"
    assert await scene.site.get(CERTIFICATES, name) is not None


@on_clusters("--network-policies-internal-enabled", on=SIM)
async def test_policies_stay_when_they_are_switched_off(scene: Scene) -> None:
    await scene.apply(manifest(V))
    await scene.promoted(1)
    await scene.site.history.follow(NETWORK_POLICIES)
    before = scene.site.history.objects(NETWORK_POLICIES)
    assert len(before) == 2

    await restart(scene, "--create-balancers", "--create-console")

    await nothing_rolled_out(scene)
    assert scene.site.history.objects(NETWORK_POLICIES) == before


async def restart(scene: Scene, *flags: str) -> None:
    """The operator comes back with other flags."""
    await scene.operator.kill()
    scene.operator.flags = list(flags)
    await scene.operator.start()


@on_clusters(on=SIM)
async def test_companions_go_when_they_are_switched_off(scene: Scene) -> None:
    await scene.apply(manifest(V))
    await scene.promoted(1)
    await scene.rest()
    for resource in (BALANCERS, CONSOLES):
        await scene.site.history.follow(resource)
        assert "m" in scene.site.history.objects(resource)

    await restart(scene)

    await scene.site.until(lambda: not scene.site.history.objects(BALANCERS) | scene.site.history.objects(CONSOLES))
    await scene.promoted(1)
    assert scene.stubs.promoted == [1]


@on_clusters(on=SIM)
async def test_other_settings_of_the_operator_roll_nothing_out_until_something_else_does(scene: Scene) -> None:
    await scene.apply(manifest(V))
    await scene.promoted(1)
    before = await scene.statefulset(1)
    fast = msgspec.json.encode({"metadata": {"labels": {"disk": "fast"}}})
    await scene.site.client.call(patch(Ref(NODES, "", "sim-node-0"), MERGE_PATCH, fast))

    flags = ("--enable-security-context", "--environmentd-node-selector=disk=fast", "--create-balancers")
    await restart(scene, *flags)

    await nothing_rolled_out(scene)
    assert (await scene.statefulset(1))["spec"] == before["spec"]

    await scene.apply(manifest(W))

    await scene.promoted(2)
    assert (await scene.statefulset(2))["spec"]["template"]["spec"]["nodeSelector"] == {"disk": "fast"}


@on_clusters(on=SIM)
async def test_a_deleted_environment_is_let_go_at_once_and_its_objects_follow(scene: Scene) -> None:
    await scene.apply(manifest(V))
    status = await scene.promoted(1)
    assert FINALIZER in (await scene.read())["metadata"]["finalizers"]

    await scene.site.client.call(delete(Ref(MATERIALIZES, scene.site.namespace, "m")))

    await scene.site.until(lambda: not scene.site.history.objects(MATERIALIZES), within=5)
    await scene.site.until(lambda: not scene.site.history.objects(STATEFULSETS))
    await asyncio.sleep(60)
    for resource in (BALANCERS, CONSOLES):
        assert await scene.site.get(resource, "m") is None
    await scene.site.history.caught_up()
    assert not [each for each in scene.seen(STATEFULSETS, "ADDED") if status["resourceId"] not in each.name]


@on_clusters(on=SIM)
async def test_a_hash_that_was_computed_beforehand_forces_its_rollout_in_the_same_apply(scene: Scene) -> None:
    scene.stubs.tell(2, catch_up="never")
    await scene.apply(manifest(V))
    await scene.promoted(1)

    await scene.apply(manifest({**W, "forcePromote": HASH_W}))

    await scene.promoted(2)


@on_clusters(on=SIM)
async def test_a_rollout_with_downtime_that_is_reverted_brings_the_active_generation_back(scene: Scene) -> None:
    scene.stubs.tell(2, boot="1h")  # it refuses to be promoted before
    await scene.apply(manifest({**V, **WITH_DOWNTIME}))
    first = await scene.promoted(1)
    await scene.apply(manifest({**W, **WITH_DOWNTIME}))
    await scene.site.until(lambda: not any(name.endswith("-1") for name in scene.site.history.objects(STATEFULSETS)))
    scene.stubs.tell(2, catch_up="never")

    await scene.apply(manifest({**V, **WITH_DOWNTIME}))

    status = await scene.promoted(1)
    assert status["lastCompletedRolloutHash"] == first["lastCompletedRolloutHash"]


@on_clusters(long=True)
async def test_a_downtime_does_not_begin_for_a_generation_that_nobody_can_make(scene: Scene) -> None:
    too_much = {"requests": {"memory": "8Gi"}, "limits": {"memory": "4Gi"}}
    await scene.apply(manifest({**V, **WITH_DOWNTIME}))
    await scene.promoted(1)
    uid = (await scene.statefulset(1))["metadata"]["uid"]

    await scene.set_spec(environmentdResourceRequirements=too_much)
    condition = await scene.reason("FailedDeploy")

    assert "must be less than or equal to memory limit" in condition["message"]
    assert (await scene.statefulset(1))["metadata"]["uid"] == uid
    assert not await scene.exists(2)
    await scene.set_spec(environmentdResourceRequirements={"requests": {"memory": "2Gi"}})
    await scene.promoted(2)


@on_clusters(on=SIM)
async def test_the_statefulset_of_the_active_generation_comes_back_when_it_is_deleted(scene: Scene) -> None:
    await scene.apply(manifest(V))
    await scene.promoted(1)
    found = (await scene.statefulset(1))["metadata"]

    await scene.site.client.call(delete(Ref(STATEFULSETS, scene.site.namespace, found["name"], found["uid"])))

    async def is_back() -> bool:
        now = await scene.site.get(STATEFULSETS, found["name"])
        return now is not None and now["metadata"]["uid"] != found["uid"]

    await scene.until(is_back)
    await nothing_rolled_out(scene)


@on_clusters(on=SIM)
async def test_a_generation_whose_pod_never_gets_ready_is_made_anew_for_another_spec(scene: Scene) -> None:
    """A StatefulSet does not replace a pod that is not ready, so a patch of the template alone would hang."""
    await scene.apply(manifest(V))
    await scene.promoted(1)
    await scene.apply(manifest({**W, "podAnnotations": {READY_AFTER: "never"}}))

    async def runs() -> bool:
        return bool((await scene.statefulset(2)).get("status", {}).get("updatedReplicas") == 1)

    await scene.site.until(lambda: any(name.endswith("-2") for name in scene.site.history.objects(STATEFULSETS)))
    await scene.until(runs)
    broken = await scene.statefulset(2)

    await scene.apply(manifest(W))

    await scene.promoted(2)
    assert (await scene.statefulset(2))["metadata"]["uid"] != broken["metadata"]["uid"]


@on_clusters(on=SIM)
async def test_the_generation_to_go_on_from_can_be_told(scene: Scene) -> None:
    await scene.apply(manifest(V, annotations={LAST_KNOWN_GENERATION: "41"}))

    await scene.promoted(42)


@on_clusters(on=SIM)
async def test_a_generation_to_go_on_from_that_is_no_number_writes_nothing(scene: Scene) -> None:
    await scene.apply(manifest(V, annotations={LAST_KNOWN_GENERATION: "the last"}))

    await scene.site.until(lambda: scene.operator.said(LAST_KNOWN_GENERATION))
    assert not await scene.status()

    await scene.change({"metadata": {"annotations": {LAST_KNOWN_GENERATION: None}}})

    await scene.promoted(1)


@on_clusters(on=SIM, secret=False)
async def test_an_environment_waits_for_its_secret(scene: Scene) -> None:
    await scene.apply(manifest(V))
    await scene.site.until(lambda: scene.operator.said("names no Secret"))

    await scene.keep_secret()

    await scene.promoted(1)


@on_clusters(on=SIM)
async def test_a_secret_without_a_valid_license_holds_a_rollout_up_until_it_is_exchanged(scene: Scene) -> None:
    await scene.apply(manifest(V))
    await scene.promoted(1)
    await scene.keep_secret("other", license_key="no key")

    await scene.apply(manifest({**W, "backendSecretName": "other"}))
    await scene.site.until(lambda: scene.operator.said("license"))

    assert scene.requested() == [HASH_V]
    await scene.site.client.call(delete(Ref(SECRETS, scene.site.namespace, "other")))
    await scene.keep_secret("other")
    await scene.promoted(2)
    assert (await scene.container(2))["env"][0]["valueFrom"]["secretKeyRef"]["name"] == "other"


@on_clusters(on=SIM)
async def test_what_serves_keeps_its_rights_while_another_account_waits_for_approval(scene: Scene) -> None:
    await scene.apply(manifest(V))
    await scene.promoted(1)
    other = {"serviceAccountName": "other", "rolloutStrategy": "ManuallyPromote"}
    await scene.site.create(SERVICE_ACCOUNTS, {"metadata": {"name": "other"}})

    await scene.apply(manifest({**V, **other}))
    await scene.reason("ReadyToPromote")

    assert await may_manage_pods(scene) == ["m", "other"]
    await scene.set_spec(forcePromote=(await scene.status())["requestedRolloutHash"])
    await scene.promoted(2)

    async def is_taken_from_the_first() -> bool:
        return await may_manage_pods(scene) == ["other"]

    await scene.until(is_taken_from_the_first)


async def may_manage_pods(scene: Scene) -> list[str]:
    """The accounts that have the role of the environment."""
    return sorted(each["name"] for each in (await scene.read(ROLE_BINDINGS))["subjects"])


@on_clusters(on=SIM)
async def test_users_reach_what_serves_while_tls_and_another_sign_in_wait_for_approval(scene: Scene) -> None:
    await define(scene.site, a_kind_of("cert-manager.io/v1", "Certificate"))
    await scene.apply(manifest(V))
    await scene.promoted(1)
    secured = {"internalCertificateSpec": {"issuerRef": {"name": "ca"}}, "authenticatorKind": "Frontegg"}

    await scene.apply(manifest({**V, **secured, "rolloutStrategy": "ManuallyPromote", "balancerdReplicas": 3}))
    await scene.reason("ReadyToPromote")

    assert await users_are_led(scene, replicas=3) == (False, "None")

    await scene.set_spec(forcePromote=(await scene.status())["requestedRolloutHash"])
    await scene.promoted(2)

    async def are_led_by_the_new_one() -> bool:
        return await users_are_led(scene, replicas=3) == (True, "Frontegg")

    await scene.until(are_led_by_the_new_one)


async def users_are_led(scene: Scene, replicas: int) -> tuple[bool, str]:
    """Whether balancerd speaks TLS to environmentd, and how the console signs in, once all balancers are there."""
    prefix = f"mz{(await scene.status())['resourceId']}"

    async def balanced() -> Tree | None:
        found = await scene.site.get(DEPLOYMENTS, f"{prefix}-balancerd")
        return found if found is not None and found["spec"]["replicas"] == replicas else None

    deployment: Tree = await scene.until(balanced)
    arguments = deployment["spec"]["template"]["spec"]["containers"][0]["args"]
    told = msgspec.json.decode((await scene.read(CONFIGMAPS, f"{prefix}-console"))["data"]["app-config.json"])
    return "--internal-tls" in arguments, told["auth"]["mode"]
