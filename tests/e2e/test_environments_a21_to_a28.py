"""Acceptance scenarios A21 to A28 of environments: two versions, refused upgrades, migration, certificates, twins."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Mapping

import msgspec
import pytest

from fairlead.contracts.environments.kinds import MATERIALIZES
from fairlead.contracts.environments.stand_in.environmentd import LOGIN
from kubeloop.errors import ApiError, Conflict
from kubeloop.objects.core import CONFIGMAPS, SERVICE_ACCOUNTS
from kubeloop.objects.meta import Ref, Resource
from kubeloop.request import JSON_PATCH, apply, delete, patch
from kubesim.pki import Authority
from tests.e2e.clusters import long
from tests.e2e.converting import LATEST, definition, marks, patched
from tests.e2e.environments import CLIENT_SIDE, ENVIRONMENT, HASH_V, NEWER, OLD, Scene, V, W, manifest, on_clusters
from tests.e2e.history import Tree
from tests.e2e.legacies import SECOND, a_legacy, define_legacy, migrated

HASH_ROLE = "6726bc2e4315267ce2208704334d124065a498e12e812ca178ef2890220639f7"
ROLE, OTHER_ROLE = "arn:aws:iam::123456789012:role/mz", "arn:aws:iam::123456789012:role/other"
ROLE_KEY = "eks.amazonaws.com/role-arn"
ANOTHER = "87654321-4321-4321-4321-210987654321"
PASSWORD = "open sesame"


async def server_side(scene: Scene, tree: Tree, manager: str) -> Tree:
    """`kubectl apply --server-side` under this name, which overrides nobody."""
    version = tree["apiVersion"].rpartition("/")[2]
    resource = Resource(MATERIALIZES.group, version, MATERIALIZES.plural, MATERIALIZES.kind)
    ref = Ref(resource, scene.site.namespace, tree["metadata"]["name"])
    answer = await scene.site.client.call(apply(ref, msgspec.json.encode(tree), manager))
    applied: Tree = msgspec.json.decode(answer.body)
    return applied


async def leave_client_side(scene: Scene) -> None:
    """As kubectl does after the first `apply --server-side`: what it owned by applying on its side is given up."""
    found = (await scene.read())["metadata"]
    left = [each for each in found["managedFields"] if each["manager"] != CLIENT_SIDE]
    assert left != found["managedFields"]
    operations = [
        {"op": "replace", "path": "/metadata/managedFields", "value": left},
        {"op": "replace", "path": "/metadata/resourceVersion", "value": found["resourceVersion"]},
    ]
    ref = Ref(MATERIALIZES, scene.site.namespace, "m")
    await scene.site.client.call(patch(ref, JSON_PATCH, msgspec.json.encode(operations)))


@on_clusters()
@pytest.mark.parametrize("own", [{}, long({ROLE_KEY: OTHER_ROLE})], ids=["no annotation", "an annotation"])
async def test_a21_the_role_of_v1alpha1_is_an_annotation_unless_there_is_one(scene: Scene, own: dict[str, str]) -> None:
    annotations = {"serviceAccountAnnotations": own} if own else {}

    await scene.apply(manifest({**V, "environmentdIamRoleArn": ROLE, **annotations}, OLD))

    found = await scene.read()
    assert found["spec"]["serviceAccountAnnotations"] == {ROLE_KEY: ROLE, **own}
    status = await scene.promoted(1)
    assert (status["requestedRolloutHash"] == HASH_ROLE) is (not own)
    account = await scene.read(SERVICE_ACCOUNTS)
    assert account["metadata"]["annotations"][ROLE_KEY] == own.get(ROLE_KEY, ROLE)


@on_clusters()
async def test_a22_what_was_applied_by_the_client_is_taken_over_by_the_server_in_the_other_version(
    scene: Scene,
) -> None:
    await scene.apply(manifest({**V, "requestRollout": SECOND, "podLabels": {"a": "1"}}, OLD))
    await scene.promoted(1)

    await server_side(scene, manifest({**V, "podLabels": {"a": "1"}}), "kubectl")
    old, new, latest = [await scene.read(each) for each in (OLD, MATERIALIZES, LATEST)]
    assert old["spec"]["podLabels"] == new["spec"]["podLabels"] == latest["spec"]["podLabels"] == {"a": "1"}
    await scene.promoted(1)

    await leave_client_side(scene)
    await server_side(scene, manifest({**W, "podLabels": {"a": "2"}}), "kubectl")

    await scene.promoted(2)
    assert (await scene.read(OLD))["spec"]["podLabels"] == {"a": "2"}


@on_clusters()
async def test_a22_two_tools_apply_two_versions_and_each_keeps_what_is_its_own(scene: Scene) -> None:
    labels = {"podLabels": {"a": "1"}}
    await server_side(scene, manifest({**V, **labels, "environmentdIamRoleArn": ROLE}, OLD), "old-tool")
    added: Tree = {"environmentdExtraArgs": ["--extra"], "podAnnotations": {"b": "2"}}
    await server_side(scene, manifest(added), "new-tool")
    await scene.promoted(1)

    with pytest.raises(Conflict, match="old-tool"):
        await server_side(scene, manifest({**added, "environmentdImageRef": NEWER}), "new-tool")
    await server_side(scene, manifest({**V, "environmentdIamRoleArn": ROLE}, OLD), "old-tool")

    old, new = [(await scene.read(each))["spec"] for each in (OLD, MATERIALIZES)]
    for spec in (old, new):
        assert not spec.get("podLabels")
        assert spec["environmentdExtraArgs"] == ["--extra"]
        assert spec["podAnnotations"] == {"b": "2"}
    assert new["serviceAccountAnnotations"] == {ROLE_KEY: ROLE}
    await scene.promoted(2)


@on_clusters(long=True)
async def test_a23_an_upgrade_that_leaves_out_a_major_version_is_refused_once(scene: Scene) -> None:
    await scene.apply(manifest(V))
    await scene.promoted(1)

    await scene.apply(manifest({**V, "environmentdImageRef": "materialize/environmentd:v28.0.1"}))
    condition = await scene.reason("FailedDeploy")
    await scene.site.history.caught_up()
    refused = [each for each in scene.versions() if reason_of(each) == "FailedDeploy"]
    await scene.rest()

    assert condition["status"] == "False"
    assert condition["message"].startswith("Refusing to upgrade from ")
    assert not await scene.exists(2)
    later = [each for each in scene.versions() if reason_of(each) == "FailedDeploy"][len(refused) :]
    # One version is the change that `rest` makes, one may say that it was looked at.
    assert len(later) <= 2
    assert {msgspec.json.encode(judged(each)) for each in later} == {msgspec.json.encode(judged(refused[-1]))}

    await scene.apply(manifest({**V, "environmentdImageRef": "materialize/environmentd:v27.0.0"}))

    await scene.promoted(2)


def reason_of(tree: Tree) -> str:
    conditions = (tree.get("status") or {}).get("conditions") or [{}]
    reason: str = conditions[0].get("reason", "")
    return reason


def judged(tree: Tree) -> Tree:
    """The status but for which version of the spec it is about."""
    status: Tree = tree["status"]
    (condition,) = status["conditions"]
    return {**status, "conditions": [{**condition, "observedGeneration": 0}]}


@on_clusters(begins=False)
async def test_a24_legacy_objects_are_stored_anew_and_none_rolls_out(scene: Scene) -> None:
    await define_legacy(scene)
    first = await a_legacy(scene, name="m", resource_id="first00000")
    second = await a_legacy(
        scene, name="n", resource_id="second0000", spec={**V, "environmentId": ANOTHER, "podLabels": {"a": "b"}}
    )

    await scene.operator.start()

    await migrated(scene)
    for name, before in (("m", first), ("n", second)):
        await scene.rest(name)
        await scene.promoted(1, name)
        after = await scene.read(OLD, name)
        assert after["metadata"]["resourceVersion"] != before["metadata"]["resourceVersion"]
    assert not scene.stubs.promoted


@on_clusters(follows=False)
async def test_a25_a_version_that_the_webhook_does_not_know_fails_with_its_message(scene: Scene) -> None:
    await scene.apply(manifest(V))
    await scene.promoted(1)
    known = next(each for each in (await definition(scene.site))["spec"]["versions"] if each["storage"])
    await patched(
        scene.site, {"op": "add", "path": "/spec/versions/-", "value": {**known, "name": "v9", "storage": False}}
    )
    unknown = Resource(MATERIALIZES.group, "v9", MATERIALIZES.plural, MATERIALIZES.kind)

    async def refusal() -> str:
        """Empty while the API server has not heard of the version."""
        try:
            found = await scene.site.get(unknown, "m")
        except ApiError as error:
            return str(error)
        assert found is None
        return ""

    message = await scene.until(refusal)

    assert "materialize.cloud/v9" in message
    assert "conversion webhook" in message


@on_clusters()
async def test_a25_a_review_of_mixed_objects_is_answered_in_its_order(scene: Scene) -> None:
    objects = [manifest(V, OLD, "a"), manifest(V, MATERIALIZES, "b"), manifest(W, LATEST, "c")]
    review = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "ConversionReview",
        "request": {"uid": "u", "desiredAPIVersion": MATERIALIZES.api_version, "objects": objects},
    }

    answer = await scene.operator.ask("/convert", review)

    response = answer["response"]
    assert (response["uid"], response["result"]["status"]) == ("u", "Success")
    converted = [(each["metadata"]["name"], each["apiVersion"]) for each in response["convertedObjects"]]
    assert converted == [(name, MATERIALIZES.api_version) for name in "abc"]


@on_clusters("--webhook-cert-reload-interval=1s", follows=False)
async def test_a26_certificates_and_their_authority_are_exchanged_while_conversion_works(scene: Scene) -> None:
    await scene.apply(manifest(V))
    certificates = scene.operator.certificates
    before = marks(await definition(scene.site))

    certificates.write(certificates.authority)

    async def is_served() -> bool:
        assert await scene.read(OLD)
        return bool(scene.operator.said("certificate files read again"))

    await scene.until(is_served)
    assert marks(await definition(scene.site)) == before

    certificates.write(Authority())

    async def is_trusted() -> bool:
        assert await scene.read(OLD)
        webhook = (await definition(scene.site))["spec"]["conversion"]["webhook"]
        return b64decode(webhook["clientConfig"]["caBundle"]) == certificates.authority.certificate

    await scene.until(is_trusted)
    assert await scene.read(OLD)
    await scene.promoted(1)


@on_clusters(secret=False, long=True)
async def test_a27_with_passwords_the_operator_signs_in_before_anything_else(scene: Scene) -> None:
    await scene.keep_secret(external_login_password_mz_system=PASSWORD)
    for generation in (1, 2):
        scene.stubs.tell(generation, password=PASSWORD)
    spec = {**V, "authenticatorKind": "Password"}

    await scene.apply(manifest(spec))
    status = await scene.promoted(1)
    await scene.apply(manifest({**spec, "environmentdImageRef": NEWER}))
    await scene.promoted(2)

    for generation in (1, 2):
        seen = [each for each in scene.stubs.world.seen if each.generation == generation]
        assert (seen[0].path, seen[0].status) == (LOGIN, 200)
        assert {each.port for each in seen} == {6876}
        assert {each.status for each in seen} <= {200, 204}
    config = await scene.read(CONFIGMAPS, f"mz{status['resourceId']}-listeners-2")
    listeners = json.loads(config["data"]["listeners.json"])
    assert {protocol: set(entries) for protocol, entries in listeners.items() if isinstance(entries, dict)} == {
        "sql": {"external"},
        "http": {"external", "metrics"},
    }
    everyone = {"authenticator_kind": "Password", "allowed_roles": "NormalAndInternal", "enable_tls": False}
    assert entry(listeners["sql"]["external"]) == {**everyone, "addr": "0.0.0.0:6875"}
    assert entry(listeners["http"]["external"]) == {**everyone, "addr": "0.0.0.0:6876"}
    assert entry(listeners["http"]["metrics"]) == {**everyone, "addr": "0.0.0.0:6878", "authenticator_kind": "None"}
    routes = [name for name, enabled in listeners["http"]["metrics"]["routes"].items() if enabled]
    assert routes == ["metrics"]


def entry(tree: Mapping[str, object]) -> Mapping[str, object]:
    return {key: value for key, value in tree.items() if key != "routes"}


@on_clusters(long=True)
async def test_a28_of_two_environments_with_one_id_neither_is_rolled_out(scene: Scene) -> None:
    """A third one shows that the operator goes on with others."""
    await scene.apply(manifest(V))
    await scene.apply(manifest({**V, "environmentId": ANOTHER}, name="other"))
    await scene.promoted(1)
    await scene.promoted(1, "other")

    await scene.apply(manifest({**V, "environmentId": ENVIRONMENT.upper()}, name="twin"))
    await scene.until(lambda: refused(scene, "twin"))
    await scene.until(lambda: refused(scene, "m"))
    await scene.apply(manifest(W))
    await scene.rest("other")

    assert (await scene.status())["requestedRolloutHash"] == HASH_V
    assert await scene.exists(1)
    assert not await scene.exists(2)
    twin = (await scene.status("twin"))["resourceId"]
    names = [each.name for each in scene.site.history.events if twin in each.name]
    assert not names
    assert await scene.site.get(SERVICE_ACCOUNTS, "twin") is None

    await scene.site.client.call(delete(Ref(MATERIALIZES, scene.site.namespace, "twin")))

    await scene.promoted(2)


async def refused(scene: Scene, name: str) -> bool:
    """Whether the operator has said that another environment has the same id."""
    marks = (f"/{name} ", "same environmentId")
    return any(all(mark in line for mark in marks) for line in scene.operator.log)
